"""Slices of tensors by ranges along their axes, and sequences of numbers."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from sateen.frontends.core.operands import Operand, open_dimensions_of, require_bound
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.core.slices import Masks, strided_slice
from sateen.frontends.tensorflow.node import INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, may_be_at_least, rounded_up

_LARGEST_RANGE = 1 << 20
"""The most elements of a range, which importing makes itself."""


def _slice(node: TensorflowNode) -> Operand:
    """From `begin` on, `size` elements along each axis; -1: all that remain."""
    if node.is_value(1) and not node.is_known(1):
        return _slice_at(node)
    shape, begin, size = node.shape(0), node.dimensions_at(1), node.dimensions_at(2)
    if not len(begin) == len(size) == len(shape):
        raise FrontendError(f"expected {len(shape)} begins and sizes, found {listed(begin)} and {listed(size)}")
    ends = [extent if n == -1 else b + n for b, n, extent in zip(begin, size, shape, strict=True)]
    for axis, (start, end) in enumerate(zip(begin, ends, strict=True)):
        if not (
            may_be_at_least(start, 0) and may_be_at_least(end - start, 0) and may_be_at_least(shape[axis] - end, 0)
        ):
            raise FrontendError(f"expected a slice within extent {shape[axis]}, found {start} to {end}")
    return node.result(ops.Slice(starts=begin, ends=tuple(ends), steps=(1,) * len(shape)), node.value(0))


def _slice_at(node: TensorflowNode) -> Operand:
    """A slice of known size whose begin is computed at run time."""
    shape, sizes = node.static_shape(0), node.integers_at(2)
    if len(sizes) != len(shape) or -1 in sizes:
        raise UnsupportedError("a slice whose begin is computed must have known sizes", node.binding(1))
    begin, value = node.cast(node.value(1), INT64), node.value(0)
    for axis, size in enumerate(sizes):
        if size != shape[axis]:
            first = node.step(ops.Slice(starts=(axis,), ends=(axis + 1,), steps=(1,)), begin)
            places = node.step(ops.Add(), node.positions(size), first)
            value = node.step(ops.Gather(axis=axis), value, places)
    return value


def _strided_slice(node: TensorflowNode) -> Operand:
    if node.is_value(1) and not node.is_known(1):
        return _elements_at(node)
    return strided_slice(node, node.dimensions_at(1), node.dimensions_at(2), node.integers_at(3), Masks.of(node))


def _elements_at(node: TensorflowNode) -> Operand:
    """Single elements along some axes, at places that are computed at run time: x[i], x[i, j], x[:, i]."""
    (count,) = node.static_shape(1)
    masks, rank = Masks.of(node), node.rank(0)
    places, value = node.cast(node.value(1), INT64), node.value(0)
    if masks.ranges(count, rank)[:count] == [(index, "one") for index in range(count)]:
        return node.result(ops.GatherND(batch_dims=0), value, places)
    picked: list[tuple[int, int]] = []
    for axis, (index, kind) in enumerate(masks.ranges(count, rank)):
        if kind == "one" and index is not None:
            picked.append((axis, index))
        elif kind == "new" or not (index is None or _is_whole(node, masks, index)):
            remedy = node.binding(1) or "take them by tf.gather, or by tf.slice of a known size"
            raise UnsupportedError("ranges that are computed at run time are not supported", remedy)
    for axis, index in reversed(picked):
        place = node.step(ops.Slice(starts=(index,), ends=(index + 1,), steps=(1,)), places)
        value = node.step(ops.Gather(axis=axis), value, node.step(ops.Reshape(shape=()), place))
    return value


def _is_whole(node: TensorflowNode, masks: Masks, index: int) -> bool:
    """Whether a range is all of its axis: neither begin nor end is given."""
    return bool(masks.begin >> index & masks.end >> index & 1) and node.integers_at(3)[index] == 1


def _numbers(node: TensorflowNode) -> Operand:
    """From start, by delta, up to but without limit (sequence_ops.cc)."""
    if open_dimensions_of(node.data(1)):
        return _numbers_to_dimension(node)
    start, limit, delta = (node.scalar(index) for index in range(3))
    if not delta or not all(map(isfinite, (start, limit, delta))):
        raise FrontendError(f"expected finite numbers and a delta other than 0, found {start}, {limit}, {delta}")
    count = max(ceil((limit - start) / delta), 0)
    if count > _LARGEST_RANGE:
        raise UnsupportedError(f"a range of {count} elements is more than the {_LARGEST_RANGE} that importing makes")
    dtype = node.constant(0).dtype
    return node.evaluated((start + np.arange(count).astype(dtype) * np.array(delta, dtype)).astype(dtype))


def _numbers_to_dimension(node: TensorflowNode) -> Operand:
    """Integers up to an open dimension, as running sums of the delta."""
    start, delta = int(node.scalar(0)), int(node.scalar(2))
    room = node.data(1).reshape(()).item() - start
    if delta < 1 or room < 0:
        require_bound(open_dimensions_of(node.data(1)), node.described(1))
    dtype = node.type("Tidx")
    deltas = node.step(ops.BroadcastTo(shape=(rounded_up(room, delta),)), node.literal(delta, dtype))
    return node.result(ops.Add(), node.step(ops.CumSum(exclusive=True), deltas), node.literal(start, dtype))


def _evenly_spaced(node: TensorflowNode) -> Operand:
    """`num` numbers from start to stop, whose last one is stop itself (sequence_ops.cc)."""
    start, stop, count = node.constant(0), node.constant(1), int(node.scalar(2))
    if not 0 < count <= _LARGEST_RANGE or start.size != 1 or stop.size != 1:
        raise FrontendError(f"expected 1 to {_LARGEST_RANGE} numbers, found {count}")
    dtype = start.dtype
    step = (stop.reshape(()) - start.reshape(())) / np.array(max(count - 1, 1), dtype)
    numbers = (start.reshape(()) + np.arange(count).astype(dtype) * step).astype(dtype)
    if count > 1:
        numbers[-1] = stop.reshape(())
    return node.evaluated(numbers)


def _reverse_sequence(node: TensorflowNode) -> Operand:
    rank = node.rank(0)
    time, batch = node.axis(rank, "seq_dim"), node.axis(rank, "batch_dim")
    return reversed_sequences(node, node.value(0), node.value(1), time, batch)


def _places_of_numbers(node: TensorflowNode) -> Operand:
    """The index along each axis of a shape, of elements that are numbered row by row: [axes, elements]."""
    extents = node.integers_at(1)
    if min(extents, default=0) < 1:
        raise FrontendError(f"expected a shape with elements, found {list(extents)}")
    dtype = node.dtype(0)
    strides = np.cumprod([1, *extents[:0:-1]])[::-1].copy()
    columns = [np.asarray(numbers, dtype.numpy).reshape(-1, *[1] * node.rank(0)) for numbers in (strides, extents)]
    steps = node.step(ops.Divide(), node.value(0), node.parameter(columns[0], "strides"))
    return node.result(ops.Modulo(), steps, node.parameter(columns[1], "extents"))


SLICES: dict[str, Converter] = {
    "LinSpace": _evenly_spaced,
    "Range": _numbers,
    "ReverseSequence": _reverse_sequence,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "UnravelIndex": _places_of_numbers,
}
