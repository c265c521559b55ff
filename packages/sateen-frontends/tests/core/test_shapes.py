"""Shapes with -1 for what remains, and axes of extent 1."""

import pytest

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.graph_ir.ir import Symbol
from sateen.runtime.errors import FrontendError

N = Symbol("n")


def test_minus_one_is_what_remains():
    assert filled_shape((2, -1), (3, 4)) == (2, 6)
    assert filled_shape((N, -1), (N, 3, 4)) == (N, 12)
    assert filled_shape((-1, 4), (N, 4, 2)) == (2 * N, 4)
    assert filled_shape((12,), (3, 4)) == (12,)
    assert filled_shape((), (1, 1)) == ()


@pytest.mark.parametrize(
    ("wanted", "source", "text"),
    [
        ((-1, -1), (4,), "at most one -1"),
        ((-2, 2), (4,), "at most one -1"),
        ((3, -1), (4,), "can't hold the 4 elements"),
        ((0, -1), (4,), "can't hold the 4 elements"),
        ((5,), (4,), "can't hold the 4 elements"),
        ((1,) * 33, (1,), "at most 32 dimensions, found 33"),
    ],
)
def test_a_shape_that_cannot_hold_the_elements_is_refused(wanted, source, text):
    with pytest.raises(FrontendError, match=text):
        filled_shape(wanted, source)


def test_open_dimensions_that_decide_are_named():
    with pytest.raises(UnsupportedError, match=r"whether shape .* depends on dimensions without a number: n"):
        filled_shape((4, 3), (N, 3))
    with pytest.raises(UnsupportedError, match="input 0 depends on dimensions without a number: n"):
        squeezed_axes((N, 1), None, "input 0")


def test_axes_of_extent_one_go_and_come():
    assert squeezed_axes((1, 3, 1), None, "input 0") == (0, 2)
    assert squeezed_axes((1, N, 1), (-1,), "input 0") == (2,)
    assert without_axes((1, N, 1), (2,)) == (1, N)
    assert with_axes((N, 3), (0, -1)) == (1, N, 3, 1)
    with pytest.raises(FrontendError, match="expected axis 1 to have extent 1, found 3"):
        squeezed_axes((1, 3), (1,), "input 0")
    with pytest.raises(FrontendError, match="expected each axis once"):
        with_axes((3,), (1, 1))
