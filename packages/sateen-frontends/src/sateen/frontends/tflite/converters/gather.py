"""Elements at indices that are data."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.tflite.node import FLOAT, Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _gather(node: TfliteNode) -> Operand:
    data, indices = node.value(0), node.value(1)
    rank = data.type.rank
    axis, batch = normal_axis(node.integer("axis"), rank), node.integer("batch_dims")
    batch += indices.type.rank if batch < 0 else 0
    if not 0 <= batch <= min(axis, indices.type.rank):
        raise FrontendError(f"expected batch_dims of 0 to {min(axis, indices.type.rank)}, found {batch}")
    if not batch:
        return node.result(ops.Gather(axis), data, indices)
    between = range(batch, axis)
    others = (*between, *range(axis + 1, rank))
    turned = node.step(ops.Transpose((*range(batch), axis, *others)), data)
    places = node.step(ops.Reshape((*indices.type.shape, 1)), indices)
    found = node.step(ops.GatherND(batch), turned, places)
    chosen = indices.type.rank - batch
    after = batch + chosen
    order = (*range(batch), *range(after, after + len(between)), *range(batch, after))
    return node.result(ops.Transpose((*order, *range(len(order), found.type.rank))), found)


def _gather_nd(node: TfliteNode) -> Operand:
    return node.result(ops.GatherND(), node.value(0), node.value(1))


def _one_hot(node: TfliteNode) -> Operand:
    """Indices outside 0 to depth - 1, negative ones too, are nowhere. Inputs: indices, depth, on and off value."""
    indices, depth = node.value(0), node.integer_at(1)
    rank = indices.type.rank
    axis = normal_axis(node.integer("axis"), rank + 1)
    if depth < 0:
        raise FrontendError(f"expected a depth of 0 or more, found {depth}")
    shape = indices.type.shape
    wanted = node.step(ops.Reshape((*shape[:axis], 1, *shape[axis:])), indices)
    places = node.counted(depth, indices.type.dtype).reshape(-1, *[1] * (rank - axis))
    return node.result(
        ops.Where(),
        node.step(ops.Equal(), wanted, node.parameter(places, "places")),
        node.value(2),
        node.value(3),
    )


def _reverse_sequence(node: TfliteNode) -> Operand:
    rank = node.rank(0)
    time, batch = node.axis(rank, "seq_dim"), node.axis(rank, "batch_dim")
    return reversed_sequences(node, node.value(0), node.value(1), time, batch)


def _update_slice(node: TfliteNode) -> Operand:
    """A part of data replaced; begins are moved so that it lies within (dynamic_update_slice.cc, ClampStartIndices)."""
    data, update, begins = node.value(0), node.value(1), node.value(2)
    extents = static_extents(data.type.shape, node.described(0))
    parts = static_extents(update.type.shape, node.described(1))
    rank, kind = len(extents), begins.type.dtype
    inside: Value | None = None
    for axis, (extent, part) in enumerate(zip(extents, parts, strict=True)):
        if part > extent:
            raise FrontendError(f"expected an update within {list(extents)}, found {list(parts)}")
        if part == extent:
            continue
        begin = node.step(ops.Slice((axis,), (axis + 1,), (1,)), begins)
        begin = node.step(ops.Clip(0.0, float(extent - part)), begin)
        places = node.parameter(node.counted(extent, kind), "places")
        offset = node.step(ops.Subtract(), places, begin)
        within = node.step(
            ops.And(),
            node.step(ops.GreaterEqual(), offset, node.literal(0, kind)),
            node.step(ops.Less(), offset, node.literal(part, kind)),
        )
        update = node.step(ops.Gather(axis), update, node.step(ops.Clip(0.0, float(max(part - 1, 0))), offset))
        within = node.step(ops.Reshape(tuple(extent if d == axis else 1 for d in range(rank))), within)
        inside = within if inside is None else node.step(ops.And(), inside, within)
    return node.result(ops.Identity(), update) if inside is None else node.result(ops.Where(), inside, update, data)


def _bucket(node: TfliteNode) -> Operand:
    """The number of boundaries up to each element (bucketize.cc)."""
    data = node.value(0)
    boundaries = np.array(node.attribute("boundaries") or (), np.float32)
    if not boundaries.size or np.any(np.diff(boundaries) < 0):
        raise FrontendError(f"expected boundaries in order, found {boundaries.tolist()[:4]}")
    if data.type.dtype != FLOAT:
        data = node.step(ops.Cast(FLOAT), data)
    found = node.step(ops.SearchSorted(right=True), node.parameter(boundaries, "boundaries"), data)
    return node.result(ops.Cast(node.output_dtype()), found)


GATHER: dict[str, Converter] = {
    "BUCKETIZE": _bucket,
    "DYNAMIC_UPDATE_SLICE": _update_slice,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "ONE_HOT": _one_hot,
    "REVERSE_SEQUENCE": _reverse_sequence,
}
