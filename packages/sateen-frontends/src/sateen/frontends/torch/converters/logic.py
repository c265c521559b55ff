"""Comparisons, operators on truth and on bits, and choices by them."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.operands import binary, common, operand, pair, truth
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import floating
from sateen.graph_ir import ops
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator


def _comparison(op: Operator) -> Converter:
    """In the common type; bool compares as numbers do."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        a, b = pair(node, dtype)
        if dtype.is_bool and not isinstance(op, (ops.Equal, ops.NotEqual)):
            a, b = (node.cast(v, DType.of("int32")) for v in (a, b))
        return node.result(op, a, b)

    return convert


def _logical(op: Operator) -> Converter:
    def convert(node: TorchNode) -> Operand:
        return node.result(op, truth(node, node.tensor("self")), truth(node, node.tensor("other")))

    return convert


def _shift(direction: str) -> Converter:
    return binary(ops.BitShift(direction=direction))


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


def _logical_not(node: TorchNode) -> Operand:
    return node.result(ops.Not(), truth(node, node.tensor("self")))


def _bitwise_not(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(ops.Not() if data.type.dtype.is_bool else ops.BitwiseNot(), data)


LOGIC: dict[str, Converter] = {
    "__and__": binary(ops.BitwiseAnd(), ops.And()),
    "__lshift__": _shift("left"),
    "__or__": binary(ops.BitwiseOr(), ops.Or()),
    "__xor__": binary(ops.BitwiseXor(), ops.Xor()),
    "bitwise_and": binary(ops.BitwiseAnd(), ops.And()),
    "bitwise_left_shift": _shift("left"),
    "bitwise_not": _bitwise_not,
    "bitwise_or": binary(ops.BitwiseOr(), ops.Or()),
    "bitwise_xor": binary(ops.BitwiseXor(), ops.Xor()),
    "clamp": _clamp,
    "clamp_max": _one_bound("max"),
    "clamp_min": _one_bound("min"),
    "clip": _clamp,
    "eq": _comparison(ops.Equal()),
    "ge": _comparison(ops.GreaterEqual()),
    "greater": _comparison(ops.Greater()),
    "greater_equal": _comparison(ops.GreaterEqual()),
    "gt": _comparison(ops.Greater()),
    "heaviside": _heaviside,
    "isclose": _is_close,
    "le": _comparison(ops.LessEqual()),
    "less": _comparison(ops.Less()),
    "less_equal": _comparison(ops.LessEqual()),
    "logical_and": _logical(ops.And()),
    "logical_not": _logical_not,
    "logical_or": _logical(ops.Or()),
    "logical_xor": _logical(ops.Xor()),
    "lt": _comparison(ops.Less()),
    "masked_fill": _masked_fill,
    "ne": _comparison(ops.NotEqual()),
    "not_equal": _comparison(ops.NotEqual()),
    "where": _where,
}
