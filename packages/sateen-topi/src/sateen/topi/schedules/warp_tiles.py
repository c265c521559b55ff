"""Tiles of warps: a block computes a tile of a product whose warps multiply tiles of 16 x 16, on tensor cores.

Both factors of a step lie in shared memory. A warp keeps its sums in registers, of which only instructions know which
thread has what. So at the end each tile goes through a piece of shared memory of the warp, from where its threads take
it in order, compute the epilogue and store neighbours at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sateen.runtime import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.register_tiles import between
from sateen.topi.schedules.thread_tiles import (
    ThreadTile,
    access_lanes,
    load_together,
)

SIDE = 16
"""The rows, columns and terms of a tile that a warp multiplies at once."""
LANES = 32
"""The threads of a warp that does so (PTX ISA, 9.7.15)."""
WARPS = (1, 2, 4)
TILES = (1, 2, 4)
MOST_WARPS = 8
MOST_SUMS = 8
"""The most tiles of sums of a warp: each takes 8 registers of a thread."""
STEPS = (64, 32, 16)
"""The terms that may lie in shared memory at a time."""
KINDS = {"float16": "f16", "bfloat16": "bf16"}
"""The word for factors in the names of instructions, whose sums are float32."""


@dataclass(frozen=True, slots=True)
class WarpTile:
    """What a block computes: warps_y times tiles_y by warps_x times tiles_x tiles, of so many `terms` at a time."""

    warps_y: int
    tiles_y: int
    warps_x: int
    tiles_x: int
    terms: int

    @property
    def warps(self) -> int:
        return self.warps_y * self.warps_x

    @property
    def height(self) -> int:
        return self.warps_y * self.tiles_y * SIDE

    @property
    def width(self) -> int:
        return self.warps_x * self.tiles_x * SIDE

    @property
    def shared_bytes(self) -> int:
        """Of both factors with their padding, and of a tile of sums for each warp."""
        factors = self.height * (self.terms + SIDE // 2) + self.terms * (self.width + SIDE // 2)
        return 2 * factors + 4 * SIDE * SIDE * self.warps


def whole_terms(terms: int) -> int:
    """The terms of a sum with those that make whole tiles of it, which are zeros in shared memory."""
    return -(-terms // SIDE) * SIDE


def fitting_warp_tiles(rows: int, columns: int, terms: int, gpu: Gpu) -> Iterator[WarpTile]:
    """The tiles of a product that a device has place for; none is larger than the product, whose `terms` they divide.

    So many blocks should find place in a unit that some compute while others load.
    """
    for wy, ty, wx, tx in product(WARPS, TILES, WARPS, TILES):
        for step in STEPS:
            tile = WarpTile(wy, ty, wx, tx, step)
            is_small = wy * wx <= MOST_WARPS and ty * tx <= MOST_SUMS and tile.shared_bytes <= gpu.shared_bytes * 2 // 3
            if is_small and tile.height <= rows and tile.width <= columns and terms % step == 0:
                yield tile


def warp_tile_time(
    tile: WarpTile, blocks: int, dtype: DType, gpu: Gpu, costs: tuple[float | None, float | None] = (None, None)
) -> float:
    """The time of a term of all blocks, in multiply-adds of a thread, as `term_time`.

    `costs` are those of loading an element of each factor; None: those of a part of a vector.
    """
    of_unit = -(-blocks // gpu.units)
    products = tile.height * tile.width / gpu.product_rate(dtype)
    shared = tile.warps * (tile.tiles_y + tile.tiles_x) * SIDE * gpu.shared_cost
    of_vector = gpu.memory_cost * dtype.bytes / 4
    loads = sum(
        side * (of_vector if cost is None else cost)
        for side, cost in zip((tile.height, tile.width), costs, strict=True)
    )
    waiting = max(1.0, gpu.busy_threads / (tile.warps * LANES * min(of_unit, gpu.resident_blocks)))
    return of_unit * (products + shared + loads) * waiting


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A factor as a stage: its loops that a block copies, `inner` being that along which `lanes` are neighbours in
    memory, and `row` that over its rows in shared memory."""

    tensor: te.Tensor
    outer: tuple[IterVar, ...]
    inner: IterVar
    row: IterVar
    lanes: int


def schedule_warp_tiles(
    s: te.Schedule,
    output: te.Tensor,
    grid: Sequence[IterVar],
    rows: IterVar,
    columns: IterVar,
    master: te.Tensor,
    factors: tuple[Factor, Factor],
    tile: WarpTile,
    lanes: int,
) -> None:
    """Blocks of warps for the loops `rows` and `columns` of the output, which reads `master`, and those of `grid`
    around them. What lies between both is computed where the output is. The terms of the sum are its first reduction
    axis; of others, each iteration is a step of its own.

    A thread stores so many `lanes` at once.
    """
    for tensor in between(master, output):
        s[tensor].compute_inline()
    host = s[output]
    kind = KINDS[str(factors[0].tensor.dtype)]
    sums = s.cache_write(master, "warp")
    s[master].set_scope("warp")
    io, i = host.split(rows, tile.height, tail="shift")
    jo, j = host.split(columns, tile.width, tail="shift")
    warp_y, i = host.split(i, tile.tiles_y * SIDE)
    warp_x, j = host.split(j, tile.tiles_x * SIDE)
    tile_y, i = host.split(i, SIDE)
    tile_x, j = host.split(j, SIDE)
    j, lane = host.split(j, lanes)
    host.reorder(*grid, io, jo, warp_y, warp_x, tile_y, tile_x, i, j, lane)
    block, warp = host.fuse(*grid, io, jo), host.fuse(warp_y, warp_x)
    rounds, thread = host.split(host.fuse(i, j), LANES)
    host.bind(block, te.thread_axis("blockIdx.x"))
    host.bind(warp, te.thread_axis("threadIdx.y"))
    host.bind(thread, te.thread_axis("threadIdx.x"))
    for axis in (tile_y, tile_x, rounds):
        host.unroll(axis)
    host.vectorize(lane)
    s[master].compute_at(host, tile_x)
    s[master].tensorize(s[master].axes[-2], INTRINSICS["wmma_store_16x16_float32"])
    s[sums].compute_at(host, warp)
    step = _multiply(s[sums], f"wmma_16x16x16_{kind}", tile)
    for factor, side in zip(factors, (tile.height, tile.width), strict=True):
        copy = s[factor.tensor]
        copy.set_scope("shared")
        copy.compute_at(s[sums], step)
        copy.storage_align(factor.row, SIDE, SIDE // 2)
        threads = ThreadTile(tile.warps, 1, LANES, 1)
        load_together(copy, threads, factor.outer, factor.inner, factor.lanes, side * tile.terms)


def _multiply(sums: te.Stage, instruction: str, tile: WarpTile) -> IterVar:
    """The loops of a warp's sums; returns the one over steps."""
    *place, i, j = sums.axes
    terms, *others = sums.op.reduce_axis
    tile_y, tile_x, i, j = sums.tile(i, j, SIDE, SIDE)
    step, term = sums.split(terms, tile.terms)
    part, term = sums.split(term, SIDE)
    sums.reorder(step, *others, *place, part, tile_y, tile_x, i, j, term)
    for axis in (part, tile_y, tile_x):
        sums.unroll(axis)
    sums.tensorize(i, INTRINSICS[instruction])
    return others[-1] if others else step


def store_lanes(host: te.Tensor, columns: int, gpu: Gpu) -> int:
    """The elements of a row of a tile that a thread stores at once."""
    return access_lanes(gpu, host.dtype, columns, SIDE * SIDE // LANES)
