"""Layers of several blobs, element by element: those of old versions, which broadcast a little, and the newer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from sateen.frontends.core.broadcast import folded
from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _several(node: LayerNode) -> Sequence[Value]:
    values = node.values()
    if len(values) < 2:
        raise FrontendError(f"expected two or more inputs, found {len(values)}")
    return values


def _all(op: Operator) -> Converter:
    return lambda node: folded(node, op, _several(node))


def _all_or_number(op: Operator) -> Converter:
    """Of all inputs, or of the only one and the number alpha."""

    def convert(node: LayerNode) -> Operand:
        values = node.values()
        if len(values) == 1:
            return node.result(op, values[0], node.scalar_literal(node.parameters.alpha))
        return folded(node, op, values)

    return convert


def _average(node: LayerNode) -> Operand:
    values = node.values()
    if len(values) == 1:
        return node.result(ops.Identity(), values[0])
    total = reduce(lambda a, b: node.step(ops.Add(), a, b), values)
    return node.result(ops.Divide(), total, node.scalar_literal(len(values)))


def _binary(op: Operator) -> Converter:
    return lambda node: node.result(op, node.value(0), node.value(1))


def _floor_division(node: LayerNode) -> Operand:
    return node.result(ops.Floor(), node.step(ops.Divide(), node.value(0), node.value(1)))


def _comparison(op: Operator) -> Converter:
    """1 where it holds and 0 elsewhere, of two inputs, or of one and the number alpha."""

    def convert(node: LayerNode) -> Operand:
        other = node.value(1) if len(node.inputs) > 1 else node.scalar_literal(node.parameters.alpha)
        return node.float_result(node.step(op, node.value(0), other))

    return convert


def is_true(node: LayerNode, index: int) -> Value:
    """Where a blob is not 0."""
    return node.step(ops.NotEqual(), node.value(index), node.scalar_literal(0.0))


def _logical(op: Operator) -> Converter:
    return lambda node: node.float_result(node.step(op, *(is_true(node, i) for i in range(len(node.inputs)))))


def _where(node: LayerNode) -> Operand:
    return node.result(ops.Where(), is_true(node, 0), node.value(1), node.value(2))


def _shaped(node: LayerNode, name: str, shape: Sequence[int]) -> Value:
    """Weights of shape [1], [C], [1, H, W] or [C, H, W], for blobs [..., C, H, W]."""
    if len(shape) not in (1, 3):
        raise FrontendError(f"expected {name} of 1 or 3 dimensions, found shape {list(shape)}")
    full = (shape[0], 1, 1) if len(shape) == 1 else tuple(shape)
    return node.weight(name, full)


def _scale(node: LayerNode) -> Operand:
    node.require_rank(3)
    given = node.parameters
    factor = _shaped(node, "scale", given.shapeScale)
    if not given.hasBias:
        return node.result(ops.Multiply(), node.value(0), factor)
    scaled = node.step(ops.Multiply(), node.value(0), factor)
    return node.result(ops.Add(), scaled, _shaped(node, "bias", given.shapeBias))


def _bias(node: LayerNode) -> Operand:
    node.require_rank(3)
    return node.result(ops.Add(), node.value(0), _shaped(node, "bias", node.parameters.shape))


BROADCAST: Mapping[str, Converter] = {
    "add": _all_or_number(ops.Add()),
    "addBroadcastable": _binary(ops.Add()),
    "average": _average,
    "bias": _bias,
    "divideBroadcastable": _binary(ops.Divide()),
    "equal": _comparison(ops.Equal()),
    "floorDivBroadcastable": _floor_division,
    "greaterEqual": _comparison(ops.GreaterEqual()),
    "greaterThan": _comparison(ops.Greater()),
    "lessEqual": _comparison(ops.LessEqual()),
    "lessThan": _comparison(ops.Less()),
    "logicalAnd": _logical(ops.And()),
    "logicalNot": _logical(ops.Not()),
    "logicalOr": _logical(ops.Or()),
    "logicalXor": _logical(ops.Xor()),
    "max": _all(ops.Maximum()),
    "maxBroadcastable": _binary(ops.Maximum()),
    "min": _all(ops.Minimum()),
    "minBroadcastable": _binary(ops.Minimum()),
    "modBroadcastable": _binary(ops.Modulo()),
    "multiply": _all_or_number(ops.Multiply()),
    "multiplyBroadcastable": _binary(ops.Multiply()),
    "notEqual": _comparison(ops.NotEqual()),
    "powBroadcastable": _binary(ops.Power()),
    "scale": _scale,
    "subtractBroadcastable": _binary(ops.Subtract()),
    "whereBroadcastable": _where,
}
