"""sin and cos of float64 by arithmetic, of any magnitude, where there is no C library that has them."""

from __future__ import annotations

import math
from itertools import pairwise

from sateen.tensor_ir.functions.arithmetic import fabs
from sateen.tensor_ir.functions.bit_patterns import INFINITY, INT32, NAN, UINT64, polynomial
from sateen.tensor_ir.functions.function import FLOAT64
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, maximum, reinterpret
from sateen.tensor_ir.ir.types import INT64

_SIGNIFICAND_BITS = 52
_SIGN = -(1 << 63)
_LOW_HALF = (1 << 32) - 1
_WORDS = 20


def _arctangent_of_inverse(n: int, unit: int) -> int:
    """arctan(1/n) in units of 1/`unit`, by its series."""
    power, total, k = unit // n, 0, 0
    while power:
        total += (-1) ** k * power // (2 * k + 1)
        power //= n * n
        k += 1
    return total


def _inverse_turn() -> tuple[int, ...]:
    """The fraction bits of 2^-53 / 2π, from the first on, in words; π by Machin's formula."""
    unit = 1 << (64 * _WORDS + 64)
    pi = 16 * _arctangent_of_inverse(5, unit) - 4 * _arctangent_of_inverse(239, unit)
    bits = (unit << (64 * _WORDS)) // (2 * pi) >> 53
    return tuple(bits >> 64 * (_WORDS - 1 - i) & ((1 << 64) - 1) for i in range(_WORDS))


_INVERSE_TURN = _inverse_turn()

# Taylor's coefficients of (sin √z / √z - 1) / z and of (cos √z - 1 + z/2) / z²; for √z ≤ π/4 the rest is below 2^-60
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 9))
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(2, 10))


def _words_from(first: Expr, count: int) -> list[Expr]:
    """`count` words of _INVERSE_TURN from number `first` in [0, 16] on: five choices between two lists."""
    words: list[Expr] = [const(word, UINT64) for word in (*_INVERSE_TURN, *[0] * 16)]
    for step in (16, 8, 4, 2, 1):
        is_far = bitwise_and(first, step).not_equal(0)
        words = [select(is_far, far, near) for near, far in zip(words, words[step:], strict=False)][: count + step - 1]
    return words


def _high_product(a: Expr, b: Expr) -> Expr:
    """The upper 64 bits of a product of two uint64."""
    a_high, a_low = shift_right(a, 32), bitwise_and(a, _LOW_HALF)
    b_high, b_low = shift_right(b, 32), bitwise_and(b, _LOW_HALF)
    left, right = a_high * b_low, a_low * b_high
    middle = shift_right(a_low * b_low, 32) + bitwise_and(left, _LOW_HALF) + bitwise_and(right, _LOW_HALF)
    return a_high * b_high + shift_right(left, 32) + shift_right(right, 32) + shift_right(middle, 32)


def _reduce(x: Expr) -> tuple[Expr, Expr]:
    """(q, r), int32 and float64, with |x| = q·π/2 + r modulo 2π and |r| ≤ π/4; r is NaN if x is not finite.

    The method of Payne and Hanek (SIGNUM Newsletter 18, 1983), as for float32. From ½ on, |x| is m·2^(s - 53) for an
    integer m of 53 bits and s in [0, 1024]. So |x|/2π, but for whole turns, is m times the 192 bits of _INVERSE_TURN
    from bit s on, with an error below 2^-126. No float64 comes nearer than 2^-61 quarter turns to a multiple of one
    (Muller, Elementary Functions, 11.3), which leaves 60 bits of r.
    """
    magnitude = fabs(x)
    pattern = reinterpret(INT64, magnitude)
    s = maximum(shift_right(pattern, _SIGNIFICAND_BITS) - 1022, const(0, INT64))
    m = bitwise_or(bitwise_and(pattern, (1 << _SIGNIFICAND_BITS) - 1), 1 << _SIGNIFICAND_BITS).astype(UINT64)
    left = bitwise_and(s, 63).astype(UINT64)
    right = bitwise_xor(left, 63)
    high, middle, low = (
        bitwise_or(shift_left(a, left), shift_right(shift_right(b, 1), right))
        for a, b in pairwise(_words_from(shift_right(s, 6), 4))
    )
    added = _high_product(m, low)
    second = m * middle + added
    carry = select(second < added, const(1, UINT64), const(0, UINT64))
    turn = m * high + _high_product(m, middle) + carry  # the fraction of a turn in units of 2^-64; `second` follows
    quadrant = shift_right(turn + (1 << 61), 62).astype(INT32)
    rest = reinterpret(INT64, bitwise_or(shift_left(turn, 2), shift_right(second, 62))).astype(FLOAT64)
    rest = rest + shift_left(second, 2).astype(FLOAT64) * 2.0**-64
    is_small = magnitude <= math.pi / 4
    far = select(magnitude < INFINITY, rest * (math.pi / 2 * 2.0**-64), const(NAN, FLOAT64))
    return select(is_small, const(0, INT32), quadrant), select(is_small, magnitude, far)


def _sine_of_quadrant(quadrant: Expr, r: Expr, sign: Expr) -> Expr:
    """sin(quadrant·π/2 + r), negated if the top bit of `sign` is set."""
    square = r * r
    sine = r + r * square * polynomial(square, _SIN)
    cosine = 1.0 - (0.5 * square - square * square * polynomial(square, _COS))
    is_odd = bitwise_and(quadrant, 1).equal(1)
    flip = bitwise_xor(shift_left(shift_right(quadrant, 1).astype(INT64), 63), bitwise_and(sign, _SIGN))
    return reinterpret(FLOAT64, bitwise_xor(reinterpret(INT64, select(is_odd, cosine, sine)), flip))


def sin64(x: Expr) -> Expr:
    """The sine; NaN for an infinite x."""
    quadrant, r = _reduce(x)
    return _sine_of_quadrant(quadrant, r, reinterpret(INT64, x))


def cos64(x: Expr) -> Expr:
    """The sine of a quarter turn more; NaN for an infinite x."""
    quadrant, r = _reduce(x)
    return _sine_of_quadrant(quadrant + 1, r, const(0, INT64))
