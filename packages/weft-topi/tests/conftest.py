"""Fixtures for operators: compile a computation for this machine, run it, compare it with float64."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from weft.tensor_ir import Machine, build, te
from weft.topi.layout import Layout, View, placeholder
from weft.topi.layout_conversion import pack, unpack
from weft.topi.operator import Computation

Array = np.ndarray[Any, Any]
LANES = Machine.of("llvm").lanes()


def _view(array: Array, name: str, layout: Layout | None = None) -> View:
    return placeholder(array.shape, str(array.dtype), name, layout)


def _run(
    computation: Computation, views: Sequence[View], arrays: Sequence[Array],
    epilogue: Callable[[View], View] | None = None, machine: Machine | None = None,
) -> list[Array]:
    """The row-major outputs of native code for row-major arrays; `epilogue` is fused behind the only output."""
    outputs = list(computation.outputs) if epilogue is None else [epilogue(computation.view)]
    tensors = [v.tensor for v in outputs]
    schedule = te.create_schedule(tensors)
    assert computation.schedule is not None
    computation.schedule(schedule, tensors[0], machine or Machine.of("llvm"))
    results = [np.full(v.layout.physical_shape(v.shape), np.nan).astype(v.dtype.numpy) for v in outputs]
    given = [pack(a, v.layout) for a, v in zip(arrays, views, strict=True)]
    build(schedule, [*(v.tensor for v in views), *tensors])(*given, *results)
    return [unpack(r, v.shape, v.layout) for r, v in zip(results, outputs, strict=True)]


def _error(found: Array, expected: Array) -> float:
    """Largest difference over largest magnitude."""
    assert found.shape == expected.shape
    return float(np.abs(found.astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))


@pytest.fixture
def view() -> Callable[..., View]:
    return _view


@pytest.fixture
def run() -> Callable[..., list[Array]]:
    return _run


@pytest.fixture
def error() -> Callable[[Array, Array], float]:
    return _error


@pytest.fixture
def lanes() -> int:
    return LANES


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)
