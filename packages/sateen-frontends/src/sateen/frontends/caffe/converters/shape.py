"""Layers that move, join and cut data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sateen.frontends.caffe.network import FLOAT, MOST_EXTENT
from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.caffe.parameters import inner_value, number
from sateen.frontends.caffe.text_format import Message
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape
from sateen.graph_ir.ir import Dim
from sateen.graph_ir.ops import BroadcastTo, Concat, Reshape, Slice, Split, Tile, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _axis(node: CaffeNode, older: str) -> int:
    """`axis`, or the field that it replaced; 1 if neither is given (concat_layer.cpp, slice_layer.cpp)."""
    given = [node.attribute(name) for name in ("axis", older)]
    if None not in given:
        raise FrontendError(f"expected axis or {older}, found both")
    return normal_axis(next((axis for axis in given if axis is not None), 1), node.rank(0))


def _concat(node: CaffeNode) -> Operand:
    axis = _axis(node, "concat_dim")
    return node.operand(0) if len(node.inputs) == 1 else node.result(Concat(axis), *node.values())


def _slice(node: CaffeNode) -> Sequence[Operand]:
    """A top between any two of the slice points, or tops of one size."""
    data, axis = node.the_value(), _axis(node, "slice_dim")
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    points, count = node.integers("slice_point"), len(node.outputs)
    if points:
        borders = (0, *points, extent)
        sizes = tuple(end - start for start, end in pairwise(borders))
        if len(points) != count - 1 or min(sizes) < 1:
            raise FrontendError(f"expected {count - 1} slice points that rise from 0 to {extent}, found {list(points)}")
    else:
        if not count or extent % count:
            raise FrontendError(f"axis {axis} of {extent} can't be divided among {count} tops")
        sizes = (extent // count,) * count
    return node.results(Split(axis, sizes), data, count=count) if count > 1 else [node.operand(0)]


def _split(node: CaffeNode) -> Sequence[Operand]:
    node.require_inputs(1, 1)
    return [node.operand(0)] * len(node.outputs)


def _flatten(node: CaffeNode) -> Operand:
    data = node.the_value()
    first, last = node.axis(data.type.rank), node.axis(data.type.rank, "end_axis")
    if last < first:
        raise FrontendError(f"expected end_axis {first} or more, found {last}")
    shape = data.type.shape
    return node.result(Reshape((*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :])), data)


def _reshape(node: CaffeNode) -> Operand:
    """The axes from `axis` on, `num_axes` or all, replaced by `shape`: 0 keeps the axis at its place, -1 is what the
    number of elements gives (reshape_layer.cpp)."""
    data, wanted = node.the_value(), node.attribute("shape")
    rank, count, start = data.type.rank, node.integer("num_axes"), node.integer("axis")
    start = start if start >= 0 else rank + 1 + start
    end = rank if count == -1 else start + count
    if not 0 <= start <= end <= rank or count < -1:
        raise FrontendError(f"expected axis and num_axes within {rank} axes, found {node.integer('axis')} and {count}")
    sizes = _sizes(wanted)
    replaced = data.type.shape[start:end]
    if any(size == 0 and place >= rank - start for place, size in enumerate(sizes)):
        raise FrontendError(f"a dimension 0 keeps an axis, but {data.type} has none at its place")
    shape: list[Dim] = [data.type.shape[start + place] if size == 0 else size for place, size in enumerate(sizes)]
    filled = filled_shape(shape, replaced)
    return node.result(Reshape((*data.type.shape[:start], *filled, *data.type.shape[end:])), data)


def _sizes(shape: Message | None) -> list[int]:
    """The dimensions of a `shape`. Raises FrontendError for any other than -1, 0 and extents."""
    given = [] if shape is None else list(shape.values("dim"))
    sizes = [size for size in given if isinstance(size, int) and -1 <= size <= MOST_EXTENT]
    if len(sizes) < len(given):
        raise FrontendError(f"expected dimensions of -1 or more, found {given}")
    return sizes


def _permute(node: CaffeNode) -> Operand:
    """Axes that `order` leaves out follow in their order (weiliu89/caffe, permute_layer.cpp)."""
    data, order = node.the_value(), node.integers("order")
    rank = data.type.rank
    if len(set(order)) < len(order) or not set(order) <= set(range(rank)):
        raise FrontendError(f"expected an order of different axes below {rank}, found {list(order)}")
    permutation = (*order, *(axis for axis in range(rank) if axis not in order))
    return node.result(Transpose(permutation), data)


def _crop(node: CaffeNode) -> Operand:
    """The axes from `axis` on cut to the size of the second bottom, from `offset` on (crop_layer.cpp)."""
    node.require_inputs(2, 2)
    data, rank = node.value(0), node.rank(0)
    axis, offsets = node.axis(rank), node.integers("offset")
    if node.rank(1) != rank or len(offsets) not in {0, 1, rank - axis}:
        raise FrontendError(f"expected bottoms of equal axes and 1 or {rank - axis} offsets, found {list(offsets)}")
    offsets = offsets * (rank - axis) if len(offsets) == 1 else offsets or (0,) * (rank - axis)
    starts = (*(0,) * axis, *offsets)
    wanted = (*data.type.shape[:axis], *node.shape(1)[axis:])
    if min(starts, default=0) < 0:
        raise FrontendError(f"expected offsets of 0 or more, found {list(offsets)}")
    ends = tuple(start + size for start, size in zip(starts, wanted, strict=True))
    return node.result(Slice(starts, ends, (1,) * rank), data)


def _tile(node: CaffeNode) -> Operand:
    data, count = node.the_value(), node.integer("tiles")
    axis = node.axis(data.type.rank)
    if count < 1:
        raise FrontendError(f"expected 1 tile or more, found {count}")
    return node.result(Tile(tuple(count if i == axis else 1 for i in range(data.type.rank))), data)


def _shuffle_channel(node: CaffeNode) -> Operand:
    """Channels as a matrix of `group` rows, transposed (farmingyard/ShuffleNet, shuffle_channel_layer.cpp)."""
    data, groups = node.the_value(), node.integer("group")
    shape = data.type.shape
    (channels,) = static_extents(shape[1:2], node.described(0)) or (0,)
    if groups < 1 or channels % groups or data.type.rank < 2:
        raise FrontendError(f"{channels} channels can't be divided into {groups} groups")
    rows = node.step(Reshape((shape[0], groups, channels // groups, *shape[2:])), data)
    swapped = node.step(Transpose((0, 2, 1, *range(3, data.type.rank + 1))), rows)
    return node.result(Reshape(shape), swapped)


def _silence(node: CaffeNode) -> Sequence[Operand]:
    if node.outputs:
        raise FrontendError(f"expected no tops of a layer Silence, found {len(node.outputs)}")
    return []


def _parameter(node: CaffeNode) -> Operand:
    """A blob as a value."""
    node.require_inputs(0, 0)
    shape = _sizes(node.attribute("shape"))
    if min(shape, default=1) < 1:
        raise UnsupportedError(f"a parameter of shape {shape} has no elements", "give its shape")
    return node.weight(0, *shape)


def _dummy_data(node: CaffeNode) -> Sequence[Operand]:
    """Blobs of one number each (dummy_data_layer.cpp); other fillers draw numbers at random."""
    node.require_inputs(0, 0)
    count, shapes, fillers = len(node.outputs), node.attribute("shape"), node.attribute("data_filler")
    found = [_sizes(shape) for shape in shapes] or [list(size) for size in zip(*_old_sizes(node), strict=False)]
    if len(found) not in {1, count} or len(fillers) not in {0, 1, count}:
        raise FrontendError(f"expected a shape and a filler for each of {count} tops, or one for all of them")
    return [
        _filled(node, i, found[min(i, len(found) - 1)], fillers[min(i, len(fillers) - 1)] if fillers else None)
        for i in range(count)
    ]


def _old_sizes(node: CaffeNode) -> list[tuple[int, ...]]:
    return [node.integers(name) for name in ("num", "channels", "height", "width")]


def _filled(node: CaffeNode, output: int, shape: Sequence[int], filler: Message | None) -> Operand:
    """A blob as its filler makes it: 0 without one."""
    if filler is not None and filler.text("type") not in {"", "constant"}:
        raise UnsupportedError("it fills blobs with numbers at random", "make it an input: replace it by a layer Input")
    if min(shape, default=1) < 1:
        raise FrontendError(f"expected a shape of 1 or more, found {list(shape)}")
    literal = node.literal(inner_value(filler, "value", number(0.0)), FLOAT, (1,) * len(shape))
    return node.result(BroadcastTo(tuple(shape)), literal, output=output)


SHAPE: dict[str, Converter] = {
    "Concat": _concat,
    "Crop": _crop,
    "DummyData": _dummy_data,
    "Flatten": _flatten,
    "Parameter": _parameter,
    "Permute": _permute,
    "Reshape": _reshape,
    "ShuffleChannel": _shuffle_channel,
    "Silence": _silence,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
}
