import numpy as np
import pytest

from sateen.graph_ir.judge import Difference, difference, element_difference


@pytest.mark.parametrize(
    ("found", "expected", "apart"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
        ([np.nan, np.inf, 2.0], [np.nan, np.inf, 2.0], 0.0),
        ([np.nan, 1.0], [1.0, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([np.inf, 1.0], [3.0, 1.0], np.inf),
        ([], [], 0.0),
    ],
)
def test_the_difference_is_relative_to_the_largest(found, expected, apart):
    assert difference(np.array(found), np.array(expected)).overall == apart


def test_integers_shapes_and_types_must_be_equal():
    ones = np.ones((2, 3), np.int64)
    assert difference(ones, ones) == Difference(0, 0)
    assert difference(ones, ones + 1) == Difference(np.inf, np.inf)
    assert difference(ones, ones.T) == Difference(np.inf, np.inf)
    assert difference(ones, ones.astype(np.int32)) == Difference(np.inf, np.inf)


def test_a_row_is_held_to_its_own_largest():
    expected = np.array([[1000.0, 500.0], [1.0, 0.5]])
    found = np.add(expected, [[0.1, 0.1], [0.1, 0.0]])
    apart = difference(found, expected)
    assert apart.overall == pytest.approx(1e-4)
    assert apart.local == pytest.approx(0.1)


def test_a_pixel_is_held_to_the_largest_within_a_tile_of_all_channels():
    expected = np.full((1, 2, 40, 40), 0.5)
    expected[0, 1, 20, 20] = 1000
    near, far = expected.copy(), expected.copy()
    near[0, 0, 27, 12] += 0.5
    far[0, 0, 29, 20] += 0.5
    assert difference(near, expected).local == pytest.approx(5e-4)
    assert difference(far, expected).local == pytest.approx(1)


def test_noise_in_rows_of_zeros_counts_from_the_rounding_of_the_largest_on():
    expected = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert difference(np.add(expected, [[0, 0], [1e-7, 0]]), expected).local > 1
    assert difference(np.add(expected, [[0, 0], [1e-13, 0]]), expected).local < 1e-5


def test_what_is_not_finite_in_both_leaves_the_rest_to_be_compared():
    expected = np.array([[np.inf, 1.0], [np.nan, 2.0]])
    assert difference(expected, expected) == Difference(0, 0)
    assert difference(np.add(expected, [[0, 0.5], [0, 0]]), expected) == Difference(0.25, 0.5)


def test_an_element_is_held_to_the_terms_that_cancel_in_it():
    exact, found = np.array([0.0, 5.0, np.inf]), np.array([1e-6, 5.0, np.inf], np.float32)
    assert element_difference(found, exact, np.array([10.0, 5.0, np.inf])) == pytest.approx(1e-7)
    assert element_difference(found, exact, np.zeros(3)) == np.inf


def test_who_is_times_as_far_is_compared_in_both():
    assert Difference(4e-3, 2e-3).is_within(Difference(1e-3, 1e-3), 4)
    assert not Difference(1e-3, 5e-3).is_within(Difference(1e-3, 1e-3), 4)
