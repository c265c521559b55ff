"""Operators that move elements: views, permutations, slices, joins, pads. A view is a tensor of its own here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, require_bound, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Argument, Reference
from sateen.frontends.torch.promotion import common_dtype
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import divided, listed, product, rounded_up, symbols_of

FARTHEST = (1 << 63) - 1
"""The end of a slice that means the end of the axis."""


def _reshape_to(node: TorchNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.Reshape(shape=tuple(shape)), node.tensor("self"))


def filled_shape(wanted: Sequence[Dim], count: Dim) -> tuple[Dim, ...]:
    """A shape for so many elements, of which one extent may be -1."""
    if wanted.count(-1) > 1 or any(isinstance(extent, int) and extent < -1 for extent in wanted):
        raise FrontendError(f"expected a shape with at most one -1, found {listed(wanted)}")
    known = product(extent for extent in wanted if extent != -1)
    rest = divided(count, known) if -1 in wanted else 1 if known == count else None
    if rest is None:
        require_bound(symbols_of(count, known), f"whether shape {listed(wanted)} holds {count} elements")
        raise FrontendError(f"shape {listed(wanted)} can't hold {count} elements")
    return tuple(rest if extent == -1 else extent for extent in wanted)


def _view(node: TorchNode) -> Operand:
    """A shape (`size`, or `shape` of reshape); torch requires that a view needs no copy, which concerns memory only."""
    name = "shape" if node.gives("shape") else "size"
    if not node.gives(name):  # as another element type
        return _view_as_type(node)
    return _reshape_to(node, filled_shape(node.dims(name), product(node.type("self").shape)))


def _view_as_type(node: TorchNode) -> Operand:
    dtype = node.element_type()
    if dtype is None or dtype.bits != node.type("self").dtype.bits:
        raise UnsupportedError("a view as elements of another width is not supported")
    return node.result(ops.BitCast(dtype=dtype), node.tensor("self"))


def _like(node: TorchNode) -> Operand:
    return _reshape_to(node, node.type("other").shape)


def _flatten(node: TorchNode) -> Operand:
    shape = node.type("self").shape or (1,)
    first, last = (node.one_axis(len(shape), name, d) for name, d in (("start_dim", 0), ("end_dim", -1)))
    return _reshape_to(node, (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]))


def _unflatten(node: TorchNode) -> Operand:
    shape = node.type("self").shape
    axis = node.one_axis(len(shape))
    node.ignore("names")
    return _reshape_to(node, (*shape[:axis], *filled_shape(node.dims("sizes"), shape[axis]), *shape[axis + 1 :]))


def _squeeze(node: TorchNode) -> Operand:
    """Only the given axes that have an extent of 1."""
    shape = node.type("self").shape
    axes = normal_axes(node.integers("dim"), max(len(shape), 1)) if node.gives("dim") else range(len(shape))
    asked = [shape[axis] for axis in axes if axis < len(shape)]
    require_bound(
        symbols_of(*(d for d in asked if not isinstance(d, int))) if not node.gives("dim") else (), "the rank"
    )
    return _reshape_to(node, [d for axis, d in enumerate(shape) if axis not in axes or d != 1])


def _unsqueeze(node: TorchNode) -> Operand:
    shape = node.type("self").shape
    axis = normal_axis(node.integer("dim"), len(shape) + 1)
    return _reshape_to(node, (*shape[:axis], 1, *shape[axis:]))


def _permuted(node: TorchNode, order: Sequence[int]) -> Operand:
    return node.result(ops.Transpose(permutation=tuple(order)), node.tensor("self"))


def _permute(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    return _permuted(node, [normal_axis(axis, rank) for axis in node.integers("dims")])


def _transpose(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    names = ("axis0", "axis1") if node.gives("axis0") else ("dim0", "dim1")  # the former of swapaxes
    one, other = (node.one_axis(rank, name) for name in names)
    order = list(range(rank))
    if rank:
        order[one], order[other] = other, one
    return _permuted(node, order)


def _matrix_transpose(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    return _permuted(node, [*range(rank - 2), *reversed(range(max(rank - 2, 0), rank))])


def _reversed_axes(node: TorchNode) -> Operand:
    return _permuted(node, list(reversed(range(node.type("self").rank))))


def _move_axes(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    source, target = ([normal_axis(a, rank) for a in node.integers(name)] for name in ("source", "destination"))
    order = [axis for axis in range(rank) if axis not in source]
    for place, axis in sorted(zip(target, source, strict=True)):
        order.insert(place, axis)
    return _permuted(node, order)


def _expand(node: TorchNode) -> Operand:
    """-1 keeps an extent; further axes come in front."""
    shape, wanted = node.type("self").shape, node.dims("size")
    missing = len(wanted) - len(shape)
    if missing < 0:
        raise FrontendError(f"expected at least {len(shape)} extents, found {listed(wanted)}")
    kept = tuple(shape[i - missing] if i >= missing and extent == -1 else extent for i, extent in enumerate(wanted))
    return node.result(ops.BroadcastTo(shape=kept), node.tensor("self"))


def _expand_as(node: TorchNode) -> Operand:
    return node.result(ops.BroadcastTo(shape=node.type("other").shape), node.tensor("self"))


def _broadcast_tensors(node: TorchNode) -> list[Operand]:
    values = node.tensors("tensors")
    shape = broadcast_shape(*(v.type.shape for v in values))
    return [node.result(ops.BroadcastTo(shape=shape), v, output=i) for i, v in enumerate(values)]


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
    one = _part(node, data, axis, place, place + 1)
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
    before = [_part(node, data, axis, 0, start)] if start != 0 else []
    after = [_part(node, data, axis, end, extent)] if end != extent else []
    return node.result(ops.Concat(axis=axis), *before, source, *after)


def _part(node: TorchNode, data: Value, axis: int, start: Dim, end: Dim, step: int = 1) -> Value:
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


def _split(node: TorchNode) -> Sequence[Operand]:
    """Pieces of `split_size` (one number: the last piece has the rest), or of these sizes."""
    shape = node.type("self").shape
    axis = node.one_axis(len(shape), default=0)
    name = next((n for n in ("split_sizes", "split_size") if node.gives(n)), "split_size")
    sizes = node.dims(name)
    if not isinstance(node.argument(name), tuple):
        return _split_evenly(node, axis, sizes[0])
    return node.results(ops.Split(axis=axis, sizes=sizes), node.tensor("self"), count=len(sizes))


def _split_evenly(node: TorchNode, axis: int, part: Dim) -> Sequence[Operand]:
    extent, count = node.type("self").shape[axis], len(node.outputs)
    sizes: list[Dim] = [part] * (count - 1)
    sizes.append(extent - part * (count - 1))
    return node.results(ops.Split(axis=axis, sizes=tuple(sizes)), node.tensor("self"), count=count)


def _chunk(node: TorchNode) -> Sequence[Operand]:
    """At most so many pieces of equal extent, rounded up."""
    shape = node.type("self").shape
    axis, count = node.one_axis(len(shape), default=0), node.integer("chunks")
    return _split_evenly(node, axis, rounded_up(shape[axis], count))


def _tensor_split(node: TorchNode) -> Sequence[Operand]:
    """So many pieces, the first ones one larger where they don't fit, or pieces between indices."""
    return _split_between(node, node.one_axis(node.type("self").rank, default=0))


def _split_between(node: TorchNode, axis: int) -> Sequence[Operand]:
    (extent,) = static_extents(node.type("self").shape[axis : axis + 1], "the axis that is split")
    tensor = "tensor_indices_or_sections"
    if node.gives(tensor):
        found = node.constant(node.position(_named(node.argument(tensor))))
        given = found.reshape(-1).tolist()
        cuts, count = (None, given[0]) if found.ndim == 0 else (given, 0)
    else:
        cuts = list(node.integers("indices")) if node.gives("indices") else None
        count = 0 if cuts is not None else node.integer("sections")
    if cuts is None and count != len(node.outputs):
        raise FrontendError(f"expected {count} results, found {len(node.outputs)}")
    if cuts is not None:
        ends = [0, *(min(max(i + extent if i < 0 else i, 0), extent) for i in cuts), extent]
        if ends != sorted(ends):
            raise UnsupportedError("pieces between indices that don't rise are not supported")
        sizes = [b - a for a, b in pairwise(ends)]
    else:
        sizes = [extent // count + (i < extent % count) for i in range(count)]
    return node.results(ops.Split(axis=axis, sizes=tuple(sizes)), node.tensor("self"), count=len(sizes))


def _named(argument: Argument) -> str:
    if not isinstance(argument, Reference):
        raise FrontendError("expected a tensor of indices")
    return argument.name


def _split_along(axis: int) -> Converter:
    """hsplit (axis 1, or 0 of vectors), vsplit and dsplit: so many equal pieces, or pieces between indices."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        rank = node.type("self").rank
        place = 0 if axis == 1 and rank == 1 else axis
        return _split_between(node, place)

    return convert


def _unbind(node: TorchNode) -> list[Operand]:
    """The slices along an axis, each without it."""
    data = node.tensor("self")
    axis, count = node.one_axis(data.type.rank, default=0), len(node.outputs)
    kept = (*data.type.shape[:axis], *data.type.shape[axis + 1 :])
    pieces = node.steps(ops.Split(axis=axis, sizes=(1,) * count), data, count=count)
    return [node.result(ops.Reshape(shape=kept), piece, output=i) for i, piece in enumerate(pieces)]


def _joined(node: TorchNode) -> list[Value]:
    """Tensors in their common type."""
    values = node.tensors("tensors")
    dtype = common_dtype([v.type for v in values])
    return [node.cast(v, dtype) for v in values]


def _cat(node: TorchNode) -> Operand:
    """Empty vectors are left out, whatever the others' rank (legacy of torch.cat)."""
    values = _joined(node)
    rank = max(v.type.rank for v in values)
    kept = [v for v in values if v.type.shape != (0,) or rank == 1]
    return node.result(ops.Concat(axis=node.one_axis(rank, default=0)), *kept)


def _stack(node: TorchNode) -> Operand:
    values = _joined(node)
    shape = values[0].type.shape
    axis = normal_axis(node.integer("dim", 0), len(shape) + 1)
    return node.result(ops.Concat(axis=axis), *(node.reshaped(v, (*shape[:axis], 1, *shape[axis:])) for v in values))


def _stacked_at(axis: int, least: int) -> Converter:
    """hstack, vstack and dstack: tensors of at least so many axes one after the other."""

    def convert(node: TorchNode) -> Operand:
        values = []
        for value in _joined(node):
            shape = value.type.shape
            if least >= 2:
                shape = (1,) * (2 - len(shape)) + shape
                shape = shape + (1,) * (least - len(shape))
            else:
                shape = shape or (1,)
            values.append(node.reshaped(value, shape))
        return node.result(ops.Concat(axis=0 if axis == 1 and values[0].type.rank == 1 else axis), *values)

    return convert


def _column_stack(node: TorchNode) -> Operand:
    """Vectors are columns."""
    columns = [v if v.type.rank > 1 else node.reshaped(v, (product(v.type.shape), 1)) for v in _joined(node)]
    return node.result(ops.Concat(axis=1), *columns)


def _block_diagonal(node: TorchNode) -> Operand:
    """Matrices one after the other on the diagonal, zeros elsewhere; vectors are rows."""
    blocks = _joined(node)
    matrices = [node.reshaped(v, (*(1,) * (2 - v.type.rank), *v.type.shape)) for v in blocks]
    width = sum(static_extents([v.type.shape[1] for v in matrices], "a matrix on a diagonal"))
    rows, before = [], 0
    for matrix in matrices:
        columns = matrix.type.static_shape[1]
        rows.append(node.step(ops.Pad(pads=(0, before, 0, width - before - columns)), matrix))
        before += columns
    return node.result(ops.Concat(axis=0), *rows)


def _repeat(node: TorchNode) -> Operand:
    """`repeats` for all axes; further ones are new and come in front."""
    data, repeats = node.tensor("self"), node.dims("repeats")
    shape = (*(1,) * (len(repeats) - data.type.rank), *data.type.shape)
    return node.result(ops.Tile(repeats=repeats), node.reshaped(data, shape))


def _tile(node: TorchNode) -> Operand:
    data, repeats = node.tensor("self"), node.dims("dims")
    repeats = (*(1,) * (data.type.rank - len(repeats)), *repeats)
    shape = (*(1,) * (len(repeats) - data.type.rank), *data.type.shape)
    return node.result(ops.Tile(repeats=repeats), node.reshaped(data, shape))


def _repeat_interleave(node: TorchNode) -> Operand:
    """Each element so many times in a row; all axes count as one if none is given."""
    if node.is_tensor("repeats") and not node.is_number("repeats"):
        raise UnsupportedError("repeats that are a tensor are not supported")
    data, count = node.tensor("self"), node.integer("repeats")
    node.ignore("output_size")
    if not node.gives("dim"):
        data = node.reshaped(data, (product(data.type.shape),))
    axis = node.one_axis(data.type.rank) if node.gives("dim") else 0
    shape = data.type.shape
    apart = node.reshaped(data, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    spread = node.broadcast(apart, (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return node.result(ops.Reshape(shape=(*shape[:axis], shape[axis] * count, *shape[axis + 1 :])), spread)


def _flip(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(_backwards(data, normal_axes(node.integers("dims"), data.type.rank)), data)


def _flip_of(axis: int) -> Converter:
    return lambda node: node.result(_backwards(node.tensor("self"), (axis,)), node.tensor("self"))


def _backwards(data: Value, axes: Sequence[int]) -> ops.Slice:
    shape = data.type.shape
    return ops.Slice(
        starts=tuple(d - 1 if axis in axes else 0 for axis, d in enumerate(shape)),
        ends=tuple(-1 if axis in axes else d for axis, d in enumerate(shape)),
        steps=tuple(-1 if axis in axes else 1 for axis in range(len(shape))),
    )


def _roll(node: TorchNode) -> Operand:
    """Elements moved along axes, those beyond the end to the beginning; along none: as one row."""
    data, shifts = node.tensor("self"), node.integers("shifts")
    shape, axes = data.type.shape, node.integers("dims", ()) if node.gives("dims") else ()
    if not axes:
        data, axes = node.reshaped(data, (product(shape),)), (0,)
    for given, shift in zip(axes, shifts, strict=True):
        axis = normal_axis(given, max(data.type.rank, 1))
        (extent,) = static_extents(data.type.shape[axis : axis + 1] or (1,), "an axis that is rolled")
        cut = -shift % extent if extent else 0
        if cut:
            parts = node.steps(ops.Split(axis=axis, sizes=(cut, extent - cut)), data, count=2)
            data = node.step(ops.Concat(axis=axis), parts[1], parts[0])
    return node.result(ops.Reshape(shape=shape), data)


def _rotate(node: TorchNode) -> Operand:
    """rot90: k quarters of a turn from the first axis to the second."""
    data = node.tensor("self")
    rank, turns = data.type.rank, node.integer("k", 1) % 4
    first, second = (normal_axis(axis, rank) for axis in node.integers("dims", (0, 1)))
    turned = node.step(_backwards(data, ((), (second,), (first, second), (first,))[turns]), data)
    order = list(range(rank))
    if turns % 2:
        order[first], order[second] = second, first
    return node.result(ops.Transpose(permutation=tuple(order)), turned)


def _unfold(node: TorchNode) -> Operand:
    """Windows along an axis, as a new last axis."""
    data = node.tensor("self")
    if not data.type.rank:
        node.ignore("dimension", "step")
        return node.result(ops.Reshape(shape=(node.integer("size"),)), data)
    shape = data.type.shape
    axis, size, step = node.one_axis(len(shape), "dimension"), node.integer("size"), node.integer("step")
    (extent,) = static_extents(shape[axis : axis + 1], "an axis with windows")
    node.require_table(extent, size)
    places = np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)
    windows = node.step(ops.Gather(axis=axis), data, node.parameter(places, "places"))
    order = [d for d in range(len(shape) + 1) if d != axis + 1] + [axis + 1]
    return node.result(ops.Transpose(permutation=tuple(order)), windows)


def _strided(node: TorchNode) -> Operand:
    """as_strided: elements of a contiguous tensor by strides in its memory."""
    data = node.tensor("self")
    size, stride = node.integers("size"), node.integers("stride")
    offset = node.integer("storage_offset", 0) if node.gives("storage_offset") else 0
    (count,) = static_extents((product(data.type.shape),), "a tensor that is read by strides")
    node.require_table(*size)
    if len(size) != len(stride) or not all(0 <= n < 1 << 48 for n in (*stride, offset)):
        raise FrontendError(f"expected a size, strides and an offset of zero or more, found {size}, {stride}, {offset}")
    places = np.array(offset)
    for extent, apart in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(extent) * apart
    if places.size and places.max() >= count:
        raise UnsupportedError(f"strides {list(stride)} reach beyond the tensor")
    flat = node.reshaped(data, (count,))
    return node.result(ops.Gather(axis=0), flat, node.parameter(places, "places"))


def _diagonal(node: TorchNode) -> Operand:
    """A diagonal of two axes, which becomes the last axis."""
    data = node.tensor("self")
    rank, offset = data.type.rank, node.integer("offset", 0)
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", 0), ("dim2", 1)))
    return node.result(ops.Identity(), diagonal(node, data, first, second, offset))


def _matrix_diagonal(node: TorchNode) -> Operand:
    """linalg_diagonal: of the last two axes by default."""
    data = node.tensor("A")
    rank = data.type.rank
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", -2), ("dim2", -1)))
    return node.result(ops.Identity(), diagonal(node, data, first, second, node.integer("offset", 0)))


def diagonal(node: TorchNode, data: Value, first: int, second: int, offset: int) -> Value:
    """A diagonal, every (columns + 1)-th element of both axes as one."""
    rank = data.type.rank
    others = [axis for axis in range(rank) if axis not in (first, second)]
    rows, columns = static_extents([data.type.shape[first], data.type.shape[second]], "a matrix with a diagonal")
    kept = [data.type.shape[axis] for axis in others]
    moved = node.step(ops.Transpose(permutation=(*others, first, second)), data)
    flat = node.reshaped(moved, (*kept, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    end = min(start + (count - 1) * (columns + 1) + 1, rows * columns) if count else min(start, rows * columns)
    return _part(node, flat, flat.type.rank - 1, min(start, rows * columns), end, columns + 1)


def _triangle(upper: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        return node.result(ops.Trilu(upper=upper, k=node.integer("diagonal", 0)), node.tensor("self"))

    return convert


def _pad(node: TorchNode) -> Operand:
    """Pairs of begin and end from the last axis on; the mode is constant, reflect, replicate or circular."""
    data, given = node.tensor("self"), node.dims("pad") if node.gives("pad") else node.dims("padding")
    mode = node.text("mode", "constant")
    value = node.number("value") if node.gives("value") else 0.0
    return node.result(_padding(data, given, mode, value), data)


def _padding(data: Value, given: Sequence[Dim], mode: str, value: float) -> ops.Pad:
    known = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in known or len(given) % 2 or len(given) > 2 * data.type.rank:
        raise FrontendError(f"expected pairs of pads and a mode of {', '.join(known)}, found {listed(given)}, {mode!r}")
    before: list[Dim] = [0] * data.type.rank
    after: list[Dim] = [0] * data.type.rank
    for i, (low, high) in enumerate(zip(given[::2], given[1::2], strict=True)):
        before[-1 - i], after[-1 - i] = low, high
    return ops.Pad(mode=known[mode], pads=(*before, *after), value=value)


def _constant_pad(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(_padding(data, node.dims("pad"), "constant", node.number("value", 0.0)), data)


def _pad_by(mode: str) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self")
        return node.result(_padding(data, node.dims("padding"), mode, 0.0), data)

    return convert


def _pixel_shuffle(node: TorchNode) -> Operand:
    """Channels [c, r, r] to positions, over any axes in front (torch.nn.PixelShuffle)."""
    data, r = node.tensor("self"), node.integer("upscale_factor")
    *batch, channels, rows, columns = data.type.shape
    picture = node.reshaped(data, (product(batch), channels, rows, columns))
    large = node.step(ops.DepthToSpace(block=r, mode="CRD"), picture)
    return node.result(ops.Reshape(shape=(*batch, *large.type.shape[1:])), large)


def _pixel_unshuffle(node: TorchNode) -> Operand:
    data, r = node.tensor("self"), node.integer("downscale_factor")
    *batch, channels, rows, columns = data.type.shape
    blocks = node.reshaped(data, (product(batch), channels, rows // r, r, columns // r, r))
    moved = node.step(ops.Transpose(permutation=(0, 1, 3, 5, 2, 4)), blocks)
    return node.result(ops.Reshape(shape=(*batch, channels * r * r, rows // r, columns // r)), moved)


def _channel_shuffle(node: TorchNode) -> Operand:
    data, groups = node.tensor("self"), node.integer("groups")
    batch, channels, *rest = data.type.shape
    apart = node.reshaped(data, (batch, groups, channels // groups, *rest))
    moved = node.step(ops.Transpose(permutation=(0, 2, 1, *range(3, 3 + len(rest)))), apart)
    return node.result(ops.Reshape(shape=data.type.shape), moved)


def _columns(node: TorchNode) -> Operand:
    """im2col: the elements under each window, [N, C·kernel, windows]."""
    data = node.tensor("self")
    n, c, h, w = static_extents(data.type.shape, "a picture with windows")
    kernel, dilation, padding, stride = (
        node.per_axis(name, 2, default)
        for name, default in (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    )
    top, left = padding
    node.require_table(h + 2 * top, kernel[0])
    node.require_table(w + 2 * left, kernel[1])
    padded = node.step(ops.Pad(pads=(0, 0, top, left, 0, 0, top, left)), data) if any(padding) else data
    places = [
        (np.arange(0, extent + 2 * pad - d * (k - 1), s)[None] + np.arange(k)[:, None] * d)
        for extent, k, d, pad, s in zip((h, w), kernel, dilation, padding, stride, strict=True)
    ]
    rows = node.step(ops.Gather(axis=2), padded, node.parameter(places[0], "rows"))
    both = node.step(ops.Gather(axis=4), rows, node.parameter(places[1], "columns"))
    moved = node.step(ops.Transpose(permutation=(0, 1, 2, 4, 3, 5)), both)
    count = places[0].shape[1] * places[1].shape[1]
    return node.result(ops.Reshape(shape=(n, c * kernel[0] * kernel[1], count)), moved)


def _mesh(node: TorchNode) -> list[Operand]:
    """Each vector along an axis of its own; `xy` swaps the first two."""
    values = node.tensors("tensors")
    extents = [product(v.type.shape) for v in values]
    order = list(range(len(values)))
    if node.argument("indexing", "ij") == "xy" and len(values) > 1:
        order[:2] = [1, 0]
    shape = tuple(extents[i] for i in order)
    results: list[Operand] = []
    for index, value in enumerate(values):
        along = [1 if i != index else extents[i] for i in order]
        results.append(node.result(ops.BroadcastTo(shape=shape), node.reshaped(value, along), output=index))
    return results


def _at_least(rank: int) -> Converter:
    """atleast_1d, _2d and _3d of one tensor."""

    def convert(node: TorchNode) -> Operand:
        shape = node.type("self").shape
        if len(shape) >= rank:
            return _reshape_to(node, shape)
        shape = (1,) * (min(rank, 2) - len(shape)) + shape
        return _reshape_to(node, shape + (1,) * (rank - len(shape)))

    return convert


def _ravel(node: TorchNode) -> Operand:
    return _reshape_to(node, (product(node.type("self").shape),))


def _item(node: TorchNode) -> Operand:
    """The element of a tensor as a number, in Python's precision."""
    value = node.reshaped(node.tensor("self"), ())
    wide = "bool" if value.type.dtype.is_bool else "float64" if value.type.dtype.is_float else "int64"
    return node.result(ops.Cast(dtype=DType.of(wide)), value)


SHAPE: dict[str, Converter] = {
    "_local_scalar_dense": _item,
    "_unsafe_view": _view,
    "adjoint": _matrix_transpose,
    "as_strided": _strided,
    "as_strided_copy": _strided,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "block_diag": _block_diagonal,
    "broadcast_tensors": _broadcast_tensors,
    "broadcast_to": _expand,
    "cat": _cat,
    "channel_shuffle": _channel_shuffle,
    "chunk": _chunk,
    "column_stack": _column_stack,
    "concat": _cat,
    "concatenate": _cat,
    "constant_pad_nd": _constant_pad,
    "diagonal": _diagonal,
    "diagonal_copy": _diagonal,
    "dsplit": _split_along(2),
    "dstack": _stacked_at(2, 3),
    "expand": _expand,
    "expand_as": _expand_as,
    "expand_copy": _expand,
    "flatten": _flatten,
    "flip": _flip,
    "fliplr": _flip_of(1),
    "flipud": _flip_of(0),
    "hsplit": _split_along(1),
    "hstack": _stacked_at(1, 1),
    "im2col": _columns,
    "item": _item,
    "linalg_diagonal": _matrix_diagonal,
    "mH": _matrix_transpose,
    "mT": _matrix_transpose,
    "matrix_H": _matrix_transpose,
    "meshgrid": _mesh,
    "movedim": _move_axes,
    "moveaxis": _move_axes,
    "narrow": _narrow,
    "narrow_copy": _narrow,
    "numpy_T": _reversed_axes,
    "pad": _pad,
    "permute": _permute,
    "permute_copy": _permute,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "ravel": _ravel,
    "reflection_pad1d": _pad_by("reflect"),
    "reflection_pad2d": _pad_by("reflect"),
    "reflection_pad3d": _pad_by("reflect"),
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
    "replication_pad1d": _pad_by("replicate"),
    "replication_pad2d": _pad_by("replicate"),
    "replication_pad3d": _pad_by("replicate"),
    "reshape": _view,
    "reshape_as": _like,
    "roll": _roll,
    "rot90": _rotate,
    "select": _select,
    "select_copy": _select,
    "select_scatter": _scattered_select,
    "slice": _slice,
    "slice_copy": _slice,
    "slice_scatter": _scattered_slice,
    "split": _split,
    "split_copy": _split,
    "split_with_sizes": _split,
    "split_with_sizes_copy": _split,
    "squeeze": _squeeze,
    "squeeze_copy": _squeeze,
    "stack": _stack,
    "swapaxes": _transpose,
    "swapdims": _transpose,
    "t": _matrix_transpose,
    "t_copy": _matrix_transpose,
    "tensor_split": _tensor_split,
    "tile": _tile,
    "transpose": _transpose,
    "transpose_copy": _transpose,
    "tril": _triangle(upper=False),
    "triu": _triangle(upper=True),
    "unbind": _unbind,
    "unbind_copy": _unbind,
    "unflatten": _unflatten,
    "unfold": _unfold,
    "unfold_copy": _unfold,
    "unsafe_chunk": _chunk,
    "unsafe_split": _split,
    "unsafe_split_with_sizes": _split,
    "unsqueeze": _unsqueeze,
    "unsqueeze_copy": _unsqueeze,
    "view": _view,
    "view_as": _like,
    "view_copy": _view,
    "vsplit": _split_along(0),
    "vstack": _stacked_at(0, 2),
}
