"""A fixture that runs a computation from its definition and as native code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.tensor_ir import CompiledModule, Machine, build, te
from weft.tensor_ir.interpret import evaluate
from weft.topi.injective import schedule_injective
from weft.topi.layout import placeholder
from weft.topi.operator import Computation


@pytest.fixture
def run() -> Callable[..., Any]:
    """run(f, *arrays): f of views as native code computes it, after a comparison with the definition."""
    return _run


@pytest.fixture
def compile_() -> Callable[..., CompiledModule]:
    """compile_(f, *shapes): the native code of f over float32 views."""

    def compile_(function: Callable[..., Computation], *shapes: tuple[int, ...]) -> CompiledModule:
        return _compile(function, [placeholder(s, "float32", f"x{i}") for i, s in enumerate(shapes)])[1]

    return compile_


def _compile(function: Callable[..., Computation], views: Any) -> tuple[list[te.Tensor], CompiledModule]:
    computation = function(*views)
    tensors = [v.tensor for v in computation.outputs]
    schedule = te.create_schedule(tensors)
    (computation.schedule or schedule_injective)(schedule, tensors[0], Machine.of("llvm"))
    return tensors, build(schedule, [*(v.tensor for v in views), *tensors])


def _run(function: Callable[..., Computation], *arrays: np.ndarray) -> Any:
    views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    tensors, module = _compile(function, views)
    results = [np.zeros([int(e.value) for e in t.shape], t.dtype.numpy) for t in tensors]
    module(*arrays, *results)
    expected = evaluate(tensors, {v.tensor: a for v, a in zip(views, arrays, strict=True)})
    for tensor, result, wanted in zip(tensors, results, expected, strict=True):
        if tensor.dtype.is_float:
            bound = {16: 1e-2, 32: 1e-4, 64: 1e-12}[tensor.dtype.bits]
            narrow = np.asarray(wanted).astype(tensor.dtype.numpy)
            np.testing.assert_allclose(np.float64(result), np.float64(narrow), rtol=bound, atol=bound)
        else:
            np.testing.assert_array_equal(result, wanted)
    return results[0] if len(results) == 1 else results
