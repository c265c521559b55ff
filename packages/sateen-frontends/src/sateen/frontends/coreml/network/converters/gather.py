"""Layers that take elements by their places, and put them there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError

UPDATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM = range(7)
"""Values of ScatterMode."""
_REDUCTIONS = {
    UPDATE: "none",
    ADD: "add",
    SUBTRACT: "add",
    MULTIPLY: "mul",
    DIVIDE: "mul",
    MAXIMUM: "max",
    MINIMUM: "min",
}
"""What the graph calls each mode, after the updates are turned round."""


def _gather(node: LayerNode) -> Operand:
    return node.result(ops.Gather(axis=node.normal_parameter()), node.value(0), node.indices(1))


def _gather_nd(node: LayerNode) -> Operand:
    return node.result(ops.GatherND(), node.value(0), node.indices(1))


def _gather_along_axis(node: LayerNode) -> Operand:
    return node.result(ops.GatherElements(axis=node.normal_parameter()), node.value(0), node.indices(1))


def _scatter(node: LayerNode) -> Operand:
    """Slices along an axis, at indices of any rank, whose axes are those of the updates from that axis on."""
    axis = node.normal_parameter()
    reduction, updates = _mode(node)
    container, places = node.value(0), node.indices(1)
    depth = places.type.rank
    if updates.type.rank != container.type.rank - 1 + depth:
        raise FrontendError(
            f"expected updates of {container.type.rank - 1 + depth} dimensions, found {node.operand_text(2)}"
        )
    if axis == 0:
        rows = node.step(ops.Reshape((*places.type.shape, 1)), places)
        return node.result(ops.ScatterND(reduction=reduction), container, rows, updates)
    # the axis and the updates' axes of indices come first, and the axis goes back afterwards
    order = (axis, *(d for d in range(container.type.rank) if d != axis))
    moved = [*range(axis, axis + depth), *(d for d in range(updates.type.rank) if not axis <= d < axis + depth)]
    rows = node.step(ops.Reshape((*places.type.shape, 1)), places)
    first, their = node.step(ops.Transpose(order), container), node.step(ops.Transpose(tuple(moved)), updates)
    scattered = node.step(ops.ScatterND(reduction=reduction), first, rows, their)
    return node.result(ops.Transpose(tuple(order.index(d) for d in range(len(order)))), scattered)


def _scatter_nd(node: LayerNode) -> Operand:
    reduction, updates = _mode(node)
    return node.result(ops.ScatterND(reduction=reduction), node.value(0), node.indices(1), updates)


def _scatter_along_axis(node: LayerNode) -> Operand:
    reduction, updates = _mode(node)
    op = ops.ScatterElements(axis=node.normal_parameter(), reduction=reduction)
    return node.result(op, node.value(0), node.indices(1), updates)


def _mode(node: LayerNode) -> tuple[str, Value]:
    """How updates are combined, and the updates; a difference adds the negative, a quotient multiplies by 1 / x."""
    mode, updates = node.parameters.mode, node.value(2)
    if mode not in _REDUCTIONS:
        raise FrontendError(f"expected a mode of 0 to {MINIMUM}, found {mode}")
    if mode == SUBTRACT:
        updates = node.step(ops.Negative(), updates)
    if mode == DIVIDE:
        updates = node.step(ops.Reciprocal(), updates)
    return _REDUCTIONS[mode], updates


def _embedding(node: LayerNode) -> Operand:
    """A row for each of the places [..., 1, 1, 1], as channels."""
    given = node.parameters
    if node.rank(0) < 4 or node.shape(0)[-3:] != (1, 1, 1):
        raise FrontendError(f"expected a blob [..., 1, 1, 1], found {node.operand_text(0)}")
    shape = (*node.shape(0)[:-3], given.outputChannels, 1, 1)
    rows = _rows(node, given.outputChannels, given.inputDim, node.shape(0)[:-3])
    return node.result(ops.Reshape(shape), rows)


def _embedding_nd(node: LayerNode) -> Operand:
    """A row for each of the places [..., 1], in the last axis."""
    given = node.parameters
    if node.rank(0) < 2 or node.shape(0)[-1] != 1:
        raise FrontendError(f"expected a blob [..., 1], found {node.operand_text(0)}")
    rows = _rows(node, given.embeddingSize, given.vocabSize, node.shape(0)[:-1])
    return node.result(ops.Identity(), rows)


def _rows(node: LayerNode, size: int, count: int, places: tuple[Dim, ...]) -> Value:
    """The rows of a table [size, count] of columns, with a bias, at the places of the input."""
    table = node.parameter(np.ascontiguousarray(node.weights("weights", (size, count)).T), "weights")
    at = node.step(ops.Reshape(places), node.indices(0))
    rows = node.step(ops.Gather(axis=0), table, at)
    return node.step(ops.Add(), rows, node.weight("bias", (size,))) if node.parameters.hasBias else rows


def _one_hot(node: LayerNode) -> Operand:
    """A place outside the vector gives the off value everywhere; negative places do not count from the end."""
    given = node.parameters
    depth = node.integers_of(1)[0] if len(node.inputs) > 1 else given.oneHotVectorSize
    axis = normal_axis(given.axis, node.rank(0) + 1)
    if depth < 1:
        raise FrontendError(f"expected a vector of 1 or more elements, found {depth}")
    places = node.indices(0)
    counted = node.positions(depth, trailing=node.rank(0) - axis)
    whole = node.step(ops.Reshape((*places.type.shape[:axis], 1, *places.type.shape[axis:])), places)
    at = node.step(ops.Equal(), whole, counted)
    return node.result(ops.Where(), at, node.scalar_literal(given.onValue), node.scalar_literal(given.offValue))


def _reverse_sequences(node: LayerNode) -> Operand:
    given, rank = node.parameters, node.rank(0)
    time, batch = normal_axis(given.sequenceAxis, rank), normal_axis(given.batchAxis, rank)
    return reversed_sequences(node, node.value(0), node.indices(1), time, batch)


GATHER: Mapping[str, Converter] = {
    "embedding": _embedding,
    "embeddingND": _embedding_nd,
    "gather": _gather,
    "gatherAlongAxis": _gather_along_axis,
    "gatherND": _gather_nd,
    "oneHot": _one_hot,
    "reverseSeq": _reverse_sequences,
    "scatter": _scatter,
    "scatterAlongAxis": _scatter_along_axis,
    "scatterND": _scatter_nd,
}
