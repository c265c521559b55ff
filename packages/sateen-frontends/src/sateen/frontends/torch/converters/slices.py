"""Parts of tensors along an axis, and copies with other parts in their place."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim, Value
from sateen.runtime.errors import FrontendError

FARTHEST = (1 << 63) - 1
"""The end of a slice that means the end of the axis."""


def bounds(node: TorchNode, extent: Dim) -> tuple[Dim, Dim]:
    """The start and end of a slice, counted from the end if negative, limited to the axis."""
    start = _within(node.dim("start", 0) if node.gives("start") else 0, extent)
    end = _within(node.dim("end", FARTHEST) if node.gives("end") else FARTHEST, extent)
    return start, max(start, end)


def _within(place: Dim, extent: Dim) -> Dim:
    if isinstance(place, int) and place >= (1 << 31) - 1:
        return extent
    place = place + extent if place < 0 else place
    return 0 if place < 0 else min(place, extent)


def _slice(node: TorchNode) -> Operand:
    shape = node.type("self").shape
    axis, step = node.one_axis(len(shape), default=0), node.integer("step", 1)
    if step < 1:
        raise FrontendError(f"expected a step of 1 or more, found {step}")
    data, (start, end) = node.tensor("self"), bounds(node, shape[axis])
    return node.result(sliced(data, axis, start, end, min(step, FARTHEST >> 32)), data)


def _narrow(node: TorchNode) -> Operand:
    shape = node.type("self").shape
    axis = node.one_axis(len(shape))
    data, start = node.tensor("self"), _within(node.dim("start"), shape[axis])
    return node.result(sliced(data, axis, start, start + node.dim("length")), data)


def _select(node: TorchNode) -> Operand:
    """The slice at an index, without its axis."""
    data = node.tensor("self")
    axis, index = node.one_axis(data.type.rank), node.dim("index")
    extent = data.type.shape[axis]
    place = index + extent if index < 0 else index
    one = part(node, data, axis, place, place + 1)
    return node.result(ops.Reshape(shape=(*data.type.shape[:axis], *data.type.shape[axis + 1 :])), one)


def _scattered_slice(node: TorchNode) -> Operand:
    """slice_scatter: a copy with `src` in place of a slice, as what is before and behind it, and where the step skips
    elements by a choice between both."""
    data, source = node.tensor("self"), node.tensor("src")
    shape = data.type.shape
    axis, step = node.one_axis(len(shape), default=0), node.integer("step", 1)
    start, end = bounds(node, shape[axis])
    if step != 1:
        first, last = static_extents((start, end), "a slice")
        node.require_table(*static_extents(shape[axis : axis + 1], "the axis of a slice"))
        return _with_places(node, data, source, axis, np.arange(first, last, step))
    return _replaced(node, data, source, axis, start, end)


def _replaced(node: TorchNode, data: Value, source: Value, axis: int, start: Dim, end: Dim) -> Operand:
    """Data with another part from `start` to `end` along an axis."""
    extent = data.type.shape[axis]
    before = [part(node, data, axis, 0, start)] if start != 0 else []
    after = [part(node, data, axis, end, extent)] if end != extent else []
    return node.result(ops.Concat(axis=axis), *before, source, *after)


def part(node: TorchNode, data: Value, axis: int, start: Dim, end: Dim, step: int = 1) -> Value:
    return node.step(sliced(data, axis, start, end, step), data)


def sliced(data: Value, axis: int, start: Dim, end: Dim, step: int = 1) -> ops.Slice:
    """The slice along one axis."""
    shape = data.type.shape
    starts, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)  # type: list[Dim], list[Dim], list[int]
    starts[axis], ends[axis], steps[axis] = start, end, step
    return ops.Slice(starts=tuple(starts), ends=tuple(ends), steps=tuple(steps))


def _with_places(node: TorchNode, data: Value, source: Value, axis: int, places: Array) -> Operand:
    """Data with the slices of a source at places along an axis."""
    (extent,) = static_extents(data.type.shape[axis : axis + 1], "the axis of a slice")
    sources, mask = np.zeros(extent, np.int64), np.zeros(extent, np.bool_)
    sources[places], mask[places] = np.arange(len(places)), True
    spread = node.step(ops.Gather(axis=axis), source, node.parameter(sources, "places"))
    wide = mask.reshape(-1, *[1] * (data.type.rank - axis - 1))
    return node.result(ops.Where(), node.parameter(wide, "mask"), spread, data)


def _scattered_select(node: TorchNode) -> Operand:
    """select_scatter: a copy with `src` in place of the slice at an index."""
    data, source = node.tensor("self"), node.tensor("src")
    shape = data.type.shape
    axis, index = node.one_axis(len(shape)), node.dim("index")
    place = index + shape[axis] if index < 0 else index
    one = node.reshaped(source, (*shape[:axis], 1, *shape[axis + 1 :]))
    return _replaced(node, data, one, axis, place, place + 1)


SLICES: dict[str, Converter] = {
    "narrow": _narrow,
    "narrow_copy": _narrow,
    "select": _select,
    "select_copy": _select,
    "select_scatter": _scattered_select,
    "slice": _slice,
    "slice_copy": _slice,
    "slice_scatter": _scattered_slice,
}
