"""Elements written at indices that are data."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _scatter_nd(node: TfliteNode) -> Operand:
    """Sums of the updates at each place, and 0 elsewhere. Inputs: indices, updates, the shape."""
    updates = node.value(1)
    if updates.type.dtype.is_bool:
        raise UnsupportedError("updates of bool are not supported")
    zeros = _filled(node, node.dimensions_at(2), 0, updates.type.dtype)
    return node.result(ops.ScatterND("add"), zeros, node.value(0), updates)


def _filled(node: TfliteNode, shape: tuple[Dim, ...], number: float, dtype: DType) -> Value:
    return node.step(ops.BroadcastTo(shape), node.literal(number, dtype))


def _dense(node: TfliteNode) -> Operand:
    """Values at places of a shape, and a default elsewhere. Inputs: indices of 0, 1 or 2 dimensions, the shape, values,
    the default. A single value is that of all places."""
    indices, shape, values = node.value(0), node.dimensions_at(1), node.value(2)
    if indices.type.rank > 2:
        raise FrontendError(f"expected indices of at most 2 dimensions, found {indices.type}")
    if indices.type.rank < 2:
        indices = node.step(ops.Reshape((indices.type.shape[0] if indices.type.rank else 1, 1)), indices)
    count = indices.type.shape[0]
    if values.type.rank == 0:
        values = node.step(ops.BroadcastTo((count,)), values)
    default = node.step(ops.BroadcastTo(shape), node.value(3))
    return node.result(ops.ScatterND(), default, indices, values)


def _segments(reduction: str) -> Converter:
    """A reduction of the slices of each segment. Inputs: data, the segment of each slice, how many there are. Slices of
    negative segments are left out; a segment without slices has the reduction's neutral element."""

    def convert(node: TfliteNode) -> Operand:
        count = node.integer_at(2)
        if count < 1:
            raise UnsupportedError(f"expected a known number of segments, 1 or more, found {count}")
        return _reduced(node, reduction, count)

    return convert


def _sum_of_segments(node: TfliteNode) -> Operand:
    """The last segment, which is in order, says how many there are."""
    segments = node.constant(1)
    if segments.ndim != 1 or not segments.size or np.any(np.diff(segments) < 0) or segments[0] < 0:
        raise FrontendError("expected segments of 0 or more, in order")
    return _reduced(node, "add", int(segments[-1]) + 1)


def _reduced(node: TfliteNode, reduction: str, count: int) -> Operand:
    data, segments = node.value(0), node.value(1)
    shape, dtype, kind = segments.type.shape, data.type.dtype, segments.type.dtype
    inside = node.step(ops.GreaterEqual(), segments, node.literal(0, kind))
    places = node.step(ops.Where(), inside, segments, node.literal(count, kind))
    indices = node.step(ops.Reshape((*shape, 1)), places)
    neutral = _filled(node, (count, *data.type.shape[len(shape) :]), _neutral(reduction, dtype), dtype)
    return node.result(ops.ScatterND(reduction), neutral, indices, data)


def _neutral(reduction: str, dtype: DType) -> float:
    if reduction in ("add", "mul"):
        return {"add": 0, "mul": 1}[reduction]
    limits = np.finfo(dtype.numpy) if dtype.is_float else np.iinfo(dtype.numpy)
    least, most = float(limits.min), float(limits.max)
    return most if reduction == "min" else least


SCATTER: dict[str, Converter] = {
    "SCATTER_ND": _scatter_nd,
    "SEGMENT_SUM": _sum_of_segments,
    "SPARSE_TO_DENSE": _dense,
    "UNSORTED_SEGMENT_MAX": _segments("max"),
    "UNSORTED_SEGMENT_MIN": _segments("min"),
    "UNSORTED_SEGMENT_PROD": _segments("mul"),
    "UNSORTED_SEGMENT_SUM": _segments("add"),
}
