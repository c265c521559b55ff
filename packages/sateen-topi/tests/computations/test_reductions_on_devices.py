"""Reductions by blocks of threads: values on the first OpenCL device, and how many terms a thread has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import Machine
from sateen.topi.computations import reductions
from sateen.topi.schedules import Shares
from sateen.topi.types import View, compute

TARGETS = ["opencl", "opencl -mcpu=processor"]
CASES = [
    ((3, 5, 33), (2,)),
    ((3, 5, 33), (0, 2)),
    ((300, 7), (1,)),
    ((1, 70, 1), (1,)),
    ((5, 1, 64), (1,)),
    ((2, 3, 7, 20), (1, 3)),
    ((100,), (0,)),
    ((3, 20011), (1,)),
    ((20011, 3), (0,)),
    ((2, 300, 5, 41), (1, 2)),
    ((70001,), (0,)),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
def test_any_axes_of_any_shape(on_device: Any, random: Any, shape: Any, axes: Any, target: str) -> None:
    x, kept = random.random(shape).astype(np.float32), len(axes) > 1
    (found,) = on_device(lambda v: reductions.reduce(v, axes, kept, "mean"), x, target=target)
    np.testing.assert_allclose(found, x.mean(axes, np.float64, keepdims=kept), rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 5, 33), (0, 2)), ((5, 300), (1,)), ((300, 5), (0,)), ((2, 9, 3), (1,))]
)
def test_threads_combine_without_races(by_threads: Any, random: Any, shape: Any, axes: Any) -> None:
    x = random.integers(-9, 9, shape).astype(np.float32)
    (found,) = by_threads(lambda v: reductions.reduce(v, axes, False, "sum"), x)
    np.testing.assert_array_equal(found, x.sum(axes))


KINDS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "sum_square": lambda x, axis: (x * x).sum(axis),
    "l1": lambda x, axis: np.abs(x).sum(axis),
    "l2": lambda x, axis: np.sqrt((x * x).sum(axis)),
    "log_sum": lambda x, axis: np.log(x.sum(axis)),
}


@pytest.mark.parametrize("kind", sorted(reductions.kinds.REDUCTIONS))
def test_each_kind(on_device: Any, random: Any, kind: str) -> None:
    x = random.uniform(0.9, 1.1, (2, 65, 33)).astype(np.float32)
    (found,) = on_device(lambda v: reductions.reduce(v, (1,), False, kind), x)
    np.testing.assert_allclose(found, KINDS[kind](x.astype(np.float64), axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "target"),
    [(dtype, "opencl") for dtype in ("float16", "int8", "uint8", "int64", "bool")] + [("float16", TARGETS[1])],
)
def test_each_type(on_device: Any, random: Any, dtype: str, target: str) -> None:
    x = random.integers(0, 2 if dtype == "bool" else 5, (3, 401)).astype(dtype)
    (found,) = on_device(lambda v: reductions.reduce(v, (1,), False, "max"), x, target=target)
    np.testing.assert_array_equal(found, x.max(1))
    if dtype != "bool":
        (found,) = on_device(lambda v: reductions.reduce(v, (0,), False, "sum"), x, target=target)
        np.testing.assert_array_equal(found, x.sum(0, dtype=dtype))


@pytest.mark.parametrize("target", TARGETS)
def test_nan_and_infinite_terms(on_device: Any, random: Any, target: str) -> None:
    x = random.standard_normal((4, 3000)).astype(np.float32)
    x[1, 2900], x[2, 7], x[3] = np.nan, np.inf, -np.inf
    (found,) = on_device(lambda v: reductions.reduce(v, (1,), False, "max"), x, target=target)
    np.testing.assert_array_equal(found, x.max(1))
    (found,) = on_device(lambda v: reductions.reduce_log_sum_exp(v, (1,), False), x, target=target)
    expected = [np.log(np.exp(x[0].astype(np.float64)).sum()), np.nan, np.inf, -np.inf]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axis"), [((3, 9001), 1), ((9001, 3), 0), ((40, 20), 1)], ids=str)
def test_extrema_prefer_the_first_or_the_last_of_equal_elements(
    on_device: Any, random: Any, shape: Any, axis: int, target: str
) -> None:
    x = random.integers(0, 9, shape).astype(np.float32)
    (found,) = on_device(lambda v: reductions.arg_extremum(v, axis, False, True), x, target=target)
    np.testing.assert_array_equal(found, x.argmax(axis))
    (found,) = on_device(lambda v: reductions.arg_extremum(v, axis, True, False, last=True), x, target=target)
    np.testing.assert_array_equal(found.squeeze(axis), shape[axis] - 1 - np.flip(x, axis).argmin(axis))
    x.flat[::70] = np.nan
    (found,) = on_device(lambda v: reductions.arg_extremum(v, axis, False, True), x, target=target)
    np.testing.assert_array_equal(found, x.argmax(axis))


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 0), ((0, 3), 1), ((0, 3), 0), ((2, 0, 5), 1)], ids=str)
def test_tensors_without_elements(on_device: Any, shape: Any, axis: int) -> None:
    x = np.zeros(shape, np.float32)
    expected = x.sum(axis)
    if expected.size:
        (found,) = on_device(lambda v: reductions.reduce(v, (axis,), False, "sum"), x)
        np.testing.assert_array_equal(found, expected)


def test_a_function_of_the_result_is_computed_where_it_ends(on_device: Any, random: Any) -> None:
    def doubled(v: View) -> View:
        return compute(v.shape, lambda *i: v(*i) * 2.0, "doubled")

    x = random.standard_normal((100, 300)).astype(np.float32)
    (found,) = on_device(lambda v: reductions.reduce(v, (1,), False, "l2"), x, epilogue=doubled)
    np.testing.assert_allclose(found, 2 * np.sqrt((x.astype(np.float64) ** 2).sum(1)), rtol=1e-5)


SIZES = [(1, 50176, 1), (3, 50176, 1), (3, 50176, 3), (512, 49, 1), (64, 1000, 40), (1, 1 << 24, 1), (1 << 20, 3, 8)]


@pytest.mark.parametrize("target", ["opencl", "webgpu", "cuda -mcpu=sm_90", "metal", "opencl -mcpu=processor"])
@pytest.mark.parametrize(("results", "terms", "neighbours"), SIZES)
def test_shares_fill_the_device(target: str, results: int, terms: int, neighbours: int) -> None:
    gpu = Machine.of(target).gpu
    assert gpu is not None
    shares = Shares.of(results, terms, neighbours, 32, gpu)
    assert shares.parts * shares.threads <= terms
    alone = terms / (shares.parts * shares.threads)
    if gpu.warp > 1:
        assert shares.results * shares.threads <= gpu.block_threads
        assert alone <= 1024
        assert alone <= 128 or 2 * results * shares.threads * shares.parts > gpu.units * gpu.unit_threads


@pytest.mark.parametrize("target", ["opencl", "webgpu"])
@pytest.mark.parametrize(("shape", "axes"), [((1, 3, 224, 224), (2, 3)), ((224, 224, 3), (0, 1)), ((1 << 22,), (0,))])
def test_no_thread_sums_an_image_alone(kernels: Any, turns: Any, target: str, shape: Any, axes: Any) -> None:
    found = kernels(lambda v: reductions.reduce(v, axes, True, "mean"), target, shape)
    assert 1 < len(found) <= 3
    assert max(map(turns, found)) <= 1024
