"""Running sums and the largest elements against NumPy."""

import itertools
import operator

import numpy as np
import pytest

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations import ordered
from sateen.topi.computations.block_sorts import BlockSort

RANDOM = np.random.default_rng(0)
GPU = Gpu(32, 2048, 32, 256, 32 << 10, 128, 2e11)


@pytest.mark.parametrize(
    ("shape", "axis"), [((40,), 0), ((9, 70), 0), ((9, 70), 1), ((3, 4, 33), 1), ((130, 200), 1)], ids=str
)
def test_running_sums(computed, shape, axis):
    x = RANDOM.integers(0, 9, shape).astype("float32")
    np.testing.assert_array_equal(computed(lambda v: ordered.cumulative(v, "sum", axis), x), np.cumsum(x, axis))
    backwards = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    np.testing.assert_array_equal(computed(lambda v: ordered.cumulative(v, "sum", axis, reverse=True), x), backwards)
    np.testing.assert_array_equal(computed(lambda v: ordered.cumulative(v, "sum", axis, True, True), x), backwards - x)


def test_short_floats_are_added_in_float32(computed):
    x = np.ones(4000, "float16")
    assert computed(lambda v: ordered.cumulative(v, "sum", 0), x)[-1] == 4000


@pytest.mark.parametrize(
    ("shape", "axis", "k"), [((300,), 0, 17), ((5, 100), 1, 100), ((60, 7), 0, 3), ((9, 1), 1, 1)], ids=str
)
@pytest.mark.parametrize("largest", [True, False])
def test_largest_elements(computed, shape, axis, k, largest):
    x = RANDOM.integers(0, 40, shape).astype("float32")
    places = np.argsort(-x if largest else x, axis, kind="stable").take(range(k), axis)
    values, found = computed(lambda v: ordered.top_k(v, k, axis, largest), x)
    np.testing.assert_array_equal(found, places)
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis))


def elements(shape, dtype):
    """Few values, so that many are equal; with NaN and both zeros where there are such."""
    x = RANDOM.integers(-9, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[RANDOM.random(shape) < 0.2] *= np.asarray(-0.0, dtype)
        x[RANDOM.random(shape) < 0.1] = np.nan
    return x


def ranked(x, k, axis, largest):
    """The values and places of the k first: NaN is larger than all, of equal ones the first comes first."""
    order = np.argsort(np.nan_to_num(x.astype("float64"), nan=99) * (-1 if largest else 1), axis, kind="stable")
    places = order.take(range(k), axis)
    return np.take_along_axis(x, places, axis), places


@pytest.mark.parametrize(
    ("shape", "axis", "k", "dtype"),
    [
        ((1,), 0, 1, "float32"), ((5, 37), 1, 37, "float32"), ((5, 37), 1, 1, "float16"), ((7, 3, 6), 1, 2, "int64"),
        ((300,), 0, 300, "float32"), ((2, 257), 1, 5, "float64"), ((130, 2), 0, 70, "int8"),
        ((2, 40), 1, 24, "float32"),
        ((3, 64), 1, 33, "uint8"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("largest", [True, False])
def test_threads_sort_without_races(by_threads, shape, axis, k, dtype, largest):
    x = elements(shape, dtype)
    found = by_threads(lambda v: ordered.top_k(v, k, axis, largest), x)
    for result, expected in zip(found, ranked(x, k, axis, largest), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("shape", "axis", "k", "dtype"),
    [
        ((5000,), 0, 5000, "float32"), ((9000,), 0, 40, "float16"), ((3, 2049), 1, 2, "int64"), ((0, 4), 1, 2, "int8"),
        ((40, 17), 0, 3, "float64"),
    ],
    ids=str,
)  # fmt: skip
def test_devices_sort_as_processors(on_device, computed, shape, axis, k, dtype):
    x = elements(shape, dtype)
    expected = computed(lambda v: ordered.top_k(v, k, axis), x) if x.size < 5000 else ranked(x, k, axis, True)
    for result, wanted in zip(on_device(lambda v: ordered.top_k(v, k, axis), x), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_each_launch_leaves_fewer_runs():
    for rows, length in ((1, 1), (1, 2548), (7, 5000), (2000, 4097), (1, 70_000)):
        for k in {1, -(-length // 3), min(length, 1500), length}:
            sort = BlockSort(te.ir_builder.create(), rows, length, k, DType.of("float32"), operator.gt, GPU)
            phases = sort.phases()
            for before, after in itertools.pairwise(phases):
                assert after.spans < before.spans
                assert (after.count, after.run) == (before.left, before.kept)
            assert phases[-1].left == k


@pytest.mark.parametrize(("k", "launches"), [(100_000, 7), (40, 2)])
def test_many_threads_sort_a_long_row(k, launches):
    sort = BlockSort(te.ir_builder.create(), 1, 100_000, k, DType.of("float32"), operator.gt, GPU)
    phases = sort.phases()
    assert len(phases) == launches
    assert phases[0].spans >= GPU.units
    assert phases[-1].left == k


@pytest.mark.parametrize("right", [False, True])
def test_places_of_values_in_order(computed, right):
    sequence, values = np.array([1, 2, 2, 4], "float32"), np.array([0, 1, 2, 3, 4, 9, np.nan], "float32")
    found = computed(lambda s, v: ordered.search_sorted(s, v, right), sequence, values)
    np.testing.assert_array_equal(found, np.searchsorted(sequence, values, "right" if right else "left"))
