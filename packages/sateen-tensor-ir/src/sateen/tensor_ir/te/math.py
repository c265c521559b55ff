"""Functions of te that are built on others; docs/semantics.md gives accuracy and special values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.functions.arithmetic import round, sqrt, trunc  # noqa: A004 - te's words
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, bitwise_xor
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import select
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


def likely(condition: Any) -> Expr:
    """The condition. That it mostly holds is no news to loops here: wherever one can be cut at a condition it is."""
    return ex.as_condition(condition, "likely")


def floordiv(x: Any, y: Any) -> Expr:
    """⌊x / y⌋ of integers: `x // y`."""
    return ex.floordiv(x, y)


def floormod(x: Any, y: Any) -> Expr:
    """The remainder of `floordiv`, with the sign of y: `x % y`."""
    return ex.floormod(x, y)


def truncdiv(x: Any, y: Any) -> Expr:
    """x / y of integers, rounded towards zero, as C divides them."""
    x, y = _integers(x, y, "truncdiv")
    quotient = x // y
    return select(_is_moved(x, y), quotient + 1, quotient)


def truncmod(x: Any, y: Any) -> Expr:
    """The remainder of `truncdiv`, with the sign of x: C's `%`."""
    x, y = _integers(x, y, "truncmod")
    remainder = x % y
    return select(_is_moved(x, y), remainder - y, remainder)


def _integers(x: Any, y: Any, name: str) -> tuple[Expr, Expr]:
    a, b = ex.of_one_type(x, y, name)
    if not a.dtype.is_int:
        raise ExpressionError(f"{name} expects integers, found {a.dtype}")
    return a, b


def _is_moved(x: Expr, y: Expr) -> Expr:
    """Whether the quotient of integers rounded down is not that rounded towards zero."""
    if int_range(x.dtype)[0] == 0:
        return ex.FALSE
    opposed = ex.logical_or(ex.logical_and(x < 0, y > 0), ex.logical_and(x > 0, y < 0))
    return ex.logical_and(opposed, (x % y).not_equal(0))


def indexdiv(x: Any, y: Any) -> Expr:
    """x // y of indices that are at least 0, for which all divisions of integers agree."""
    return ex.floordiv(x, y)


def indexmod(x: Any, y: Any) -> Expr:
    """x % y of indices that are at least 0, for which all remainders agree."""
    return ex.floormod(x, y)


def div(x: Any, y: Any) -> Expr:
    """x / y as C divides: `truncdiv` of integers, `/` of floating-point numbers."""
    a, b = ex.of_one_type(x, y, "div")
    return truncdiv(a, b) if a.dtype.is_int else ex.divide(a, b)


def nearbyint(x: Any) -> Expr:
    """To the nearest integer, ties to even: `round` by the name of C."""
    return round(x)


def fmod(x: Any, y: Any) -> Expr:
    """The remainder of x / y rounded towards zero, with the sign of x; exact, as C's fmod. Of float64 it is NaN where
    the quotient is 2^500 or more."""
    x, y = ex.of_one_type(x, y, "fmod")
    if not x.dtype.is_float:
        raise ExpressionError(f"fmod expects floating-point operands, found {x.dtype}; use truncmod for integers")
    if x.dtype.bits == 16:
        return _fmod(x.astype("float32"), y.astype("float32")).astype(x.dtype)
    return _fmod(x, y)


def _fmod(a: Expr, b: Expr) -> Expr:
    """Of products and differences alone, which neither need float64 nor a fused multiply-add.

    Step k takes as many of the divisor's 2^(bits·k)-fold off the rest as fit, or one more, as the quotient is rounded.
    Their number has `bits` bits, and so has each part of the divisor (one more in float64), so that products are exact.
    So are the differences: they are multiples of the last place of the rest, or of the divisor's, and not larger than
    these. The steps cover all quotients of float32, and of float64 those below 2^500.
    """
    bits, steps, integer = (26, 20, "int64") if a.dtype.bits == 64 else (12, 24, "int32")
    largest = float(np.finfo(a.dtype.numpy).max)
    x, y = ex.absolute(a), ex.absolute(b)
    finite = ex.minimum(y, largest)
    high = ex.reinterpret(a.dtype, bitwise_and(ex.reinterpret(integer, finite), ex.const(-(1 << bits), integer)))
    scaled = [(y, high, finite - high)]
    for _ in range(steps - 1):
        whole, upper, lower = scaled[-1]
        scaled.append((whole * 2.0**bits, upper * 2.0**bits, lower * 2.0**bits))
    rest = x
    for whole, upper, lower in reversed(scaled):
        number = trunc(rest / whole)  # 0 where the whole is infinite
        rest = rest - number * ex.minimum(upper, largest) - number * ex.minimum(lower, largest)
    rest = select(rest < 0, rest + y, rest)
    rest = select(ex.logical_and(rest >= 0, rest < y), rest, math.nan)
    sign = bitwise_and(ex.reinterpret(integer, a), ex.const(-(1 << (a.dtype.bits - 1)), integer))
    return ex.reinterpret(a.dtype, bitwise_or(ex.reinterpret(integer, rest), sign))


def atan(x: Any) -> Expr:
    """Arc tangent: reduced to [0, tan(π/16)] by atan x = π/2 - atan 1/x and atan x = 2 atan(x / (1 + √(1 + x²))), then
    its series."""
    x = as_expr(x)
    if not x.dtype.is_float:
        raise ExpressionError(f"atan expects a floating-point operand, found {x.dtype}")
    size = ex.absolute(x)
    is_large = size > 1.0
    t = select(is_large, 1.0 / size, size)
    for _ in range(2):
        t = t / (sqrt(t * t + 1.0) + 1.0)
    square = t * t
    *coefficients, last = [(-1.0) ** k / (2 * k + 1) for k in range(12 if x.dtype.bits == 64 else 6)]
    series: Expr = ex.const(last, x.dtype)
    for coefficient in reversed(coefficients):
        series = series * square + coefficient
    angle = series * t * 4.0
    angle = select(is_large, math.pi / 2 - angle, angle)
    return select(x < 0.0, -angle, angle)
