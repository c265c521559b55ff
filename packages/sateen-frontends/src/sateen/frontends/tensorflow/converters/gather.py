"""Operators that take elements from places, or put them there."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, product

_DEEPEST = 1 << 20
"""The most elements of the axis that OneHot adds."""


def _gather(node: TensorflowNode) -> Operand:
    """Slices along an axis (an input of V2, else the first) at places within it, by batches of the first axes."""
    axis = normal_axis(int(node.scalar(2)) if node.has(2) else 0, node.rank(0))
    batch = normal_axis(node.integer("batch_dims"), node.rank(1) + 1) if node.attribute("batch_dims") else 0
    extent = node.shape(0)[axis]
    if isinstance(extent, int) and not node.is_value(1):
        places = node.constant(1)
        beyond = places[(places < 0) | (places >= extent)]
        if beyond.size:
            raise FrontendError(f"expected indices of 0 to {extent - 1}, found {beyond.flat[0]}")
    if not batch:
        return node.result(ops.Gather(axis=axis), node.value(0), node.value(1))
    return _gathered_by_batch(node, axis, batch)


def _gathered_by_batch(node: TensorflowNode, axis: int, batch: int) -> Operand:
    """data [batch…, others…, axis, inner…] at indices [batch…, places…]: [batch…, others…, places…, inner…]."""
    data, places = node.value(0), node.value(1)
    shape, chosen = node.shape(0), node.shape(1)
    if shape[:batch] != chosen[:batch] or axis < batch:
        raise FrontendError(f"expected {batch} equal axes of {listed(shape)} and {listed(chosen)} before axis {axis}")
    rank, others = len(shape), list(range(batch, axis))
    order = (*range(batch), axis, *others, *range(axis + 1, rank))
    moved = data if order == tuple(range(rank)) else node.step(ops.Transpose(permutation=order), data)
    indices = node.step(ops.Reshape(shape=(*chosen, 1)), places)
    if not others:
        return node.result(ops.GatherND(batch_dims=batch), moved, indices)
    taken = node.step(ops.GatherND(batch_dims=batch), moved, indices)
    count = len(chosen) - batch
    first = batch + count
    back = (
        *range(batch),
        *range(first, first + len(others)),
        *range(batch, first),
        *range(first + len(others), taken.type.rank),
    )
    return node.result(ops.Transpose(permutation=back), taken)


def _gather_nd(node: TensorflowNode) -> Operand:
    """An index of no elements takes all of the data."""
    if node.shape(1)[-1:] == (0,):
        return node.result(ops.BroadcastTo(shape=(*node.shape(1)[:-1], *node.shape(0))), node.value(0))
    return node.result(ops.GatherND(batch_dims=0), node.value(0), node.value(1))


def _scatter_nd(node: TensorflowNode) -> Operand:
    """Into zeros; updates of one place add up (scatter_nd_op.cc)."""
    shape = node.dimensions_at(2)
    zeros = node.step(ops.BroadcastTo(shape=shape), node.literal(0, node.dtype(1)))
    return node.result(ops.ScatterND(reduction="add"), zeros, node.value(0), node.value(1))


def _scatter_into(reduction: str) -> Converter:
    return lambda node: node.result(ops.ScatterND(reduction=reduction), node.value(0), node.value(1), node.value(2))


def _scatter_subtracting(node: TensorflowNode) -> Operand:
    negative = node.step(ops.Negative(), node.value(2))
    return node.result(ops.ScatterND(reduction="add"), node.value(0), node.value(1), negative)


def _one_hot(node: TensorflowNode) -> Operand:
    """A new axis; an index outside of it, a negative one too, gives no hot element (one_hot_op.h)."""
    depth = int(node.scalar(1))
    if not 0 <= depth <= _DEEPEST:
        raise FrontendError(f"expected a depth of 0 to {_DEEPEST}, found {depth}")
    shape = node.shape(0)
    axis = normal_axis(node.integer("axis"), len(shape) + 1)
    indices = node.step(ops.Reshape(shape=(*shape[:axis], 1, *shape[axis:])), node.value(0))
    row = np.arange(depth).astype(node.dtype(0).numpy).reshape(-1, *(1,) * (len(shape) - axis))
    hot = node.step(ops.Equal(), indices, node.parameter(row, "row"))
    return node.result(ops.Where(), hot, node.value(2), node.value(3))


def _segments(reduction: str) -> Converter:
    """Sums of rows by segment, of which the number is an input; rows of a negative one are dropped
    (segment_reduction_ops.cc)."""

    def convert(node: TensorflowNode) -> Operand:
        data, segments, count = node.value(0), node.value(1), int(node.scalar(2))
        shape, rank = node.shape(0), node.rank(1)
        if shape[:rank] != node.shape(1):
            raise FrontendError(f"expected segments {listed(shape[:rank])}, found {listed(node.shape(1))}")
        zeros = node.step(ops.BroadcastTo(shape=(count + 1, *shape[rank:])), node.literal(0, node.dtype(0)))
        dropped = node.step(ops.Less(), segments, node.literal(0, node.dtype(1)))
        kept = node.step(ops.Where(), dropped, node.literal(count, node.dtype(1)), segments)
        rows = product(shape[:rank])
        places = node.step(ops.Reshape(shape=(rows, 1)), kept)
        flat = node.step(ops.Reshape(shape=(rows, *shape[rank:])), data)
        total: Value = node.step(ops.ScatterND(reduction=reduction), zeros, places, flat)
        ends = (count, *shape[rank:])
        return node.result(ops.Slice(starts=(0,) * len(ends), ends=ends, steps=(1,) * len(ends)), total)

    return convert


def _sorted_segments(node: TensorflowNode) -> Operand:
    """Sums of rows by segment, of which the last one must be known."""
    places = node.constant(1)
    extents = static_extents(node.shape(0), node.described(0))
    if places.shape != extents[:1] or (np.diff(places) < 0).any() or places.min(initial=0) < 0:
        raise FrontendError("expected sorted segments, one per row")
    if not places.size:
        raise UnsupportedError("segments of no rows are not supported")
    zeros = node.step(ops.BroadcastTo(shape=(int(places[-1]) + 1, *extents[1:])), node.literal(0, node.dtype(0)))
    indices = node.parameter(places.astype(np.int64)[:, None], "places")
    return node.result(ops.ScatterND(reduction="add"), zeros, indices, node.value(0))


def _stitched(node: TensorflowNode) -> Operand:
    """Rows of several tensors merged by their indices, which must be known; of equal ones the last counts
    (dynamic_stitch_op.cc)."""
    half = len(node.inputs) // 2
    indices = [node.constant(i).reshape(-1) for i in range(half)]
    ranks = [node.rank(i) for i in range(half)]
    rows = [
        node.step(
            ops.Reshape(shape=(product(node.shape(half + i)[:rank]), *node.shape(half + i)[rank:])),
            node.value(half + i),
        )
        for i, rank in enumerate(ranks)
    ]
    places = np.concatenate(indices)
    count = int(places.max(initial=-1)) + 1
    if len(np.unique(places)) != count or places.min(initial=0) < 0:
        raise FrontendError("expected indices that cover all rows of the result")
    order = np.zeros(count, np.int64)
    order[places] = np.arange(len(places))
    merged = rows[0] if half == 1 else node.step(ops.Concat(axis=0), *rows)
    return node.result(ops.Gather(axis=0), merged, node.parameter(order, "order"))


def _dense(node: TensorflowNode) -> Operand:
    """Values at their indices among a default; single indices and values may lack their axis
    (sparse_to_dense_op.cc)."""
    shape, indices, values = node.dimensions_at(1), node.value(0), node.value(2)
    count = node.shape(0)[0] if node.rank(0) else 1
    places = node.step(ops.Reshape(shape=(count, len(shape))), indices)
    if not node.rank(2):
        values = node.step(ops.BroadcastTo(shape=(count,)), values)
    around = node.step(ops.BroadcastTo(shape=shape), node.value(3))
    return node.result(ops.ScatterND(), around, places, values)


GATHER: dict[str, Converter] = {
    "DynamicStitch": _stitched,
    "Gather": _gather,
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "OneHot": _one_hot,
    "ParallelDynamicStitch": _stitched,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "SegmentSum": _sorted_segments,
    "SparseToDense": _dense,
    "TensorScatterAdd": _scatter_into("add"),
    "TensorScatterMax": _scatter_into("max"),
    "TensorScatterMin": _scatter_into("min"),
    "TensorScatterSub": _scatter_subtracting,
    "TensorScatterUpdate": _scatter_into("none"),
    "UnsortedSegmentSum": _segments("add"),
}
