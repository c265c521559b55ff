"""Slices as Python writes them: ranges, integers, new axes and an ellipsis."""

from __future__ import annotations

from typing import Any

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import Reshape, Slice
from sateen.runtime.errors import FrontendError


def indexed(node: KerasNode, data: Value, key: Any) -> Operand:
    """data[key], where a key is an index or a list of them. Raises UnsupportedError for indices that are tensors."""
    entries = list(key) if isinstance(key, (list, tuple)) else [key]
    if any(not (one is None or one is Ellipsis or isinstance(one, slice) or type(one) is int) for one in entries):
        raise UnsupportedError("indices that are tensors or lists are not supported", "use keras.ops.take")
    named = sum(one is not None and one is not Ellipsis for one in entries)
    if entries.count(Ellipsis) > 1 or named > data.type.rank:
        raise FrontendError(f"expected indices of {data.type.rank} axes, found {len(entries)}")
    if Ellipsis not in entries:
        entries.append(Ellipsis)
    where = entries.index(Ellipsis)
    entries[where : where + 1] = [slice(None)] * (data.type.rank - named)
    starts: list[Dim] = []
    ends: list[Dim] = []
    steps: list[int] = []
    shape: list[Dim] = []
    axis = 0
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        extent = data.type.shape[axis]
        axis += 1
        start, end, step = _taken(node, entry, extent)
        starts.append(start)
        ends.append(end)
        steps.append(step)
        if isinstance(entry, slice):
            shape.append(len(range(start, end, step)) if isinstance(start, int) and isinstance(end, int) else end)
    op = Slice(tuple(starts), tuple(ends), tuple(steps))
    kept = all(isinstance(entry, slice) for entry in entries)
    return node.result(op, data) if kept else node.result(Reshape(tuple(shape)), node.step(op, data))


def _taken(node: KerasNode, entry: slice | int, extent: Dim) -> tuple[Dim, Dim, int]:
    """The start, end and step along an axis; the whole axis may have any extent."""
    if entry == slice(None) or entry == slice(0, None, 1):
        return 0, extent, 1
    (known,) = static_extents([extent], node.described(0))
    if isinstance(entry, slice):
        parts = (entry.start, entry.stop, entry.step)
        if not all(one is None or type(one) is int for one in parts) or entry.step == 0:
            raise UnsupportedError("slices between computed numbers are not supported", "use numbers")
        return entry.indices(known)
    if not -known <= entry < known:
        raise FrontendError(f"expected an index of {-known} to {known - 1}, found {entry}")
    return entry % known, entry % known + 1, 1
