"""Padding as formats state it."""

import pytest

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads
from sateen.graph_ir.ir import Symbol


@pytest.mark.parametrize(
    ("extent", "stride", "reach", "pads"),
    [(5, 1, 3, (1, 1)), (6, 2, 3, (0, 1)), (5, 2, 2, (0, 1)), (5, 3, 1, (0, 0)), (7, 4, 2, (0, 0)), (4, 1, 4, (1, 2))],
)
def test_same_gives_as_many_outputs_as_strides_fit(extent, stride, reach, pads):
    assert same_pads([extent], [stride], [reach], "x") == pads
    assert same_pads([extent], [stride], [reach], "x", odd_at_end=False) == pads[::-1]
    assert (extent + sum(pads) - reach) // stride + 1 == -(-extent // stride)


def test_same_of_an_open_dimension_needs_no_number_where_it_cancels():
    assert same_pads([Symbol("n")], [1], [3], "x") == (1, 1)
    with pytest.raises(UnsupportedError, match="x depends on dimensions without a number: n"):
        same_pads([Symbol("n")], [2], [3], "x")


def test_strides_are_no_longer_than_the_data():
    assert limited_strides((9, 2), (4, 4), (1, 0, 1, 0)) == (6, 2)
