"""Operators that move whole elements: reshape, transpose, concatenate, split, pad, repeat; and shapes. They take the
integers of quantised tensors as they are."""

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
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import divided, listed, product, symbols_of

LARGEST_RANGE = 1 << 20
"""The most elements of a range."""


def _reshape(node: TfliteNode) -> Operand:
    """The shape is an input or, in old files, an option; a single 0 there is a scalar (reshape.cc,
    ShapeIsVector and GetOutputShapeFromParam)."""
    wanted: tuple[Dim, ...]
    if node.has(1):
        wanted = node.dimensions_of(1)
    else:
        wanted = node.integers("new_shape")
        wanted = () if wanted == (0,) else wanted
    source = node.shape(0)
    if wanted.count(-1) > 1:
        raise FrontendError(f"expected a shape with at most one -1, found {listed(wanted)}")
    count, known = product(source), product(extent for extent in wanted if extent != -1)
    rest = divided(count, known) if -1 in wanted else 1 if known == count else None
    if rest is None:
        require_bound(symbols_of(count, known), f"whether shape {listed(wanted)} holds {count} elements")
        raise FrontendError(f"shape {listed(wanted)} can't hold the {count} elements of {listed(source)}")
    return _reshaped(node, tuple(rest if extent == -1 else extent for extent in wanted))


def _reshaped(node: TfliteNode, shape: tuple[Dim, ...]) -> Operand:
    return node.result(ops.Reshape(shape), node.value(0))


def _squeeze(node: TfliteNode) -> Operand:
    """Given axes, or all whose extent is 1."""
    shape = node.shape(0)
    given = node.optional_integers("squeeze_dims")
    if given:
        axes = normal_axes(given, len(shape))
    else:
        require_bound(symbols_of(*shape), node.described(0))
        axes = tuple(axis for axis, extent in enumerate(shape) if extent == 1)
    for axis in axes:
        if shape[axis] != 1:
            require_bound(symbols_of(shape[axis]), f"whether axis {axis} has extent 1")
            raise FrontendError(f"expected axis {axis} to have extent 1, found {shape[axis]}")
    return _reshaped(node, tuple(extent for axis, extent in enumerate(shape) if axis not in axes))


def _expand(node: TfliteNode) -> Operand:
    shape = node.shape(0)
    axis = normal_axis(node.integer_of(1), len(shape) + 1)
    return _reshaped(node, (*shape[:axis], 1, *shape[axis:]))


def _transpose(node: TfliteNode) -> Operand:
    rank = node.rank(0)
    permutation = node.integers_of(1)
    if sorted(permutation) != list(range(rank)):
        raise FrontendError(f"expected a permutation of {rank} axes, found {list(permutation)}")
    return node.result(ops.Transpose(permutation), node.value(0))


def _concatenate(node: TfliteNode) -> Operand:
    """Of the integers, if all have the scale of the result; otherwise they are scaled anew."""
    axis = node.axis(node.rank(0))
    scaling = node.output_scaling()
    alike = scaling is None or all(scaling.equals(node.scaling(index)) for index in range(len(node.inputs)))
    if not alike:
        return node.finish(ops.Concat(axis), *node.reals())
    limit = node.limit()
    if limit is None:
        return node.result(ops.Concat(axis), *node.values())
    return node.result(limit, node.step(ops.Concat(axis), *node.values()))


def _slice(node: TfliteNode) -> Operand:
    """A size of -1 is all that remains."""
    shape, starts, sizes = node.shape(0), node.dimensions_of(1), node.dimensions_of(2)
    if not len(starts) == len(sizes) == len(shape):
        raise FrontendError(f"expected {len(shape)} begins and sizes, found {len(starts)} and {len(sizes)}")
    ends = [extent if size == -1 else start + size for extent, start, size in zip(shape, starts, sizes, strict=True)]
    return node.result(ops.Slice(tuple(starts), tuple(ends), (1,) * len(shape)), node.value(0))


def _strided_slice(node: TfliteNode) -> Operand:
    """Slices as in NumPy: masks of bits say at which places begin or end are absent, stands an ellipsis, a new axis, or
    an index (tensorflow/core/util/strided_slice_op.cc)."""
    shape, starts, ends = node.shape(0), node.dimensions_of(1), node.dimensions_of(2)
    steps = node.integers_of(3)
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
    axis, count = normal_axis(node.integer_of(0), node.rank(1)), len(node.outputs)
    extent = node.shape(1)[axis]
    if extent % count != 0:
        require_bound(symbols_of(extent), f"whether {count} parts divide it")
        raise FrontendError(f"expected {count} equal parts, found extent {extent}")
    return node.results(ops.Split(axis, (extent // count,) * count), node.value(1), count=count)


def _split_into(node: TfliteNode) -> Sequence[Operand]:
    """Inputs: data, extents, of which one may be -1, and the axis."""
    axis, sizes = normal_axis(node.integer_of(2), node.rank(0)), node.dimensions_of(1)
    extent = node.shape(0)[axis]
    rest = extent - sum((size for size in sizes if size != -1), 0)
    sizes = tuple(rest if size == -1 else size for size in sizes)
    if len(sizes) != len(node.outputs) or sum(sizes, 0) != extent:
        raise FrontendError(f"can't split extent {extent} into {listed(sizes)} for {len(node.outputs)} outputs")
    return node.results(ops.Split(axis, sizes), node.value(0), count=len(sizes))


def _pack(node: TfliteNode) -> Operand:
    axis = normal_axis(node.integer("axis"), node.rank(0) + 1)
    parts = []
    for value in node.values():
        shape = value.type.shape
        parts.append(node.step(ops.Reshape((*shape[:axis], 1, *shape[axis:])), value))
    return node.result(ops.Concat(axis), *parts)


def _unpack(node: TfliteNode) -> Sequence[Operand]:
    shape, count = node.shape(0), len(node.outputs)
    axis = node.axis(len(shape))
    if shape[axis] != count:
        raise FrontendError(f"expected {count} elements along axis {axis}, found {shape[axis]}")
    parts = node.steps(ops.Split(axis, (1,) * count), node.value(0), count=count)
    left = (*shape[:axis], *shape[axis + 1 :])
    return [node.result(ops.Reshape(left), part, output=i) for i, part in enumerate(parts)]


def _pad(node: TfliteNode) -> Operand:
    """With the integer that stands for 0, or the value of the third input."""
    if node.has(2):
        value = node.scalar(2)
    else:
        scaling = node.scaling(0)
        value = 0 if scaling is None else int(scaling.zero_points[0])
    return node.result(ops.Pad("constant", _pads(node), value), node.value(0))


def _mirror(node: TfliteNode) -> Operand:
    modes = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    return node.result(ops.Pad(modes[node.text("mode")], _pads(node)), node.value(0))


def _pads(node: TfliteNode) -> tuple[int, ...]:
    """Begins, then ends, of the second input [rank, 2]."""
    given = node.constant(1)
    if given.shape != (node.rank(0), 2) or np.any(given < 0):
        raise FrontendError(f"expected pads [{node.rank(0)}, 2] of 0 or more, found {given.tolist()}")
    return tuple(int(pad) for pad in given.T.reshape(-1))


def _tile(node: TfliteNode) -> Operand:
    repeats = node.dimensions_of(1)
    if len(repeats) != node.rank(0):
        raise FrontendError(f"expected {node.rank(0)} repeats, found {listed(repeats)}")
    return node.result(ops.Tile(repeats), node.value(0))


def _broadcast(node: TfliteNode) -> Operand:
    return node.result(ops.BroadcastTo(node.dimensions_of(1)), node.value(0))


def _fill(node: TfliteNode) -> Operand:
    return node.result(ops.BroadcastTo(node.dimensions_of(0)), node.value(1))


def _broadcast_shape(node: TfliteNode) -> Operand:
    one, other = node.integers_of(0), node.integers_of(1)
    try:
        return np.array(np.broadcast_shapes(one, other), node.output_dtype().numpy)
    except ValueError:
        raise FrontendError(f"shapes {list(one)} and {list(other)} don't broadcast") from None


def _shape(node: TfliteNode) -> Operand:
    return extents_array(node.shape(0))


def _rank(node: TfliteNode) -> Operand:
    return np.array(node.rank(0), np.int32)


def _range(node: TfliteNode) -> Operand:
    """Floating-point numbers are sums of steps, each rounded (range.cc, CalculateRange)."""
    start, limit, step = (node.constant(index).reshape(()) for index in range(3))
    if step == 0 or not all(np.isfinite(end) for end in (start, limit, step)):
        raise FrontendError(f"expected a step other than 0, found {start}, {limit}, {step}")
    exact = max(float(np.ceil((float(limit) - float(start)) / float(step))), 0.0)
    if not exact <= LARGEST_RANGE:
        raise FrontendError(f"expected a range of at most {LARGEST_RANGE} elements, found {exact}")
    count = int(exact)
    steps = np.full(count, step, start.dtype)
    steps[:1] = start
    return node.evaluated(np.add.accumulate(steps, dtype=start.dtype))


def _reverse(node: TfliteNode) -> Operand:
    shape = node.shape(0)
    axes = normal_axes(node.integers_of(1), len(shape))
    turned = [axis in axes for axis in range(len(shape))]
    return node.result(
        ops.Slice(
            tuple(extent - 1 if back else 0 for back, extent in zip(turned, shape, strict=True)),
            tuple(-1 if back else extent for back, extent in zip(turned, shape, strict=True)),
            tuple(-1 if back else 1 for back in turned),
        ),
        node.value(0),
    )


def _space_to_depth(node: TfliteNode) -> Operand:
    """[N, H, W, C] to [N, H / block, W / block, block²·C]."""
    batch, height, width, channels = _picture(node)
    block = node.integer("block_size")
    if block < 1 or height % block != 0 or width % block != 0:
        raise FrontendError(f"expected height and width in blocks of {block}, found {height} and {width}")
    parts = node.step(ops.Reshape((batch, height // block, block, width // block, block, channels)), node.value(0))
    moved = node.step(ops.Transpose((0, 1, 3, 2, 4, 5)), parts)
    return node.result(ops.Reshape((batch, height // block, width // block, block * block * channels)), moved)


def _depth_to_space(node: TfliteNode) -> Operand:
    batch, height, width, channels = _picture(node)
    block = node.integer("block_size")
    if block < 1 or channels % (block * block) != 0:
        raise FrontendError(f"expected channels in {block} x {block}, found {channels}")
    depth = channels // (block * block)
    parts = node.step(ops.Reshape((batch, height, width, block, block, depth)), node.value(0))
    moved = node.step(ops.Transpose((0, 1, 3, 2, 4, 5)), parts)
    return node.result(ops.Reshape((batch, height * block, width * block, depth)), moved)


def _picture(node: TfliteNode) -> tuple[Dim, ...]:
    if node.rank(0) != 4:
        raise FrontendError(f"expected data of 4 dimensions, found {node.rank(0)}")
    return node.shape(0)


def _blocks(node: TfliteNode) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The blocks of spatial axes, and the pads or crops before and after each."""
    blocks, ends = node.integers_of(1), node.constant(2)
    if ends.shape != (len(blocks), 2) or len(blocks) >= node.rank(0) or min(blocks, default=1) < 1 or np.any(ends < 0):
        raise FrontendError(
            f"expected blocks and [{len(blocks)}, 2] of at least 0, found {list(blocks)}, {ends.tolist()}"
        )
    return blocks, [(int(before), int(after)) for before, after in ends]


def _space_to_batch(node: TfliteNode) -> Operand:
    """Each place in a block becomes a batch of its own, the batches of one place beside each other."""
    blocks, pads = _blocks(node)
    count, rank = len(blocks), node.rank(0)
    scaling = node.scaling(0)
    befores = (0, *(before for before, _ in pads), *[0] * (rank - count - 1))
    afters = (0, *(after for _, after in pads), *[0] * (rank - count - 1))
    zero = 0 if scaling is None else int(scaling.zero_points[0])
    padded = node.step(ops.Pad("constant", (*befores, *afters), zero), node.value(0))
    batch, *others = padded.type.shape
    spatial, rest = others[:count], others[count:]
    if any(extent % block != 0 for extent, block in zip(spatial, blocks, strict=True)):
        raise FrontendError(f"expected extents in blocks of {list(blocks)}, found {listed(spatial)}")
    halves = [part for extent, block in zip(spatial, blocks, strict=True) for part in (extent // block, block)]
    parts = node.step(ops.Reshape((batch, *halves, *rest)), padded)
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    order = (*inner, 0, *outer, *range(2 * count + 1, parts.type.rank))
    moved = node.step(ops.Transpose(order), parts)
    shape = (product((*blocks, batch)), *halves[::2], *rest)
    return node.result(ops.Reshape(shape), moved)


def _batch_to_space(node: TfliteNode) -> Operand:
    blocks, crops = _blocks(node)
    count = len(blocks)
    batch, *others = node.shape(0)
    spatial, rest = others[:count], others[count:]
    images = divided(batch, product(blocks))
    if images is None:
        raise FrontendError(f"expected a batch in blocks of {list(blocks)}, found {batch}")
    parts = node.step(ops.Reshape((*blocks, images, *spatial, *rest)), node.value(0))
    order = [count, *(axis for i in range(count) for axis in (count + 1 + i, i))]
    moved = node.step(ops.Transpose((*order, *range(2 * count + 1, parts.type.rank))), parts)
    whole = [extent * block for extent, block in zip(spatial, blocks, strict=True)]
    joined = node.step(ops.Reshape((images, *whole, *rest)), moved)
    starts = (0, *(before for before, _ in crops), *[0] * len(rest))
    ends = (images, *(extent - after for extent, (_, after) in zip(whole, crops, strict=True)), *rest)
    return node.result(ops.Slice(starts, ends, (1,) * joined.type.rank), joined)


def _diagonal(node: TfliteNode) -> Operand:
    """A matrix with the last axis as its diagonal, and 0 elsewhere."""
    data = node.value(0)
    (extent,) = static_extents(data.type.shape[-1:], node.described(0))
    zero = node.literal(0, data.type.dtype)
    return node.result(ops.Where(), _main_diagonal(node, extent, extent), _as_column(node, data), zero)


def _with_diagonal(node: TfliteNode) -> Operand:
    """Matrices with another diagonal."""
    data, diagonal = node.value(0), node.value(1)
    rows, columns = static_extents(data.type.shape[-2:], node.described(0))
    if rows <= columns:
        diagonal = _as_column(node, diagonal)
    else:
        shape = diagonal.type.shape
        diagonal = node.step(ops.Reshape((*shape[:-1], 1, *shape[-1:])), diagonal)
    return node.result(ops.Where(), _main_diagonal(node, rows, columns), diagonal, data)


def _as_column(node: TfliteNode, data: Value) -> Value:
    return node.step(ops.Reshape((*data.type.shape, 1)), data)


def _main_diagonal(node: TfliteNode, rows: int, columns: int) -> Value:
    kind = DType.of("int32")
    row, column = node.counted(rows, kind), node.counted(columns, kind)
    both = node.parameter(row[:, None], "rows"), node.parameter(column, "columns")
    return node.step(ops.Equal(), *both)


SHAPE: dict[str, Converter] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "BROADCAST_ARGS": _broadcast_shape,
    "BROADCAST_TO": _broadcast,
    "CONCATENATION": _concatenate,
    "DEPTH_TO_SPACE": _depth_to_space,
    "EXPAND_DIMS": _expand,
    "FILL": _fill,
    "MATRIX_DIAG": _diagonal,
    "MATRIX_SET_DIAG": _with_diagonal,
    "MIRROR_PAD": _mirror,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _pad,
    "RANGE": _range,
    "RANK": _rank,
    "RESHAPE": _reshape,
    "REVERSE_V2": _reverse,
    "SHAPE": _shape,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split_into,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
