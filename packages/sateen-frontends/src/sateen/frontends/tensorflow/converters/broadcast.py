"""Operators of two or more inputs that broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.broadcast import folded
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _binary(make: Callable[[TensorflowNode], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.value(0), node.value(1))


def _sum(node: TensorflowNode) -> Operand:
    return folded(node, ops.Add(), node.values())


def _floor_divide(node: TensorflowNode) -> Operand:
    if node.dtype(0).is_int:
        return node.result(ops.FloorDivide(), node.value(0), node.value(1))
    return node.result(ops.Floor(), node.step(ops.Divide(), node.value(0), node.value(1)))


def _truncate_divide(node: TensorflowNode) -> Operand:
    if node.dtype(0).is_int:
        return node.result(ops.Divide(), node.value(0), node.value(1))
    return node.result(ops.Trunc(), node.step(ops.Divide(), node.value(0), node.value(1)))


def _squared_difference(node: TensorflowNode) -> Operand:
    difference = node.step(ops.Subtract(), node.value(0), node.value(1))
    return node.result(ops.Multiply(), difference, difference)


def _zero(node: TensorflowNode, index: int) -> Value:
    return node.literal(0, node.dtype(index))


def _or_zero(make: Callable[[TensorflowNode, Value, Value], Value], decides: int) -> Converter:
    """A function of both inputs, or 0 where the one that decides is 0, whatever the other is (NaN and infinity too)."""

    def convert(node: TensorflowNode) -> Operand:
        a, b = node.value(0), node.value(1)
        is_zero = node.step(ops.Equal(), (a, b)[decides], _zero(node, decides))
        return node.result(ops.Where(), is_zero, _zero(node, 0), make(node, a, b))

    return convert


def _times_logarithm(op: Operator) -> Callable[[TensorflowNode, Value, Value], Value]:
    return lambda node, a, b: node.step(ops.Multiply(), a, node.step(op, b))


def _approximate_equal(node: TensorflowNode) -> Operand:
    tolerance = node.number("tolerance") if node.attribute("tolerance") is not None else 1e-5
    distance = node.step(ops.Abs(), node.step(ops.Subtract(), node.value(0), node.value(1)))
    return node.result(ops.Less(), distance, node.literal(tolerance, node.dtype(0)))


def _select(node: TensorflowNode) -> Operand:
    """Of rows, if the condition is a vector and the others have more axes (Select); V2 broadcasts."""
    condition = node.value(0)
    if node.operator == "Select":
        if node.rank(0) not in (0, node.rank(1)) and node.rank(0) != 1:
            raise FrontendError(f"expected a condition of rank 0, 1 or {node.rank(1)}, found {condition.type}")
        if node.rank(0) == 1 and node.rank(1) > 1:
            condition = node.step(ops.Reshape(shape=(*node.shape(0), *(1,) * (node.rank(1) - 1))), condition)
    return node.result(ops.Where(), condition, node.value(1), node.value(2))


def bias_added(node: TensorflowNode, data: Value, bias: Value, channels_first: bool) -> tuple[Value, Value]:
    """Data and a bias over its channels, aligned."""
    rank = data.type.rank
    if bias.type.rank != 1 or rank < 2:
        raise FrontendError(f"expected data of 2 axes or more and a vector, found {data.type} and {bias.type}")
    if channels_first and rank > 2:
        bias = node.step(ops.Reshape(shape=(*bias.type.shape, *(1,) * (rank - 2))), bias)
    return data, bias


def _bias_add(node: TensorflowNode) -> Operand:
    channels_first = node.attribute("data_format") == "NCHW"
    return node.result(ops.Add(), *bias_added(node, node.value(0), node.value(1), channels_first))


def _shift(direction: str) -> Converter:
    def convert(node: TensorflowNode) -> Operand:
        if not str(node.dtype(0)).startswith("uint") and direction == "right":
            raise UnsupportedError("a shift of signed integers to the right is not supported", "divide and round down")
        return node.result(ops.BitShift(direction=direction), node.value(0), node.value(1))

    return convert


def _broadcast_to(node: TensorflowNode) -> Operand:
    shape = node.dimensions_at(1)
    return node.result(ops.BroadcastTo(shape=shape), node.value(0))


BROADCAST: dict[str, Converter] = {
    "AccumulateNV2": _sum,
    "Add": _binary(lambda node: ops.Add()),
    "AddN": _sum,
    "AddV2": _binary(lambda node: ops.Add()),
    "ApproximateEqual": _approximate_equal,
    "Atan2": _binary(lambda node: ops.Atan2()),
    "BiasAdd": _bias_add,
    "BiasAddV1": _bias_add,
    "BitwiseAnd": _binary(lambda node: ops.BitwiseAnd()),
    "BitwiseOr": _binary(lambda node: ops.BitwiseOr()),
    "BitwiseXor": _binary(lambda node: ops.BitwiseXor()),
    "BroadcastTo": _broadcast_to,
    "Div": _binary(lambda node: ops.Divide()),
    "DivNoNan": _or_zero(lambda node, a, b: node.step(ops.Divide(), a, b), 1),
    "Equal": _binary(lambda node: ops.Equal()),
    "FloorDiv": _floor_divide,
    "FloorMod": _binary(lambda node: ops.Modulo()),
    "Greater": _binary(lambda node: ops.Greater()),
    "GreaterEqual": _binary(lambda node: ops.GreaterEqual()),
    "LeftShift": _shift("left"),
    "Less": _binary(lambda node: ops.Less()),
    "LessEqual": _binary(lambda node: ops.LessEqual()),
    "LogicalAnd": _binary(lambda node: ops.And()),
    "LogicalOr": _binary(lambda node: ops.Or()),
    "Maximum": _binary(lambda node: ops.Maximum()),
    "Minimum": _binary(lambda node: ops.Minimum()),
    "Mod": _binary(lambda node: ops.Modulo(fmod=True)),
    "Mul": _binary(lambda node: ops.Multiply()),
    "MulNoNan": _or_zero(lambda node, a, b: node.step(ops.Multiply(), a, b), 1),
    "NotEqual": _binary(lambda node: ops.NotEqual()),
    "Pow": _binary(lambda node: ops.Power()),
    "RealDiv": _binary(lambda node: ops.Divide()),
    "RightShift": _shift("right"),
    "Select": _select,
    "SelectV2": _select,
    "SquaredDifference": _squared_difference,
    "Sub": _binary(lambda node: ops.Subtract()),
    "TruncateDiv": _truncate_divide,
    "TruncateMod": _binary(lambda node: ops.Modulo(fmod=True)),
    "Xdivy": _or_zero(lambda node, a, b: node.step(ops.Divide(), a, b), 0),
    "Xlog1py": _or_zero(_times_logarithm(ops.Log1p()), 0),
    "Xlogy": _or_zero(_times_logarithm(ops.Log()), 0),
}
