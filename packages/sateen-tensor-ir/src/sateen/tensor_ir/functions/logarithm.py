"""log, log2, log10 and pow for float32. The coefficients are derived in docs/design/elementary-functions.md."""

from __future__ import annotations

import numpy as np

from sateen.tensor_ir.functions.arithmetic import fabs, floor, fma
from sateen.tensor_ir.functions.bit_patterns import INFINITY, NAN, bits, polynomial, split
from sateen.tensor_ir.functions.exact_parts import (
    Parts,
    exact_product,
    exact_sum,
    exact_sum_in_order,
    parts_of,
)
from sateen.tensor_ir.functions.exponential import LN2_HIGH, LN2_LOW, ldexp
from sateen.tensor_ir.functions.float64_formulas import log2_64, log10_64, log64
from sateen.tensor_ir.functions.function import FLOAT64, Lack, MathFunction, NumberKind, OperandTypes
from sateen.tensor_ir.functions.integer import shift_left
from sateen.tensor_ir.functions.spelling import LibraryFunction
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, reinterpret
from sateen.tensor_ir.ir.types import FLOAT32, INT64

# (ln(1 + f) - f + f²/2) / f³ on [√½ - 1, √2 - 1]; the error of ln(1 + f) is 2^-27.4 of it
_LOG1P = (0.3333333, -0.2500082, 0.20001242, -0.16623409, 0.1420158, -0.1315961, 0.12762217, -0.07636439)

# (log2((1 + s)/(1 - s)) / s - 2/ln 2) / s² in s² for 1 ≤ (1 + s)/(1 - s) ≤ √2; error of log2 2^-44.9 of it
_TWICE_LOG2_E = 2.8853900817779268
_LOG2 = (
    0.9617966940577408,
    0.5770779532019965,
    0.41220840039407836,
    0.3199348543901903,
    0.2825382190846702,
)

# (2^f - 1) / f on |f| ≤ ½; error of 2^f 2^-40.2 of it
_EXP2 = (
    0.6931471805482129,
    0.24022650698110729,
    0.055504109352648275,
    0.009618128616092342,
    0.0013333454861612166,
    0.00015403825483896726,
    1.530915594135215e-05,
    1.3178929071744042e-06,
)
_LOG10_2 = 0.3010299956639812
_ROUNDER_OF_FLOAT32 = 1.5 * 2.0**23
_ROUNDER_BITS_OF_FLOAT32 = 0x4B400000
_ROUNDER = 1.5 * 2.0**52  # adding it rounds to an integer, which the low bits of the sum then hold


def _log(x: Expr) -> Expr:
    """ln x; -inf for either zero, NaN below."""
    k, m = split(x)
    exponent, f = k.astype(FLOAT32), m - 1.0
    square = f * f
    tail = square * (f * polynomial(f, _LOG1P) - 0.5)
    finite = exponent * LN2_HIGH + (f + (exponent * LN2_LOW + tail))
    beyond = select(x.equal(0.0), -INFINITY, select(x > 0.0, INFINITY, NAN))
    return select((x > 0.0) & (x < INFINITY), finite, beyond)


log = MathFunction(
    "log",
    "Natural logarithm; NaN below 0.",
    OperandTypes(NumberKind.FLOAT),
    np.log,
    derivative=lambda x: (1.0 / x,),
    formulas={FLOAT32: _log},
    library="log",
    without={Lack.LIBRARY: {FLOAT64: log64}},
    error=1.0,
    c99=LibraryFunction("log"),
    opencl=LibraryFunction("log"),
)


def _log2(x: Expr) -> Expr:
    """log2 x in float64, with 44 bits, for a float32 x ≥ 0 or NaN."""
    k, m = split(x)
    wide = m.astype(FLOAT64)
    s = (wide - 1.0) / (wide + 1.0)
    square = s * s
    finite = k.astype(FLOAT64) + s * (square * polynomial(square, _LOG2) + _TWICE_LOG2_E)
    return select(x < INFINITY, select(x > 0.0, finite, -INFINITY), x.astype(FLOAT64))


def _log2_in_parts(x: Expr) -> Parts:
    """log2 x for a float32 x ≥ 0 or NaN, as a sum of two float32 with 36 bits: as `_log2`, without float64."""
    k, m = split(x)
    numerator = m - 1.0
    whole, rest = exact_sum(m, const(1.0, FLOAT32))
    s = numerator / whole
    s_rest = (fma(-s, whole, numerator) - s * rest) / whole
    square, square_rest = exact_product(s, s)
    square_rest = square_rest + 2.0 * s * s_rest
    first, first_rest = parts_of(_LOG2[0])
    slope, slope_rest = exact_sum_in_order(const(first, FLOAT32), square * polynomial(square, _LOG2[1:]))
    bend, bend_rest = exact_product(square, slope)
    bend_rest = bend_rest + square * (slope_rest + first_rest) + square_rest * slope
    twice, twice_rest = parts_of(_TWICE_LOG2_E)
    factor, factor_rest = exact_sum_in_order(const(twice, FLOAT32), bend)
    fraction, fraction_rest = exact_product(s, factor)
    fraction_rest = fraction_rest + s * (factor_rest + (twice_rest + bend_rest)) + s_rest * factor
    sum_, sum_rest = exact_sum(k.astype(FLOAT32), fraction)
    high, low = exact_sum_in_order(sum_, sum_rest + fraction_rest)
    is_finite = (x > 0.0) & (x < INFINITY)
    beyond = select(x.equal(0.0), -INFINITY, x)
    return select(is_finite, high, beyond), select(is_finite, low, 0.0)


def _log10_in_parts(x: Expr) -> Expr:
    high, low = _log2_in_parts(x)
    scale_, scale_rest = parts_of(_LOG10_2)
    product, rest = exact_product(high, const(scale_, FLOAT32))
    return select(fabs(high) < INFINITY, product + (rest + (high * scale_rest + low * scale_)), high)


def _rounded(wide: Expr, x: Expr) -> Expr:
    """A logarithm of x ≥ 0 as float32; NaN for other x."""
    return select(x < 0.0, NAN, wide.astype(FLOAT32))


log2 = MathFunction(
    "log2",
    "Logarithm to base 2, exact for powers of 2; NaN below 0.",
    OperandTypes(NumberKind.FLOAT),
    np.log2,
    derivative=lambda x: (1.0 / (x * np.log(2.0)),),
    formulas={FLOAT32: lambda x: _rounded(_log2(x), x)},
    without={
        Lack.FLOAT64: {FLOAT32: lambda x: _rounded(_log2_in_parts(x)[0], x)},
        Lack.LIBRARY: {FLOAT64: log2_64},
    },
    library="log2",
    error=0.51,
    c99=LibraryFunction("log2"),
    opencl=LibraryFunction("log2"),
)
log10 = MathFunction(
    "log10",
    "Logarithm to base 10, exact for powers of 10 that float32 has; NaN below 0.",
    OperandTypes(NumberKind.FLOAT),
    np.log10,
    derivative=lambda x: (1.0 / (x * np.log(10.0)),),
    formulas={FLOAT32: lambda x: _rounded(_log2(x) * _LOG10_2, x)},
    without={
        Lack.FLOAT64: {FLOAT32: lambda x: _rounded(_log10_in_parts(x), x)},
        Lack.LIBRARY: {FLOAT64: log10_64},
    },
    library="log10",
    error=0.51,
    c99=LibraryFunction("log10"),
    opencl=LibraryFunction("log10"),
)


def _exp2(x: Expr) -> Expr:
    """2^x in float64, with 40 bits, if float32 can represent it; otherwise less than 2^-190 or more than 2^190."""
    clamped = select(x > 200.0, 200.0, select(x < -200.0, -200.0, x))
    rounded = clamped + _ROUNDER
    f = clamped - (rounded - _ROUNDER)
    pattern = shift_left(reinterpret(INT64, rounded) + 1023, 52)
    return (1.0 + f * polynomial(f, _EXP2)) * reinterpret(FLOAT64, pattern)


def _pow(x: Expr, y: Expr) -> Expr:
    """x^y, as C99 (7.12.7.4 and F.9.4.4) defines it, so nearly rounded that exact results come out exact.

    The logarithm and the exponential are computed in float64, because an error of y·log2 x is an error of the exponent.
    """
    return _with_signs(_exp2(y.astype(FLOAT64) * _log2(fabs(x))).astype(FLOAT32), x, y)


def _with_signs(power: Expr, x: Expr, y: Expr) -> Expr:
    """x^y, where `power` is |x|^y for most x and y."""
    half = y * 0.5
    is_integer = floor(y).equal(y)
    is_odd = is_integer & floor(half).not_equal(half)
    is_negative = bits(x) < 0
    signed = select(is_negative & is_odd, -power, power)
    real = select((x < 0.0) & (x > -INFINITY) & ~is_integer, NAN, signed)
    is_one = y.equal(0.0) | x.equal(1.0) | (x.equal(-1.0) & fabs(y).equal(INFINITY))
    return select(is_one, 1.0, real)


def _exp2_of_parts(high: Expr, low: Expr) -> Expr:
    """2^(high + low) of two float32, with an error of 0.6 ulp before the rounding of subnormal results."""
    clamped = select(high > 128.0, 128.0, select(high < -190.0, -190.0, high))
    rounded = clamped + _ROUNDER_OF_FLOAT32
    rest = select(clamped.equal(high), low, 0.0)
    f, f_rest = exact_sum(clamped - (rounded - _ROUNDER_OF_FLOAT32), rest)
    slope, slope_rest = parts_of(_EXP2[0])
    linear, linear_rest = exact_product(f, const(slope, FLOAT32))
    linear_rest = linear_rest + f * slope_rest + f_rest * slope
    near, near_rest = exact_sum_in_order(const(1.0, FLOAT32), linear)
    power = near + (near_rest + (f * f * polynomial(f, _EXP2[1:]) + linear_rest))
    return ldexp(power, bits(rounded) - _ROUNDER_BITS_OF_FLOAT32)


def _pow_in_parts(x: Expr, y: Expr) -> Expr:
    """As `_pow`, with sums of two float32 instead of float64."""
    high, low = _log2_in_parts(fabs(x))
    product, rest = exact_product(y, high)
    return _with_signs(_exp2_of_parts(product, rest + y * low), x, y)


def _derivative_of_pow(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    power = pow(x, y)
    return y * pow(x, y - 1.0), select(power.equal(0.0), power, power * log(x))


pow = MathFunction(  # noqa: A001 - C's name for it
    "pow",
    "x^y as C's pow defines it.",
    OperandTypes(NumberKind.FLOAT, 2),
    np.power,
    derivative=_derivative_of_pow,
    formulas={FLOAT32: _pow},
    without={Lack.FLOAT64: {FLOAT32: _pow_in_parts}},
    library="pow",
    error=0.51,
    c99=LibraryFunction("pow"),
)
