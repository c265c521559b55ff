"""Products with a constant matrix of bfloat16, in float32, by tile registers (AMX of x86-64).

An instruction adds the products of a tile of rows and a tile of columns to a tile of sums: 16 rows of 64 bytes each.
The right operand lies in panels of columns, in which the two terms of a column are neighbours; the left one lies as it
is, or in blocks of rows, of which the last one is filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir import Expr
from sateen.topi.cost import bytes_per_cycle, cycles_in_passes, rounding_cycles
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import (
    PAIR,
    Computation,
    ReductionTile,
    ask_ahead,
    elements,
    host_of,
    is_asked_for,
    on_cpu,
    shape_of,
    share_among_threads,
)
from sateen.topi.types import BFLOAT16, FLOAT32, Block, Layout, View

INSTRUCTION = INTRINSICS["tile_16x16x32_bf16"]
ROWS, COLUMNS = (int(extent) for extent in INSTRUCTION.shape_of(INSTRUCTION.outputs[0]))
TERMS = int(INSTRUCTION.shape_of(INSTRUCTION.inputs[1])[1])
"""The rows, the columns and the terms of an instruction."""


@dataclass(frozen=True, slots=True)
class PackedTiles(Method):
    """Blocks of `rows` x `columns` tile registers of sums, of operands that are rounded to bfloat16."""

    numerics: ClassVar[str] = "fast"
    rows: int
    columns: int


def tile_weight_layout(method: PackedTiles) -> Layout:
    """The layout of a right operand [k, n]: panels of columns, in which pairs of terms are neighbours."""
    return Layout((1, 0, Block(1, COLUMNS * method.columns), Block(0, PAIR)))


def tile_rows_layout(rank: int) -> Layout:
    """The layout of a left operand [..., m, k] in blocks of rows."""
    return Layout((*range(rank - 1), Block(rank - 2, ROWS), rank - 1))


def fills_tiles(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether the terms of a [..., m, k] · b [k, n] are whole steps of an instruction. Rows and columns may be any."""
    return len(b) == 2 and prod(a) > 0 and a[-1] % TERMS == 0


def has_whole_tiles(a: Sequence[int]) -> bool:
    """Whether a left operand [..., m, k] needs no blocks that are filled up."""
    return a[-2] % ROWS == 0


def tile_candidates(a: Sequence[int], b: Sequence[int], dtype: DType, machine: Machine) -> list[Candidate]:
    """The methods for a [..., m, k] · b [k, n] of float32 with a constant b; none where the processor has no tile
    registers, or the product does not fill them."""
    *batch, rows, depth = a
    if not machine.multiplies_tiles or dtype != FLOAT32 or not fills_tiles(a, b):
        return []
    down, across, copied = -(-rows // ROWS), -(-b[1] // COLUMNS), not has_whole_tiles(a)
    return block_candidates(prod(batch), down, across, depth, preparation_cycles(prod(a), copied, machine), machine)


def preparation_cycles(elements: int, copied: bool, machine: Machine) -> float:
    """Cycles to round the elements of a left operand, and to copy them to tiles where they don't lie in such."""
    cycles = rounding_cycles(elements, machine)
    if copied:
        cycles += machine.rates.conversion_cycles + 2 * BFLOAT16.bytes * elements / machine.rates.moved
    return cycles


def block_candidates(
    batch: int, down: int, across: int, depth: int, preparation: float, machine: Machine
) -> list[Candidate]:
    """The methods for `batch` products of `down` x `across` tiles of sums of `depth` terms: the blocks that tile
    registers hold together with their operands, those of a row or of a column and one more. One register is left, since
    LLVM may load an operand twice, and would spill sums."""
    most = machine.tile_registers - 1
    blocks = ((r, c) for r, c in product(range(1, most), repeat=2) if r * c + min(r, c) + 1 <= most)
    methods = (PackedTiles(r, c) for r, c in blocks if r <= down and c <= across)
    return [Candidate(m, preparation + _cycles(batch, down, across, depth, m, machine)) for m in methods]


def _cycles(batch: int, down: int, across: int, depth: int, method: PackedTiles, machine: Machine) -> float:
    """The cycles of all cores together. The left operand is read for each panel of columns, and a panel for each block
    of rows."""
    panels, weights = -(-across // method.columns), depth * across * COLUMNS * BFLOAT16.bytes
    panel, left = weights // panels, batch * down * ROWS * depth * BFLOAT16.bytes
    whole, rest = divmod(down, method.rows)
    own = whole * _block_cycles(method.rows, method.columns, depth, panel, left, machine)
    own += _block_cycles(rest, method.columns, depth, panel, left, machine) if rest else 0.0
    blocks, asked = batch * (whole + (rest > 0)), is_asked_for(batch * down * ROWS, machine)
    work, parts = batch * panels * own, panels * blocks
    return cycles_in_passes(work, weights, method.columns, blocks, parts, machine, asked=asked)


def _block_cycles(rows: int, columns: int, depth: int, panel: int, left: int, machine: Machine) -> float:
    """Cycles of a block of tiles of sums: `depth` terms, then they are stored. Operands come from where their bytes
    are: those of a panel of columns, and of the left operand."""
    rates, tile = machine.rates, ROWS * TERMS * BFLOAT16.bytes
    fetch = tile * (columns / bytes_per_cycle(panel, machine) + rows / bytes_per_cycle(left, machine))
    issue = max(rows * columns * rates.tile_product_cycles, (rows + columns) * rates.tile_load_cycles)
    step = max(issue, rates.tile_product_latency) + rates.step_cycles + rates.exposed * fetch
    end = rates.tile_store_cycles + ROWS * rates.store_cycles
    return depth // TERMS * max(step, fetch) + rows * columns * end + rates.tile_cycles


class TileProduct:
    """The stages of a product by tile registers, and their schedule. The operands lie as the method needs them."""

    def __init__(self, a: View, b: View, method: PackedTiles) -> None:
        self.a, self.b, self.method = a, b, method
        self.shape = (*a.shape[:-1], b.shape[1])
        *batch, rows, depth = a.shape
        tiles = (*batch, -(-rows // ROWS), -(-b.shape[1] // COLUMNS), ROWS, COLUMNS)
        self.k = te.reduce_axis(depth, "k")
        self.sums: te.Tensor = te.compute(tiles, self._sum, name="tiles")
        self.result: te.Tensor = te.compute(self.shape, self._element, name="bfloat_matmul")

    @staticmethod
    def suits(a: View, b: View, method: PackedTiles) -> bool:
        """Whether operands lie as the method needs them."""
        is_left = a.layout == tile_rows_layout(a.ndim) or (a.layout.is_row_major and has_whole_tiles(a.shape))
        return is_left and fills_tiles(a.shape, b.shape) and b.layout == tile_weight_layout(method)

    def _sum(self, *index: Expr) -> Expr:
        *batch, row, column, i, j = index
        left, right = self.a(*batch, ROWS * row + i, self.k), self.b(self.k, COLUMNS * column + j)
        return te.sum(left.astype(FLOAT32) * right.astype(FLOAT32), axis=self.k)

    def _element(self, *index: Expr) -> Expr:
        *batch, i, j = index
        value: Expr = self.sums(*batch, i // ROWS, j // COLUMNS, i % ROWS, j % COLUMNS)
        return value

    def computation(self) -> Computation:
        return Computation((View(self.result, self.shape, Layout.row_major(len(self.shape))),), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Blocks of tiles; a panel of b stays in the cache while all rows use it."""
        host = host_of(s, self.result, output, machine)
        tile, stage = ReductionTile.of(s, self.sums, host), s[host]
        *batch, i, j = stage.axes
        jo, ji = stage.split(j, COLUMNS * self.method.columns, tail="partition")
        io, ii = stage.split(i, ROWS * self.method.rows, tail="partition")
        jv, lane = stage.split(ji, machine.lanes())
        stage.reorder(jo, *batch, io, ii, jv, lane)
        work = elements(self.sums) * max(1, self.a.shape[-1] // 8)
        place = share_among_threads(stage, [jo, *batch, io], work, machine)
        tile.place(stage, place, [ii, jv, lane], machine.lanes())
        multiply_tiles(tile.part, self.sums, self.a.shape[-2], self.b, machine)


def multiply_tiles(part: te.Stage, sums: te.Tensor, rows: int, factors: View, machine: Machine) -> None:
    """Let the instruction compute a part of sums [..., row of tiles, column of tiles, ROWS, COLUMNS], step by step of
    their terms, for a left operand of so many rows and panels of a right one."""
    *outer, i, j = part.axes
    step, k = part.split(part.op.reduce_axis[0], TERMS)
    k, pair = part.split(k, PAIR)
    if rows % ROWS:
        down, i = part.split(i, ROWS, tail="round_up")
        outer.append(down)
    across, j = part.split(j, COLUMNS, tail="round_up")
    outer.append(across)
    part.reorder(step, *outer, i, j, k, pair)
    for axis in outer:
        part.unroll(axis)
    part.tensorize(i, INSTRUCTION)
    uses = elements(sums) // (shape_of(sums)[-3] * COLUMNS)
    ask_ahead(part, factors.tensor, step, 1, uses, machine)
