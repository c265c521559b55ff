"""The parts of elementary functions of float32: bit patterns, polynomials, significand and exponent.

All are branch-free expressions that a vector loop evaluates in every lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.dtype import DType
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, shift_left, shift_right
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, minimum, reinterpret
from sateen.tensor_ir.ir.types import FLOAT32

INT32 = DType.of("int32")
UINT64 = DType.of("uint64")
INFINITY = float("inf")
NAN = float("nan")

SIGNIFICAND_BITS = 23
SMALLEST_NORMAL = 2.0**-126
SIGN = -(1 << 31)  # the sign bit as int32
_INFINITY_BITS = 0x7F800000
_ROOT_HALF = 0x3F3504F3  # the bits of √½


def bits(x: Expr) -> Expr:
    """The bit pattern of a float32 as int32."""
    return reinterpret(INT32, x)


def from_bits(pattern: Expr) -> Expr:
    """The float32 of a bit pattern."""
    return reinterpret(FLOAT32, pattern)


def with_sign_of(magnitude: Expr, x: Expr) -> Expr:
    """`magnitude`, which has a clear sign bit or is NaN, with the sign of `x`."""
    return from_bits(bitwise_or(bits(magnitude), bitwise_and(bits(x), SIGN)))


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Σ coefficients[i]·x^i, by Horner's rule."""
    result: Expr = const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def scale(x: Expr, exponent: Expr) -> Expr:
    """x·2^exponent, rounded once, for x in [½, 2) and an int32 exponent in [-190, 128]; infinity from 2^128 on.

    The exponent is added to the bits of x. If the product may be subnormal it is first made 2^64 times as large.
    """
    is_tiny = exponent < -125
    lifted = exponent + select(is_tiny, const(64, INT32), const(0, INT32))
    result = from_bits(minimum(bits(x) + shift_left(lifted, SIGNIFICAND_BITS), const(_INFINITY_BITS, INT32)))
    return select(is_tiny, result * 2.0**-64, result)


def split(x: Expr) -> tuple[Expr, Expr]:
    """(k, m), int32 and float32, with x = 2^k·m and m in [√½, √2). Any values for x that is not finite and positive."""
    is_subnormal = x < SMALLEST_NORMAL
    pattern = bits(select(is_subnormal, x * 2.0**24, x))
    k = shift_right(pattern - _ROOT_HALF, SIGNIFICAND_BITS)
    m = from_bits(pattern - shift_left(k, SIGNIFICAND_BITS))
    return k - select(is_subnormal, const(24, INT32), const(0, INT32)), m
