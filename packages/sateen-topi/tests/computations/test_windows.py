"""Windows: extents of convolutions and of their transposes."""

from itertools import product

import pytest

from sateen.topi import Symbol
from sateen.topi.computations.windows import Window

WINDOWS = [
    Window((kernel,), (stride,), pads, (dilation,))
    for kernel, stride, pads, dilation in product((1, 2, 3), (1, 2, 3), ((0, 0), (1, 0), (1, 2)), (1, 2))
]


def extent_after(window: Window, extent: int) -> int:
    """Positions of the window, counted."""
    end = extent + window.pads[0] + window.pads[1] - window.reach(0)
    return len(range(0, end + 1, window.strides[0]))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_output_counts_the_positions_of_a_window(window):
    assert [window.output((n,)) for n in range(8, 13)] == [(extent_after(window, n),) for n in range(8, 13)]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_what_the_transpose_gives_has_as_many_positions_as_its_input(window):
    for padding in range(window.strides[0]):
        (extent,) = window.transposed_output((9,), (padding,))
        assert extent_after(window, extent) == 9
    (without,) = window.transposed_output((9,), (0,))
    assert extent_after(window, without - 1) == 8


def test_symbols_stay_in_extents_of_the_transpose():
    n = Symbol("n")
    window = Window((3, 3), (2, 1), (1, 1, 1, 1), (1, 2))
    assert window.transposed_output((n, n), (1, 0)) == (2 * n, n + 2)
    assert window.reaches == (3, 5)
