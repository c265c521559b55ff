"""Operators that cut tensors: slices, splits and crops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError


def _cut(node: MxnetNode, starts: Sequence[Dim], ends: Sequence[Dim], steps: Sequence[int]) -> Operand:
    op = ops.Slice(starts=tuple(starts), ends=tuple(ends), steps=tuple(steps))
    return node.result(op, node.value(0))


def _slice(node: MxnetNode) -> Operand:
    return _cut(node, *_slice_bounds(node))


def _slice_bounds(node: MxnetNode) -> tuple[Sequence[Dim], Sequence[Dim], Sequence[int]]:
    """begin, end and step of the first axes, each perhaps None, as Python slices."""
    shape = node.shape(0)
    begins, ends, steps = (_listed(node, name) for name in ("begin", "end", "step"))
    if max(len(begins), len(ends), len(steps)) > len(shape):
        raise FrontendError(f"expected at most {len(shape)} begins, ends and steps, found {begins}, {ends}, {steps}")
    bounds = []
    for axis, extent in enumerate(shape):
        begin, end, step = (values[axis] if axis < len(values) else None for values in (begins, ends, steps))
        bounds.append(_bounds(node, extent, begin, end, 1 if step is None else step))
    starts, stops, strides = zip(*bounds, strict=True)
    return starts, stops, strides


def _listed(node: MxnetNode, name: str) -> tuple[int | None, ...]:
    value = node.attribute(name)
    values = value if isinstance(value, tuple) else (value,)
    if not all(number is None or isinstance(number, int) for number in values):
        raise FrontendError(f"expected integers or None as attribute {name!r}, found {value!r}")
    return values


def _bounds(node: MxnetNode, extent: Dim, begin: int | None, end: int | None, step: int) -> tuple[Dim, Dim, int]:
    """Where a Python slice of an axis starts and ends."""
    if step == 0:
        raise FrontendError("expected steps other than 0")
    if begin is None and end is None and step == 1:
        return 0, extent, 1
    if step == 1 and not isinstance(extent, int) and (begin or 0) < 0 and end is None:
        return extent + (begin or 0), extent, 1
    (known,) = static_extents((extent,), f"the axis that {node.operator} cuts")
    if known == 0:
        return 0, 0, 1
    start, stop, _ = slice(begin, end, step).indices(known)
    return start, stop, step


def _slice_axis(node: MxnetNode) -> Operand:
    """One element or more, within the axis (GetSliceAxisParams of src/operator/tensor/matrix_op-inl.h)."""
    shape = node.shape(0)
    axis = node.axis(len(shape))
    begin, end = node.optional_integer("begin"), node.optional_integer("end")
    start, stop, _ = _bounds(node, shape[axis], begin, end, 1)
    if isinstance(extent := shape[axis], int):
        first, last = ((n or 0) + extent * (n is not None and n < 0) for n in (begin, extent if end is None else end))
        if not 0 <= first < last <= extent:
            raise FrontendError(f"expected begin before end within {extent} elements, found {begin} and {end}")
    starts, stops = [0] * len(shape), list(shape)
    return _cut(node, _with(starts, axis, start), _with(stops, axis, stop), [1] * len(shape))


def _with(values: Sequence[Dim], index: int, value: Dim) -> list[Dim]:
    return [value if i == index else v for i, v in enumerate(values)]


def _slice_like(node: MxnetNode) -> Operand:
    """The first elements, as many as the second operand has, of some or all axes."""
    shape, like = node.shape(0), node.shape(1)
    axes = node.axes("axes", len(like))
    ends = [like[axis] if axis in axes else extent for axis, extent in enumerate(shape)]
    return _cut(node, [0] * len(shape), ends, [1] * len(shape))


def _pieces(node: MxnetNode, axis: int, sizes: Sequence[Dim]) -> tuple[Operand, ...]:
    """The data in pieces along an axis, which squeeze_axis drops."""
    op, shape = ops.Split(axis=axis, sizes=tuple(sizes)), node.shape(0)
    if not node.flag("squeeze_axis"):
        return node.results(op, node.value(0), count=len(sizes))
    if any(size != 1 for size in sizes):
        raise FrontendError(f"squeeze_axis expects pieces of 1, found {list(sizes)}")
    kept = (*shape[:axis], *shape[axis + 1 :])
    if not kept:
        raise UnsupportedError("pieces without axes are not supported", "keep the axis: squeeze_axis=False")
    pieces = node.steps(op, node.value(0), count=len(sizes))
    return tuple(node.result(ops.Reshape(shape=kept), piece, output=i) for i, piece in enumerate(pieces))


def _equal_pieces(extent: Dim, count: int) -> list[Dim]:
    (known,) = static_extents((extent,), "the axis that is split")
    if count < 1 or known % count:
        raise FrontendError(f"expected an extent that is a multiple of {count}, found {known}")
    return [known // count] * count


def _slice_channel(node: MxnetNode) -> tuple[Operand, ...]:
    shape = node.shape(0)
    axis = node.axis(len(shape))
    return _pieces(node, axis, _equal_pieces(shape[axis], node.integer("num_outputs")))


def _split(node: MxnetNode) -> tuple[Operand, ...]:
    """Into `sections` equal pieces, or at indices, of which the first is 0."""
    shape = node.shape(0)
    axis = node.axis(len(shape))
    if sections := node.integer("sections"):
        return _pieces(node, axis, _equal_pieces(shape[axis], sections))
    (extent,) = static_extents((shape[axis],), "the axis that is split")
    places = [*(min(index + extent * (index < 0), extent) for index in node.integers("indices")), extent]
    sizes = [end - begin for begin, end in pairwise(places)]
    if not sizes or places[0] != 0 or min(sizes) < 1:
        raise UnsupportedError(f"pieces that begin at {places[:-1]} of {extent} are not supported")
    return _pieces(node, axis, sizes)


def _crop(node: MxnetNode) -> Operand:
    """Rows and columns of images from an offset on, or in the middle, as many as h_w says or the second input has."""
    shape = node.static_shape(0)
    if len(shape) != 4:
        raise FrontendError(f"expected images [N, C, H, W], found {list(shape)}")
    wanted = node.static_shape(1)[2:] if len(node.inputs) > 1 else node.integers("h_w")
    offset = node.integers("offset")
    if node.flag("center_crop"):
        offset = tuple((extent - size) // 2 for extent, size in zip(shape[2:], wanted, strict=True))
    fits = len(offset) == len(wanted) == 2 and all(
        begin >= 0 and size > 0 and begin + size <= extent
        for extent, begin, size in zip(shape[2:], offset, wanted, strict=False)
    )
    if not fits:
        raise FrontendError(f"expected a part of {list(shape[2:])}, found {list(wanted)} at {list(offset)}")
    starts = (0, 0, *offset)
    return _cut(node, starts, (*shape[:2], *(a + b for a, b in zip(offset, wanted, strict=True))), [1] * 4)


def _slice_assign(node: MxnetNode) -> Operand:
    """Data with other numbers in place of a slice: those of the second operand, or one."""
    shape = node.static_shape(0)
    starts, stops, steps = (static_extents(bounds, "a slice") for bounds in _slice_bounds(node))
    ranges = [range(start, stop, step) for start, stop, step in zip(starts, stops, steps, strict=True)]
    extents = tuple(map(len, ranges))
    require_few(*extents, len(shape))
    if 0 in extents:
        return node.operand(0)
    places = np.stack(np.meshgrid(*map(np.array, ranges), indexing="ij"), axis=-1)
    data = node.value(0)
    if len(node.inputs) > 1:
        new = node.value(1)
    else:
        new = node.filled(node.number("scalar"), extents, data.type.dtype)
    return node.result(ops.ScatterND(), data, node.parameter(places.astype(np.int64), "places"), new)


_BOUNDS: Mapping[str, Any] = {"begin": REQUIRED, "end": REQUIRED, "step": ()}

SLICES = {
    "Crop": operator(_crop, offset=(0, 0), h_w=(0, 0), center_crop=False),
    "SliceChannel": operator(_slice_channel, results="", num_outputs=REQUIRED, axis=1, squeeze_axis=False),
    "_split_v2": operator(_split, results="", indices=(), axis=1, squeeze_axis=False, sections=0),
    "_slice_assign": operator(_slice_assign, "lhs rhs", **_BOUNDS),
    "_slice_assign_scalar": operator(_slice_assign, **_BOUNDS, scalar=0.0),
    "slice": operator(_slice, **_BOUNDS),
    "slice_axis": operator(_slice_axis, axis=REQUIRED, begin=REQUIRED, end=REQUIRED),
    "slice_like": operator(_slice_like, "data shape_like", axes=()),
}
