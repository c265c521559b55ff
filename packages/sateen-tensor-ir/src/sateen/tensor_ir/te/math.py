"""Functions of te that are made of others: docs/semantics.md gives accuracy and special values."""

from __future__ import annotations

from typing import Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.functions.arithmetic import sqrt
from sateen.tensor_ir.functions.integer import bitwise_xor
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import BOOL, Expr, as_expr, call


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
    return bitwise_xor(x, -1 if ex.int_range(x.dtype)[0] < 0 else ex.int_range(x.dtype)[1])


def reinterpret(dtype: DType | str, x: Any) -> Expr:
    """The bits of x as another type of the same width."""
    x, kind = ex.as_data(as_expr(x)), ex.element_type(dtype)
    if kind.bits != x.dtype.bits or BOOL in (kind, x.dtype):
        raise ExpressionError(f"reinterpret expects types of equal width, found {x.dtype} as {kind}")
    return call("reinterpret", [x], kind)
