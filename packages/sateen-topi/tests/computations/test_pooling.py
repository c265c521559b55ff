"""Pools against NumPy in float64."""

from itertools import product

import numpy as np
import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.element_wise import relu, unary
from sateen.topi.computations.pool_methods import (
    Channels,
    Lines,
    PoolShapes,
    Windows,
    global_candidates,
    pool_candidates,
)
from sateen.topi.computations.pooling import average_pool, global_pool, max_pool
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import Symbol
from sateen.topi.types import Layout


def reference(x, w, kind, ceil_mode, padding_counts):
    spatial = x.shape[2:]
    out = w.output(spatial, ceil_mode)
    y = np.zeros((*x.shape[:2], *out))
    for place in product(*map(range, out)):
        values, count = [], 0
        for k in product(*map(range, w.kernel)):
            i = [place[d] * w.strides[d] + k[d] * w.dilations[d] - w.pads[d] for d in range(w.rank)]
            if all(0 <= p < e for p, e in zip(i, spatial, strict=True)):
                values.append(x[(..., *i)].astype(np.float64))
            count += all(p < e + w.pads[w.rank + d] for d, (p, e) in enumerate(zip(i, spatial, strict=True)))
        size = count if padding_counts else len(values)
        y[(..., *place)] = np.max(values, 0) if kind == "max" else np.sum(values, 0) / size
    return y


CASES = [
    ((1, 32, 9, 9), Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), False),
    ((1, 32, 8, 8), Window((2, 2), (2, 2), (0,) * 4, (1, 1)), False),
    ((2, 5, 17, 13), Window((3, 2), (2, 3), (1, 0, 1, 1), (2, 1)), True),
    ((1, 24, 5, 30), Window((5, 5), (1, 1), (2,) * 4, (1, 1)), True),
    ((2, 3, 30), Window((4,), (3,), (1, 2), (1,)), False),
    ((1, 3, 5, 6, 7), Window((2, 2, 2), (2, 1, 2), (0, 1, 0, 1, 0, 1), (1, 1, 1)), False),
]


@pytest.mark.parametrize(("shape", "w", "ceil_mode"), CASES)
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("kind", ["max", "average", "average with padding"])
def test_windows(run_views, view, error, random, lanes, shape, w, ceil_mode, blocked, kind):
    x = random.standard_normal(shape).astype("float32")
    data = view(x, "x", Layout.blocked(x.ndim, 1, lanes) if blocked else None)
    counts = kind == "average with padding"
    pool = max_pool(data, w, ceil_mode) if kind == "max" else average_pool(data, w, ceil_mode, counts)
    (y,) = run_views(pool, [data], [x])
    assert error(y, reference(x, w, kind, ceil_mode, counts)) < 1e-6


FLAT = [case for case in CASES if case[1].rank == 2]
METHODS = [Windows(1, 1), Windows(2, 3), Windows(4, 16), Lines(1, 4), Lines(3, 2), Lines(32, 32)]


@pytest.mark.parametrize(("shape", "w", "ceil_mode"), FLAT)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_methods(run_views, view, error, random, lanes, shape, w, ceil_mode, method):
    x = random.standard_normal(shape).astype("float32")
    data = view(x, "x", Layout.blocked(4, 1, lanes))
    (y,) = run_views(max_pool(data, w, ceil_mode, method=method), [data], [x])
    np.testing.assert_array_equal(y, reference(x, w, "max", ceil_mode, False).astype("float32"))
    if isinstance(method, Windows):
        for counts in (False, True):
            (y,) = run_views(average_pool(data, w, ceil_mode, counts, method=method), [data], [x])
            assert error(y, reference(x, w, "average", ceil_mode, counts)) < 1e-6


@pytest.mark.parametrize("method", [Windows(2, 4), Lines(4, 4)], ids=str)
def test_a_function_after_a_pool_is_computed_in_its_tiles(run_views, view, random, lanes, method):
    x = random.standard_normal((1, 2 * lanes, 9, 9)).astype("float32")
    data, w = view(x, "x", Layout.blocked(4, 1, lanes)), Window((3, 3), (2, 2), (1,) * 4, (1, 1))
    (y,) = run_views(max_pool(data, w, method=method), [data], [x], lambda v: unary(v, relu, "relu").view)
    np.testing.assert_array_equal(y, np.maximum(reference(x, w, "max", False, False), 0).astype("float32"))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_nan_is_the_maximum_of_its_windows_alone(run_views, view, lanes, method):
    x = np.zeros((1, lanes, 7, 7), "float32")
    x[0, 1, 3, 3] = np.nan
    data, w = view(x, "x", Layout.blocked(4, 1, lanes)), Window((3, 3), (1, 1), (1,) * 4, (1, 1))
    (y,) = run_views(max_pool(data, w, method=method), [data], [x])
    assert {tuple(place) for place in np.argwhere(np.isnan(y))} == {(0, 1, i, j) for i in (2, 3, 4) for j in (2, 3, 4)}


AVX512 = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")


def shapes(kernel, stride, pad=0, *, channels=64, size=32, dtype="float32", is_maximum=True):
    rank = len(kernel)
    window = Window(kernel, (stride,) * rank, (pad,) * (2 * rank), (1,) * rank)
    return PoolShapes((1, channels) + (size,) * rank, window, False, DType.of(dtype), is_maximum)


def test_maxima_of_large_windows_begin_with_their_lines():
    assert pool_candidates(shapes((13, 13), 1, 6, size=20), AVX512)[0].method == Lines(20, 7)
    for first in (pool_candidates(shapes((2, 2), 2), AVX512)[0], pool_candidates(shapes((1, 3), 1), AVX512)[0]):
        assert isinstance(first.method, Windows)


def test_averages_have_no_lines_and_share_rows_where_windows_overlap():
    overlapping = [c.method for c in pool_candidates(shapes((3, 3), 1, 1, is_maximum=False), AVX512)]
    assert {m.rows for m in overlapping} == {1, 2, 4}
    apart = [c.method for c in pool_candidates(shapes((2, 2), 2, is_maximum=False), AVX512)]
    assert all(isinstance(m, Windows) for m in (*overlapping, *apart))
    assert {m.rows for m in apart} == {1}


def test_lines_are_no_more_than_the_first_cache_holds():
    methods = [c.method for c in pool_candidates(shapes((9, 9), 1, 4, size=40), AVX512)]
    lines = [m for m in methods if isinstance(m, Lines)]
    assert lines
    assert all((m.rows + 8) * 40 * AVX512.vector_bytes <= AVX512.l1_bytes for m in lines)


def test_other_pools_have_no_methods():
    given = [
        shapes((3, 3), 2, channels=8), shapes((3, 3), 2, dtype="int32"), shapes((3,), 2), shapes((3, 3, 3), 2, size=8),
    ]  # fmt: skip
    assert all(pool_candidates(s, AVX512) == [] for s in given)
    assert pool_candidates(shapes((3, 3), 2), Machine.of("opencl")) == []
    assert pool_candidates(shapes((3, 3), 2), Machine.of("c")) == []


def test_maximum_of_integers(run_views, view, random):
    x = random.integers(-128, 128, (1, 3, 9, 9)).astype("int8")
    data, w = view(x, "x"), Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    (y,) = run_views(max_pool(data, w), [data], [x])
    np.testing.assert_array_equal(y, reference(x, w, "max", False, False))


@pytest.mark.parametrize("method", [Channels(1), Channels(2), Channels(3)], ids=str)
@pytest.mark.parametrize("kind", ["average", "max"])
def test_methods_of_global_pools(run_views, view, random, lanes, kind, method):
    x = random.standard_normal((2, 6 * lanes, 9, 7)).astype("float32")
    data = view(x, "x", Layout.blocked(4, 1, lanes))
    (expected,) = run_views(global_pool(data, kind), [data], [x])
    (y,) = run_views(global_pool(data, kind, method=method), [data], [x])
    np.testing.assert_array_equal(y, expected)


def test_few_blocks_of_channels_are_left_to_several_threads():
    def chosen(channels):
        return global_candidates((1, channels, 56, 56), DType.of("float32"), AVX512, is_maximum=False)[0].method

    assert chosen(32 * 16).blocks > chosen(4 * 16).blocks


def test_global_pools_without_methods():
    float32, float16 = DType.of("float32"), DType.of("float16")
    for data, dtype, machine in (
        ((1, 8, 7, 7), float32, AVX512), ((1, 64, 7, 7), float16, AVX512), ((1, 64, 0, 7), float32, AVX512),
        ((1, 64, 7, 7), float32, Machine.of("opencl")), ((1, 64, 7, 7), float32, Machine.of("c")),
    ):  # fmt: skip
        assert global_candidates(data, dtype, machine, is_maximum=True) == []


@pytest.mark.parametrize("shape", [(1, 32, 7, 7), (2, 24, 5, 5), (1, 3, 50, 51), (1, 48, 33), (1, 1, 1, 1)])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("kind", ["average", "max"])
def test_global(run_views, view, error, random, lanes, shape, blocked, kind):
    x = random.standard_normal(shape).astype("float32")
    data = view(x, "x", Layout.blocked(x.ndim, 1, lanes) if blocked else None)
    (y,) = run_views(global_pool(data, kind), [data], [x])
    axes = tuple(range(2, x.ndim))
    wide = x.astype(np.float64)
    assert error(y, wide.mean(axes, keepdims=True) if kind == "average" else wide.max(axes, keepdims=True)) < 1e-6


def test_a_last_window_of_ceil_mode_begins_on_data_or_before_it():
    n = Symbol("n")
    assert Window((3,), (2,), (1, 1), (1,)).output((n,), ceil_mode=True) == (n // 2 + 1,)
    assert Window((1,), (2,), (0, 0), (1,)).output((n,), ceil_mode=True) == ((n + 1) // 2,)
    assert Window((2,), (2,), (0, 1), (1,)).output((4,), ceil_mode=True) == (2,)
    assert Window((2,), (2,), (0, 1), (1,)).output((5,), ceil_mode=True) == (3,)
    assert Window((3,), (3,), (1, 0), (1,)).output((5,), ceil_mode=True) == (2,)
