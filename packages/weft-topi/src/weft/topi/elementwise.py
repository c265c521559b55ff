"""Element-wise operators of one input: the value of each element from the same element."""

from __future__ import annotations

from collections.abc import Callable

from weft.runtime.dtype import DType
from weft.tensor_ir import te
from weft.topi.layout import Layout, View, compute
from weft.topi.operator import Computation


def unary(x: View, function: Callable[[te.Expr], te.Expr], name: str, layout: Layout | None = None) -> Computation:
    """function(x), element by element; in the layout of x unless another is given."""
    return Computation((compute(x.shape, lambda *i: function(x(*i)), name, layout or x.layout),))


def relu(x: View, layout: Layout | None = None) -> Computation:
    """max(x, 0); NaN stays."""
    return unary(x, lambda e: te.maximum(e, te.const(0, e.dtype)), "relu", layout)


def clip(x: View, low: float | None, high: float | None, layout: Layout | None = None) -> Computation:
    """x limited to [low, high]; None is no limit, NaN stays."""

    def limit(e: te.Expr) -> te.Expr:
        e = e if low is None else te.maximum(e, te.const(low, e.dtype))
        return e if high is None else te.minimum(e, te.const(high, e.dtype))

    return unary(x, limit, "clip", layout)


def cast(x: View, dtype: DType | str, layout: Layout | None = None) -> Computation:
    """x converted to another type (docs/semantics.md, conversions)."""
    return unary(x, lambda e: te.cast(dtype, e), "cast", layout)
