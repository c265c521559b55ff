"""Operators on two tensors, element by element, and selection."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def _binary(op: Operator) -> Converter:
    return lambda node: node.finish(op, *node.reals())


def _comparison(op: Operator) -> Converter:
    """Of the numbers that quantised tensors stand for; integers of one scale compare alike."""

    def convert(node: TfliteNode) -> Operand:
        alike = _scaled_alike(node, 0, 1)
        return node.result(op, *(node.values() if alike else node.reals()))

    return convert


def _extremum(op: Operator) -> Converter:
    """Of the integers, where all stand for the same numbers, as the kernels require."""

    def convert(node: TfliteNode) -> Operand:
        scaling = node.output_scaling()
        if scaling is not None and _scaled_alike(node, 0, 1) and scaling.equals(node.scaling(0)):
            return node.result(op, *node.values())
        return node.finish(op, *node.reals())

    return convert


def _scaled_alike(node: TfliteNode, first: int, second: int) -> bool:
    """Whether the integers of two quantised inputs stand for the same numbers."""
    scaling = node.scaling(first)
    return scaling is not None and scaling.is_single and scaling.equals(node.scaling(second))


def _sum(node: TfliteNode) -> Operand:
    total, *others = node.reals()
    for value in others[:-1]:
        total = node.step(ops.Add(), total, value)
    return node.finish(ops.Add(), total, others[-1]) if others else node.finish(ops.Identity(), total)


def _floor_divide(node: TfliteNode) -> Operand:
    a, b = node.reals()
    if a.type.dtype.is_int:
        return node.finish(ops.FloorDivide(), a, b)
    return node.finish(ops.Floor(), node.step(ops.Divide(), a, b))


def _squared_difference(node: TfliteNode) -> Operand:
    difference = node.step(ops.Subtract(), *node.reals())
    return node.finish(ops.Multiply(), difference, difference)


def _select(node: TfliteNode) -> Operand:
    """Elements of the second or third input. A condition of one dimension chooses whole rows of data of more
    (reference_ops.h, RankOneSelect)."""
    condition, one, other = node.value(0), node.value(1), node.value(2)
    rank = max(one.type.rank, other.type.rank)
    if node.operator == "SELECT" and condition.type.rank == 1 and rank > 1:
        condition = node.step(ops.Reshape((*condition.type.shape, *(1,) * (rank - 1))), condition)
    return _chosen(node, condition, one, other)


def _chosen(node: TfliteNode, condition: Value, one: Value, other: Value) -> Operand:
    scaling = node.output_scaling()
    if scaling is None or (scaling.equals(node.scaling(1)) and scaling.equals(node.scaling(2))):
        return node.result(ops.Where(), condition, one, other)
    return node.finish(ops.Where(), condition, node.real(1), node.real(2))


BROADCAST: dict[str, Converter] = {
    "ADD": _binary(ops.Add()),
    "ADD_N": _sum,
    "ATAN2": _binary(ops.Atan2()),
    "BITWISE_XOR": _binary(ops.BitwiseXor()),
    "DIV": _binary(ops.Divide()),
    "EQUAL": _comparison(ops.Equal()),
    "FLOOR_DIV": _floor_divide,
    "FLOOR_MOD": _binary(ops.Modulo()),
    "GREATER": _comparison(ops.Greater()),
    "GREATER_EQUAL": _comparison(ops.GreaterEqual()),
    "LESS": _comparison(ops.Less()),
    "LESS_EQUAL": _comparison(ops.LessEqual()),
    "LOGICAL_AND": _binary(ops.And()),
    "LOGICAL_OR": _binary(ops.Or()),
    "MAXIMUM": _extremum(ops.Maximum()),
    "MINIMUM": _extremum(ops.Minimum()),
    "MUL": _binary(ops.Multiply()),
    "NOT_EQUAL": _comparison(ops.NotEqual()),
    "POW": _binary(ops.Power()),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SQUARED_DIFFERENCE": _squared_difference,
    "SUB": _binary(ops.Subtract()),
}
