"""Which epilogues read the result of an operator in place."""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.topi.schedules import reads_in_place
from sateen.topi.types import Layout, compute, placeholder

SHAPE = (1, 8, 4, 4)


def test_an_element_wise_epilogue_in_blocks_reads_in_place() -> None:
    """Its indices, such as (i·4 + k) // 4, are the axes themselves in their ranges."""
    layout = Layout.parse("aBcd4b")
    x = placeholder(SHAPE, "float32", "x", layout)
    y = compute(SHAPE, lambda *i: te.maximum(x(*i), 0.0), "y", layout)
    assert reads_in_place(y.tensor, x.tensor)


def test_an_epilogue_that_moves_elements_does_not() -> None:
    x = placeholder(SHAPE, "float32", "x")
    transposed = compute(SHAPE, lambda n, c, h, w: x(n, c, w, h), "transposed")
    blocked = compute(SHAPE, x, "blocked", Layout.parse("aBcd4b"))
    assert not reads_in_place(transposed.tensor, x.tensor)
    assert not reads_in_place(blocked.tensor, x.tensor)
