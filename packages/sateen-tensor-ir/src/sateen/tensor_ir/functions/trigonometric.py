"""sin and cos for float32, of any magnitude. The coefficients are derived in docs/design/elementary-functions.md."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sateen.tensor_ir.functions.arithmetic import fabs
from sateen.tensor_ir.functions.bit_patterns import (
    INFINITY,
    INT32,
    NAN,
    SIGN,
    SIGNIFICAND_BITS,
    UINT64,
    bits,
    from_bits,
    polynomial,
)
from sateen.tensor_ir.functions.float64_angles import cos64, sin64
from sateen.tensor_ir.functions.function import FLOAT64, Lack, MathFunction, NumberKind, OperandTypes
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right
from sateen.tensor_ir.functions.spelling import LibraryFunction
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, maximum, reinterpret
from sateen.tensor_ir.ir.types import FLOAT32, INT64

# The fraction bits of 2^-24 / 2π, from the first on
_INVERSE_TURN = (0x00000028BE60DB93, 0x91054A7F09D5F47D, 0x4D377036D8A5664F, 0x10E4107F9458EAF7)
_QUARTER_TURN = 8.515304e-20  # π/2·2^-64
_EIGHTH_TURN = 0.7853981

# (sin √z / √z - 1) / z on 0 ≤ √z ≤ π/4; the error of the sine is 2^-27.9 of it
_SIN = (-0.16666655, 0.008332189, -0.00019518292)

# (cos √z - 1 + z/2) / z² there; the error of the cosine is 2^-33 of it
_COS = (0.041666646, -0.0013887311, 2.4432557e-05)


def _reduce(x: Expr) -> tuple[Expr, Expr]:
    """(q, r), int32 and float32, with |x| = q·π/2 + r modulo 2π and |r| ≤ π/4; r is NaN if x is not finite.

    The method of Payne and Hanek (SIGNUM Newsletter 18, 1983). From ½ on, |x| is m·2^(s - 24) for an integer m of 25
    bits and s in [0, 127]. So |x|/2π, but for whole turns, is m times the 96 bits of _INVERSE_TURN from bit s on, with
    an error below 2^-61 quarter turns. No float32 comes nearer than 2^-29.9 quarter turns to a multiple of one, which
    leaves 31 bits of r to be rounded to 24.
    """
    magnitude = fabs(x)
    pattern = bits(magnitude)
    exponent = shift_right(pattern, SIGNIFICAND_BITS)
    significand = bitwise_or(bitwise_and(pattern, 0x7FFFFF), 0x800000)
    m = select(exponent < 127, significand, significand + significand).astype(UINT64)
    s = maximum(exponent - 127, const(0, INT32))
    words = [const(word, UINT64) for word in _INVERSE_TURN]
    is_near = s < 64
    first, second, third = (select(is_near, near, far) for near, far in pairwise(words))
    left = bitwise_and(s, 63).astype(UINT64)
    right = bitwise_xor(left, 63)
    high = bitwise_or(shift_left(first, left), shift_right(shift_right(second, 1), right))
    low = bitwise_or(shift_left(second, left), shift_right(shift_right(third, 1), right))
    turn = m * high + shift_right(m * shift_right(low, 32), 32)  # the fraction of a turn in units of 2^-64
    quadrant = shift_right(turn + (1 << 61), 62).astype(INT32)
    rest = reinterpret(INT64, shift_left(turn, 2)).astype(FLOAT32) * _QUARTER_TURN
    is_small = magnitude <= _EIGHTH_TURN
    r = select(is_small, magnitude, select(magnitude < INFINITY, rest, NAN))
    return select(is_small, const(0, INT32), quadrant), r


def _sine_of_quadrant(quadrant: Expr, r: Expr, sign: Expr) -> Expr:
    """sin(quadrant·π/2 + r), negated if the top bit of `sign` is set."""
    square = r * r
    sine = r + r * square * polynomial(square, _SIN)
    cosine = 1.0 - 0.5 * square + square * square * polynomial(square, _COS)
    is_odd = bitwise_and(quadrant, 1).equal(1)
    flip = bitwise_xor(shift_left(shift_right(quadrant, 1), 31), bitwise_and(sign, SIGN))
    return from_bits(bitwise_xor(bits(select(is_odd, cosine, sine)), flip))


def _sin(x: Expr) -> Expr:
    """NaN for an infinite x."""
    quadrant, r = _reduce(x)
    return _sine_of_quadrant(quadrant, r, bits(x))


def _cos(x: Expr) -> Expr:
    """The sine of a quarter turn more; NaN for an infinite x."""
    quadrant, r = _reduce(x)
    return _sine_of_quadrant(quadrant + 1, r, const(0, INT32))


sin = MathFunction(
    "sin",
    "Sine of an angle in radians.",
    OperandTypes(NumberKind.FLOAT),
    np.sin,
    derivative=lambda x: (cos(x),),
    formulas={FLOAT32: _sin},
    library="sin",
    without={Lack.LIBRARY: {FLOAT64: sin64}},
    error=2.8,
    c99=LibraryFunction("sin"),
    opencl=LibraryFunction("sin"),
)

cos: MathFunction = MathFunction(
    "cos",
    "Cosine of an angle in radians.",
    OperandTypes(NumberKind.FLOAT),
    np.cos,
    derivative=lambda x: (-sin(x),),
    formulas={FLOAT32: _cos},
    library="cos",
    without={Lack.LIBRARY: {FLOAT64: cos64}},
    error=2.8,
    c99=LibraryFunction("cos"),
    opencl=LibraryFunction("cos"),
)
