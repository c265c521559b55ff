"""Running sums and the largest elements against NumPy."""

import numpy as np
import pytest

from sateen.topi.computations import ordered

RANDOM = np.random.default_rng(0)


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


@pytest.mark.parametrize("right", [False, True])
def test_places_of_values_in_order(computed, right):
    sequence, values = np.array([1, 2, 2, 4], "float32"), np.array([0, 1, 2, 3, 4, 9, np.nan], "float32")
    found = computed(lambda s, v: ordered.search_sorted(s, v, right), sequence, values)
    np.testing.assert_array_equal(found, np.searchsorted(sequence, values, "right" if right else "left"))
