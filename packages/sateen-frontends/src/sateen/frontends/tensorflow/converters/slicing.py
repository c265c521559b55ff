"""Slices of tensors by ranges along their axes, and sequences of numbers."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from sateen.frontends.core.operands import Operand, open_dimensions_of, require_bound
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, may_be_at_least, rounded_up

FARTHEST = (1 << 31) - 1
"""A start or end of a slice that means the end of an axis of unknown extent, and the longest step there."""
_LARGEST_RANGE = 1 << 20
"""The most elements of a range, which importing makes itself."""
_MOST_SPECIFIED = 64


def _slice(node: TensorflowNode) -> Operand:
    """From `begin` on, `size` elements along each axis; -1: all that remain."""
    if node.is_value(1) and not node.is_known(1):
        return _slice_at(node)
    shape, begin, size = node.shape(0), node.dimensions(1), node.dimensions(2)
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
    shape, sizes = node.static_shape(0), node.setting(2)
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
    """x[begin:end:stride] of Python, a range for each axis (strided_slice_op.cc). Bits of the masks say of the ranges:
    begin or end is left out, `...`, a new axis, or one element, whose axis is left out."""
    if node.is_value(1) and not node.is_known(1):
        return _elements_at(node)
    shape = node.shape(0)
    taken: list[tuple[Dim, Dim, int]] = []
    kept: list[bool | None] = []
    begin, end, strides = node.dimensions(1), node.dimensions(2), node.setting(3)
    if not len(begin) == len(end) == len(strides) <= _MOST_SPECIFIED:
        raise FrontendError(f"expected as many begins, ends and strides, found {listed(begin)} and {listed(end)}")
    for index, kind in _ranges(node, len(strides), len(shape)):
        if kind == "new":
            kept.append(None)
            continue
        extent = shape[len(taken)]
        if kind == "all" or index is None:
            taken.append((0, extent, 1))
        elif kind == "one":
            taken.append(_element(begin[index], extent))
        else:
            taken.append(_range(node, index, begin[index], end[index], strides[index], extent))
        kept.append(kind != "one")
    starts, ends, steps = zip(*taken, strict=True) if taken else ((), (), ())
    op = ops.Slice(starts=starts, ends=ends, steps=steps)
    if all(kept):
        return node.result(op, node.value(0))
    part = node.step(op, node.value(0))
    extents = iter(part.type.shape)
    wanted: list[Dim] = []
    for keeps in kept:
        extent = 1 if keeps is None else next(extents)
        if keeps is not False:
            wanted.append(extent)
    return node.result(ops.Reshape(shape=tuple(wanted)), part)


def _ranges(node: TensorflowNode, count: int, rank: int) -> list[tuple[int | None, str]]:
    """What each range is, with its number: `some` or `one` element of an axis, `all` of one, or a `new` axis."""
    dots, new, one = (node.integer(f"{name}_mask") for name in ("ellipsis", "new_axis", "shrink_axis"))
    kinds = [
        "dots" if dots >> i & 1 else "new" if new >> i & 1 else "one" if one >> i & 1 else "some" for i in range(count)
    ]
    taken = sum(kind in {"one", "some"} for kind in kinds)
    if kinds.count("dots") > 1 or taken > rank:
        raise FrontendError(f"expected ranges for {rank} axes, found {taken} and {kinds.count('dots')} ellipses")
    if "dots" not in kinds:
        kinds.append("dots")
    found: list[tuple[int | None, str]] = []
    for index, kind in enumerate(kinds):
        found += [(None, "all")] * (rank - taken) if kind == "dots" else [(index, kind)]
    return found


def _element(place: Dim, extent: Dim) -> tuple[Dim, Dim, int]:
    """One element of an axis, counted from the end if negative, as a range."""
    start = place + extent if place < 0 else place
    if not (may_be_at_least(start, 0) and may_be_at_least(extent - 1 - start, 0)):
        raise FrontendError(f"expected an index within extent {extent}, found {place}")
    return start, start + 1, 1


def _range(node: TensorflowNode, index: int, begin: Dim, end: Dim, step: int, extent: Dim) -> tuple[Dim, Dim, int]:
    """A range within an axis: counted from the end if negative, and limited to the axis."""
    if not step:
        raise FrontendError("expected strides other than 0")
    forward = step > 0
    start = (
        (0 if forward else extent - 1) if node.integer("begin_mask") >> index & 1 else _limited(begin, extent, forward)
    )
    stop = (extent if forward else -1) if node.integer("end_mask") >> index & 1 else _limited(end, extent, forward)
    longest = max(extent, 1) if isinstance(extent, int) else FARTHEST
    return start, stop, max(-longest, min(step, longest))  # a longer step takes one element, too


def _limited(place: Dim, extent: Dim, forward: bool) -> Dim:
    """Raises InferenceError if the sizes decide whether a place is within the axis."""
    low, high = (0, extent) if forward else (-1, extent - 1)
    if isinstance(place, int) and not isinstance(extent, int) and abs(place) >= FARTHEST:
        return high if place > 0 else low
    place = place + extent if place < 0 else place
    return low if place < low else min(place, high)


def _elements_at(node: TensorflowNode) -> Operand:
    """Single elements along the first axes, at places that are computed at run time: x[i], x[i, j]."""
    (count,) = node.static_shape(1)
    if _ranges(node, count, node.rank(0))[:count] != [(index, "one") for index in range(count)]:
        raise UnsupportedError("ranges that are computed at run time are not supported", node.binding(1))
    places: Value = node.cast(node.value(1), INT64)
    return node.result(ops.GatherND(batch_dims=0), node.value(0), places)


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
    """The first elements along time, as many as each sequence of the batch has, in reverse order."""
    extents = node.static_shape(0)
    rank = len(extents)
    time, batch = node.axis(rank, "seq_dim"), node.axis(rank, "batch_dim")
    if time == batch or node.shape(1) != (extents[batch],):
        raise FrontendError(f"expected lengths of {extents[batch]} sequences, found {listed(node.shape(1))}")
    order = (batch, time, *(d for d in range(rank) if d not in (batch, time)))
    lengths = node.step(ops.Reshape(shape=(extents[batch], 1, 1)), node.cast(node.value(1), INT64))
    steps = node.positions(extents[time], trailing=1)
    last = node.step(ops.Subtract(), lengths, node.literal(1, INT64))
    places = node.step(
        ops.Where(), node.step(ops.Less(), steps, lengths), node.step(ops.Subtract(), last, steps), steps
    )
    moved = node.step(ops.Transpose(permutation=order), node.value(0))
    taken = node.step(ops.GatherND(batch_dims=1), moved, places)
    return node.result(ops.Transpose(permutation=tuple(order.index(d) for d in range(rank))), taken)


def _places_of_numbers(node: TensorflowNode) -> Operand:
    """The index along each axis of a shape, of elements that are numbered row by row: [axes, elements]."""
    extents = node.setting(1)
    if min(extents, default=0) < 1:
        raise FrontendError(f"expected a shape with elements, found {list(extents)}")
    dtype = node.dtype(0)
    strides = np.cumprod([1, *extents[:0:-1]])[::-1].copy()
    columns = [np.asarray(numbers, dtype.numpy).reshape(-1, *[1] * node.rank(0)) for numbers in (strides, extents)]
    steps = node.step(ops.Divide(), node.value(0), node.parameter(columns[0], "strides"))
    return node.result(ops.Modulo(), steps, node.parameter(columns[1], "extents"))


SLICING: dict[str, Converter] = {
    "LinSpace": _evenly_spaced,
    "Range": _numbers,
    "ReverseSequence": _reverse_sequence,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "UnravelIndex": _places_of_numbers,
}
