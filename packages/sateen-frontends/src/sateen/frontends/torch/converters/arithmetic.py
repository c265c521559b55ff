"""Arithmetic of two and more operands, which broadcast and are promoted to a common type."""

from __future__ import annotations

from sateen.frontends.core.elementary import hypotenuse
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.operands import binary, common, operand, pair
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _sum(sign: int) -> Converter:
    """self ± alpha·other."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        a, b = pair(node, dtype)
        alpha = node.number("alpha", 1)
        if dtype.is_bool:
            if sign < 0 or alpha != 1:
                raise UnsupportedError("differences of bool are not defined")
            return node.result(ops.Or(), a, b)
        if alpha != 1:
            b = node.step(ops.Multiply(), b, node.literal(alpha, dtype))
        return node.result(ops.Add() if sign > 0 else ops.Subtract(), a, b)

    return convert


def _reversed_difference(node: TorchNode) -> Operand:
    """other - alpha·self."""
    dtype = common(node, "self", "other")
    a, b = pair(node, dtype)
    if node.number("alpha", 1) != 1:
        a = node.step(ops.Multiply(), a, node.literal(node.number("alpha"), dtype))
    return node.result(ops.Subtract(), b, a)


def _divide(node: TorchNode) -> Operand:
    """A true quotient is floating-point; one that is rounded has the common type."""
    mode = node.text("rounding_mode") if node.gives("rounding_mode") else ""
    dtype = common(node, "self", "other")
    if not mode:
        return node.result(ops.Divide(), *pair(node, floating(dtype)))
    if mode not in {"floor", "trunc"}:
        raise FrontendError(f"expected rounding_mode floor or trunc, found {mode!r}")
    return _rounded_quotient(node, dtype, mode)


def _rounded_quotient(node: TorchNode, dtype: DType, mode: str) -> Operand:
    a, b = pair(node, dtype)
    if dtype.is_int:
        return node.result(ops.FloorDivide() if mode == "floor" else ops.Divide(), a, b)
    if mode == "trunc":
        return node.result(ops.Trunc(), node.step(ops.Divide(), a, b))
    return _floor_quotient(node, a, b)


def _floor_quotient(node: TorchNode, a: Value, b: Value) -> Operand:
    """(a - a mod b) / b, rounded to the nearest integer: the quotient of a and b rounded may be an integer above the
    floor (div_floor_floating in c10/util/generic_math.h). a / b itself where b is 0."""
    zero = node.literal(0, a.type.dtype)
    quotient = node.step(ops.Divide(), a, b)
    rest = node.step(ops.Modulo(), a, b)
    exact = node.step(ops.Round(), node.step(ops.Divide(), node.step(ops.Subtract(), a, rest), b))
    return node.result(ops.Where(), node.step(ops.Equal(), b, zero), quotient, exact)


def _floor_divide(node: TorchNode) -> Operand:
    return _rounded_quotient(node, common(node, "self", "other"), "floor")


def _power(node: TorchNode) -> Operand:
    dtype = common(node, "self", "exponent")
    base = operand(node, "self", dtype)
    if not node.is_tensor("exponent"):
        exponent = node.number("exponent")
        if exponent == 2:
            return node.result(ops.Multiply(), base, base)
        if exponent == 0.5:
            return node.result(ops.Sqrt(), base)
        if dtype.is_int and exponent < 0:
            raise UnsupportedError("torch has no negative powers of integers")
    return node.result(ops.Power(), base, operand(node, "exponent", dtype))


def _float_power(node: TorchNode) -> Operand:
    """In float64."""
    wide = DType.of("float64")
    return node.result(ops.Power(), operand(node, "self", wide), operand(node, "exponent", wide))


def _remainder(fmod: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        return node.result(ops.Modulo(fmod=fmod), *pair(node, common(node, "self", "other")))

    return convert


def _ignoring_nan(op: Operator) -> Converter:
    """fmax and fmin give the other operand where one is NaN."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        a, b = pair(node, dtype)
        if not dtype.is_float:
            return node.result(op, a, b)
        chosen = node.step(ops.Where(), node.step(ops.IsNaN(), b), a, node.step(op, a, b))
        return node.result(ops.Where(), node.step(ops.IsNaN(), a), b, chosen)

    return convert


def _atan2(node: TorchNode) -> Operand:
    return node.result(ops.Atan2(), *pair(node, floating(common(node, "self", "other"))))


def _hypot(node: TorchNode) -> Operand:
    return hypotenuse(node, *pair(node, floating(common(node, "self", "other"))))


def _lerp(node: TorchNode) -> Operand:
    """self + weight·(end - self), from the end where the weight is 1/2 or more (aten/src/ATen/native/Lerp.h)."""
    start, end = node.tensor("self"), node.tensor("end")
    dtype = start.type.dtype
    weight = operand(node, "weight", dtype)
    apart = node.step(ops.Subtract(), end, start)
    one, half = (node.literal(n, dtype) for n in (1, 0.5))
    forwards = node.step(ops.Add(), start, node.step(ops.Multiply(), weight, apart))
    rest = node.step(ops.Multiply(), apart, node.step(ops.Subtract(), one, weight))
    backwards = node.step(ops.Subtract(), end, rest)
    is_near = node.step(ops.Less(), node.step(ops.Abs(), weight), half)
    return node.result(ops.Where(), is_near, forwards, backwards)


def _with_product(op: Operator) -> Converter:
    """addcmul and addcdiv: self + value·tensor1·tensor2, or a quotient."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "tensor1", "tensor2")
        data, one, two = (operand(node, name, dtype) for name in ("self", "tensor1", "tensor2"))
        term = node.step(op, one, two)
        value = node.number("value", 1)
        if value != 1:
            term = node.step(ops.Multiply(), node.literal(value, dtype), term)
        return node.result(ops.Add(), data, term)

    return convert


def _xlogy(node: TorchNode) -> Operand:
    """a·log b, 0 where a is 0 unless b is NaN."""
    dtype = floating(common(node, "self", "other"))
    a, b = pair(node, dtype)
    zero = node.literal(0, dtype)
    product = node.step(ops.Multiply(), a, node.step(ops.Log(), b))
    kept = node.step(ops.Where(), node.step(ops.Equal(), a, zero), zero, product)
    return node.result(ops.Where(), node.step(ops.IsNaN(), b), b, kept)


def _copied(node: TorchNode) -> Operand:
    """copy: `src` in the type and shape of self."""
    target = node.type("self")
    return node.result(ops.BroadcastTo(shape=target.shape), node.cast(node.tensor("src"), target.dtype))


def _copy_sign(node: TorchNode) -> Operand:
    """|a| with the sign of b, which -0 has, too."""
    dtype = floating(common(node, "self", "other"))
    a, b = pair(node, dtype)
    zero = node.literal(0, dtype)
    below = node.step(ops.Less(), b, zero)
    inverse = node.step(ops.Less(), node.step(ops.Reciprocal(), b), zero)
    size = node.step(ops.Abs(), a)
    return node.result(ops.Where(), node.step(ops.Or(), below, inverse), node.step(ops.Negative(), size), size)


def _log_add_exp(node: TorchNode) -> Operand:
    """log(e^a + e^b), as the larger one and log1p of e to the negative distance."""
    a, b = pair(node, floating(common(node, "self", "other")))
    high = node.step(ops.Maximum(), a, b)
    apart = node.step(ops.Negative(), node.step(ops.Abs(), node.step(ops.Subtract(), a, b)))
    total = node.step(ops.Add(), high, node.step(ops.Log1p(), node.step(ops.Exp(), apart)))
    infinite = node.step(ops.And(), node.step(ops.Equal(), a, b), node.step(ops.IsInf(), a))
    return node.result(ops.Where(), infinite, a, total)


ARITHMETIC: dict[str, Converter] = {
    "add": _sum(1),
    "addcdiv": _with_product(ops.Divide()),
    "addcmul": _with_product(ops.Multiply()),
    "arctan2": _atan2,
    "atan2": _atan2,
    "copy": _copied,
    "copysign": _copy_sign,
    "div": _divide,
    "divide": _divide,
    "float_power": _float_power,
    "floor_divide": _floor_divide,
    "fmax": _ignoring_nan(ops.Maximum()),
    "fmin": _ignoring_nan(ops.Minimum()),
    "fmod": _remainder(fmod=True),
    "hypot": _hypot,
    "lerp": _lerp,
    "logaddexp": _log_add_exp,
    "max.other": binary(ops.Maximum(), ops.Or()),
    "maximum": binary(ops.Maximum(), ops.Or()),
    "min.other": binary(ops.Minimum(), ops.And()),
    "minimum": binary(ops.Minimum(), ops.And()),
    "mul": binary(ops.Multiply(), ops.And()),
    "multiply": binary(ops.Multiply(), ops.And()),
    "pow": _power,
    "remainder": _remainder(fmod=False),
    "rsub": _reversed_difference,
    "special_xlogy": _xlogy,
    "sub": _sum(-1),
    "subtract": _sum(-1),
    "true_divide": _divide,
    "xlogy": _xlogy,
}
