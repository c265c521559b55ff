"""Operators that rearrange all elements together: reshape, transpose, concatenate, split, pad, repeat; and shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
    extents_array,
    normal_axes,
    normal_axis,
    require_bound,
    static_extents,
)
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, without_axes
from sateen.frontends.core.slices import turned
from sateen.frontends.tensorflow.node import INT32, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim
from sateen.runtime.errors import ArgumentError, FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import listed, may_be_at_least, product, symbols_of

_MOST_PARTS = 1 << 14
"""The most parts that a tensor is split into."""
_MIRRORED = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}


def _reshape_to(node: TensorflowNode, extents: Sequence[Dim]) -> Operand:
    return node.result(ops.Reshape(shape=tuple(extents)), node.value(0))


def _reshape(node: TensorflowNode) -> Operand:
    """An extent of -1 is what remains; 0 is none (reshape_op.h)."""
    return _reshape_to(node, filled_shape(node.dimensions_at(1), node.shape(0)))


def _expand_dims(node: TensorflowNode) -> Operand:
    (axis,) = node.integers_at(1)
    shape = node.shape(0)
    axis = normal_axis(axis, len(shape) + 1)
    return _reshape_to(node, (*shape[:axis], 1, *shape[axis:]))


def _squeeze(node: TensorflowNode) -> Operand:
    """The given axes, or all of extent 1."""
    shape = node.shape(0)
    axes = squeezed_axes(shape, node.integers("squeeze_dims") or None, node.described(0))
    return _reshape_to(node, without_axes(shape, axes))


def _transpose(node: TensorflowNode) -> Operand:
    permutation = tuple(normal_axis(axis, node.rank(0)) for axis in node.integers_at(1))
    if sorted(permutation) != list(range(node.rank(0))):
        raise FrontendError(f"expected a permutation of {node.rank(0)} axes, found {list(node.integers_at(1))}")
    return node.result(ops.Transpose(permutation=permutation), node.value(0))


def _concat(node: TensorflowNode) -> Operand:
    """The axis is the last input, the first one in the first version."""
    count = len(node.inputs) - 1
    at, first = (0, 1) if node.operator == "Concat" else (count, 0)
    (axis,) = node.integers_at(at)
    values = [node.value(first + i) for i in range(count)]
    return node.result(ops.Concat(axis=normal_axis(axis, values[0].type.rank)), *values)


def _pack(node: TensorflowNode) -> Operand:
    """Along a new axis."""
    values = node.values()
    shape = values[0].type.shape
    axis = normal_axis(node.integer("axis"), len(shape) + 1)
    slices = [node.step(ops.Reshape(shape=(*shape[:axis], 1, *shape[axis:])), value) for value in values]
    return node.result(ops.Concat(axis=axis), *slices)


def _require_few(count: int) -> None:
    if count > _MOST_PARTS:
        raise UnsupportedError(f"more than {_MOST_PARTS} parts of a tensor are not supported: {count}")


def _unpack(node: TensorflowNode) -> list[Operand]:
    shape = node.shape(0)
    axis = node.axis(len(shape))
    (count,) = static_extents([shape[axis]], node.described(0))
    _require_few(count)
    rest = ops.Reshape(shape=(*shape[:axis], *shape[axis + 1 :]))
    if count == 1:
        return [node.result(rest, node.value(0))]
    parts = node.steps(ops.Split(axis=axis, sizes=(1,) * count), node.value(0), count=count)
    return [node.result(rest, part, output=index) for index, part in enumerate(parts[: len(node.outputs)])]


def _split(node: TensorflowNode) -> Sequence[Operand]:
    """Into even parts; the axis is the first input."""
    (axis,) = node.integers_at(0)
    axis = normal_axis(axis, node.rank(1))
    (extent,) = static_extents([node.shape(1)[axis]], node.described(1))
    count = node.integer("num_split")
    _require_few(count)
    if count < 1 or extent % count:
        raise FrontendError(f"can't split extent {extent} into {count} even parts")
    return node.results(ops.Split(axis=axis, sizes=(extent // count,) * count), node.value(1), count=count)


def _split_by_sizes(node: TensorflowNode) -> Sequence[Operand]:
    """Into parts of given sizes, of which one may be -1, what remains; the axis is the third input."""
    (axis,) = node.integers_at(2)
    axis = normal_axis(axis, node.rank(0))
    sizes, extent = list(node.dimensions_at(1)), node.shape(0)[axis]
    if sizes.count(-1) == 1:
        place = sizes.index(-1)
        sizes[place] = extent - sum(size for size in sizes if size != -1)
    if sum(sizes) != extent or not all(may_be_at_least(size, 0) for size in sizes):
        require_bound(symbols_of(extent, *sizes), f"whether extent {extent} is split into {listed(sizes)}")
        raise FrontendError(f"can't split extent {extent} into {listed(sizes)}")
    return node.results(ops.Split(axis=axis, sizes=tuple(sizes)), node.value(0), count=len(sizes))


def _paddings(node: TensorflowNode) -> tuple[int, ...]:
    """The pads of all axes, begins and then ends; the second input has a row per axis."""
    data = node.constant(1)
    if data.shape != (node.rank(0), 2) or data.min(initial=0) < 0:
        raise FrontendError(f"expected {node.rank(0)} rows of two paddings of 0 or more, found {data.tolist()}")
    return (*data[:, 0].tolist(), *data[:, 1].tolist())


def _pad(node: TensorflowNode) -> Operand:
    value = node.scalar(2) if node.has(2) else 0
    value = int(value) if isinstance(value, bool) else value
    return node.result(ops.Pad(mode="constant", pads=_paddings(node), value=value), node.value(0))


def _mirror_pad(node: TensorflowNode) -> Operand:
    """REFLECT leaves out the outermost element, SYMMETRIC repeats it (mirror_pad_op.cc)."""
    mode = node.text("mode")
    if mode not in _MIRRORED:
        raise FrontendError(f"expected mode REFLECT or SYMMETRIC, found {mode!r}")
    pads, extents = _paddings(node), node.static_shape(0)
    for axis, extent in enumerate(extents):
        most = extent - (mode == "REFLECT")
        if max(pads[axis], pads[len(extents) + axis]) > most:
            raise FrontendError(f"expected paddings of at most {most} along axis {axis}, found {pads[axis]}")
    return node.result(ops.Pad(mode=_MIRRORED[mode], pads=pads), node.value(0))


def _tile(node: TensorflowNode) -> Operand:
    repeats = node.dimensions_at(1)
    if len(repeats) != node.rank(0) or not all(may_be_at_least(times, 0) for times in repeats):
        raise FrontendError(f"expected {node.rank(0)} repeats of zero or more, found {listed(repeats)}")
    return node.result(ops.Tile(repeats=repeats), node.value(0))


def _fill(node: TensorflowNode) -> Operand:
    extents = node.dimensions_at(0)
    if not all(may_be_at_least(extent, 0) for extent in extents):
        raise FrontendError(f"expected dimensions of zero or more, found {listed(extents)}")
    return node.result(ops.BroadcastTo(shape=extents), node.value(1))


def _as_integers(node: TensorflowNode, extents: Sequence[Dim]) -> Array:
    """Dimensions as data, in the type that the node asks for if all are known."""
    data = extents_array(extents)
    return data if data.dtype == object else data.astype(node.type("out_type").numpy)


def _shape(node: TensorflowNode) -> Array:
    return _as_integers(node, node.shape(0))


def _shapes(node: TensorflowNode) -> list[Operand]:
    return [_as_integers(node, node.shape(index)) for index in range(len(node.inputs))]


def _size(node: TensorflowNode) -> Array:
    return _as_integers(node, [product(node.shape(0))]).reshape(())


def _rank(node: TensorflowNode) -> Array:
    return np.array(node.rank(0), np.int32)


def _broadcast_shape(node: TensorflowNode) -> Array:
    """The shape that two shapes broadcast to."""
    first, second = node.dimensions_at(0), node.dimensions_at(1)
    try:
        extents = extents_array(broadcast_shape(first, second))
    except ArgumentError as error:
        require_bound(symbols_of(*first, *second), f"whether {listed(first)} broadcasts against {listed(second)}")
        raise FrontendError(str(error)) from None
    return extents if extents.dtype == object else extents.astype(node.constant(0).dtype)


def _reverse(node: TensorflowNode) -> Operand:
    """Along the axes of the second input; in the first version it has a bool per axis."""
    shape = node.shape(0)
    if node.operator == "Reverse":
        axes = tuple(axis for axis, chosen in enumerate(node.constant(1).tolist()) if chosen)
    else:
        axes = normal_axes(node.integers_at(1), len(shape))
    return node.result(turned(shape, axes), node.value(0))


def _roll(node: TensorflowNode) -> Operand:
    """Elements beyond the end come in at the beginning; shifts along one axis add up (roll_op.cc)."""
    shape = node.static_shape(0)
    shifts, axes = node.integers_at(1), node.integers_at(2)
    if len(shifts) != len(axes):
        raise FrontendError(f"expected a shift per axis, found {list(shifts)} and {list(axes)}")
    total = [0] * len(shape)
    for shift, axis in zip(shifts, axes, strict=True):
        total[normal_axis(axis, len(shape))] += shift
    moved = [(axis, shift % shape[axis]) for axis, shift in enumerate(total) if shape[axis] and shift % shape[axis]]
    value = node.value(0)
    for axis, shift in moved:
        sizes = (shape[axis] - shift, shift)
        first, second = node.steps(ops.Split(axis=axis, sizes=sizes), value, count=2)
        value = node.step(ops.Concat(axis=axis), second, first)
    return value


def _known_places(node: TensorflowNode) -> Array:
    """The places of elements that are not zero, which must be known: their number decides the shape."""
    return node.evaluated(np.argwhere(node.constant(0)).astype(np.int64))


def _inverse_permutation(node: TensorflowNode) -> Array:
    data = node.constant(0)
    if data.ndim != 1 or sorted(data.tolist()) != list(range(data.size)):
        raise FrontendError(f"expected a permutation, found {data.tolist()[:16]}")
    return node.evaluated(np.argsort(data).astype(data.dtype))


def _upper_bounds(node: TensorflowNode) -> Operand:
    """Where each value would be inserted into a sorted row: as many as are smaller, or not larger (UpperBound)."""
    rows, values = node.value(0), node.value(1)
    (batch, extent), (_, count) = node.shape(0), node.shape(1)
    op = ops.LessEqual() if node.operator == "UpperBound" else ops.Less()
    row = node.step(ops.Reshape(shape=(batch, 1, extent)), rows)
    column = node.step(ops.Reshape(shape=(batch, count, 1)), values)
    before = node.cast(node.step(op, row, column), INT32)
    return node.result_as(node.type("out_type"), ops.ReduceSum(axes=(2,), keepdims=False), before)


SHAPE: dict[str, Converter] = {
    "BroadcastArgs": _broadcast_shape,
    "Concat": _concat,
    "ConcatV2": _concat,
    "ExpandDims": _expand_dims,
    "Fill": _fill,
    "InvertPermutation": _inverse_permutation,
    "LowerBound": _upper_bounds,
    "MirrorPad": _mirror_pad,
    "Pack": _pack,
    "Pad": _pad,
    "PadV2": _pad,
    "Rank": _rank,
    "Reshape": _reshape,
    "Reverse": _reverse,
    "ReverseV2": _reverse,
    "Roll": _roll,
    "Shape": _shape,
    "ShapeN": _shapes,
    "Size": _size,
    "Split": _split,
    "SplitV": _split_by_sizes,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _unpack,
    "UpperBound": _upper_bounds,
    "Where": _known_places,
}
