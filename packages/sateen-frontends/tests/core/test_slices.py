"""Ranges of axes against Python's own, and of axes whose extent is open."""

import numpy as np
import pytest

from sateen.frontends.core.slices import FARTHEST, Masks, limited_step, range_within, turned
from sateen.graph_ir import Symbol
from sateen.runtime.errors import FrontendError, InferenceError

PLACES = (None, -9, -4, -1, 0, 2, 4, 9)
N = Symbol("n")


@pytest.mark.parametrize("step", [1, 2, 9, -1, -3])
def test_ranges_are_those_of_python(step):
    data = np.arange(4)
    for begin in PLACES:
        for end in PLACES:
            start, stop, stride = range_within(begin, end, step, 4)
            found = [int(data[i]) for i in range(start, stop, stride)]
            assert found == data[begin:end:step].tolist(), (begin, end)


def test_ranges_of_open_axes_go_to_their_ends():
    assert range_within(None, None, 1, N) == (0, N, 1)
    assert range_within(0, FARTHEST, 1, N) == (0, N, 1)
    assert range_within(None, None, -1, N) == (N - 1, -1, -1)
    with pytest.raises(InferenceError):
        range_within(3, None, 1, N)


def test_a_step_of_none_is_refused():
    with pytest.raises(FrontendError, match="expected strides other than 0"):
        range_within(0, 1, 0, 4)
    assert limited_step(-9, 4) == -4


def test_masks_say_what_ranges_are():
    assert Masks(0, 0, ellipsis=2, new_axis=1, shrink_axis=4).ranges(3, 3) == [
        (0, "new"), (None, "all"), (None, "all"), (2, "one"),
    ]  # fmt: skip
    with pytest.raises(FrontendError, match="expected ranges for 1 axes, found 2 and 0 ellipses"):
        Masks(0, 0, 0, 0, 0).ranges(2, 1)
    with pytest.raises(FrontendError, match="found 0 and 2 ellipses"):
        Masks(0, 0, ellipsis=3, new_axis=0, shrink_axis=0).ranges(2, 1)


def test_axes_are_turned_around():
    op = turned((2, 3), (1,))
    assert (op.starts, op.ends, op.steps) == ((0, 2), (2, -1), (1, -1))
