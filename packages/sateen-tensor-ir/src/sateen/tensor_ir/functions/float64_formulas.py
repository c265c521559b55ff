"""exp, log, log2, log10, tanh and erf of float64 by arithmetic, where there is no C library that has them.

The polynomials are Taylor's, whose coefficients need no derivation, with as many terms as float64 has bits for: of
e^r - 1 on |r| ≤ ½ ln 2 the rest is 2^-56 of it, and of ln((1 + s)/(1 - s)) for |s| ≤ 0.1716 less than 2^-59. The parts
of logarithms are summed as in fdlibm (e_log.c, e_log10.c), the smallest first.
"""

from __future__ import annotations

import math

from sateen.tensor_ir.functions.arithmetic import fabs
from sateen.tensor_ir.functions.bit_patterns import INFINITY, NAN, polynomial
from sateen.tensor_ir.functions.function import FLOAT64
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, shift_left, shift_right
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, maximum, minimum, reinterpret
from sateen.tensor_ir.ir.types import INT64

_SIGNIFICAND_BITS = 52
_BIAS = 1023
_SIGN = -(1 << 63)
_ROUNDER = 1.5 * 2.0**52  # adding it rounds to an integer, which the low bits of the sum then hold
_ROUNDER_BITS = 0x4338000000000000
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
_SMALLEST_NORMAL = 2.0**-1022

_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits: its products with exponents are exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_LOG10_2_HIGH = float.fromhex("0x1.34413509f6000p-2")
_LOG10_2_LOW = float.fromhex("0x1.9fef311f12b36p-42")

_EXPM1 = tuple(1.0 / math.factorial(k) for k in range(2, 14))
_LOG1P = tuple(2.0 / (2 * k + 1) for k in range(1, 11))

_ERF = tuple(2.0**n / math.prod(range(1, 2 * n + 2, 2)) for n in range(101))

_LARGEST = 710.0  # e^x is infinite from 709.79 on
_SMALLEST = -746.0  # and rounds to 0 below -745.14


def _constant(value: float) -> Expr:
    return const(value, FLOAT64)


def _power_of_two(n: Expr) -> Expr:
    """2^n as float64 for an int64 n in [-1022, 1023]."""
    return reinterpret(FLOAT64, shift_left(n + _BIAS, _SIGNIFICAND_BITS))


def _reduce(x: Expr) -> tuple[Expr, Expr]:
    """(n, e^r - 1), int64 and float64, with x = n·ln 2 + r and |r| ≤ ½ ln 2."""
    rounded = x * (1.0 / math.log(2.0)) + _ROUNDER
    n = rounded - _ROUNDER
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    return reinterpret(INT64, rounded) - _ROUNDER_BITS, r * r * polynomial(r, _EXPM1) + r


def exp64(x: Expr) -> Expr:
    """e^x, subnormal results included: 2^n is two factors, of which only the second rounds."""
    n, expm1 = _reduce(minimum(maximum(x, _SMALLEST), _LARGEST))
    first = shift_right(n, 1)
    result = (1.0 + expm1) * _power_of_two(first) * _power_of_two(n - first)
    return select(x.equal(x), result, x)


def tanh64(x: Expr) -> Expr:
    """(1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; 1 from 19.07 on."""
    magnitude = fabs(x)
    n, expm1 = _reduce(-2.0 * select(magnitude > 20.0, 20.0, magnitude))
    power = _power_of_two(n)
    rest = (1.0 - power) - power * expm1
    sign = bitwise_and(reinterpret(INT64, x), _SIGN)
    return reinterpret(FLOAT64, bitwise_or(reinterpret(INT64, rest / (2.0 - rest)), sign))


def erf64(x: Expr) -> Expr:
    """2/√π·x·e^(-x²)·Σ 2^n·x^2n / (2n + 1)!!, whose terms all have one sign (NIST Handbook of Mathematical Functions,
    7.6.2); 1 from 5.93 on.

    The sum is of the upper 26 bits of x, whose square is exact: an error of x² would be one of the exponent. For the
    lower bits the slope and half the curvature suffice.
    """
    magnitude = fabs(x)
    t = select(magnitude > 6.0, 6.0, magnitude)
    high = reinterpret(FLOAT64, bitwise_and(reinterpret(INT64, t), -(1 << 27)))
    low, square = t - high, high * high
    total = high * polynomial(square, _ERF) + low * (1.0 - high * low)
    result = minimum(2.0 / math.sqrt(math.pi) * exp64(-square) * total, 1.0)
    sign = bitwise_and(reinterpret(INT64, x), _SIGN)
    return reinterpret(FLOAT64, bitwise_or(reinterpret(INT64, result), sign))


def _split(x: Expr) -> tuple[Expr, Expr]:
    """(k, f), both float64, with x = 2^k·(1 + f) and 1 + f in [√½, √2). Any values for x that is not finite and
    positive."""
    is_subnormal = x < _SMALLEST_NORMAL
    pattern = reinterpret(INT64, select(is_subnormal, x * 2.0**54, x))
    k = shift_right(pattern - _ROOT_HALF, _SIGNIFICAND_BITS)
    m = reinterpret(FLOAT64, pattern - shift_left(k, _SIGNIFICAND_BITS))
    return k.astype(FLOAT64) - select(is_subnormal, _constant(54.0), _constant(0.0)), m - 1.0


def _correction(f: Expr) -> Expr:
    """f - ln(1 + f): with s = f/(2 + f), ln(1 + f) = f - f²/2 + s·(f²/2 + Σ 2 s^2k/(2k + 1))."""
    s = f / (2.0 + f)
    square, half = s * s, 0.5 * f * f
    return half - s * (half + square * polynomial(square, _LOG1P))


def _of_positive(x: Expr, logarithm: Expr) -> Expr:
    """A logarithm of x, which is given for finite positive x; -inf for either zero, NaN below."""
    beyond = select(x.equal(0.0), _constant(-INFINITY), select(x > 0.0, _constant(INFINITY), _constant(NAN)))
    return select((x > 0.0) & (x < INFINITY), logarithm, beyond)


def log64(x: Expr) -> Expr:
    """ln x."""
    k, f = _split(x)
    return _of_positive(x, k * _LN2_HIGH - ((_correction(f) - k * _LN2_LOW) - f))


def log2_64(x: Expr) -> Expr:
    """log2 x, exact for powers of 2."""
    k, f = _split(x)
    return _of_positive(x, k + (f - _correction(f)) * (1.0 / math.log(2.0)))


def log10_64(x: Expr) -> Expr:
    """log10 x."""
    k, f = _split(x)
    low = k * _LOG10_2_LOW + (f - _correction(f)) * (1.0 / math.log(10.0))
    return _of_positive(x, low + k * _LOG10_2_HIGH)
