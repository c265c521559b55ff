"""Operators of two and more inputs that broadcast by NumPy's rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir import te
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.arguments import (
    of_expressions,
    require,
    require_broadcast,
    require_integers,
    require_views,
)
from sateen.topi.computations.element_wise import atan, is_unsigned
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, compute


def broadcast_shape(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The common shape (NumPy's rules) of extents, which may be symbols. Raises ArgumentError if there is none."""
    rank = max(map(len, shapes))
    result = []
    for d in range(rank):
        extents = {s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            found = " and ".join("[" + ", ".join(map(str, s)) + "]" for s in shapes)
            raise ArgumentError(f"shapes {found} differ in dimension {d} of the common shape")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def element(x: View, index: Sequence[Expr]) -> Expr:
    """The element of x at an index of a shape that x broadcasts to."""
    own = index[len(index) - len(x.shape) :]
    return x(*(te.const(0) if extent == 1 else i for i, extent in zip(own, x.shape, strict=True)))


def combine(
    inputs: Sequence[View], function: Callable[..., Expr], name: str, layout: Layout | None = None
) -> Computation:
    """function(a, b, …), element by element of the common shape."""
    require(len(inputs) > 0, name, "at least one input", "none")
    require_views(name, **{f"input{i}": x for i, x in enumerate(inputs)})
    shape = broadcast_shape(*(x.shape for x in inputs))
    return Computation((compute(shape, lambda *i: function(*(element(x, i) for x in inputs)), name, layout),))


def broadcast_to(x: View, shape: Sequence[int], layout: Layout | None = None) -> Computation:
    """x repeated along the axes where it has one element or none."""
    require_views("broadcast_to", x=x)
    require_integers("broadcast_to", "shape", shape, len(shape), 0)
    require_broadcast("broadcast_to", "x", x, shape)
    return Computation((compute(shape, lambda *i: element(x, i), "broadcast_to", layout),))


# Functions of scalar expressions.


@of_expressions
def divide(a: Expr, b: Expr) -> Expr:
    """a / b; for integers rounded towards zero, and 0 where b is 0."""
    if a.dtype.is_float:
        return a / b
    return te.truncdiv(a, b)


@of_expressions
def modulo(a: Expr, b: Expr) -> Expr:
    """The remainder with the divisor's sign: Python's %."""
    if a.dtype.is_int:
        return a % b
    rest = fmod(a, b)
    zero = te.select(b < 0, -0.0, te.const(0.0, a.dtype))
    moved = te.select((rest < 0).not_equal(b < 0), rest + b, rest)
    return te.select(rest.equal(0.0), zero, moved)


@of_expressions
def fmod(a: Expr, b: Expr) -> Expr:
    """The remainder with the dividend's sign: C's fmod, of integers as well."""
    return te.fmod(a, b) if a.dtype.is_float else te.truncmod(a, b)


@of_expressions
def floor_divide(a: Expr, b: Expr) -> Expr:
    """a / b of integers rounded down, and 0 where b is 0."""
    return a // b


@of_expressions
def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y), with the signs of zeros and the limits at infinity of C's atan2."""
    if y.dtype.bits == 16:
        return atan2(y.astype("float32"), x.astype("float32")).astype(y.dtype)
    up, along = te.abs(y), te.abs(x)
    near, far = te.minimum(up, along), te.maximum(up, along)
    ratio = te.select(far.equal(0.0), 0.0, te.select(near.equal(math.inf), 1.0, near / far))
    angle = atan(ratio)
    angle = te.select(up > along, math.pi / 2 - angle, angle)
    angle = te.select(_has_sign(x), math.pi - angle, angle)
    return te.select(_has_sign(y), -angle, angle)


def _has_sign(x: Expr) -> Expr:
    """Whether the sign bit is set, as that of -0 is."""
    return te.reinterpret(f"int{x.dtype.bits}", x) < 0


@of_expressions
def power(a: Expr, b: Expr) -> Expr:
    """a^b in the type of a; an integer of an integer by squaring, otherwise as C's pow."""
    if a.dtype.is_float:
        return te.power(a, b.astype(a.dtype))
    if b.dtype.is_float:
        return te.power(a.astype("float64"), b.astype("float64")).astype(a.dtype)
    return _integer_power(a, b.astype("int64"))


def _integer_power(a: Expr, b: Expr) -> Expr:
    """By squaring over six bits of the exponent. A larger one of the same parity gives the same for 0, 1 and -1, and no
    result that fits for others; a negative one gives 0 for these."""
    one, zero = te.const(1, a.dtype), te.const(0, a.dtype)
    exponent = te.select(b > 63, b % 2 + 62, b)
    square, result = a, te.select((exponent % 2).equal(1), a, one)
    for bit in range(1, 6):
        square = square * square
        result = te.select((exponent // 2**bit % 2).equal(1), result * square, result)
    unit = a.equal(one) if is_unsigned(a) else te.any(a.equal(one), a.equal(te.const(-1, a.dtype)))
    odd = te.select((b % 2).equal(1), a, one)
    return te.select(b < 0, te.select(unit, odd, zero), result)


@of_expressions
def bit_shift(a: Expr, b: Expr, left: bool) -> Expr:
    """a shifted by b bits in two's complement; by all bits if b is negative or at least the width."""
    within = te.all(b >= 0, b < a.dtype.bits) if not is_unsigned(b) else b < a.dtype.bits
    zero = te.const(0, a.dtype)
    if left:
        return te.select(within, te.left_shift(a, te.select(within, b, zero)), zero)
    last = te.const(a.dtype.bits - 1, a.dtype)
    shifted = te.right_shift(a, te.select(within, b, last))
    return te.select(within, shifted, zero) if is_unsigned(a) else shifted


@of_expressions
def prelu(x: Expr, slope: Expr) -> Expr:
    """x, or slope·x below 0 (He et al., Delving Deep into Rectifiers, 2015)."""
    return te.select(x < 0, x * slope, x)
