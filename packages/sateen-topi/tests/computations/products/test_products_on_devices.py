"""Products by tiles of threads, on the first OpenCL device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.topi.computations.products import Tiled, matmul
from sateen.topi.computations.strips import Strips
from sateen.topi.methods import Method
from sateen.topi.types import View, compute

SHAPES = [
    ((64, 64), (64, 64)),
    ((100, 70), (70, 52)),
    ((1, 70), (70, 10)),
    ((7, 33), (33, 1)),
    ((1, 1), (1, 1)),
    ((3, 45, 20), (20, 33)),
    ((2, 3, 5, 20), (3, 20, 17)),
    ((300, 40), (40, 200)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_products_of_any_size(on_device: Any, random: Any, a: Any, b: Any) -> None:
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in (a, b))
    (found,) = on_device(matmul, x, y)
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-5)


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), 0.0) + 1.0, "relu")


def transposed(x: View) -> View:
    return compute(x.shape[::-1], lambda i, j: x(j, i) * 2.0, "transposed")


def test_an_epilogue_is_computed_in_the_tile(on_device: Any, random: Any) -> None:
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in ((45, 70), (70, 50)))
    (found,) = on_device(matmul, x, y, epilogue=relu)
    np.testing.assert_allclose(found, np.maximum(x.astype(np.float64) @ y, 0) + 1, rtol=1e-5, atol=1e-5)


def test_an_epilogue_at_other_elements_has_threads_of_its_own(on_device: Any, random: Any) -> None:
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in ((45, 70), (70, 50)))
    (found,) = on_device(matmul, x, y, epilogue=transposed)
    np.testing.assert_allclose(found, 2 * (x.astype(np.float64) @ y).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_other_types(on_device: Any, random: Any, dtype: str) -> None:
    x, y = (random.integers(-9, 9, shape).astype(dtype) for shape in ((33, 70), (70, 20)))
    (found,) = on_device(matmul, x, y)
    np.testing.assert_array_equal(found, x @ y)


def test_both_operands_may_be_one(on_device: Any, random: Any) -> None:
    x = random.standard_normal((40, 40)).astype(np.float32)
    (found,) = on_device(lambda a: matmul(a, a), x)
    np.testing.assert_allclose(found, x.astype(np.float64) @ x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", [Tiled(4, 2, 8, 1, 8), Tiled(2, 4, 2, 8, 4), Tiled(8, 1, 4, 4, 1), Strips(4, 8)])
def test_every_method_gives_the_product(on_device: Any, random: Any, method: Method) -> None:
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in ((45, 70), (70, 50)))
    (found,) = on_device(lambda a, b: matmul(a, b, method=method), x, y)
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-5)


def test_a_thread_reads_four_elements_of_shared_memory_at_once(ptx: Any) -> None:
    source = ptx(matmul, (4096, 512), (512, 4096))
    assert source.count("fma.rn.f32") == 16 * source.count("ld.shared.v4") > 0
    assert "ld.shared.b32" not in source
    assert "ld.global.nc.b32" not in source
    assert source.count("st.global.v4") == 16
