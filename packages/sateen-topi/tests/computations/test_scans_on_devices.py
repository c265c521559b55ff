"""Running sums and products by blocks of threads: by the interpreter, and on the first OpenCL device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.topi.computations.ordered import cumulative

SHAPES = [
    ((7,), 0),
    ((3, 5), 1),
    ((40,), 0),
    ((3, 37), 1),
    ((2, 37, 3), 1),
    ((5, 1, 2), 1),
    ((1100,), 0),
    ((600, 2), 0),
]


def cumulated(x: np.ndarray[Any, Any], axis: int, exclusive: bool, reverse: bool) -> np.ndarray[Any, Any]:
    ordered = np.flip(x, axis) if reverse else x
    total = ordered.cumsum(axis, dtype=x.dtype) - (ordered if exclusive else 0)
    return np.flip(total, axis) if reverse else total


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize(("exclusive", "reverse"), [(False, False), (True, False), (True, True)])
def test_sums_by_threads(
    by_threads: Any, random: Any, shape: tuple[int, ...], axis: int, exclusive: bool, reverse: bool
) -> None:
    """No races and no missing barriers."""
    x = random.integers(-9, 9, shape).astype(np.int32)
    (found,) = by_threads(lambda v: cumulative(v, "sum", axis, exclusive, reverse), x)
    np.testing.assert_array_equal(found, cumulated(x, axis, exclusive, reverse))


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((300,), 0, "float32"),
        ((4, 70), 1, "float32"),
        ((100001,), 0, "float32"),
        ((3, 20000), 1, "int64"),
        ((20011, 3), 0, "float32"),
        ((2, 50, 40), 1, "int8"),
    ],
)
def test_sums_of_each_length(on_device: Any, random: Any, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = random.integers(-9, 9, shape).astype(dtype)
    (found,) = on_device(lambda v: cumulative(v, "sum", axis, reverse=True), x)
    np.testing.assert_array_equal(found, cumulated(x, axis, False, True))


def test_products_of_short_floats(on_device: Any, random: Any) -> None:
    x = random.uniform(0.9, 1.1, (3, 90)).astype(np.float16)
    (found,) = on_device(lambda v: cumulative(v, "product", 1), x)
    np.testing.assert_allclose(found, x.astype(np.float32).cumprod(1), rtol=1e-3)


def test_nothing_follows_nan_but_nan(on_device: Any) -> None:
    x = np.ones((2, 5000), np.float32)
    x[1, 3000] = np.nan
    (found,) = on_device(lambda v: cumulative(v, "sum", 1), x)
    np.testing.assert_array_equal(found, x.cumsum(1))


@pytest.mark.parametrize("target", ["opencl", "webgpu", "cuda -mcpu=sm_90"])
@pytest.mark.parametrize(("shape", "axis"), [((1, 1 << 20), 1), ((1 << 20, 3), 0), ((64, 512, 16), 1)])
def test_no_thread_adds_a_row_alone(kernels: Any, turns: Any, target: str, shape: tuple[int, ...], axis: int) -> None:
    found = kernels(lambda v: cumulative(v, "sum", axis), target, shape)
    assert max(map(turns, found)) <= 1024
    assert len(found) in (1, 3)
