"""exp and the functions built on it: sigmoid, tanh and erf, for float32.

With x = n·ln 2 + r and |r| ≤ ½ ln 2, e^x = 2^n·(1 + (e^r - 1)), where e^r - 1 keeps its relative accuracy near 0.
So tanh and erf, which are -expm1(-2|x|) / (2 + expm1(-2|x|)) and -expm1(ln erfc |x|), need no second formula there.
The coefficients are derived in docs/design/elementary-functions.md.
"""

from __future__ import annotations

import math

import numpy as np

from sateen.tensor_ir.functions.arithmetic import fabs
from sateen.tensor_ir.functions.bit_patterns import (
    INT32,
    SIGNIFICAND_BITS,
    bits,
    from_bits,
    polynomial,
    scale,
    with_sign_of,
)
from sateen.tensor_ir.functions.float64_formulas import erf64, exp64, tanh64
from sateen.tensor_ir.functions.function import FLOAT64, Array, Lack, MathFunction, NumberKind, OperandTypes
from sateen.tensor_ir.functions.integer import shift_left
from sateen.tensor_ir.functions.spelling import LibraryFunction, LlvmIntrinsic
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, maximum, minimum
from sateen.tensor_ir.ir.types import FLOAT32

_ONE_FLOAT = OperandTypes(NumberKind.FLOAT)

_LOG2_E = 1.44269504
LN2_HIGH = 0.693145751953125  # 15 bits: its products with integers up to 2^9 are exact, fused or not
LN2_LOW = 1.42860677e-06
_ROUNDER = 1.5 * 2.0**23  # adding it rounds to an integer, which the low bits of the sum then hold
_ROUNDER_BITS = 0x4B400000

_LARGEST = 88.75  # e^x is infinite from 88.7228394 on
_SMALLEST = -104.0  # and rounds to 0 below -103.972076, as it is less than 2^-150
_LEAST_NORMAL = -87.3365  # and is a normal number down to here

# (e^r - 1 - r) / r² on |r| ≤ ½ ln 2; the error of e^r - 1 is 2^-26.1 of it
_EXPM1 = (0.49999997, 0.16666546, 0.04166744, 0.008366251, 0.0013870278)

# ln(erfc t) / t on [0, 4]; the error of erf is 2^-24.2 of it, most of it the rounding of the first coefficient
_LOG_ERFC = (
    -1.1283792,
    -0.63661516,
    -0.10282924,
    0.019379932,
    -0.00030922037,
    -0.0011614542,
    0.0003435139,
    -3.4819648e-05,
)


def _reduce(x: Expr) -> tuple[Expr, Expr]:
    """(n, e^r - 1), int32 and float32, with x = n·ln 2 + r and |r| ≤ ½ ln 2 (a little more for |n| near 150)."""
    rounded = x * _LOG2_E + _ROUNDER
    n = rounded - _ROUNDER
    r = x - n * LN2_HIGH - n * LN2_LOW
    return bits(rounded) - _ROUNDER_BITS, r * r * polynomial(r, _EXPM1) + r


def _one_minus_exp(x: Expr) -> Expr:
    """1 - e^x for x in [-80, 0], with the relative accuracy of x near 0; +0 for either zero."""
    n, expm1 = _reduce(x)
    power = from_bits(shift_left(n + 127, SIGNIFICAND_BITS))
    return (1.0 - power) - power * expm1


def _ldexp(x: Expr, n: Expr) -> Expr:
    """x·2^n for the arguments of `scale`, and for NaN."""
    return select(x.equal(x), scale(x, n), x)


ldexp: MathFunction = MathFunction(
    "ldexp",
    "x·2^n, rounded once; n in [-190, 128] for x in [½, 2).",
    OperandTypes(NumberKind.FLOAT, 1, (INT32,)),
    np.ldexp,
    derivative=lambda x, n: (ldexp(const(1.0, x.dtype), n), const(0.0, x.dtype)),
    formulas={FLOAT32: _ldexp},
    llvm=LlvmIntrinsic("ldexp", overloads=2, feature="avx512f"),
)


def _exp(x: Expr) -> Expr:
    """e^x, subnormal results included; beyond the limits as at them, which give 0 and infinity."""
    n, expm1 = _reduce(minimum(maximum(x, _SMALLEST), _LARGEST))
    return ldexp(1.0 + expm1, n)


exp: MathFunction = MathFunction(
    "exp",
    "e^x.",
    _ONE_FLOAT,
    np.exp,
    derivative=lambda x: (exp(x),),
    formulas={FLOAT32: _exp},
    library="exp",
    without={Lack.LIBRARY: {FLOAT64: exp64}},
    error=1.1,
    c99=LibraryFunction("exp"),
    opencl=LibraryFunction("exp"),
)


def _sigmoid(x: Expr) -> Expr:
    """By e^-|x|, so that small results keep their accuracy; below 2^-126 it is 0."""
    t = -fabs(x)
    n, expm1 = _reduce(select(t < _LEAST_NORMAL, _LEAST_NORMAL, t))
    power = from_bits(shift_left(n + 127, SIGNIFICAND_BITS))
    decay = power * expm1 + power
    return select(x < _LEAST_NORMAL, 0.0, select(x < 0.0, decay, 1.0) / (1.0 + decay))


def _sigmoid_of_float64(x: Expr) -> Expr:
    decay = exp(-fabs(x))
    return select(x < 0.0, decay, 1.0) / (1.0 + decay)


def _reference_sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


sigmoid: MathFunction = MathFunction(
    "sigmoid",
    "1 / (1 + e^-x).",
    _ONE_FLOAT,
    _reference_sigmoid,
    derivative=lambda x: (sigmoid(x) * sigmoid(-x),),
    formulas={FLOAT32: _sigmoid, FLOAT64: _sigmoid_of_float64},
    error=2.5,
)


def _tanh(x: Expr) -> Expr:
    """(1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; 1 in float32 from 9.02 on."""
    magnitude = fabs(x)
    rest = _one_minus_exp(-2.0 * select(magnitude > 10.0, 10.0, magnitude))
    return with_sign_of(rest / (2.0 - rest), x)


tanh = MathFunction(
    "tanh",
    "Hyperbolic tangent.",
    _ONE_FLOAT,
    np.tanh,
    derivative=lambda x: (4.0 * sigmoid(2.0 * x) * sigmoid(-2.0 * x),),  # 1 - tanh² x, which would cancel
    formulas={FLOAT32: _tanh},
    library="tanh",
    without={Lack.LIBRARY: {FLOAT64: tanh64}},
    error=2.6,
    c99=LibraryFunction("tanh"),
)


def _erf(x: Expr) -> Expr:
    """1 - erfc |x| with the sign of x; 1 in float32 from 3.84 on."""
    magnitude = fabs(x)
    t = select(magnitude > 4.0, 4.0, magnitude)
    return with_sign_of(_one_minus_exp(t * polynomial(t, _LOG_ERFC)), x)


erf = MathFunction(
    "erf",
    "The error function 2/√π ∫₀ˣ e^(-t²) dt.",
    _ONE_FLOAT,
    np.vectorize(math.erf, otypes=[np.float64]),
    derivative=lambda x: (exp(-x * x) * (2.0 / math.sqrt(math.pi)),),
    formulas={FLOAT32: _erf},
    library="erf",
    without={Lack.LIBRARY: {FLOAT64: erf64}},
    error=3.4,
    c99=LibraryFunction("erf"),
)
