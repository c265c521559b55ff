"""Operations that take elements by their places, and put them there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

INDEX = DType.of("int64")
_REDUCTIONS = {"update": "none", "add": "add", "sub": "add", "mul": "mul", "div": "mul", "max": "max", "min": "min"}
"""What the graph calls each mode, after the updates are turned round."""


def _indices(node: OperationNode) -> Value:
    value = node.take("indices")
    return value if value.type.dtype.bits >= 32 else node.step(ops.Cast(INDEX), value)


def _gather(node: OperationNode) -> Operand:
    """Batch axes are those that x and the indices share; negative places count from the end."""
    x, indices, batch = node.take("x"), _indices(node), node.integer("batch_dims")
    axis = node.axis(x.type.rank)
    if batch == 0:
        return node.result(ops.Gather(axis=axis), x, indices)
    if axis != batch or indices.type.rank < batch:
        raise UnsupportedError("batch_dims with an axis behind the first after the batch", "transpose x")
    column = node.step(ops.Reshape((*indices.type.shape, 1)), indices)
    return node.result(ops.GatherND(batch_dims=batch), x, column)


def _gather_along_axis(node: OperationNode) -> Operand:
    x = node.take("x")
    return node.result(ops.GatherElements(axis=node.axis(x.type.rank)), x, _indices(node))


def _gather_nd(node: OperationNode) -> Operand:
    return node.result(ops.GatherND(batch_dims=node.integer("batch_dims")), node.take("x"), _indices(node))


def _mode(node: OperationNode) -> tuple[str, Value]:
    """How updates are combined, and the updates; a difference adds the negative, a quotient multiplies by 1 / x."""
    mode, updates = node.text("mode"), node.take("updates")
    if mode not in _REDUCTIONS:
        raise FrontendError(f"expected a mode of {', '.join(_REDUCTIONS)}, found {mode!r}")
    if mode == "sub":
        updates = node.step(ops.Negative(), updates)
    if mode == "div":
        if not updates.type.dtype.is_float:
            raise UnsupportedError("scatter by division of integers is not supported", "cast the data to fp32")
        updates = node.step(ops.Reciprocal(), updates)
    return _REDUCTIONS[mode], updates


def _scatter(node: OperationNode) -> Operand:
    """Slices along an axis; the axes of the indices take its place in the updates."""
    data, indices = node.take("data"), _indices(node)
    axis, depth = node.axis(data.type.rank), indices.type.rank
    reduction, updates = _mode(node)
    if updates.type.rank != data.type.rank - 1 + depth:
        raise FrontendError(f"expected updates of {data.type.rank - 1 + depth} dimensions, found {updates.type}")
    rows = node.step(ops.Reshape((*indices.type.shape, 1)), indices)
    op = ops.ScatterND(reduction=reduction)
    if axis == 0:
        return node.result(op, data, rows, updates)
    order = (axis, *(d for d in range(data.type.rank) if d != axis))
    moved = (*range(axis, axis + depth), *(d for d in range(updates.type.rank) if not axis <= d < axis + depth))
    first, their = node.step(ops.Transpose(order), data), node.step(ops.Transpose(moved), updates)
    back = tuple(order.index(d) for d in range(len(order)))
    return node.result(ops.Transpose(back), node.step(op, first, rows, their))


def _scatter_along_axis(node: OperationNode) -> Operand:
    data = node.take("data")
    reduction, updates = _mode(node)
    op = ops.ScatterElements(axis=node.axis(data.type.rank), reduction=reduction)
    return node.result(op, data, _indices(node), updates)


def _scatter_nd(node: OperationNode) -> Operand:
    reduction, updates = _mode(node)
    return node.result(ops.ScatterND(reduction=reduction), node.take("data"), _indices(node), updates)


def _one_hot(node: OperationNode) -> Operand:
    """A place outside the vector gives the off value everywhere."""
    indices = _indices(node)
    depth = int(node.scalar(node.at("one_hot_vector_size")))
    axis = normal_axis(node.integer("axis"), indices.type.rank + 1)
    if depth < 1:
        raise FrontendError(f"expected a vector of 1 or more elements, found {depth}")
    counted = node.positions(depth, indices.type.dtype, trailing=indices.type.rank - axis)
    shape = indices.type.shape
    whole = node.step(ops.Reshape((*shape[:axis], 1, *shape[axis:])), indices)
    on, off = (_number(node, name, number) for name, number in (("on_value", 1), ("off_value", 0)))
    return node.result(ops.Where(), node.step(ops.Equal(), whole, counted), on, off)


def _number(node: OperationNode, name: str, otherwise: int) -> Value:
    return node.take(name) if node.given(name) else node.parameter(np.array(otherwise, np.int32), name)


def _reverse_sequence(node: OperationNode) -> Operand:
    x, lengths = node.take("x"), node.take("lengths")
    time, batch = node.axis(x.type.rank, "seq_axis"), node.axis(x.type.rank, "batch_axis")
    return reversed_sequences(node, x, lengths, time, batch)


GATHER: Mapping[str, Converter] = {
    "gather": defaulting(_gather, axis=0, batch_dims=0),
    "gather_along_axis": defaulting(_gather_along_axis, axis=0),
    "gather_nd": defaulting(_gather_nd, batch_dims=0),
    "one_hot": defaulting(_one_hot, axis=-1),
    "reverse_sequence": defaulting(_reverse_sequence, seq_axis=0, batch_axis=0),
    "scatter": defaulting(_scatter, axis=0, mode="add"),
    "scatter_along_axis": defaulting(_scatter_along_axis, axis=0, mode="add"),
    "scatter_nd": defaulting(_scatter_nd, mode="add"),
}
