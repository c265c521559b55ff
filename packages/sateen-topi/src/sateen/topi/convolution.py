"""The ways to compute a convolution in layouts that are blocked by channels, with an estimate of what each costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import inf, prod, sqrt
from typing import ClassVar

from sateen.runtime.device import DeviceKind
from sateen.tensor_ir import Machine
from sateen.topi import winograd
from sateen.topi.conv import reads_padding
from sateen.topi.cost import bytes_per_cycle, tile_cycles, tiles_cycles
from sateen.topi.operator import Candidate, Method
from sateen.topi.tiling import balanced, tile_rows
from sateen.topi.window import Window

MOST_VECTORS = 8
"""Of output channels in a register tile."""


@dataclass(frozen=True, slots=True)
class Direct(Method):
    """Register tiles of rows x columns of the output, for `vectors` of output channels."""

    rows: int
    columns: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Winograd(Method):
    """F(tile x tile) in blocks of rows x columns of tiles, for `vectors` of output channels."""

    numerics: ClassVar[str] = "default"
    tile: int
    rows: int
    columns: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Blocks(Method):
    """What is left of Winograd when the tile is chosen: its blocks and its vectors."""

    rows: int
    columns: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of float32: shapes of data [N, C, …] and weight [O, C, …], in one group."""

    data: tuple[int, ...]
    weight: tuple[int, ...]
    window: Window

    @property
    def output(self) -> tuple[int, ...]:
        """The spatial extents of the result."""
        return self.window.output(self.data[2:])


def cpu_candidates(problem: Convolution, machine: Machine) -> list[Candidate]:
    """All ways, best first; none where a layout in blocks of channels does not fit."""
    lanes = machine.lanes()
    if lanes == 1 or problem.weight[0] < lanes:
        return []
    found = [*_direct(problem, machine), *_winograd(problem, machine)]
    return sorted((c for c in found if c.cycles < inf), key=lambda c: c.cycles)


def _panels(outputs: int, lanes: int) -> Iterator[int]:
    """Numbers of vectors that divide the blocks of output channels."""
    blocks = -(-outputs // lanes)
    return (v for v in range(1, MOST_VECTORS + 1) if blocks % v == 0)


def _direct(problem: Convolution, machine: Machine) -> Iterator[Candidate]:
    lanes, (outputs, channels, *kernel) = machine.lanes(), problem.weight
    *_, width = problem.output
    height = problem.output[-2] if len(problem.output) > 1 else 1
    shares = channels < lanes and kernel[-1] > 1  # columns share elements of the input, which take registers too
    padded = reads_padding(problem.window, problem.data[2:], problem.output)
    registers = machine.vector_registers
    if channels > lanes and channels % lanes:  # a sum in two loops, between which LLVM spills large tiles
        registers = registers * 2 // 3
    for vectors in _panels(outputs, lanes):
        most = (registers - 1 - vectors) // vectors // (2 if shares else 1)
        for columns in dict.fromkeys(balanced(width, n) for n in range(1, most + 1)):
            tallest = min(height, most // columns) if columns == width and not padded else 1
            for rows in dict.fromkeys(balanced(height, n) for n in range(1, tallest + 1)):
                method = Direct(rows, columns, vectors)
                yield Candidate(method, _direct_cycles(problem, method, machine))


def _direct_cycles(problem: Convolution, method: Direct, machine: Machine) -> float:
    batch = problem.data[0]
    *outer, width = problem.output
    terms = prod(problem.weight[1:])
    groups = -(-problem.weight[0] // (machine.lanes() * method.vectors))
    row = partial(tiles_cycles, vectors=method.vectors, terms=terms, machine=machine)
    strips, rest = divmod(prod(outer), method.rows)
    cycles = strips * row(width * method.rows, method.columns * method.rows)
    if rest:
        cycles += row(width * rest, method.columns * rest)
    image = 4 * prod(problem.data[1:])
    traffic = image / bytes_per_cycle(image, machine) * machine.rates.exposed
    parts = batch * groups * prod(outer)
    return _mean_cycles(batch * groups * (cycles + traffic), 4 * prod(problem.weight), method.vectors, parts, machine)


def _winograd(problem: Convolution, machine: Machine) -> Iterator[Candidate]:
    lanes, (outputs, channels, *_) = machine.lanes(), problem.weight
    if not winograd.fits(problem.weight, problem.window) or channels % lanes or outputs % lanes:
        return
    for f in winograd.TRANSFORMS.values():
        if (f.stride, f.stride) != problem.window.strides:
            continue
        for vectors in _panels(outputs, lanes):
            for rows, columns in winograd.blocks(problem.output, f):
                method = Winograd(f.m, rows, columns, vectors)
                yield Candidate(method, _winograd_cycles(problem, f, method, machine))


def _winograd_cycles(problem: Convolution, f: winograd.Transform, method: Winograd, machine: Machine) -> float:
    lanes, batch, (outputs, channels, *_) = machine.lanes(), problem.data[0], problem.weight
    rates = machine.rates
    down, across = (-(-extent // f.m) for extent in problem.output)
    whole = (method.rows, method.columns) == (down, across)
    count = method.rows * method.columns * (batch if whole else 1)
    blocks = 1 if whole else batch * (down // method.rows) * (across // method.columns)
    groups = outputs // (lanes * method.vectors)
    tile = tile_rows(count, method.vectors, machine.vector_registers)
    one = tile_cycles(tile, method.vectors, channels, machine, rates.exposed)
    products = f.n**2 * groups * -(-count // tile) * one
    transforms = f.n**2 * count * (channels + outputs) * rates.transform_cycles
    inputs, weights = 4 * f.n**2 * count * channels, 4 * f.weights**2 * channels * outputs
    results = 4 * f.n**2 * count * lanes * method.vectors
    traffic = (inputs * (1 + rates.reread * groups) + 2 * results * groups) / bytes_per_cycle(inputs + results, machine)
    work = products + transforms + rates.exposed * traffic
    if blocks > 1:
        work = blocks * max(work, weights / bytes_per_cycle(weights, machine))
    parts, shared = (groups, inputs) if whole else (blocks, 0)
    return _mean_cycles(work, weights, method.vectors, parts, machine, shared)


def _mean_cycles(work: float, weights: int, vectors: int, parts: int, machine: Machine, shared: int = 0) -> float:
    """What cores spend together on work in equal parts, with cold weights and bytes that one writes and all read."""
    rates, cycles = machine.rates, []
    for n in (1 << power for power in range(machine.cores.bit_length())):
        own = -(-parts // n) / parts * work + (n > 1) * shared / n / rates.shared
        transfer = weights / (rates.memory * sqrt(n))
        cycles.append(n * (max(own, transfer) + rates.streamed / vectors * transfer))
    return sum(cycles) / len(cycles)


CANDIDATES = {DeviceKind.CPU: cpu_candidates}
"""By the kind of machine."""
