"""Conversion of a tensor to another layout."""

from __future__ import annotations

from sateen.topi.computations.arguments import require, require_views
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, compute


def convert_layout(x: View, layout: Layout) -> Computation:
    """The same tensor in another layout."""
    require_views("convert_layout", x=x)
    require(isinstance(layout, Layout), "convert_layout", "a Layout", type(layout).__name__)
    require(layout.rank == x.ndim, "convert_layout", f"a layout of {x.ndim} axes", layout)
    return Computation((compute(x.shape, x, "convert_layout", layout),))
