"""Adaptive pools by hand; sateen-graph-ir compares them with slices of NumPy."""

import numpy as np
import pytest

from sateen.topi.computations import adaptive_pooling
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.pool_methods import Lines, Windows
from sateen.topi.types import Layout

X = np.array([1, 2, 4, 8, 16, 32, 64], "float32").reshape(1, 1, 7)


@pytest.mark.parametrize(
    ("shape", "windows"),
    [
        ((3,), [(0, 3), (2, 5), (4, 7)]),
        ((2,), [(0, 4), (3, 7)]),
        ((7,), [(i, i + 1) for i in range(7)]),
        ((1,), [(0, 7)]),
    ],
)
def test_windows_overlap_where_the_places_do_not_divide_the_elements(computed, shape, windows):
    for function, of_window in (
        (adaptive_pooling.adaptive_average_pool, np.mean),
        (adaptive_pooling.adaptive_max_pool, np.max),
    ):
        found = computed(lambda x, f=function: f(x, shape), X)
        np.testing.assert_allclose(found[0, 0], [of_window(X[0, 0, a:b]) for a, b in windows], rtol=1e-6)


def test_more_places_than_elements_repeat_them(computed):
    found = computed(lambda x: adaptive_pooling.adaptive_max_pool(x, (14,)), X)
    np.testing.assert_array_equal(found[0, 0], X[0, 0].repeat(2))


@pytest.mark.parametrize(
    ("shape", "methods"), [((3, 4), [Passes(1), Passes(40)]), ((5, 3), [Windows(1, 2), Windows(2, 3), Lines(2, 1)])]
)
def test_methods_give_the_same(run_views, view, random, lanes, shape, methods):
    x = random.standard_normal((1, 2 * lanes, 10, 9)).astype("float32")
    data = view(x, "x", Layout.blocked(4, 1, lanes))
    for function in (adaptive_pooling.adaptive_average_pool, adaptive_pooling.adaptive_max_pool):
        (expected,) = run_views(function(data, shape), [data], [x])
        for method in methods:
            if not (isinstance(method, Lines) and function is adaptive_pooling.adaptive_average_pool):
                (y,) = run_views(function(data, shape, method=method), [data], [x])
                np.testing.assert_array_equal(y, expected)
