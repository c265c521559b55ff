"""Products with a constant matrix of bfloat16, in float32: dot products of pairs of terms for a vector of columns.

An instruction multiplies two neighbouring terms of a row by those of all columns of a vector, and adds both products to
float32 (`vdpbf16ps` of x86-64, `bfdot` of AArch64). So the right operand lies in panels of columns, in which the two
terms of a column are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import require, require_rank, require_shape, require_views
from sateen.topi.computations.products.tile_product import PackedTiles, TileProduct
from sateen.topi.cost import mean_cycles, rounding_cycles, tiles_cycles
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import (
    PAIR,
    Computation,
    ask_ahead,
    elements,
    flattened,
    host_of,
    in_registers,
    is_asked_for,
    multiply_pairs,
    on_cpu,
    register_tile,
    schedule_injective,
    share_among_threads,
    tile_rows,
    unflattened,
)
from sateen.topi.types import BFLOAT16, FLOAT32, Block, Layout, View

VECTORS = (1, 2, 3, 4, 6, 8)
"""The numbers of vectors of columns in a panel."""


@dataclass(frozen=True, slots=True)
class PackedBfloat(Method):
    """Register tiles of `rows` rows and `vectors` vectors of columns, of operands that are rounded to bfloat16."""

    numerics: ClassVar[str] = "fast"
    rows: int
    vectors: int


def bfloat_layout(lanes: int, vectors: int) -> Layout:
    """The layout of a right operand [k, n]: panels of columns, in which pairs of terms are neighbours."""
    return Layout((1, 0, Block(1, lanes * vectors), Block(0, PAIR)))


def bfloat_candidates(a: Sequence[int], b: Sequence[int], dtype: DType, machine: Machine) -> list[Candidate]:
    """The methods for a [..., k] · b [k, n] of float32 with a constant b; none where the processor has no fast dot
    products, or terms are no pairs."""
    *batch, depth = a
    rows, lanes, columns = prod(batch), machine.lanes(), b[-1]
    if not machine.multiplies_pairs or len(b) != 2 or dtype != FLOAT32 or 0 in a or depth % PAIR or columns < lanes:
        return []
    found = []
    for vectors in (v for v in VECTORS if machine.tile_positions(v) > 0):
        tile, panels = tile_rows(rows, vectors, machine), -(-columns // (lanes * vectors))
        products = panels * tiles_cycles(rows, tile, vectors, depth // PAIR, machine.of_pairs)
        weights = BFLOAT16.bytes * depth * panels * lanes * vectors
        unasked = 0.0 if is_asked_for(rows, machine) else machine.rates.unasked
        work = mean_cycles(products, weights, vectors, panels, machine, unasked=unasked)
        found.append(Candidate(PackedBfloat(tile, vectors), work + rounding_cycles(rows * depth, machine)))
    return found


def bfloat_matmul(a: View, b: View, method: PackedBfloat | PackedTiles | None = None) -> Computation:
    """a [..., k] · b [k, n] of bfloat16, in float32. Computed element by element without a method, or if operands don't
    lie as it needs them."""
    name = "bfloat_matmul"
    require_views(name, a=a, b=b)
    require_rank(name, "a [..., k]", a, 2, or_more=True)
    require_rank(name, "b [k, n]", b, 2)
    for operand, view in (("a", a), ("b", b)):
        require(view.dtype == BFLOAT16, name, f"{operand} of bfloat16", view.dtype)
    require_shape(name, "b", b, (a.shape[-1], b.shape[1]))
    if not isinstance(method, PackedTiles):
        return _Product(a, b, method).computation()
    return (TileProduct(a, b, method) if TileProduct.suits(a, b, method) else _Product(a, b)).computation()


class _Product:
    """The stages of a product, whose rows are those of all matrices of a, and their schedule."""

    def __init__(self, a: View, b: View, method: PackedBfloat | None = None) -> None:
        self.a, self.b, self.method = a, b, method
        self.shape = (*a.shape[:-1], b.shape[1])
        self.rows, self.depth = prod(a.shape[:-1]), a.shape[-1]
        self.k = te.reduce_axis(self.depth, "k")
        self.sums: te.Tensor = te.compute((self.rows, b.shape[1]), self._sum, name="bfloat_matmul")
        self.result: te.Tensor = self.sums
        if a.ndim > 2:
            self.result = te.compute(self.shape, self._element, name="product")

    def _sum(self, i: Expr, j: Expr) -> Expr:
        left, right = self.a(*unflattened(i, self.a.shape[:-1]), self.k), self.b(self.k, j)
        return te.sum(left.astype(FLOAT32) * right.astype(FLOAT32), axis=self.k)

    def _element(self, *index: Expr) -> Expr:
        value: Expr = self.sums(flattened(index[:-1], self.shape[:-1]), index[-1])
        return value

    def computation(self) -> Computation:
        return Computation((View(self.result, self.shape, Layout.row_major(len(self.shape))),), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of rows x vectors of columns; a panel of b stays in the cache while all rows use it."""
        method, lanes = self.method, machine.lanes()
        if method is None or self.b.layout != bfloat_layout(lanes, method.vectors):
            schedule_injective(s, output, machine)
            return
        host = host_of(s, self.result, output, machine)
        part, stage = s[in_registers(s, self.sums, host)], s[host]
        *batch, j = stage.axes
        i = stage.fuse(*batch) if len(batch) > 1 else batch[0]
        jo, ji = stage.split(j, lanes * method.vectors, tail="partition")
        io, ii = stage.split(i, method.rows, tail="partition")
        jv, lane = stage.split(ji, lanes)
        stage.reorder(jo, io, ii, jv, lane)
        register_tile(stage, ii, jv, lane)
        work = elements(self.sums) * max(1, self.depth // 8)
        part.compute_at(stage, share_among_threads(stage, [jo, io], work, machine))
        i, j = part.axes
        step, pair = part.split(part.op.reduce_axis[0], PAIR)
        jv, lane = part.split(j, lanes, tail="round_up")
        part.reorder(step, i, jv, lane, pair)
        multiply_pairs(part, [i, jv], lane, lanes)
        ask_ahead(part, self.b.tensor, step, 1, self.rows, machine)
