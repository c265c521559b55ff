"""Element by element over several inputs, and over one whose axes lie within those of another."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Multiply, Reshape
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def folded(node: ModelNode, op: Operator, values: Sequence[Value]) -> Value:
    """The node's result: an operator of two values over one or more, from the first on. Raises FrontendError for
    none."""
    if not values:
        raise FrontendError(f"expected {node.called} of {node.operator}, found none")
    first, *rest = values
    for value in rest[:-1]:
        first = node.step(op, first, value)
    return node.result(op, first, rest[-1]) if rest else first


def mean(node: ModelNode, values: Sequence[Value]) -> Value:
    """The node's result: the mean of one or more values. Raises FrontendError for none."""
    if len(values) < 2:
        return folded(node, Add(), values)
    total, *rest = values
    for value in rest:
        total = node.step(Add(), total, value)
    return node.result(Multiply(), total, node.literal(1 / len(values), total.type.dtype))


def aligned(node: ModelNode, value: Value, axis: int, rank: int) -> Value:
    """A value whose axes are those from `axis` on of data of `rank`, with axes of 1 after them. Raises FrontendError if
    it has too many."""
    trailing = rank - axis - value.type.rank
    if trailing < 0:
        raise FrontendError(f"{value.type.rank} axes from axis {axis} on don't fit data of {rank} axes")
    return node.step(Reshape((*value.type.shape, *(1,) * trailing)), value) if trailing else value
