"""Parts of tensors: slices, splits, and elements in reverse; of quantised tensors their integers."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, require_bound, static_extents
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, symbols_of


def _slice(node: TfliteNode) -> Operand:
    """A size of -1 is all that remains."""
    shape, starts, sizes = node.shape(0), node.dimensions_at(1), node.dimensions_at(2)
    if not len(starts) == len(sizes) == len(shape):
        raise FrontendError(f"expected {len(shape)} begins and sizes, found {len(starts)} and {len(sizes)}")
    if any(isinstance(size, int) and size < -1 for size in sizes):
        raise FrontendError(f"expected sizes of -1 or more, found {listed(sizes)}")
    ends = [extent if size == -1 else start + size for extent, start, size in zip(shape, starts, sizes, strict=True)]
    return node.result(ops.Slice(tuple(starts), tuple(ends), (1,) * len(shape)), node.value(0))


def _strided_slice(node: TfliteNode) -> Operand:
    """Slices as in NumPy: masks of bits say at which places begin or end are absent, stands an ellipsis, a new axis, or
    an index (tensorflow/core/util/strided_slice_op.cc)."""
    shape, starts, ends = node.shape(0), node.dimensions_at(1), node.dimensions_at(2)
    steps = node.integers_at(3)
    if not len(starts) == len(ends) == len(steps):
        raise FrontendError(f"expected begins, ends and strides alike, found {len(starts)}, {len(ends)}, {len(steps)}")
    if node.flag("offset"):
        ends = tuple(start + end for start, end in zip(starts, ends, strict=True))
    cuts: list[tuple[Dim, Dim, int]] = []
    kept: list[Dim | None] = []  # the extents of the result; None: that of the next cut
    dropped: list[int] = []
    places = _places(node, len(starts), len(shape))
    for place in places:
        axis = len(cuts)
        if place is None:
            cuts.append((0, shape[axis], 1))
            kept.append(None)
        elif _bit(node, "new_axis_mask", place):
            kept.append(1)
        elif _bit(node, "shrink_axis_mask", place):
            index = _from_front(starts[place], shape[axis])
            cuts.append((index, index + 1, 1))
            dropped.append(axis)
        else:
            begin = None if _bit(node, "begin_mask", place) else starts[place]
            end = None if _bit(node, "end_mask", place) else ends[place]
            cuts.append(_cut(begin, end, steps[place], shape[axis]))
            kept.append(None)
    op = ops.Slice(tuple(cut[0] for cut in cuts), tuple(cut[1] for cut in cuts), tuple(cut[2] for cut in cuts))
    if not dropped and None not in kept[len(cuts) :] and 1 not in kept:
        return node.result(op, node.value(0))
    sliced = node.step(op, node.value(0))
    extents = iter(extent for axis, extent in enumerate(sliced.type.shape) if axis not in dropped)
    return node.result(ops.Reshape(tuple(next(extents) if n is None else n for n in kept)), sliced)


def _places(node: TfliteNode, count: int, rank: int) -> list[int | None]:
    """The places of the slice in order; None for each axis that the ellipsis, by default at the end, stands for."""
    ellipses = [place for place in range(count) if _bit(node, "ellipsis_mask", place)]
    if len(ellipses) > 1:
        raise FrontendError("expected at most one ellipsis, found several")
    others: list[int | None] = [place for place in range(count) if place not in ellipses]
    taken = sum(not _bit(node, "new_axis_mask", place) for place in range(count) if place not in ellipses)
    if taken > rank:
        raise FrontendError(f"expected slices of {rank} axes, found {taken}")
    at = ellipses[0] if ellipses else len(others)
    return [*others[:at], *[None] * (rank - taken), *others[at:]]


def _bit(node: TfliteNode, mask: str, place: int) -> bool:
    return bool(node.integer(mask) >> place & 1)


def _from_front(index: Dim, extent: Dim) -> Dim:
    """An index that may count from the end. Raises FrontendError if it lies outside the axis."""
    if not isinstance(index, int):
        return index
    if isinstance(extent, int) and not -extent <= index < extent:
        raise FrontendError(f"expected an index of {-extent} to {extent - 1}, found {index}")
    return index if index >= 0 else extent + index


def _cut(begin: Dim | None, end: Dim | None, step: int, extent: Dim) -> tuple[Dim, Dim, int]:
    """Begin and end within the axis; None is its end in the direction of the step."""
    if step == 0:
        raise FrontendError("expected strides other than 0")
    if step > 0 and begin in (None, 0) and (end is None or (isinstance(end, int) and end >= (1 << 31) - 1)):
        return 0, extent, step
    if not isinstance(extent, int) or not isinstance(begin, int | None) or not isinstance(end, int | None):
        if step > 0 and begin in (None, 0) and end is not None and end == extent:
            return 0, extent, step
        given = [position for position in (begin, end) if position is not None]
        require_bound(symbols_of(extent, *given), "where a slice ends")
    (known,) = static_extents((extent,), "the axis of a slice")
    reach = slice(begin, end, step).indices(known)
    return (reach[0], max(reach[1], reach[0]), step) if step > 0 else (reach[0], min(reach[1], reach[0]), step)


def _split(node: TfliteNode) -> Sequence[Operand]:
    """Inputs: the axis, then data."""
    axis, count = normal_axis(node.integer_at(0), node.rank(1)), len(node.outputs)
    extent = node.shape(1)[axis]
    if extent % count != 0:
        require_bound(symbols_of(extent), f"whether {count} parts divide it")
        raise FrontendError(f"expected {count} equal parts, found extent {extent}")
    return node.results(ops.Split(axis, (extent // count,) * count), node.value(1), count=count)


def _split_into(node: TfliteNode) -> Sequence[Operand]:
    """Inputs: data, extents, of which one may be -1, and the axis."""
    axis, sizes = normal_axis(node.integer_at(2), node.rank(0)), node.dimensions_at(1)
    extent = node.shape(0)[axis]
    rest = extent - sum((size for size in sizes if size != -1), 0)
    sizes = tuple(rest if size == -1 else size for size in sizes)
    if len(sizes) != len(node.outputs) or sum(sizes, 0) != extent:
        raise FrontendError(f"can't split extent {extent} into {listed(sizes)} for {len(node.outputs)} outputs")
    return node.results(ops.Split(axis, sizes), node.value(0), count=len(sizes))


def _unpack(node: TfliteNode) -> Sequence[Operand]:
    shape, count = node.shape(0), len(node.outputs)
    axis = node.axis(len(shape))
    if shape[axis] != count:
        raise FrontendError(f"expected {count} elements along axis {axis}, found {shape[axis]}")
    parts = node.steps(ops.Split(axis, (1,) * count), node.value(0), count=count)
    left = (*shape[:axis], *shape[axis + 1 :])
    return [node.result(ops.Reshape(left), part, output=i) for i, part in enumerate(parts)]


def _reverse(node: TfliteNode) -> Operand:
    shape = node.shape(0)
    axes = normal_axes(node.integers_at(1), len(shape))
    turned = [axis in axes for axis in range(len(shape))]
    return node.result(
        ops.Slice(
            tuple(extent - 1 if back else 0 for back, extent in zip(turned, shape, strict=True)),
            tuple(-1 if back else extent for back, extent in zip(turned, shape, strict=True)),
            tuple(-1 if back else 1 for back in turned),
        ),
        node.value(0),
    )


SLICES: dict[str, Converter] = {
    "REVERSE_V2": _reverse,
    "SLICE": _slice,
    "SPLIT": _split,
    "SPLIT_V": _split_into,
    "STRIDED_SLICE": _strided_slice,
    "UNPACK": _unpack,
}
