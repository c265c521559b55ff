"""Pools by blocks of threads, on the first OpenCL device."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from sateen.topi.computations.adaptive_pooling import adaptive_average_pool, adaptive_max_pool
from sateen.topi.computations.pooling import average_pool, global_pool, max_pool, max_pool_indices
from sateen.topi.computations.windows import Window
from sateen.topi.types import View, compute

TARGETS = ["opencl", "opencl -mcpu=processor"]
CASES = [
    ((1, 5, 13, 11), Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))),
    ((2, 3, 33, 70), Window((2, 3), (1, 1), (0, 0, 0, 0), (2, 1))),
    ((1, 3, 151, 151), Window((151, 151), (1, 1), (0, 0, 0, 0), (1, 1))),
    ((1, 2, 300), Window((101,), (100,), (0, 1), (1,))),
    ((1, 2, 5, 6, 7), Window((2, 2, 2), (1, 2, 1), (1, 0, 0, 0, 0, 1), (1, 1, 1))),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "window"), CASES, ids=lambda value: str(value) if isinstance(value, tuple) else "")
def test_windows_of_any_size(
    on_device: Any, run_views: Any, view: Any, random: Any, shape: tuple[int, ...], window: Window, target: str
) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    for pool in (max_pool, average_pool):
        (found,) = on_device(lambda v, p=pool: p(v, window), x, epilogue=doubled, target=target)
        data = view(x, "x")
        (expected,) = run_views(pool(data, window), [data], [x], epilogue=doubled)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_places_of_maxima(
    on_device: Any, run_views: Any, view: Any, random: Any, dtype: str, column_major: bool
) -> None:
    x = random.integers(-3, 3, (2, 3, 13, 70)).astype(dtype)
    if dtype == "float32":
        x[0, 0, 5], x[1, 1] = np.nan, -np.inf
    window = Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    data = view(x, "x")
    expected = run_views(max_pool_indices(data, window, column_major=column_major), [data], [x])
    found = on_device(lambda v: max_pool_indices(v, window, column_major=column_major), x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "kind", "dtype"),
    [((2, 3, 7, 7), "max", "float32"), ((1, 3, 150, 151), "average", "float32"), ((1, 70, 5), "average", "float16")],
)
def test_whole_channels(
    on_device: Any, random: Any, shape: tuple[int, ...], kind: str, dtype: str, target: str
) -> None:
    x = random.standard_normal(shape).astype(dtype)
    (found,) = on_device(lambda v: global_pool(v, kind), x, epilogue=doubled, target=target)
    wide = x.astype(np.float64)
    expected = (wide.max if kind == "max" else wide.mean)(tuple(range(2, x.ndim)), keepdims=True)
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    np.testing.assert_allclose(found, 2 * expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("pool", [adaptive_average_pool, adaptive_max_pool])
def test_windows_of_different_sizes(
    on_device: Any, run_views: Any, view: Any, random: Any, pool: Any, target: str
) -> None:
    x = random.standard_normal((2, 3, 13, 50)).astype(np.float32)
    (found,) = on_device(lambda v: pool(v, (5, 7)), x, target=target)
    data = view(x, "x")
    (expected,) = run_views(pool(data, (5, 7)), [data], [x])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_pool_and_its_function_are_one_kernel(kernels: Any, turns: Any) -> None:
    window = Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    (kernel,) = kernels(lambda v: average_pool(v, window), "opencl", (1, 64, 56, 56))
    assert turns(kernel) <= prod(window.kernel)
    found = kernels(lambda v: global_pool(v, "average"), "opencl", (1, 3, 1024, 1024))
    assert max(map(turns, found)) <= 1024


def doubled(x: View) -> View:
    return compute(x.shape, lambda *i: x(*i) * 2.0, "doubled")
