"""Operators that take elements from places, or put them there."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ops import (
    Gather,
    GatherElements,
    GatherND,
    OneHot,
    Reshape,
    ScatterElements,
    ScatterND,
    TensorScatter,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _gather(node: OnnxNode) -> Operand:
    """Indices that are known must be within the axis, where they count from the end if they are negative."""
    axis = node.axis(node.rank(0))
    extent = node.shape(0)[axis]
    if isinstance(extent, int) and not node.is_value(1):
        places = node.constant(1)
        beyond = places[(places < -extent) | (places >= extent)]
        if beyond.size:
            raise FrontendError(f"expected indices of {-extent} to {extent - 1}, found {beyond.flat[0]}")
    return node.result(Gather(axis=axis), node.value(0), node.value(1))


def _gather_elements(node: OnnxNode) -> Operand:
    return node.result(GatherElements(axis=node.axis(node.rank(0))), node.value(0), node.value(1))


def _gather_nd(node: OnnxNode) -> Operand:
    batch_dims = node.integer("batch_dims") if node.knows("batch_dims") else 0
    return node.result(GatherND(batch_dims=batch_dims), node.value(0), node.value(1))


def _scatter_elements(node: OnnxNode) -> Operand:
    op = ScatterElements(axis=node.axis(node.rank(0)), reduction=_reduction(node))
    return node.result(op, node.value(0), node.value(1), node.value(2))


def _scatter_nd(node: OnnxNode) -> Operand:
    return node.result(ScatterND(reduction=_reduction(node)), node.value(0), node.value(1), node.value(2))


def _reduction(node: OnnxNode) -> str:
    return node.text("reduction") if node.knows("reduction") else "none"


def _tensor_scatter(node: OnnxNode) -> Operand:
    mode = node.text("mode")
    if mode not in {"linear", "circular"}:
        raise FrontendError(f"expected mode linear or circular, found {mode!r}")
    op = TensorScatter(axis=node.axis(node.rank(0)), circular=mode == "circular")
    return node.result(op, *(node.value(i) for i in range(2 + node.has(2))))


def _compress(node: OnnxNode) -> Operand:
    """The slices for which a known condition holds; the condition may be shorter than the axis."""
    chosen = np.flatnonzero(node.constant(1))
    given = node.attribute("axis")
    data = node.value(0)
    axis = 0 if given is None else normal_axis(given, node.rank(0))
    if given is None:
        data = node.step(Reshape(shape=(product(node.shape(0)),)), data)
    extent = static_extents(data.type.shape, "the input")[axis]
    if len(chosen) and chosen[-1] >= extent:
        raise FrontendError(f"expected a condition of at most {extent} elements, found {list(node.shape(1))}")
    return node.result(Gather(axis=axis), data, node.parameter(chosen, "places"))


def _non_zero(node: OnnxNode) -> Operand:
    """The indices of nonzero elements, one row per axis; their number must be known."""
    return node.evaluated(np.array(np.nonzero(np.atleast_1d(node.constant(0))), np.int64))


def _one_hot(node: OnnxNode) -> Operand:
    axis = normal_axis(node.integer("axis"), node.rank(0) + 1)
    return node.result(OneHot(depth=int(node.scalar(1)), axis=axis), node.value(0), node.value(2))


def _reverse_sequence(node: OnnxNode) -> Operand:
    rank = node.rank(0)
    time, batch = node.axis(rank, "time_axis"), node.axis(rank, "batch_axis")
    return reversed_sequences(node, node.value(0), node.value(1), time, batch)


GATHER: dict[str, Converter] = {
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
}
