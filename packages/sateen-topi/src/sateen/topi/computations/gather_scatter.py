"""Operators whose indices are data: gather reads at them, scatter writes.

A negative index counts from the end of its axis. An index out of range is an error in the user's data that a kernel
can't report: a gather reads the nearest element, and a scatter leaves the update out. Memory outside is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import int_range
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.arguments import (
    require,
    require_axis,
    require_count,
    require_one_of,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
    require_whole_numbers,
)
from sateen.topi.computations.block_updates import NOWHERE, Updates
from sateen.topi.schedules import Computation, each_thread, loops, unflattened, vector_of, written
from sateen.topi.types import Layout, View, compute


def position(index: Expr, extent: int) -> Expr:
    """A position in [0, extent) from an index in [-extent, extent); the nearest position for an index out of range."""
    place = index.astype("index")
    return te.minimum(te.maximum(te.select(place < 0, place + extent, place), 0), extent - 1)


def gather(data: View, indices: View, axis: int, layout: Layout | None = None) -> Computation:
    """output[a…, i…, b…] = data[a…, indices[i…], b…], the index at `axis`."""
    require_views("gather", data=data, indices=indices)
    require_whole_numbers("gather", indices=indices)
    require_axis("gather", axis, data.ndim)
    rank = indices.ndim

    def element(*index: Expr) -> Expr:
        place = position(indices(*index[axis : axis + rank]), data.shape[axis])
        return data(*index[:axis], place, *index[axis + rank :])

    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    return Computation((compute(shape, element, "gather", layout),))


def gather_elements(data: View, indices: View, axis: int, layout: Layout | None = None) -> Computation:
    """output[a…, j, b…] = data[a…, indices[a…, j, b…], b…], the index at `axis`."""
    require_views("gather_elements", data=data, indices=indices)
    _require_elements("gather_elements", data, indices, axis)

    def element(*index: Expr) -> Expr:
        return data(*index[:axis], position(indices(*index), data.shape[axis]), *index[axis + 1 :])

    return Computation((compute(indices.shape, element, "gather_elements", layout),))


def gather_nd(data: View, indices: View, batch_dims: int = 0, layout: Layout | None = None) -> Computation:
    """output[a…, i…, b…] = data[a…, *indices[a…, i…], b…]: the last axis of `indices` holds an index per axis of data
    after the batch."""
    require_views("gather_nd", data=data, indices=indices)
    require_whole_numbers("gather_nd", indices=indices)
    require_count("gather_nd", "batch_dims", batch_dims, 0, min(data.ndim, indices.ndim) - 1)
    batch = data.shape[:batch_dims]
    require(indices.shape[:batch_dims] == batch, "gather_nd", f"indices for a batch {list(batch)}", list(indices.shape))
    require_count("gather_nd", "last axis of indices", indices.shape[-1], 1, data.ndim - batch_dims)
    depth, outer = indices.shape[-1], indices.ndim - 1

    def element(*index: Expr) -> Expr:
        own = index[:outer]
        places = [position(indices(*own, te.const(d)), data.shape[batch_dims + d]) for d in range(depth)]
        return data(*index[:batch_dims], *places, *index[outer:])

    shape = (*indices.shape[:-1], *data.shape[batch_dims + depth :])
    return Computation((compute(shape, element, "gather_nd", layout),))


def _require_elements(operator: str, data: View, indices: View, axis: int) -> None:
    """Check that indices reach at most as far as data along all axes except `axis`."""
    require_whole_numbers(operator, indices=indices)
    require_rank(operator, "indices", indices, data.ndim)
    require_axis(operator, axis, data.ndim)
    within = all(d == axis or n <= m for d, (n, m) in enumerate(zip(indices.shape, data.shape, strict=True)))
    require(within, operator, f"indices within {list(data.shape)} but along axis {axis}", list(indices.shape))


REDUCTIONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": te.maximum,
    "min": te.minimum,
}
"""The functions of an element and its update in a scatter. Updates of one element are applied in order."""


def scatter_elements(data: View, indices: View, updates: View, axis: int, reduction: str = "none") -> Computation:
    """A copy of data in which element [a…, indices[a…, j, b…], b…] is updated by updates[a…, j, b…]. Row-major."""
    require_views("scatter_elements", data=data, indices=indices, updates=updates)
    _require_elements("scatter_elements", data, indices, axis)
    require_same_type("scatter_elements", data=data, updates=updates)
    require_shape("scatter_elements", "updates", updates, indices.shape)
    require_one_of("scatter_elements", "reduction", reduction, REDUCTIONS)

    def write(ib: IRBuilder, out: BufferPointer, chosen: BufferPointer, new: BufferPointer) -> None:
        with loops(ib, indices.shape) as index:
            where = _where(ib, chosen[tuple(index)], data.shape[axis])
            target = (*index[:axis], where, *index[axis + 1 :])
            with ib.if_scope(te.all(where >= 0, where < data.shape[axis])):
                out[target] = REDUCTIONS[reduction](out[target], new[tuple(index)])

    around = (*indices.shape[:axis], *indices.shape[axis + 1 :])

    def at(row: Expr, place: Expr) -> tuple[Expr, ...]:
        index = unflattened(row, around)
        return (*index[:axis], place, *index[axis:])

    def updates_of(ib: IRBuilder, chosen: BufferPointer, new: BufferPointer) -> Updates:
        return Updates(
            (prod(around), indices.shape[axis], 1), data.shape[axis],
            lambda row, i: _slot(ib, [chosen[at(row, i)]], data.shape[axis : axis + 1]),
            lambda row, i, _: new[at(row, i)], lambda row, slot, _: at(row, slot), REDUCTIONS[reduction],
        )  # fmt: skip

    return _scatter(data, indices, updates, write, updates_of)


def scatter_nd(data: View, indices: View, updates: View, reduction: str = "none") -> Computation:
    """A copy of data in which the slice at [*indices[i…]] is updated by updates[i…]. Row-major."""
    require_views("scatter_nd", data=data, indices=indices, updates=updates)
    require_whole_numbers("scatter_nd", indices=indices)
    require_rank("scatter_nd", "indices", indices, 1, or_more=True)
    require_count("scatter_nd", "last axis of indices", indices.shape[-1], 1, data.ndim)
    require_same_type("scatter_nd", data=data, updates=updates)
    require_shape("scatter_nd", "updates", updates, (*indices.shape[:-1], *data.shape[indices.shape[-1] :]))
    require_one_of("scatter_nd", "reduction", reduction, REDUCTIONS)
    depth = indices.shape[-1]

    def write(ib: IRBuilder, out: BufferPointer, chosen: BufferPointer, new: BufferPointer) -> None:
        with loops(ib, indices.shape[:-1]) as index:
            places = [_where(ib, chosen[(*index, d)], data.shape[d]) for d in range(depth)]
            inside = [c for p, extent in zip(places, data.shape, strict=False) for c in (p >= 0, p < extent)]
            with ib.if_scope(te.all(*inside)), loops(ib, data.shape[depth:], vector_of(data)) as rest:
                target = (*places, *rest)
                out[target] = REDUCTIONS[reduction](out[target], new[(*index, *rest)])

    around, inner = indices.shape[:-1], data.shape[depth:]

    def updates_of(ib: IRBuilder, chosen: BufferPointer, new: BufferPointer) -> Updates:
        return Updates(
            (1, prod(around), prod(inner)), prod(data.shape[:depth]),
            lambda _, i: _slot(ib, [chosen[(*unflattened(i, around), d)] for d in range(depth)], data.shape),
            lambda _, i, e: new[(*unflattened(i, around), *unflattened(e, inner))],
            lambda _, slot, e: (*unflattened(slot, data.shape[:depth]), *unflattened(e, inner)), REDUCTIONS[reduction],
        )  # fmt: skip

    return _scatter(data, indices, updates, write, updates_of)


def tensor_scatter(
    cache: View, update: View, starts: View | None, axis: int, circular: bool = False, layout: Layout | None = None
) -> Computation:
    """The cache with update[b, …, t, …] at [b, …, starts[b] + t, …], updates beyond the end of `axis` are left out, or
    continue at its beginning with `circular`."""
    name = "tensor_scatter"
    require_views(name, cache=cache, update=update, **({} if starts is None else {"starts": starts}))
    require_same_type(name, cache=cache, update=update)
    require_axis(name, axis, cache.ndim)
    require_count(name, "extent of update along the axis", (*update.shape, 0)[axis], 0, cache.shape[axis])
    along = update.shape[axis : axis + 1]
    require_shape(name, "update", update, (*cache.shape[:axis], *along, *cache.shape[axis + 1 :]))
    if starts is not None:
        require_whole_numbers(name, starts=starts)
        require_shape(name, "starts", starts, cache.shape[:1])
    extent, length = cache.shape[axis], update.shape[axis]

    def element(*index: Expr) -> Expr:
        start = te.const(0) if starts is None else starts(index[0]).astype("index")
        if circular:
            t = (index[axis] - start % extent) % extent
        else:
            t = index[axis] - te.minimum(te.maximum(start, -length), extent)
        place = te.minimum(te.maximum(t, 0), max(length - 1, 0))
        old = cache(*index)
        if length == 0:
            return old
        return te.select(te.all(t >= 0, t < length), update(*index[:axis], place, *index[axis + 1 :]), old)

    return Computation((compute(cache.shape, element, "tensor_scatter", layout),))


def _where(ib: IRBuilder, index: Expr, extent: int) -> Expr:
    """The place that an index means, which may be outside of [0, extent)."""
    place = ib.let("place", index.astype("index"))
    return ib.let("where", te.select(place < 0, place + extent, place))


def _slot(ib: IRBuilder, indices: Sequence[Expr], extents: Sequence[int]) -> Expr:
    """The row-major position that indices mean; NOWHERE if one of them is out of range.

    Indices are limited as data first, so that arithmetic on them has bounds.
    """
    slot: Expr = te.const(0)
    is_inside: Expr = te.const(True)
    for index, extent in zip(indices, extents, strict=False):
        low, high = int_range(index.dtype)
        limited = te.minimum(index, te.const(min(extent, high), index.dtype))
        limited = te.maximum(limited, te.const(max(-extent - 1, low), index.dtype))
        where = _where(ib, limited, extent)
        is_inside = te.all(is_inside, where >= 0, where < extent)
        slot = slot * extent + te.minimum(te.maximum(where, 0), extent - 1)
    return te.select(is_inside, slot, te.const(NOWHERE))


def _scatter(
    data: View,
    indices: View,
    updates: View,
    write: Callable[[IRBuilder, BufferPointer, BufferPointer, BufferPointer], None],
    updates_of: Callable[[IRBuilder, BufferPointer, BufferPointer], Updates],
) -> Computation:
    """A copy of data that `write` updates; on devices `Updates` are applied."""

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, chosen, new = (ib.buffer_ptr(b) for b in ins)
        out = ib.buffer_ptr(outs[0])
        with loops(ib, data.shape, vector_of(data)) as index:
            out[tuple(index)] = source[tuple(index)]
        write(ib, out, chosen, new)
        return ib.get()

    def body_of_blocks(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        ib = ir_builder.create()
        source, chosen, new = (ib.buffer_ptr(b) for b in ins)
        out = ib.buffer_ptr(outs[0])
        if prod(data.shape) > 0:
            with each_thread(ib, prod(data.shape), gpu) as e:
                index = unflattened(e, data.shape)
                out[index] = source[index]
        if prod(updates.shape) > 0 and prod(data.shape) > 0:
            updates_of(ib, chosen, new).apply(ib, out, gpu)
        return ib.get()

    return written("scatter", [(data.shape, data.dtype)], [data, indices, updates], body, body_of_blocks)
