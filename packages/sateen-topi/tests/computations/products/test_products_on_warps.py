"""Products on tensor cores: what the schedule computes, by the interpreter and by an OpenCL device, and the PTX.

OpenCL has no such instructions: loops take their place.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sateen.runtime import DType, LoweringError
from sateen.tensor_ir import Machine, te
from sateen.topi.computations.products import Tiled, Warped, matmul, matmul_candidates
from sateen.topi.types import View, compute, placeholder

SMALL = Warped(1, 1, 1, 1, 16)
SHAPES = [
    ((16, 16), (16, 16), SMALL),
    ((64, 64), (64, 64), Warped(2, 1, 2, 2, 32)),
    ((50, 70), (70, 52), Warped(2, 1, 1, 2, 16)),
    ((33, 24), (24, 17), SMALL),
    ((3, 45, 20), (20, 33), Warped(1, 2, 2, 1, 16)),
    ((2, 3, 20, 20), (3, 20, 17), SMALL),
    ((2, 32, 32), (1, 32, 32), Warped(2, 1, 1, 1, 16)),
]


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize(("a", "b", "method"), SHAPES)
def test_products_of_any_size(interpreted: Any, random: Any, a: Any, b: Any, method: Warped) -> None:
    x, y = (random.standard_normal(shape).astype(np.float16) for shape in (a, b))
    (found,) = interpreted(lambda x, y: matmul(x, y, method=method), x, y)
    np.testing.assert_allclose(found, exact(x, y), rtol=2e-3, atol=2e-3)


def test_a_device_without_the_instructions_computes_the_same_by_loops(on_device: Any, random: Any) -> None:
    x, y = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((33, 24), (24, 17)))
    (found,) = on_device(lambda x, y: matmul(x, y, method=Warped(2, 1, 1, 1, 16)), x, y)
    np.testing.assert_array_equal(found, exact(x, y))


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), te.const(0, x.dtype)) + te.const(1, x.dtype), "relu")


def widened(x: View) -> View:
    return compute(x.shape, lambda *i: x(*i).astype("float32") * 2.0, "widened")


def transposed(x: View) -> View:
    return compute(x.shape[::-1], lambda i, j: x(j, i) + x(j, i), "transposed")


@pytest.mark.parametrize("epilogue", [relu, widened, transposed])
def test_an_epilogue_is_computed_on_tiles_of_sums(interpreted: Any, random: Any, epilogue: Any) -> None:
    x, y = (random.standard_normal(shape).astype(np.float16) for shape in ((40, 32), (32, 50)))
    (found,) = interpreted(lambda x, y: matmul(x, y, method=Warped(1, 2, 2, 1, 32)), x, y, epilogue=epilogue)
    product = exact(x, y)
    expected = {relu: np.maximum(product, 0) + 1, widened: product * 2, transposed: 2 * product.T}[epilogue]
    np.testing.assert_allclose(found, expected, rtol=3e-3, atol=4e-3)


def test_threads_of_a_block_wait_for_each_other(by_threads: Any, random: Any) -> None:
    """The interpreter executes thread by thread and traps races."""
    x, y = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((16, 16), (16, 32)))
    (found,) = by_threads(lambda x, y: matmul(x, y, method=Warped(1, 1, 2, 1, 16)), x, y)
    np.testing.assert_array_equal(found, exact(x, y))


@pytest.mark.parametrize(
    ("dtype", "options"),
    [("float16", ""), ("float16", "-mcpu=sm_70"), ("float16", "-mcpu=sm_90"), ("bfloat16", "-mcpu=sm_80")],
)
def test_large_products_are_on_tensor_cores(dtype: str, options: str) -> None:
    best, *_ = matmul_candidates((512, 512), (512, 512), DType.of(dtype), Machine.of(f"cuda {options}".strip()))
    assert isinstance(best.method, Warped)


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        ("float32", "cuda -mcpu=sm_80"),
        ("bfloat16", "cuda -mcpu=sm_75"),
        ("bfloat16", "cuda"),
        ("float16", "cuda -mcpu=sm_60"),
        ("float16", "cuda-c -mcpu=sm_80"),
        ("float16", "opencl"),
    ],
)
def test_others_have_tiles_of_threads(dtype: str, target: str) -> None:
    found = matmul_candidates((512, 512), (512, 512), DType.of(dtype), Machine.of(target))
    assert {type(c.method) for c in found} == {Tiled}


def test_fewer_rows_than_a_tile_have_tiles_of_threads() -> None:
    found = matmul_candidates((1, 512), (512, 512), DType.of("float16"), Machine.of("cuda -mcpu=sm_80"))
    assert {type(c.method) for c in found} == {Tiled}


@pytest.mark.parametrize("target", ["cuda", "cuda -mcpu=sm_80", "cuda -mcpu=sm_90"])
def test_a_block_s_copies_and_stores_are_vectors(ptx: Any, target: str) -> None:
    method = Warped(2, 2, 2, 2, 32)
    source = ptx(
        lambda x, y: matmul(x, y, method=method), (128, 64), (64, 192), dtype="float16",
        target=target,
    )  # fmt: skip
    counts = {step: len(re.findall(rf"wmma.{step}.sync", source)) for step in ("load.a", "load.b", "mma", "store.d")}
    assert counts == {"load.a": 4, "load.b": 4, "mma": 8, "store.d": 4}
    assert source.count("ld.global.nc.v4.b32") == source.count("st.shared.v4") == 4
    assert source.count("st.global.v4") == 4
    assert ".local" not in source


def test_a_processor_has_no_such_method() -> None:
    view = placeholder((32, 32), "float16", "x")
    with pytest.raises(LoweringError, match=r"product: expected a machine of kind .*, found cpu"):
        matmul(view, view, method=SMALL).schedule_on(Machine.of("llvm"))
