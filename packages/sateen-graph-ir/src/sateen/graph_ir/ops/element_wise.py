"""Element-wise operators of one input.

A class gives its function of a scalar expression, `element`; everything else follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops.element_kinds import (
    ANY,
    BOOLEANS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    ElementKind,
    require_literal,
)
from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import int_range
from sateen.tensor_ir.te import Expr
from sateen.topi.computations import element_wise
from sateen.topi.operators import LayoutChoice, Operator, Transposed, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


class Unary(Operator):
    """An element-wise operator on elements of kind `takes`: the output has the input's type; it runs in any layout."""

    __slots__ = ()
    takes: ClassVar[ElementKind] = FLOATS

    def element(self, x: Expr) -> Expr:
        """The element of the output from that of the input."""
        raise AssertionError(f"{self.op_name()} gives no function")

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        self.takes.check(self, "data", data)
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return element_wise.unary(data, self.element, self.op_name(), outputs[0].memory_layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        yield LayoutChoice((inputs[0].layout,), (inputs[0].layout,))

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(self, permutation)


class Predicate(Unary):
    """An element-wise operator that gives bool."""

    __slots__ = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        (data,) = super().infer(data)
        return (TensorType.of("bool", data.shape),)


@dataclass(frozen=True, slots=True)
class Identity(Unary):
    """x."""

    takes = ANY

    def element(self, x: Expr) -> Expr:
        return x


@dataclass(frozen=True, slots=True)
class Cast(Unary):
    """x converted to another type. `saturate` concerns float8 only, which is not supported."""

    takes = ANY
    dtype: DType
    saturate: bool = True

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        Unary.infer(self, data)
        result = TensorType(self.dtype, data.shape)
        ANY.check(self, "dtype", result)
        return (result,)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return element_wise.cast(data, self.dtype, outputs[0].memory_layout)


# Piecewise linear.


@dataclass(frozen=True, slots=True)
class Relu(Unary):
    """max(x, 0)."""

    takes = NUMBERS

    def element(self, x: Expr) -> Expr:
        return element_wise.relu(x)


@dataclass(frozen=True, slots=True)
class Clip(Unary):
    """x limited to [low, high]; None is no limit."""

    takes = NUMBERS
    low: float | None = None
    high: float | None = None

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        Unary.infer(self, data)
        if data.dtype.is_int:  # what limits nothing may be anything
            least, most = int_range(data.dtype)
            if self.low is not None and self.low > least:
                require_literal(self, "low", self.low, data.dtype)
            if self.high is not None and self.high < most:
                require_literal(self, "high", self.high, data.dtype)
        return (data,)

    def element(self, x: Expr) -> Expr:
        return element_wise.clip(x, self.low, self.high)


@dataclass(frozen=True, slots=True)
class LeakyRelu(Unary):
    """x, or alpha·x below 0."""

    alpha: float = 0.01

    def element(self, x: Expr) -> Expr:
        return element_wise.leaky_relu(x, self.alpha)


@dataclass(frozen=True, slots=True)
class ThresholdedRelu(Unary):
    """x above alpha, else 0, also for NaN."""

    alpha: float = 1.0

    def element(self, x: Expr) -> Expr:
        return element_wise.thresholded_relu(x, self.alpha)


@dataclass(frozen=True, slots=True)
class HardSigmoid(Unary):
    """alpha·x + beta limited to [0, 1]."""

    alpha: float = 0.2
    beta: float = 0.5

    def element(self, x: Expr) -> Expr:
        return element_wise.hard_sigmoid(x, self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class HardSwish(Unary):
    """x·hard_sigmoid(x) with alpha 1/6 and beta 1/2."""

    def element(self, x: Expr) -> Expr:
        return element_wise.hard_swish(x)


@dataclass(frozen=True, slots=True)
class Shrink(Unary):
    """x moved by bias towards 0 where it is further from it than lambd, else 0; integers are truncated."""

    takes = NUMBERS
    bias: float = 0.0
    lambd: float = 0.5

    def element(self, x: Expr) -> Expr:
        return element_wise.shrink(x, self.bias, self.lambd)


# Smooth activations.


@dataclass(frozen=True, slots=True)
class Elu(Unary):
    """x, or alpha·(e^x - 1) below 0."""

    alpha: float = 1.0

    def element(self, x: Expr) -> Expr:
        return element_wise.elu(x, self.alpha)


@dataclass(frozen=True, slots=True)
class Selu(Unary):
    """gamma·elu(x, alpha)."""

    alpha: float = 1.6732632423543772
    gamma: float = 1.0507009873554805

    def element(self, x: Expr) -> Expr:
        return element_wise.selu(x, self.alpha, self.gamma)


@dataclass(frozen=True, slots=True)
class Celu(Unary):
    """x, or alpha·(e^(x/alpha) - 1) below 0."""

    alpha: float = 1.0

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(self.alpha != 0, self, "alpha expects another number than 0, found 0")
        return Unary.infer(self, data)

    def element(self, x: Expr) -> Expr:
        return element_wise.celu(x, self.alpha)


@dataclass(frozen=True, slots=True)
class Gelu(Unary):
    """x·Φ(x), Φ the normal distribution; or its approximation by tanh."""

    approximate: str = "none"

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        known = self.approximate in ("none", "tanh")
        require(known, self, f"approximate expects 'none' or 'tanh', found {self.approximate!r}")
        return Unary.infer(self, data)

    def element(self, x: Expr) -> Expr:
        return element_wise.gelu(x) if self.approximate == "none" else element_wise.gelu_tanh(x)


@dataclass(frozen=True, slots=True)
class Sigmoid(Unary):
    """1 / (1 + e^-x)."""

    def element(self, x: Expr) -> Expr:
        return te.sigmoid(x)


@dataclass(frozen=True, slots=True)
class Tanh(Unary):
    """Hyperbolic tangent."""

    def element(self, x: Expr) -> Expr:
        return te.tanh(x)


@dataclass(frozen=True, slots=True)
class Softplus(Unary):
    """log(1 + e^x)."""

    def element(self, x: Expr) -> Expr:
        return element_wise.softplus(x)


@dataclass(frozen=True, slots=True)
class Softsign(Unary):
    """x / (1 + |x|)."""

    def element(self, x: Expr) -> Expr:
        return element_wise.softsign(x)


@dataclass(frozen=True, slots=True)
class Mish(Unary):
    """x·tanh(log(1 + e^x))."""

    def element(self, x: Expr) -> Expr:
        return element_wise.mish(x)


# Arithmetic.


@dataclass(frozen=True, slots=True)
class Reciprocal(Unary):
    """1 / x."""

    def element(self, x: Expr) -> Expr:
        return element_wise.reciprocal(x)


@dataclass(frozen=True, slots=True)
class Sqrt(Unary):
    """Square root; NaN below 0."""

    def element(self, x: Expr) -> Expr:
        return te.sqrt(x)


@dataclass(frozen=True, slots=True)
class Abs(Unary):
    """|x|."""

    takes = NUMBERS

    def element(self, x: Expr) -> Expr:
        return element_wise.absolute(x)


@dataclass(frozen=True, slots=True)
class Negative(Unary):
    """-x."""

    takes = SIGNED

    def element(self, x: Expr) -> Expr:
        return element_wise.negative(x)


@dataclass(frozen=True, slots=True)
class Sign(Unary):
    """1, 0 or -1; NaN stays."""

    takes = NUMBERS

    def element(self, x: Expr) -> Expr:
        return element_wise.sign(x)


@dataclass(frozen=True, slots=True)
class Floor(Unary):
    """The largest integer that is not above x."""

    def element(self, x: Expr) -> Expr:
        return te.floor(x)


@dataclass(frozen=True, slots=True)
class Ceil(Unary):
    """The smallest integer that is not below x."""

    def element(self, x: Expr) -> Expr:
        return te.ceil(x)


@dataclass(frozen=True, slots=True)
class Round(Unary):
    """The nearest integer, ties to even."""

    def element(self, x: Expr) -> Expr:
        return te.round(x)


@dataclass(frozen=True, slots=True)
class Trunc(Unary):
    """The nearest integer towards zero."""

    def element(self, x: Expr) -> Expr:
        return te.trunc(x)


# Elementary functions.


@dataclass(frozen=True, slots=True)
class Exp(Unary):
    """e^x."""

    def element(self, x: Expr) -> Expr:
        return te.exp(x)


@dataclass(frozen=True, slots=True)
class Log(Unary):
    """Natural logarithm; NaN below 0."""

    def element(self, x: Expr) -> Expr:
        return te.log(x)


@dataclass(frozen=True, slots=True)
class Log2(Unary):
    """Logarithm to base 2, exact for powers of 2; NaN below 0."""

    def element(self, x: Expr) -> Expr:
        return te.log2(x)


@dataclass(frozen=True, slots=True)
class Log10(Unary):
    """Logarithm to base 10, exact for powers of 10; NaN below 0."""

    def element(self, x: Expr) -> Expr:
        return te.log10(x)


@dataclass(frozen=True, slots=True)
class Expm1(Unary):
    """e^x - 1, accurate near 0."""

    def element(self, x: Expr) -> Expr:
        return element_wise.expm1(x)


@dataclass(frozen=True, slots=True)
class Log1p(Unary):
    """log(1 + x), accurate near 0; NaN below -1."""

    def element(self, x: Expr) -> Expr:
        return element_wise.log1p(x)


@dataclass(frozen=True, slots=True)
class Erf(Unary):
    """The error function."""

    def element(self, x: Expr) -> Expr:
        return te.erf(x)


@dataclass(frozen=True, slots=True)
class Sin(Unary):
    """Sine."""

    def element(self, x: Expr) -> Expr:
        return te.sin(x)


@dataclass(frozen=True, slots=True)
class Cos(Unary):
    """Cosine."""

    def element(self, x: Expr) -> Expr:
        return te.cos(x)


@dataclass(frozen=True, slots=True)
class Tan(Unary):
    """Tangent."""

    def element(self, x: Expr) -> Expr:
        return element_wise.tan(x)


@dataclass(frozen=True, slots=True)
class Asin(Unary):
    """Arc sine; NaN beyond [-1, 1]."""

    def element(self, x: Expr) -> Expr:
        return element_wise.asin(x)


@dataclass(frozen=True, slots=True)
class Acos(Unary):
    """Arc cosine; NaN beyond [-1, 1]."""

    def element(self, x: Expr) -> Expr:
        return element_wise.acos(x)


@dataclass(frozen=True, slots=True)
class Atan(Unary):
    """Arc tangent."""

    def element(self, x: Expr) -> Expr:
        return element_wise.atan(x)


@dataclass(frozen=True, slots=True)
class Sinh(Unary):
    """Hyperbolic sine."""

    def element(self, x: Expr) -> Expr:
        return element_wise.sinh(x)


@dataclass(frozen=True, slots=True)
class Cosh(Unary):
    """Hyperbolic cosine."""

    def element(self, x: Expr) -> Expr:
        return element_wise.cosh(x)


@dataclass(frozen=True, slots=True)
class Asinh(Unary):
    """Inverse hyperbolic sine."""

    def element(self, x: Expr) -> Expr:
        return element_wise.asinh(x)


@dataclass(frozen=True, slots=True)
class Acosh(Unary):
    """Inverse hyperbolic cosine; NaN below 1."""

    def element(self, x: Expr) -> Expr:
        return element_wise.acosh(x)


@dataclass(frozen=True, slots=True)
class Atanh(Unary):
    """Inverse hyperbolic tangent; NaN beyond [-1, 1]."""

    def element(self, x: Expr) -> Expr:
        return element_wise.atanh(x)


# Bits and conditions.


@dataclass(frozen=True, slots=True)
class BitCast(Operator):
    """The bits of each element as another type of the same width (ONNX BitCast)."""

    dtype: DType

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        for name, kind in (("data", data.dtype), ("dtype", self.dtype)):
            require(kind.is_int or kind.is_float, self, f"{name} expects numbers, found {kind}")
        same = data.dtype.bits == self.dtype.bits
        require(same, self, f"expects a type of as many bits as {data.dtype}, found {self.dtype}")
        return (TensorType(self.dtype, data.shape),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return element_wise.bit_cast(data, self.dtype, outputs[0].memory_layout)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(self, permutation)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        yield LayoutChoice((inputs[0].layout,), (inputs[0].layout,))


@dataclass(frozen=True, slots=True)
class Not(Unary):
    """Logical negation."""

    takes = BOOLEANS

    def element(self, x: Expr) -> Expr:
        return element_wise.logical_not(x)


@dataclass(frozen=True, slots=True)
class BitwiseNot(Unary):
    """All bits inverted."""

    takes = INTEGERS

    def element(self, x: Expr) -> Expr:
        return te.bitwise_not(x)


@dataclass(frozen=True, slots=True)
class IsNaN(Predicate):
    """Whether x is not a number."""

    @classmethod
    def op_name(cls) -> str:
        return "is_nan"

    def element(self, x: Expr) -> Expr:
        return te.isnan(x)


@dataclass(frozen=True, slots=True)
class IsInf(Predicate):
    """Whether x is an infinity of the given signs."""

    detect_negative: bool = True
    detect_positive: bool = True

    def element(self, x: Expr) -> Expr:
        return element_wise.is_infinite(x, self.detect_negative, self.detect_positive)


OPS = (
    Identity, Cast, Relu, Clip, LeakyRelu, ThresholdedRelu, HardSigmoid, HardSwish, Shrink, Elu, Selu, Celu, Gelu,
    Sigmoid, Tanh, Softplus, Softsign, Mish, Reciprocal, Sqrt, Abs, Negative, Sign, Floor, Ceil, Round, Trunc, Exp,
    Log, Log2, Log10, Expm1, Log1p, Erf, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh,
    Not, BitCast, BitwiseNot, IsNaN, IsInf,
)  # fmt: skip
"""The operators of this file."""
