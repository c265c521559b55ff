"""Views: the same elements as NumPy's, of arrays whose memory nobody reads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError
from sateen.runtime.views import View, compact_strides, runs

SHAPE = (4, 5, 1, 6)
NUMBERS = np.arange(240).reshape(2, 4, 5, 1, 6)[1]


def view_of(array: np.ndarray[Any, Any]) -> View:
    """A view of the numbers, as NumPy has it."""
    first = int(array.ravel()[0]) - 120 if array.size else 0
    return View(array.shape, tuple(s // array.itemsize for s in array.strides), first)


def elements(view: View) -> np.ndarray[Any, Any]:
    grid = np.indices(view.shape)
    return 120 + view.offset + sum((i * s for i, s in zip(grid, view.strides, strict=True)), np.zeros(view.shape, int))


WHOLE = View(SHAPE, compact_strides(SHAPE))


@pytest.mark.parametrize(
    "key",
    [
        0, -1, (1, 2), (1, 2, 0, 5), slice(None), slice(1, 3), slice(None, None, -1), slice(5, 2), slice(-3, None, 2),
        ..., (..., 2), (1, ..., 3), (None, 2), (slice(None), None, -2),
        (slice(3, None, -2), slice(1, None, 3), ..., None), (), (np.int64(2), slice(0, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_basic_indices_are_those_of_numpy(key: Any) -> None:
    expected = NUMBERS[key]
    found = WHOLE.indexed(key)
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(elements(found), expected)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (4, r"expected an index in \[-4, 4\), found 4"),
        ((0, 0, 0, 0, 0), "expected at most 4 indices, found 5"),
        ((..., ...), "expected one ellipsis at most"),
        (True, "expected integers, slices, None or an ellipsis as indices on a device, found None"),
        ([0, 1], r"found \[0, 1\]; numpy\(\) copies the array, which takes others"),
        (1.0, r"found 1\.0"),
    ],
)
def test_other_indices_are_refused(key: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        WHOLE.indexed(key)


def test_axes_are_moved_and_repeated() -> None:
    np.testing.assert_array_equal(elements(WHOLE.transposed(())), NUMBERS.T)
    np.testing.assert_array_equal(elements(WHOLE.transposed((1, -1, 0, 2))), NUMBERS.transpose(1, 3, 0, 2))
    np.testing.assert_array_equal(elements(WHOLE.broadcast((2, 4, 5, 3, 6))), np.broadcast_to(NUMBERS, (2, 4, 5, 3, 6)))
    np.testing.assert_array_equal(elements(WHOLE.indexed(1).reshaped((3, -1))), NUMBERS[1].reshape(3, -1))


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: WHOLE.transposed((0, 0, 1, 2)), r"expected an order of 4 axes, found \(0, 0, 1, 2\)"),
        (lambda: WHOLE.broadcast((4, 5, 6)), r"expected a shape that repeats \(4, 5, 1, 6\), found \(4, 5, 6\)"),
        (lambda: WHOLE.reshaped((7, -1)), r"expected a shape of 120 elements, found \(7, -1\)"),
        (lambda: WHOLE.reshaped((-120, -1)), "expected a shape of 120 elements"),
        (lambda: WHOLE.transposed(()).reshaped((120,)), r"expected elements in row-major order .*; to\(\) makes a"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(use: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        use()


def test_runs_are_all_elements_of_both_in_turn() -> None:
    draw = random.Random(3)
    for _ in range(200):
        keys = []
        for extent in SHAPE:
            begin = draw.randrange(extent)
            keys.append(slice(begin, draw.randint(begin, extent), draw.choice((1, 1, 2))))
        one = view_of(NUMBERS[tuple(keys)].transpose(draw.sample(range(4), 4)))
        other = View(one.shape, compact_strides(one.shape), draw.randrange(9))
        length, begins = runs(one, other)
        found = [(a + i, b + i) for a, b in (begins if 0 not in one.shape else ()) for i in range(length)]
        assert [a + 120 for a, _ in found] == elements(one).ravel().tolist()
        assert [b for _, b in found] == list(range(other.offset, other.offset + len(found)))


def test_neighbours_are_one_run() -> None:
    assert runs(WHOLE.indexed(slice(1, 3)), View((2, 5, 1, 6), (30, 6, 6, 1)))[0] == 60
    assert runs(WHOLE.indexed((..., slice(2))), View((4, 5, 1, 2), (10, 2, 2, 1)))[0] == 2
