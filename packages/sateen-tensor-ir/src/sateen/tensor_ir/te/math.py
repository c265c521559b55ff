"""Functions of te that are built on others; docs/semantics.md gives accuracy and special values."""

from __future__ import annotations

from typing import Any

from sateen.tensor_ir.functions.arithmetic import sqrt
from sateen.tensor_ir.functions.integer import bitwise_xor
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, as_expr
from sateen.tensor_ir.ir.types import int_range


def rsqrt(x: Any) -> Expr:
    """1 / √x."""
    return 1.0 / sqrt(x)


def isnan(x: Any) -> Expr:
    """Whether x is NaN."""
    x = as_expr(x)
    return ex.compare(ex.NE, x, x)


def abs(x: Any) -> Expr:  # noqa: A001 - te's word
    """Magnitude; the smallest integer is its own."""
    return ex.absolute(as_expr(x))


def bitwise_not(x: Any) -> Expr:
    """Every bit inverted."""
    x = as_expr(x)
    return bitwise_xor(x, -1 if int_range(x.dtype)[0] < 0 else int_range(x.dtype)[1])
