"""The methods of Winograd's convolution: tiles, blocks of them, panels of weights, with an estimate of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution.shapes import ConvolutionShapes, panels
from sateen.topi.computations.convolution.winograd_transforms import (
    TRANSFORMS,
    Transform,
    fits,
)
from sateen.topi.cost import bytes_per_cycle, convolution_cycles, tile_cycles
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import is_asked_for, tile_rows
from sateen.topi.types import Block, Layout

LEAST_BLOCK = 8
"""The least tiles in a part of a row, to bound the number of methods."""
MOST_BLOCK = 256
"""The most tiles in a block of rows, to bound the number of methods."""


@dataclass(frozen=True, slots=True)
class Winograd(Method):
    """F(tile x tile) in blocks of rows x columns of tiles, for `vectors` of output channels."""

    numerics: ClassVar[str] = "default"
    tile: int
    rows: int
    columns: int
    vectors: int

    @property
    def of_tiles(self) -> Blocks:
        """The method once the tile is chosen."""
        return Blocks(self.rows, self.columns, self.vectors)


@dataclass(frozen=True, slots=True)
class Blocks(Method):
    """Winograd's method with a chosen tile: its blocks and its vectors."""

    rows: int
    columns: int
    vectors: int


def blocks(output: Sequence[int], f: Transform) -> Iterator[tuple[int, int]]:
    """The numbers of rows and columns of tiles that may be computed at a time: all, whole rows, or parts of one row."""
    down, across = (-(-extent // f.m) for extent in output)
    yield down, across
    yield from ((rows, across) for rows in range(1, down) if down % rows == 0 and rows * across <= MOST_BLOCK)
    yield from ((1, columns) for columns in range(LEAST_BLOCK, across) if across % columns == 0)


def candidates(problem: ConvolutionShapes, machine: Machine) -> Iterator[Candidate]:
    """All blocks of all tiles for the window."""
    lanes, (outputs, channels, *_) = machine.lanes(), problem.weight
    if not fits(problem.weight, problem.window) or channels % lanes or outputs % lanes:
        return
    for f in TRANSFORMS.values():
        if (f.stride, f.stride) != problem.window.strides:
            continue
        for vectors in panels(outputs, lanes):
            for rows, columns in blocks(problem.output, f):
                method = Winograd(f.m, rows, columns, vectors)
                yield Candidate(method, _cycles(problem, f, method, machine))


def _cycles(problem: ConvolutionShapes, f: Transform, method: Winograd, machine: Machine) -> float:
    lanes, batch, (outputs, channels, *_) = machine.lanes(), problem.data[0], problem.weight
    rates = machine.rates
    down, across = (-(-extent // f.m) for extent in problem.output)
    whole = (method.rows, method.columns) == (down, across)
    count = method.rows * method.columns * (batch if whole else 1)
    blocks = 1 if whole else batch * (down // method.rows) * (across // method.columns)
    groups = outputs // (lanes * method.vectors)
    tile = tile_rows(count, method.vectors, machine)
    one = tile_cycles(tile, method.vectors, channels, machine, rates.exposed)
    products = f.n**2 * groups * -(-count // tile) * one
    transforms = f.n**2 * count * (channels + outputs) * rates.transform_cycles
    inputs, weights = 4 * f.n**2 * count * channels, 4 * f.weights**2 * channels * outputs
    results = 4 * f.n**2 * count * lanes * method.vectors
    traffic = (inputs * (1 + rates.reread * groups) + 2 * results * groups) / bytes_per_cycle(inputs + results, machine)
    work = products + transforms + rates.exposed * traffic
    if blocks > 1:
        transforms *= blocks
        fetch = weights / bytes_per_cycle(weights, machine)
        work = blocks * (work - products + max(products, fetch) + rates.streamed * fetch)
    parts, shared = (groups, inputs) if whole else (blocks, 0)
    enlargement = machine.enlargement_cycles * (weights - 4 * prod(problem.weight))
    asked = is_asked_for(count, machine)
    cycles = convolution_cycles(work, weights, method.vectors, parts, machine, shared, transforms, asked=asked)
    return cycles + enlargement


def winograd_weight_layout(lanes: int, vectors: int) -> Layout:
    """The layout of a transformed weight: panels of as many output channels as a register tile has."""
    return Layout((0, 2, 3, 1, Block(0, lanes * vectors)))
