"""Parts of tensors: slices, splits, and elements in reverse; of quantised tensors their integers."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, require_bound
from sateen.frontends.core.slices import Masks, strided_slice, turned
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
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
    """With `offset`, ends count from the begins."""
    starts, ends = node.dimensions_at(1), node.dimensions_at(2)
    if node.flag("offset"):
        ends = tuple(start + end for start, end in zip(starts, ends, strict=True))
    return strided_slice(node, starts, ends, node.integers_at(3), Masks.of(node))


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
    return node.result(turned(shape, normal_axes(node.integers_at(1), len(shape))), node.value(0))


SLICES: dict[str, Converter] = {
    "REVERSE_V2": _reverse,
    "SLICE": _slice,
    "SPLIT": _split,
    "SPLIT_V": _split_into,
    "STRIDED_SLICE": _strided_slice,
    "UNPACK": _unpack,
}
