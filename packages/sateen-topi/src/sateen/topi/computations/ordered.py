"""Operators along an axis that is in order, or is put in order: running sums, the largest elements, binary search."""

from __future__ import annotations

from math import prod
from typing import Any

from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.topi.computations.arguments import (
    require_axis,
    require_count,
    require_numbers,
    require_one_of,
    require_same_type,
    require_shape,
    require_views,
)
from sateen.topi.computations.block_scans import BlockScan
from sateen.topi.computations.block_sorts import BlockSort, held_type
from sateen.topi.computations.heaps import Heap
from sateen.topi.schedules import Computation, accumulator_type, loop_kind, loops, unflattened, vector_of, written
from sateen.topi.types import Layout, View, compute


def cumulative(x: View, kind: str, axis: int, exclusive: bool = False, reverse: bool = False) -> Computation:
    """The "sum" or "product" of the elements up to each one along an axis, without itself if `exclusive`; from the end
    if `reverse`. Row-major. 16-bit floating point is added or multiplied in float32."""
    require_one_of("cumulative", "kind", kind, ("sum", "product"))
    require_views("cumulative", x=x)
    require_numbers("cumulative", x=x)
    require_axis("cumulative", axis, x.ndim)
    is_sum = kind == "sum"
    state = accumulator_type(x.dtype)
    extent, inner = x.shape[axis], x.shape[axis + 1 :]
    lanes = min(vector_of(x), inner[-1]) if inner else 1

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        row = inner[-1] if inner else 1
        scope = "register" if row <= lanes else "local"
        with loops(ib, (*x.shape[:axis], *inner[:-1]), kind=loop_kind(prod(x.shape))) as around:
            before, between = around[:axis], around[axis:]
            total = ib.allocate(state, (max(row, 1),), scope, "total")
            with loops(ib, (row,), lanes) as column:
                total[column[0]] = te.const(0 if is_sum else 1, state)
            with ib.for_range(0, extent, "k") as k, loops(ib, (row,), lanes) as column:
                place = extent - 1 - k if reverse else k
                at = (*before, place, *between, *(column if inner else ()))
                if exclusive:
                    result[at] = total[column[0]].astype(x.dtype)
                term = source[at].astype(state)
                total[column[0]] = total[column[0]] + term if is_sum else total[column[0]] * term
                if not exclusive:
                    result[at] = total[column[0]].astype(x.dtype)
        return ib.get()

    def body_of_blocks(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        held, neighbours = held_type(state), prod(inner)
        identity = te.const(0 if is_sum else 1, held)

        def at(row: Expr, k: Expr) -> tuple[Expr, ...]:
            index = unflattened(row, (*x.shape[:axis], *inner))
            return (*index[:axis], extent - 1 - k if reverse else k, *index[axis:])

        def term(row: Expr, k: Expr) -> Expr:
            if not exclusive:
                return source[at(row, k)].astype(held)
            return te.select(k > 0, source[at(row, te.maximum(k - 1, 0))].astype(held), identity)

        def store(row: Expr, k: Expr, value: Expr) -> None:
            result[at(row, k)] = value.astype(x.dtype)

        rows = prod(x.shape[:axis]) * neighbours
        combine = _sum if is_sum else _product
        BlockScan(ib, rows, extent, held, combine, identity, neighbours > 1, gpu).run(term, store)
        return ib.get()

    return written(f"cumulative_{kind}", [(x.shape, x.dtype)], [x], body, body_of_blocks)


def _sum(a: Expr, b: Expr) -> Expr:
    return a + b


def _product(a: Expr, b: Expr) -> Expr:
    return a * b


def top_k(x: View, k: int, axis: int, largest: bool = True) -> Computation:
    """The k largest (or smallest) elements along an axis, in order, and their positions (int64): of equal ones the
    first comes first, and NaN is larger than all. Row-major.

    A heap of k holds the best so far, the worst at its root; sorted in place at the end (Floyd, Algorithm 245, 1964).
    Blocks of threads sort the whole row, or its parts, whose best they merge.
    """
    require_views("top_k", x=x)
    require_numbers("top_k", x=x)
    require_axis("top_k", axis, x.ndim)
    require_count("top_k", "k", k, 1, x.shape[axis])
    extent = x.shape[axis]
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    around = (*x.shape[:axis], *x.shape[axis + 1 :])

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, values, places = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(0, prod(around), "row", loop_kind(prod(x.shape))) as row:
            index = unflattened(row, around)

            def at(place: Any) -> tuple[Any, ...]:
                return (*index[:axis], place, *index[axis:])

            def belongs_below(i: Expr, j: Expr) -> Expr:
                """Whether the element at place i is the better one: the worst is at the root."""
                a, b = values[at(i)], values[at(j)]
                same = te.all(~_exceeds(b, a, largest), places[at(i)] < places[at(j)])
                return te.any(_exceeds(a, b, largest), same)

            def swap(i: Expr, j: Expr) -> None:
                value, place = ib.let("held", values[at(i)]), ib.let("held", places[at(i)])
                values[at(i)], places[at(i)] = values[at(j)], places[at(j)]
                values[at(j)], places[at(j)] = value, place

            heap = Heap(ib, belongs_below, swap)
            with ib.for_range(0, k, "i") as i:
                values[at(i)] = source[at(i)]
                places[at(i)] = i
            heap.build(k)
            with ib.for_range(k, extent, "i") as i, ib.if_scope(_exceeds(source[at(i)], values[at(0)], largest)):
                values[at(0)] = source[at(i)]
                places[at(0)] = i
                heap.sift_down(te.const(0), k)
            with ib.for_range(0, k - 1, "i") as i:
                last = ib.let("last", k - 1 - i)
                swap(te.const(0), last)
                heap.sift_down(te.const(0), last)
        return ib.get()

    def body_of_blocks(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        ib = ir_builder.create()
        source, values, places = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        held = held_type(x.dtype)

        def at(row: Expr, place: Expr) -> tuple[Expr, ...]:
            index = unflattened(row, around)
            return (*index[:axis], place, *index[axis:])

        def store(row: Expr, rank: Expr, value: Expr, place: Expr) -> None:
            values[at(row, rank)] = value.astype(x.dtype)
            places[at(row, rank)] = place.astype("int64")

        sort = BlockSort(ib, prod(around), extent, k, held, lambda a, b: _exceeds(a, b, largest), gpu)
        sort.run(lambda row, i: source[at(row, i)].astype(held), store)
        return ib.get()

    return written("top_k", [(shape, x.dtype), (shape, "int64")], [x], body, body_of_blocks)


def search_sorted(sequence: View, values: View, right: bool = False, layout: Layout | None = None) -> Computation:
    """Where each value belongs in a sequence in ascending order: the number of its elements below it (int64), with
    `right` of those up to it. NaN belongs at the end.

    The sequence has one axis, or those of the values before the last, which it is searched along.
    """
    name = "search_sorted"
    require_views(name, sequence=sequence, values=values)
    require_numbers(name, sequence=sequence)
    require_same_type(name, sequence=sequence, values=values)
    if sequence.ndim != 1:
        length = sequence.shape[-1:]
        require_shape(name, "sequence", sequence, (*values.shape[:-1], *length))
    (extent,) = sequence.shape[-1:]

    def element(*index: Expr) -> Expr:
        own, value = index[: sequence.ndim - 1], values(*index)
        found: Expr = te.const(0)
        for bit in reversed(range(extent.bit_length())):
            next_one = found + (1 << bit)
            there = sequence(*own, te.minimum(next_one, extent) - 1)
            before = ~(there > value) if right else ~(there >= value)
            found = te.select(te.all(next_one <= extent, before), next_one, found)
        return found.astype("int64")

    return Computation((compute(values.shape, element, name, layout),))


def _exceeds(a: Expr, b: Expr, largest: bool) -> Expr:
    """Whether element a comes before b in the result, regardless of their places."""
    if not a.dtype.is_float:
        return a > b if largest else a < b
    return te.all(~(a <= b), ~te.isnan(b)) if largest else te.all(~(a >= b), ~te.isnan(a))
