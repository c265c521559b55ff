"""1x1 convolutions of bfloat16 in float32 by tile registers: products of neighbouring positions with output channels.

A tile of rows has 16 positions along the last dimension, with 32 channels of each. Where these are not whole, data
lies in tiles that are filled up with zeros. The result is in blocks of channels, as other convolutions have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.convolution.shapes import ConvolutionShapes, OperandLayouts
from sateen.topi.computations.products import PackedTiles
from sateen.topi.computations.products.tile_product import (
    COLUMNS,
    ROWS,
    TERMS,
    block_candidates,
    multiply_tiles,
    preparation_cycles,
)
from sateen.topi.methods import Candidate
from sateen.topi.schedules import PAIR, Computation, ReductionTile, elements, host_of, on_cpu, share_among_threads
from sateen.topi.types import FLOAT32, Block, Layout, View


def candidates(problem: ConvolutionShapes, machine: Machine) -> Iterator[Candidate]:
    """The methods for a 1x1 convolution of float32 in one group; none where the processor has no tile registers, or
    channels don't fill them."""
    outputs, channels, *_ = problem.weight
    batch, _, *outer, width = problem.data
    suits = machine.multiplies_tiles and machine.lanes() == COLUMNS and problem.dtype == FLOAT32
    if not suits or not problem.window.is_plain or channels % TERMS or outputs < COLUMNS or 0 in problem.data:
        return
    tiles = -(-width // ROWS)
    *lines, along = (batch, *outer) if outer and tiles == 1 else (batch, *outer, tiles)
    preparation = preparation_cycles(prod(problem.data), True, machine)
    yield from block_candidates(prod(lines), along, -(-outputs // COLUMNS), channels, preparation, machine)


def tile_layouts(rank: int, width: int, method: PackedTiles) -> OperandLayouts:
    """The layouts of data [N, C, …], whose last dimension has `width`, of weights, bias and result."""
    filled = [Block(rank - 1, ROWS)] if width % ROWS else []
    weight = Layout((*range(rank), Block(0, COLUMNS * method.columns), Block(1, PAIR)))
    bias, result = Layout.blocked(1, 0, COLUMNS), Layout.blocked(rank, 1, COLUMNS)
    return OperandLayouts(Layout((*range(rank), *filled, Block(1, TERMS))), weight, bias, result)


class PointwiseTiles:
    """The stages of a 1x1 convolution by tile registers, and their schedule. The operands lie as the method needs
    them."""

    def __init__(self, data: View, weight: View, bias: View | None, method: PackedTiles) -> None:
        self.data, self.weight, self.bias, self.method = data, weight, bias, method
        batch, channels, *spatial = data.shape
        *outer, width = spatial
        self.shape = (batch, weight.shape[0], *spatial)
        self.channel = te.reduce_axis(channels, "c")
        tiles = (batch, *outer, -(-width // ROWS), -(-weight.shape[0] // COLUMNS), ROWS, COLUMNS)
        self.sums: te.Tensor = te.compute(tiles, self._sum, name="tiles")
        self.layout = Layout.blocked(data.ndim, 1, COLUMNS)
        self.result: te.Tensor = te.compute(self.layout.physical_shape(self.shape), self._element, name="bfloat_conv")

    @staticmethod
    def suits(data: View, weight: View, method: PackedTiles) -> bool:
        """Whether operands lie as the method needs them."""
        layouts = tile_layouts(data.ndim, data.shape[-1], method)
        return (data.layout, weight.layout) == (layouts.data, layouts.weight) and data.shape[1] % TERMS == 0

    def _sum(self, *index: Expr) -> Expr:
        batch, *outer, tile, block, i, j = index
        value = self.data(batch, self.channel, *outer, ROWS * tile + i)
        factor = self.weight(COLUMNS * block + j, self.channel, *[te.const(0)] * (self.data.ndim - 2))
        return te.sum(value.astype(FLOAT32) * factor.astype(FLOAT32), axis=self.channel)

    def _element(self, *index: Expr) -> Expr:
        batch, block, *outer, x, j = index
        value: Expr = self.sums(batch, *outer, x // ROWS, block, x % ROWS, j)
        return value if self.bias is None else value + self.bias(COLUMNS * block + j)

    def computation(self) -> Computation:
        return Computation((View(self.result, self.shape, self.layout),), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Blocks of tiles, of one line or, where that has one tile, of neighbouring lines; a panel of weights stays in
        the cache while all positions use it."""
        host = host_of(s, self.result, output, machine)
        tile, stage = ReductionTile.of(s, self.sums, host), s[host]
        batch, block, *outer, x, lane = stage.axes
        blocks, block = stage.split(block, self.method.columns, tail="partition")
        inner = [x, block, lane]
        if self.data.shape[-1] > ROWS:
            tiles, inner[0] = stage.split(x, ROWS * self.method.rows, tail="partition")
            outer.append(tiles)
        elif outer:
            outer[-1], line = stage.split(outer[-1], self.method.rows, tail="partition")
            inner.insert(0, line)
        stage.reorder(blocks, batch, *outer, *inner)
        work = elements(self.sums) * max(1, self.data.shape[1] // 8)
        place = share_among_threads(stage, [blocks, batch, *outer], work, machine)
        tile.place(stage, place, inner, machine.lanes())
        multiply_tiles(tile.part, self.sums, self.data.shape[-1], self.weight, machine)
