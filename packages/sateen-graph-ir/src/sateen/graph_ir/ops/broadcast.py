"""Operators of two and more inputs that broadcast by NumPy's rules.

A class gives its function of scalar expressions, `element`; everything else follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.element_kinds import ANY, BOOLEANS, FLOATS, INTEGERS, NUMBERS, ElementKind
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.te import Expr
from sateen.topi.computations import broadcast
from sateen.topi.operators import LayoutChoice, Operator, Transposed, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View


def broadcast_types(op: Operator, *inputs: TensorType) -> tuple[Dim, ...]:
    """The common shape of the inputs. Raises InferenceError if there is none."""
    try:
        return broadcast.broadcast_shape(*(x.shape for x in inputs))
    except ArgumentError as error:
        raise InferenceError(f"{op.op_name()}: {error}") from None


class Broadcast(Operator):
    """An element-wise operator of several inputs: operands of the output's shape share its layout, which may be any."""

    __slots__ = ()

    def element(self, *operands: Any, **_: Any) -> Expr:
        """The element of the output from those of the inputs."""
        raise AssertionError(f"{self.op_name()} gives no function")

    def compute(self, *inputs: View, outputs: Sequence[TensorType]) -> Computation:
        return broadcast.combine(inputs, self.element, self.op_name(), outputs[0].memory_layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        shape = outputs[0].shape
        found: dict[Layout | None, None] = {x.layout: None for x in inputs if x.shape == shape and x.layout is not None}
        for layout in (*found, None):
            yield LayoutChoice(tuple(layout if x.shape == shape else None for x in inputs), (layout,))

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(self, permutation)


class Binary(Broadcast):
    """An operator on two operands of one type, of kind `takes`; the output has that type."""

    __slots__ = ()
    takes: ClassVar[ElementKind] = NUMBERS

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        require(a.dtype == b.dtype, self, f"operands expect one type, found {a.dtype} and {b.dtype}")
        self.takes.check(self, "operands", a)
        return (TensorType(a.dtype, broadcast_types(self, a, b)),)


class Comparison(Binary):
    """An operator on two operands of one type that gives bool."""

    __slots__ = ()

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        (common,) = super().infer(a, b)
        return (TensorType.of("bool", common.shape),)


@dataclass(frozen=True, slots=True)
class Add(Binary):
    """a + b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a + b


@dataclass(frozen=True, slots=True)
class Subtract(Binary):
    """a - b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a - b


@dataclass(frozen=True, slots=True)
class Multiply(Binary):
    """a·b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a * b


@dataclass(frozen=True, slots=True)
class Divide(Binary):
    """a / b; of integers rounded towards zero, 0 where b is."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.divide(a, b)


@dataclass(frozen=True, slots=True)
class Minimum(Binary):
    """The smaller operand; NaN if either is."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return te.minimum(a, b)


@dataclass(frozen=True, slots=True)
class Maximum(Binary):
    """The larger operand; NaN if either is."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return te.maximum(a, b)


@dataclass(frozen=True, slots=True)
class Modulo(Binary):
    """The remainder of a division, with the sign of the divisor; with `fmod` that of the dividend."""

    fmod: bool = False

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.fmod(a, b) if self.fmod else broadcast.modulo(a, b)


@dataclass(frozen=True, slots=True)
class FloorDivide(Binary):
    """a / b of integers rounded down, 0 where b is 0; of floating point it is the floor of a division."""

    takes = INTEGERS

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.floor_divide(a, b)


@dataclass(frozen=True, slots=True)
class Atan2(Binary):
    """The angle of the point (b, a), from -π to π; 0 and π for zeros by their signs."""

    takes = FLOATS

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.atan2(a, b)


@dataclass(frozen=True, slots=True)
class Power(Broadcast):
    """a^b in the type of a; b may have another."""

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "base", a)
        NUMBERS.check(self, "exponent", b)
        return (TensorType(a.dtype, broadcast_types(self, a, b)),)

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.power(a, b)


@dataclass(frozen=True, slots=True)
class PRelu(Binary):
    """a, or b·a below 0; the slope b broadcasts to a."""

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        (common,) = Binary.infer(self, a, b)
        require(common.shape == a.shape, self, f"slope {b} does not broadcast to data {a}")
        return (common,)

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.prelu(a, b)


# Comparisons.


@dataclass(frozen=True, slots=True)
class Equal(Comparison):
    """a = b."""

    takes = ANY

    def element(self, a: Expr, b: Expr) -> Expr:
        return a.equal(b)


@dataclass(frozen=True, slots=True)
class NotEqual(Comparison):
    """a ≠ b; NaN differs from everything."""

    takes = ANY

    def element(self, a: Expr, b: Expr) -> Expr:
        return a.not_equal(b)


@dataclass(frozen=True, slots=True)
class Less(Comparison):
    """a < b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a < b


@dataclass(frozen=True, slots=True)
class LessEqual(Comparison):
    """a ≤ b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a <= b


@dataclass(frozen=True, slots=True)
class Greater(Comparison):
    """a > b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a > b


@dataclass(frozen=True, slots=True)
class GreaterEqual(Comparison):
    """a ≥ b."""

    def element(self, a: Expr, b: Expr) -> Expr:
        return a >= b


# Conditions and bits.


@dataclass(frozen=True, slots=True)
class And(Binary):
    """a and b."""

    takes = BOOLEANS

    def element(self, a: Expr, b: Expr) -> Expr:
        return a & b


@dataclass(frozen=True, slots=True)
class Or(Binary):
    """a or b."""

    takes = BOOLEANS

    def element(self, a: Expr, b: Expr) -> Expr:
        return a | b


@dataclass(frozen=True, slots=True)
class Xor(Binary):
    """Either a or b."""

    takes = BOOLEANS

    def element(self, a: Expr, b: Expr) -> Expr:
        return a.not_equal(b)


@dataclass(frozen=True, slots=True)
class BitwiseAnd(Binary):
    """Bits set in both."""

    takes = INTEGERS

    def element(self, a: Expr, b: Expr) -> Expr:
        return te.bitwise_and(a, b)


@dataclass(frozen=True, slots=True)
class BitwiseOr(Binary):
    """Bits set in either."""

    takes = INTEGERS

    def element(self, a: Expr, b: Expr) -> Expr:
        return te.bitwise_or(a, b)


@dataclass(frozen=True, slots=True)
class BitwiseXor(Binary):
    """Bits set in one of both."""

    takes = INTEGERS

    def element(self, a: Expr, b: Expr) -> Expr:
        return te.bitwise_xor(a, b)


@dataclass(frozen=True, slots=True)
class BitShift(Binary):
    """a shifted by b bits in a direction, `left` or `right`; by all where b is not within the width."""

    takes = INTEGERS
    direction: str = "left"

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        known = self.direction in ("left", "right")
        require(known, self, f"direction expects 'left' or 'right', found {self.direction!r}")
        return Binary.infer(self, a, b)

    def element(self, a: Expr, b: Expr) -> Expr:
        return broadcast.bit_shift(a, b, left=self.direction == "left")


@dataclass(frozen=True, slots=True)
class Where(Broadcast):
    """a where the condition holds, else b. Inputs: condition, a, b."""

    def infer(self, condition: TensorType, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        BOOLEANS.check(self, "condition", condition)
        ANY.check(self, "operands", a)
        require(a.dtype == b.dtype, self, f"operands expect one type, found {a.dtype} and {b.dtype}")
        return (TensorType(a.dtype, broadcast_types(self, condition, a, b)),)

    def element(self, condition: Expr, a: Expr, b: Expr) -> Expr:
        return te.select(condition, a, b)


OPS = (
    Add, Subtract, Multiply, Divide, Minimum, Maximum, Modulo, FloorDivide, Atan2, Power, PRelu, Equal, NotEqual, Less,
    LessEqual, Greater, GreaterEqual, And, Or, Xor, BitwiseAnd, BitwiseOr, BitwiseXor, BitShift, Where,
)  # fmt: skip
"""The operators of this file."""
