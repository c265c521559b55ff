"""Matrix products by seven products of quarters instead of eight.

The operands are cut into 2 x 2 blocks. Sums of blocks of the left one are multiplied by sums of blocks of the right
one, which is constant, so that its sums are known beforehand; sums of the products are the blocks of the result. An
eighth of the multiplications is saved, the right operand grows by three quarters, rounding errors by a small factor.
They are relative to the largest element of the whole result: rows of a matrix are summed with others of the same
matrix, as are columns, but never with those of another item of a batch.

Source: Strassen, Gaussian Elimination is not Optimal, 1969; the form with 15 additions is Winograd's (Knuth, The Art of
Computer Programming, volume 2, section 4.6.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.topi.computations.arguments import require, require_rank, require_same_type, require_shape, require_views
from sateen.topi.cost import bytes_per_cycle, cycles_in_passes, tiles_cycles
from sateen.topi.schedules import (
    Computation,
    ReductionTile,
    ask_ahead,
    elements,
    flattened,
    host_of,
    is_asked_for,
    largest_divisor,
    on_cpu,
    register_tile,
    schedule_injective,
    share_among_threads,
    tile_rows,
    unflattened,
)
from sateen.topi.types import Block, Layout, View

Array = np.ndarray[Any, Any]

STRASSEN_PRODUCTS = 7
LEFT = ((1, 0, 0, 0), (0, 1, 0, 0), (1, 1, -1, -1), (0, 0, 0, 1), (0, 0, 1, 1), (-1, 0, 1, 1), (1, 0, -1, 0))
"""The factors of the left operand's blocks in each product, row by row."""
RIGHT = ((1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, -1, -1, 1), (-1, 1, 0, 0), (1, -1, 0, 1), (0, -1, 0, 1))
"""The factors of the right operand's blocks in each product."""
RESULT = ((1, 1, 0, 0, 0, 0, 0), (1, 0, 1, 0, 1, 1, 0), (1, 0, 0, -1, 0, 1, 1), (1, 0, 0, 0, 1, 1, 1))
"""The factors of the products in each block of the result."""

UNROLLED_TERMS = 4
"""The unrolled terms in a step of the reduction; half of the depth is a multiple of it."""
VECTORS = (3, 4, 2, 1)
"""The numbers of vectors per row of a register tile, best first; the first that divides the columns and leaves
registers for LEAST_ROWS is used."""
LEAST_ROWS = 3
"""The least rows of a register tile: with fewer, loads take longer than multiply-adds."""

WORTHWHILE = 2.0
"""The cycles that a cycle of the sums of blocks has to save."""


def vectors_for(a: Sequence[int], columns: int, machine: Machine) -> int:
    """The vectors per row of a register tile with which a [batch, ..., k] · [k, columns] can be computed by this
    method, or 0.

    Halves must consist of whole panels. A single matrix may be a batch of independent rows, which must not be summed;
    so `a` must be a batch of matrices, perhaps of one.
    """
    _, *matrix, depth = a
    lanes = machine.lanes()
    if lanes == 1 or not matrix or prod(matrix) < 2 or depth % (2 * UNROLLED_TERMS):
        return 0
    fitting = (n for n in VECTORS if machine.tile_positions(n) >= LEAST_ROWS)
    return next((n for n in fitting if columns % (2 * n * lanes) == 0), 0)


def cycles(a: Sequence[int], columns: int, vectors: int, machine: Machine) -> float:
    """The estimate of a [batch, ..., k] · [k, columns] by this method: seven products of quarters, with the right
    operand's from memory, and the sums of the left one and of the result, which count WORTHWHILE times."""
    batch, *matrix, depth = a
    rates, rows = machine.rates, batch * -(-prod(matrix) // 2)
    panels = columns // (2 * vectors * machine.lanes())
    tile = tile_rows(rows, vectors, machine)
    products = STRASSEN_PRODUCTS * panels * tiles_cycles(rows, tile, vectors, depth // 2, machine)
    sums = 2 * rows * (depth * rates.left_sum_cycles + columns * rates.result_sum_cycles)
    weights = STRASSEN_PRODUCTS * depth * columns  # quarters of 4 bytes an element
    work, passes = products + WORTHWHILE * sums, -(-rows // tile)
    asked = is_asked_for(rows, machine)
    read = passes * weights / bytes_per_cycle(depth // 2 * vectors * machine.vector_bytes, machine)
    return cycles_in_passes(work, weights, vectors, passes, panels, machine, asked=asked, panels=read)


def strassen_weight(weight: Array) -> Array:
    """A right operand [k, n] as the sums of its blocks [7, k/2, n/2]."""
    k, n = weight.shape
    blocks = weight.reshape(2, k // 2, 2, n // 2).transpose(0, 2, 1, 3).reshape(4, -1)
    result = np.empty((STRASSEN_PRODUCTS, k // 2, n // 2), weight.dtype)
    for terms, total in zip(np.array(RIGHT, np.float64), result, strict=True):
        total[...] = (terms[terms != 0] @ blocks[terms != 0]).reshape(total.shape)
    return result


def strassen_weight_layout(lanes: int, vectors: int) -> Layout:
    """The layout of such sums: panels of as many columns as a register tile has, in reading order."""
    return Layout((2, 0, 1, Block(2, lanes * vectors)))


def strassen_matmul(a: View, weight: View) -> Computation:
    """a [batch, ..., k] · b [k, n] of float32, where `weight` [7, k/2, n/2] are the sums of b's blocks.

    Each item of the batch is a matrix; one with an odd number of rows is completed by zeros. With a row-major weight
    the product is computed by definition, element by element.
    """
    name = "strassen_matmul"
    require_views(name, a=a, weight=weight)
    require_rank(name, "a [batch, …, k]", a, 3, or_more=True)
    require_rank(name, "weight [7, k/2, n/2]", weight, 3)
    require_same_type(name, a=a, weight=weight)
    require(str(a.dtype) == "float32", name, "float32", a.dtype)
    require(a.shape[-1] % 2 == 0, name, "an even number of columns on the left", a.shape[-1])
    require_shape(name, "weight", weight, (STRASSEN_PRODUCTS, a.shape[-1] // 2, weight.shape[2]))
    return _Strassen(a, weight).computation()


class _Strassen:
    """The stages: sums of the left operand, products, blocks of the result, each [which, row, column].

    A row of a block stands for two rows of an item that are half of its height apart; items follow each other.
    """

    def __init__(self, a: View, weight: View) -> None:
        self.a, self.weight = a, weight
        self.batch, *self.matrix, _ = a.shape
        self.height = prod(self.matrix)
        _, self.half_depth, self.half_columns = weight.shape
        self.half_height = (self.height + 1) // 2
        self.rows = self.batch * self.half_height

    def computation(self) -> Computation:
        block = te.reduce_axis(4, "s")
        self.left: te.Tensor = te.compute(
            (STRASSEN_PRODUCTS, self.rows, self.half_depth),
            lambda q, i, c: _sum(LEFT, q, block, self._element(block, i, c)), name="left",
        )  # fmt: skip
        c = te.reduce_axis(self.half_depth, "c")
        self.products: te.Tensor = te.compute(
            (STRASSEN_PRODUCTS, self.rows, self.half_columns),
            lambda q, i, j: te.sum(self.left(q, i, c) * self.weight(q, c, j), axis=c), name="products",
        )  # fmt: skip
        q = te.reduce_axis(STRASSEN_PRODUCTS, "q")
        self.blocks: te.Tensor = te.compute(
            (4, self.rows, self.half_columns),
            lambda b, i, j: _sum(RESULT, b, q, self.products(q, i, j)), name="blocks",
        )  # fmt: skip
        shape = (self.batch, *self.matrix, 2 * self.half_columns)

        def element(b: Expr, *index: Expr) -> Expr:
            i, j = flattened(index[:-1], self.matrix), index[-1]
            which = i // self.half_height * 2 + j // self.half_columns
            value: Expr = self.blocks(which, b * self.half_height + i % self.half_height, j % self.half_columns)
            return value

        self.result: te.Tensor = te.compute(shape, element, name="strassen")
        return Computation((View(self.result, shape, Layout.row_major(len(shape))),), on_cpu(self.schedule))

    def _element(self, block: Expr, row: Expr, c: Expr) -> Expr:
        """An element of a block of the left operand."""
        b, i = row // self.half_height, block // 2 * self.half_height + row % self.half_height
        value = self.a(b, *unflattened(i, self.matrix), block % 2 * self.half_depth + c)
        return value if self.height % 2 == 0 else te.if_then_else(i < self.height, value, te.const(0, self.a.dtype))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """For each panel of columns of the halves: all products, then their blocks of the result."""
        width, lanes = self.weight.layout.block_of(2), machine.lanes()
        if width == 1:
            schedule_injective(s, output, machine)
            return
        host = host_of(s, self.result, output, machine)
        tile = ReductionTile.of(s, self.blocks, host)
        stage = s[host]
        batch, *rows, j = stage.axes
        i = stage.fuse(*rows) if len(rows) > 1 else rows[0]
        which_row, i = stage.split(i, self.half_height, tail="guard")
        which_column, j = stage.split(j, self.half_columns)
        panel, j = stage.split(j, width)
        vector, lane = stage.split(j, lanes)
        stage.reorder(panel, batch, i, which_row, which_column, vector, lane)
        share_among_threads(stage, [panel], elements(self.products) * self.half_depth // 8, machine)
        tile.place(stage, i, [which_row, which_column, vector, lane], lanes)
        *data, j = tile.part.axes
        terms, *_ = tile.part.op.reduce_axis
        vector, lane = tile.part.split(j, lanes)
        tile.part.reorder(*data, terms, vector, lane)
        register_tile(tile.part, *data, terms, vector, lane)
        self._schedule_products(s, stage, panel, machine)
        self._schedule_left(s, stage, panel, lanes)

    def _schedule_products(self, s: te.Schedule, host: te.Stage, panel: IterVar, machine: Machine) -> None:
        width, lanes = self.weight.layout.block_of(2), machine.lanes()
        part = s.cache_write(self.products, "register")
        stage = s[self.products]
        q, i, j = stage.axes
        io, ii = stage.split(i, tile_rows(self.rows, width // lanes, machine), tail="partition")
        vector, lane = stage.split(j, lanes)
        stage.reorder(q, io, ii, vector, lane)
        register_tile(stage, ii, vector, lane)
        stage.compute_at(host, panel)
        s[part].compute_at(stage, io)
        q, i, j = s[part].axes
        steps, terms = s[part].split(s[part].op.reduce_axis[0], UNROLLED_TERMS)
        vector, lane = s[part].split(j, lanes)
        s[part].reorder(q, steps, terms, i, vector, lane)
        register_tile(s[part], terms, i, vector, lane)
        ask_ahead(s[part], self.weight.tensor, steps, 2, self.rows, machine)  # a product of a panel

    def _schedule_left(self, s: te.Schedule, host: te.Stage, panel: IterVar, lanes: int) -> None:
        """All sums of a vector of elements at a time. Each thread computes them for itself, since sharing would take
        longer."""
        stage = s[self.left]
        q, i, c = stage.axes
        stage.storage_align(i, 2 * lanes, lanes)  # neighbouring rows are in different sets of the cache
        vector, lane = stage.split(c, largest_divisor(self.half_depth, lanes))
        stage.reorder(i, vector, q, *stage.op.reduce_axis, lane)
        register_tile(stage, q, *stage.op.reduce_axis, lane)
        stage.compute_at(host, panel)


def _sum(table: Sequence[Sequence[int]], row: Expr, axis: IterVar, term: Expr) -> Expr:
    """Σ table[row, axis]·term over an axis, without zeros."""
    entry = te.constant(np.array(table, np.float32), "table")(row, axis)
    return te.sum(entry * term, axis=axis, where=entry.not_equal(0.0))
