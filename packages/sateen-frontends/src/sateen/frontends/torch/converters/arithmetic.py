"""Operators of two and more operands, which broadcast and are promoted to a common type."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand, type_of
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.element_wise import truth
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Reference
from sateen.frontends.torch.promotion import common_dtype, floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _type_or_number(node: TorchNode, name: str) -> TensorType | float:
    argument = node.argument(name)
    if isinstance(argument, Reference):
        operand = node.operand_of(argument, name)
        is_number = type_of(operand).rank == 0 and node.is_number(argument.name)
        return 0 if is_number else type_of(operand)  # what a program computes of sizes is an integer of Python
    return node.number(name)


def common(node: TorchNode, *names: str) -> DType:
    """The type to which operands, tensors or numbers, are promoted."""
    return common_dtype([_type_or_number(node, name) for name in names])


def operand(node: TorchNode, name: str, dtype: DType) -> Value:
    """An operand, a tensor or a number, in a type."""
    if node.is_tensor(name):
        return node.cast(node.tensor(name), dtype)
    return node.literal(node.number(name), dtype)


def pair(node: TorchNode, dtype: DType) -> tuple[Value, Value]:
    return operand(node, "self", dtype), operand(node, "other", dtype)


def _binary(op: Operator, of_bool: Operator | None = None) -> Converter:
    """An operator in the common type; of bool another, or none."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        chosen = of_bool if dtype.is_bool and of_bool is not None else op
        return node.result(chosen, *pair(node, dtype))

    return convert


def _comparison(op: Operator) -> Converter:
    """In the common type; bool compares as numbers do."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        a, b = pair(node, dtype)
        if dtype.is_bool and not isinstance(op, (ops.Equal, ops.NotEqual)):
            a, b = (node.cast(v, DType.of("int32")) for v in (a, b))
        return node.result(op, a, b)

    return convert


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
    """√(a² + b²), scaled by the larger operand, so that squares stay in range."""
    a, b = (node.step(ops.Abs(), v) for v in pair(node, floating(common(node, "self", "other"))))
    large, small = node.step(ops.Maximum(), a, b), node.step(ops.Minimum(), a, b)
    zero, one = (node.literal(n, a.type.dtype) for n in (0, 1))
    is_flat = node.step(ops.Equal(), small, zero)
    ratio = node.step(ops.Where(), is_flat, zero, node.step(ops.Divide(), small, large))
    stretched = node.step(ops.Sqrt(), node.step(ops.Add(), node.step(ops.Multiply(), ratio, ratio), one))
    return node.result(ops.Multiply(), large, stretched)


def _logical(op: Operator) -> Converter:
    def convert(node: TorchNode) -> Operand:
        return node.result(op, truth(node, node.tensor("self")), truth(node, node.tensor("other")))

    return convert


def _shift(direction: str) -> Converter:
    return _binary(ops.BitShift(direction=direction))


def _where(node: TorchNode) -> Operand:
    if not node.gives("self"):
        raise UnsupportedError("how many places where finds is known at run time only")
    dtype = common(node, "self", "other")
    condition = truth(node, node.tensor("condition"))
    return node.result(ops.Where(), condition, *pair(node, dtype))


def _clamp(node: TorchNode) -> Operand:
    """Bounds that are numbers or tensors; where they cross, the upper one counts."""
    bounds = [name for name in ("min", "max") if node.gives(name)]
    dtype = common(node, "self", *bounds)
    data = operand(node, "self", dtype)
    if not any(node.is_tensor(name) for name in bounds):
        low, high = (_bound(node, name, dtype) for name in ("min", "max"))
        if low is not None and high is not None and low > high:
            low = high
        return node.result(ops.Clip(low=low, high=high), data)
    steps = [(ops.Maximum() if name == "min" else ops.Minimum(), operand(node, name, dtype)) for name in bounds]
    for op, limit in steps[:-1]:
        data = node.step(op, data, limit)
    return node.result(steps[-1][0], data, steps[-1][1])


def _bound(node: TorchNode, name: str, dtype: DType) -> float | None:
    if not node.gives(name):
        return None
    found = node.number(name)
    return int(found) if dtype.is_int else float(found)


def _one_bound(name: str) -> Converter:
    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", name)
        op = ops.Maximum() if name == "min" else ops.Minimum()
        return node.result(op, operand(node, "self", dtype), operand(node, name, dtype))

    return convert


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


def _masked_fill(node: TorchNode) -> Operand:
    """`value` where the mask holds."""
    data = node.tensor("self")
    value = operand(node, "value", data.type.dtype)
    return node.result(ops.Where(), node.tensor("mask"), value, data)


def _heaviside(node: TorchNode) -> Operand:
    """0 below 0, 1 above it, `values` at 0."""
    data, values = node.tensor("self"), node.tensor("values")
    dtype = data.type.dtype
    zero, one = node.literal(0, dtype), node.literal(1, dtype)
    sides = node.step(ops.Where(), node.step(ops.Less(), data, zero), zero, one)
    return node.result(ops.Where(), node.step(ops.Equal(), data, zero), values, sides)


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


def _is_close(node: TorchNode) -> Operand:
    """|a - b| <= atol + rtol·|b|; infinities equal themselves, NaN equals NaN if equal_nan."""
    dtype = common(node, "self", "other")
    a, b = pair(node, dtype)
    tolerant = node.flag("equal_nan")
    wide = floating(dtype)
    x, y = node.cast(a, wide), node.cast(b, wide)
    most = node.step(ops.Multiply(), node.literal(node.number("rtol", 1e-5), wide), node.step(ops.Abs(), y))
    most = node.step(ops.Add(), node.literal(node.number("atol", 1e-8), wide), most)
    apart = node.step(ops.Abs(), node.step(ops.Subtract(), x, y))
    infinite = node.step(ops.IsInf(), apart)
    near = node.step(ops.And(), node.step(ops.LessEqual(), apart, most), node.step(ops.Not(), infinite))
    if tolerant:
        both = node.step(ops.And(), node.step(ops.IsNaN(), x), node.step(ops.IsNaN(), y))
        near = node.step(ops.Or(), near, both)
    return node.result(ops.Or(), near, node.step(ops.Equal(), a, b))


ARITHMETIC: dict[str, Converter] = {
    "__and__": _binary(ops.BitwiseAnd(), ops.And()),
    "__or__": _binary(ops.BitwiseOr(), ops.Or()),
    "__xor__": _binary(ops.BitwiseXor(), ops.Xor()),
    "__lshift__": _shift("left"),
    "add": _sum(1),
    "addcdiv": _with_product(ops.Divide()),
    "addcmul": _with_product(ops.Multiply()),
    "arctan2": _atan2,
    "atan2": _atan2,
    "bitwise_and": _binary(ops.BitwiseAnd(), ops.And()),
    "bitwise_left_shift": _shift("left"),
    "bitwise_or": _binary(ops.BitwiseOr(), ops.Or()),
    "bitwise_xor": _binary(ops.BitwiseXor(), ops.Xor()),
    "clamp": _clamp,
    "clamp_max": _one_bound("max"),
    "clamp_min": _one_bound("min"),
    "clip": _clamp,
    "copy": _copied,
    "copysign": _copy_sign,
    "div": _divide,
    "divide": _divide,
    "eq": _comparison(ops.Equal()),
    "float_power": _float_power,
    "floor_divide": _floor_divide,
    "fmax": _ignoring_nan(ops.Maximum()),
    "fmin": _ignoring_nan(ops.Minimum()),
    "fmod": _remainder(fmod=True),
    "ge": _comparison(ops.GreaterEqual()),
    "greater": _comparison(ops.Greater()),
    "greater_equal": _comparison(ops.GreaterEqual()),
    "gt": _comparison(ops.Greater()),
    "heaviside": _heaviside,
    "hypot": _hypot,
    "isclose": _is_close,
    "le": _comparison(ops.LessEqual()),
    "lerp": _lerp,
    "less": _comparison(ops.Less()),
    "less_equal": _comparison(ops.LessEqual()),
    "logaddexp": _log_add_exp,
    "logical_and": _logical(ops.And()),
    "logical_or": _logical(ops.Or()),
    "logical_xor": _logical(ops.Xor()),
    "lt": _comparison(ops.Less()),
    "masked_fill": _masked_fill,
    "max.other": _binary(ops.Maximum(), ops.Or()),
    "maximum": _binary(ops.Maximum(), ops.Or()),
    "min.other": _binary(ops.Minimum(), ops.And()),
    "minimum": _binary(ops.Minimum(), ops.And()),
    "mul": _binary(ops.Multiply(), ops.And()),
    "multiply": _binary(ops.Multiply(), ops.And()),
    "ne": _comparison(ops.NotEqual()),
    "not_equal": _comparison(ops.NotEqual()),
    "pow": _power,
    "remainder": _remainder(fmod=False),
    "rsub": _reversed_difference,
    "special_xlogy": _xlogy,
    "sub": _sum(-1),
    "subtract": _sum(-1),
    "true_divide": _divide,
    "where": _where,
    "xlogy": _xlogy,
}
