"""Products of float16 and bfloat16 on tensor cores, by tiles of warps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.products.shapes import ProductShapes, is_one_matrix, matmul_shape
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import (
    MOST_TILES,
    TILES_OF_PART,
    Computation,
    Factor,
    WarpTile,
    access_lanes,
    extent_of,
    fitting_warp_tiles,
    flattened,
    host_on_device,
    on_devices,
    schedule_warp_tiles,
    store_lanes,
    unflattened,
    warp_tile_time,
    whole_terms,
)
from sateen.topi.types import FLOAT32, Layout, View


@dataclass(frozen=True, slots=True)
class Warped(Method):
    """Blocks of warps_y x warps_x warps, each of which multiplies tiles_y x tiles_x tiles of 16 x 16 on tensor cores;
    `terms` of the sums lie in shared memory at a time.

    Sums are of float32, added up in an order of the processor's own.
    """

    numerics: ClassVar[str] = "default"
    warps_y: int
    tiles_y: int
    warps_x: int
    tiles_x: int
    terms: int

    @staticmethod
    def of(tile: WarpTile) -> Warped:
        return Warped(tile.warps_y, tile.tiles_y, tile.warps_x, tile.tiles_x, tile.terms)

    @property
    def tile(self) -> WarpTile:
        return WarpTile(self.warps_y, self.tiles_y, self.warps_x, self.tiles_x, self.terms)


def warp_candidates(
    p: ProductShapes, gpu: Gpu, others: int = 1, costs: tuple[float | None, float | None] = (None, None)
) -> list[Candidate]:
    """Tiles of warps that a device has place for, best first; none where it has no tensor cores for the type.

    The sum is over `others` times the terms. `costs` are those of an element of each factor; None: as of vectors.
    """
    if not gpu.product_rate(p.dtype) or 0 in (p.batch, p.rows, p.columns, p.terms):
        return []
    terms = whole_terms(p.terms)

    def cycles(t: WarpTile) -> float:
        blocks = -(-p.rows // t.height) * -(-p.columns // t.width) * p.batch
        return others * terms * warp_tile_time(t, blocks, p.dtype, gpu, costs)

    found = fitting_warp_tiles(p.rows, p.columns, terms, gpu)
    best = best_of_each(found, cycles, lambda t: (t.tiles_y, t.tiles_x), TILES_OF_PART, MOST_TILES)
    return [Candidate(Warped.of(t), cycles(t)) for t in best]


def matmul_on_warps(a: View, b: View, method: Warped) -> Computation:
    """a [..., m, k] · b [..., k, n], batches broadcast; both row-major, of float16 or bfloat16."""
    shape = matmul_shape(a.shape, b.shape)
    flat = is_one_matrix(a.shape, b.shape)
    batch, rows, depth, columns = shape[:-2], shape[-2], a.shape[-1], shape[-1]
    terms = whole_terms(depth)
    k = te.reduce_axis(terms, "k")
    if flat:
        batch, rows = (), prod(shape[:-1])

    def present(term: te.Expr, value: te.Expr) -> te.Expr:
        return value if terms == depth else te.if_then_else(term < depth, value, te.const(0, a.dtype))

    def of_left(*index: te.Expr) -> te.Expr:
        *place, row, term = index
        value = a(*unflattened(row, a.shape[:-1]), term) if flat else a(*_place(a, place), row, term)
        return present(term, value)

    def of_right(*index: te.Expr) -> te.Expr:
        *place, term, column = index
        one = [te.const(0)] * (b.ndim - 2)  # the only matrix, where there are none to choose from
        return present(term, b(*(one if flat else _place(b, place)), term, column))

    left: te.Tensor = te.compute((*batch, rows, terms), of_left, name="left")
    right: te.Tensor = te.compute((*(() if flat else batch), terms, columns), of_right, name="right")

    def element(*index: te.Expr) -> te.Expr:
        *place, i, j = index
        return te.sum(left(*place, i, k).astype(FLOAT32) * right(*place, k, j).astype(FLOAT32), axis=k)

    master: te.Tensor = te.compute((*batch, rows, columns), element, name="matmul")

    def finished(*index: te.Expr) -> te.Expr:
        place = (flattened(index[:-1], shape[:-1]), index[-1]) if flat else index
        return master(*place).astype(a.dtype)

    result: te.Tensor = te.compute(shape, finished, name="product")
    plan = _Plan(left, right, master, result, flat, depth, method)
    return Computation((View(result, shape, Layout.row_major(len(shape))),), on_devices(plan.schedule))


def _place(x: View, batch: Sequence[te.Expr]) -> tuple[te.Expr, ...]:
    """The index of the operand's matrix for a matrix of the result."""
    extents = x.shape[:-2]
    own = batch[len(batch) - len(extents) :]
    return tuple(te.const(0) if extent == 1 else i for i, extent in zip(own, extents, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """The stages of a product on tensor cores; `depth` is the number of terms that are there."""

    left: te.Tensor
    right: te.Tensor
    master: te.Tensor
    result: te.Tensor
    flat: bool
    depth: int
    method: Warped

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Tiles of warps."""
        gpu = machine.gpu
        assert gpu is not None
        host = host_on_device(s, self.result, output)
        tile, stage = self.method.tile, s[host]
        *grid, i, j = stage.axes
        if self.flat:
            grid, i = [], stage.fuse(*grid, i)
        columns = extent_of(j.extent)
        *place, row, term = s[self.left].axes
        by_terms = access_lanes(gpu, self.left.dtype, self.depth, tile.terms)
        left = Factor(self.left, (*place, row), term, row, by_terms)
        *place, term, column = s[self.right].axes
        by_columns = access_lanes(gpu, self.right.dtype, columns, tile.width)
        right = Factor(self.right, (*place, term), column, term, by_columns)
        lanes = store_lanes(host, columns, gpu)
        schedule_warp_tiles(s, host, grid, i, j, self.master, (left, right), tile, lanes)
