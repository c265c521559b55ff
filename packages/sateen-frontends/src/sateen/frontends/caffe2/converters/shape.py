"""Operators that move, join and cut data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.operands import Operand, extents_array, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import BroadcastTo, Concat, Gather, Reshape, Slice, Split, Tile, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _axis(node: Caffe2Node, rank: int) -> int:
    """`axis`, or that of the channels in `order` (concat_split_op.h)."""
    if node.given("axis"):
        return normal_axis(node.integer("axis"), rank)
    return rank - 1 if node.given("order") and node.is_channels_last else normal_axis(1, rank)


def _concat(node: Caffe2Node) -> Operand | Sequence[Operand]:
    """With `add_axis` each input gets a new axis first; the second output holds their sizes (concat_split_op.cc)."""
    values = list(node.values())
    if not values:
        raise FrontendError("expected inputs, found none")
    rank, adds = values[0].type.rank, node.whole("add_axis", 0)
    axis = _axis(node, rank + 1 if adds else rank)
    if adds:
        values = [_with_axis(node, value, axis) for value in values]
    sizes = static_extents([value.type.shape[axis] for value in values], "the inputs")
    joined = node.result(Concat(axis), *values) if len(values) > 1 or adds else values[0]
    results: list[Operand] = [joined, np.array(sizes, np.int32)]
    return results[: len(node.outputs)]


def _with_axis(node: Caffe2Node, value: Value, axis: int) -> Value:
    return node.step(Reshape(with_axes(value.type.shape, (axis,))), value)


def _split(node: Caffe2Node) -> Sequence[Operand]:
    """Parts of sizes `split`, or of the second input, or of one size (concat_split_op.h)."""
    node.require_inputs(1, 2)
    data, count = node.value(0), len(node.outputs)
    axis = _axis(node, data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    sizes = node.wholes("split")
    if len(node.inputs) == 2:
        sizes = tuple(int(size) for size in node.constant(1).ravel())
    if not sizes:
        if not count or extent % count:
            raise FrontendError(f"axis {axis} of {extent} can't be divided among {count} outputs")
        sizes = (extent // count,) * count
    if len(sizes) != count or sum(sizes) != extent or min(sizes) < 0:
        raise FrontendError(f"expected {count} sizes that come to {extent}, found {list(sizes)}")
    return node.results(Split(axis, sizes), data, count=count) if count > 1 else [node.operand(0)]


def _slice(node: Caffe2Node) -> Operand:
    """From `starts` to `ends`; -1 is behind the last element (slice_op.h)."""
    if len(node.inputs) == 3:
        starts, ends = (tuple(int(n) for n in node.constant(i).ravel()) for i in (1, 2))
    else:
        node.require_inputs(1, 1)
        starts, ends = node.wholes("starts"), node.wholes("ends")
    data = node.value(0)
    extents = static_extents(data.type.shape, node.described(0))
    if len(starts) != len(ends) or len(starts) > len(extents):
        raise FrontendError(f"expected as many starts as ends, of {len(extents)} axes, found {starts} and {ends}")
    starts, ends = (*starts, *(0,) * (len(extents) - len(starts))), (*ends, *(-1,) * (len(extents) - len(ends)))
    starts, ends = (
        tuple(n + 1 + extent if n < 0 else min(n, extent) for n, extent in zip(places, extents, strict=True))
        for places in (starts, ends)
    )
    if any(not 0 <= start <= end for start, end in zip(starts, ends, strict=True)):
        raise FrontendError(
            f"expected starts before ends within {list(extents)}, found {list(starts)} and {list(ends)}"
        )
    return node.result(Slice(starts, ends, (1,) * len(extents)), data)


def _reshape(node: Caffe2Node) -> Operand | Sequence[Operand]:
    """0 keeps an axis, -1 is what the number of elements gives; the second output is the old shape (reshape_op.h)."""
    node.require_inputs(1, 2)
    data = node.value(0)
    wanted = tuple(int(n) for n in node.constant(1).ravel()) if len(node.inputs) == 2 else node.wholes("shape")
    if any(n == 0 and place >= data.type.rank for place, n in enumerate(wanted)):
        raise FrontendError(f"a dimension 0 keeps an axis, but {data.type} has none at its place")
    shape: list[Dim] = [data.type.shape[place] if n == 0 else n for place, n in enumerate(wanted)]
    filled = filled_shape(shape, data.type.shape)
    results: list[Operand] = [node.result(Reshape(filled), data), extents_array(data.type.shape)]
    return results[: len(node.outputs)]


def _flatten(node: Caffe2Node) -> Operand:
    """Two axes: those before `axis`, and the rest (flatten_op.h)."""
    data, axis = node.the_value(), node.whole("axis", 1)
    if axis != data.type.rank:
        axis = normal_axis(axis, data.type.rank)
    return node.result(Reshape((product(data.type.shape[:axis]), product(data.type.shape[axis:]))), data)


def _flatten_to_vector(node: Caffe2Node) -> Operand:
    data = node.the_value()
    return node.result(Reshape((product(data.type.shape),)), data)


def _resize_like(node: Caffe2Node) -> Operand:
    """The first input in the shape of the second (utility_ops.h, ResizeLikeOp)."""
    node.require_inputs(2, 2)
    return node.result(Reshape(node.shape(1)), node.value(0))


def _squeeze(node: Caffe2Node) -> Operand:
    data = node.the_value()
    axes = squeezed_axes(data.type.shape, node.wholes("dims"), node.described(0))
    return node.result(Reshape(without_axes(data.type.shape, axes)), data)


def _expand_dims(node: Caffe2Node) -> Operand:
    data = node.the_value()
    return node.result(Reshape(with_axes(data.type.shape, node.wholes("dims"))), data)


def _transpose(node: Caffe2Node) -> Operand:
    """By default the axes in reverse (transpose_op.h)."""
    data = node.the_value()
    axes = node.wholes("axes") or tuple(reversed(range(data.type.rank)))
    if sorted(axes) != list(range(data.type.rank)):
        raise FrontendError(f"expected axes that order {data.type.rank}, found {list(axes)}")
    return node.result(Transpose(axes), data)


def _ordered(last: bool) -> Converter:
    def convert(node: Caffe2Node) -> Operand:
        data = node.the_value()
        rank = data.type.rank
        if rank < 2:
            raise FrontendError(f"expected data with channels, found {data.type}")
        return node.result(Transpose((0, *range(2, rank), 1) if last else (0, rank - 1, *range(1, rank - 1))), data)

    return convert


def _channel_shuffle(node: Caffe2Node) -> Operand:
    """Channels as a matrix of `group` rows, transposed (channel_shuffle_op.h)."""
    data, groups = node.picture(), node.whole("group", 1)
    batch, channels, *spatial = data.type.shape
    (count,) = static_extents((channels,), node.described(0))
    if groups < 1 or count % groups:
        raise FrontendError(f"{count} channels can't be divided into {groups} groups")
    rows = node.step(Reshape((batch, groups, count // groups, *spatial)), data)
    swapped = node.step(Transpose((0, 2, 1, *range(3, data.type.rank + 1))), rows)
    return node.pictured(Reshape(data.type.shape), swapped)


def _tile(node: Caffe2Node) -> Operand:
    """`tiles` copies along `axis` (tile_op.h)."""
    if len(node.inputs) > 1:
        raise UnsupportedError("tiles as an input are not supported", "give tiles and axis")
    data, count = node.the_value(), node.whole("tiles", 1)
    axis = normal_axis(node.whole("axis", 0), data.type.rank)
    if count < 1:
        raise FrontendError(f"expected 1 tile or more, found {count}")
    return node.result(Tile(tuple(count if i == axis else 1 for i in range(data.type.rank))), data)


def _gather(node: Caffe2Node) -> Operand:
    node.require_inputs(2, 2)
    axis = 1 if node.operator == "BatchGather" else normal_axis(node.whole("axis", 0), node.rank(0))
    return node.result(Gather(axis), node.value(0), node.value(1))


def _merge_dim(node: Caffe2Node) -> Operand:
    """The first two axes as one (prepend_dim_op.h)."""
    data = node.the_value()
    if data.type.rank < 2:
        raise FrontendError(f"expected data of two axes or more, found {data.type}")
    first, second, *rest = data.type.shape
    return node.result(Reshape((first * second, *rest)), data)


def _prepend_dim(node: Caffe2Node) -> Operand:
    """The first axis as two, the first of them of `dim_size` (prepend_dim_op.h)."""
    data, size = node.the_value(), node.integer("dim_size")
    (extent,) = static_extents(data.type.shape[:1], node.described(0)) or (0,)
    if size < 1 or not extent or extent % size:
        raise FrontendError(f"{extent} elements of the first axis can't be divided among {size}")
    return node.result(Reshape((size, extent // size, *data.type.shape[1:])), data)


def _expand(node: Caffe2Node) -> Operand:
    """Repeated to a shape, in which 1 keeps an extent (expand_op.h)."""
    node.require_inputs(1, 2)
    data = node.value(0)
    wanted = tuple(map(int, node.constant(1).ravel())) if len(node.inputs) == 2 else node.wholes("shape")
    rank = max(len(wanted), data.type.rank)
    given: list[Dim] = [*[1] * (rank - data.type.rank), *data.type.shape]
    sizes = (*(1,) * (rank - len(wanted)), *wanted)
    return node.result(BroadcastTo(tuple(n if size == 1 else size for n, size in zip(given, sizes, strict=True))), data)


SHAPE: dict[str, Converter] = {
    "BatchGather": _gather,
    "ChannelShuffle": _channel_shuffle,
    "Concat": _concat,
    "Expand": _expand,
    "ExpandDims": _expand_dims,
    "Flatten": _flatten,
    "FlattenToVec": _flatten_to_vector,
    "Gather": _gather,
    "MergeDim": _merge_dim,
    "NCHW2NHWC": _ordered(True),
    "NHWC2NCHW": _ordered(False),
    "PrependDim": _prepend_dim,
    "Reshape": _reshape,
    "ResizeLike": _resize_like,
    "Shape": lambda node: extents_array(node.shape(0)),
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
}
