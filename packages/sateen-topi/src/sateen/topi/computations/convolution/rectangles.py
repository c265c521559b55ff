"""The tiles of a convolution on a device: what a block of threads computes, with an estimate of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.windows import Window
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import (
    MOST_TILES,
    OWN_PARTS,
    TILES_OF_PART,
    ThreadTile,
    accumulator_type,
    balanced,
    shared_terms,
    term_time,
)

SIDES = (1, 2, 4, 8, 16, 32, 64)
"""The most rows and columns of a rectangle; it gets fewer where that makes rectangles equal."""
LINE = (*SIDES, 128, 256)
"""The same of the columns where there is one row."""
PARTS = (2, 4, 8, 16, 32)
"""The parts of the input channels that a result may be the sum of."""
UNROLLED_TERMS = 256
"""The most multiply-adds of a thread that are written out."""


@dataclass(frozen=True, slots=True)
class Rectangles(Method):
    """A block computes a rectangle of rows x columns positions, of which a thread has `positions`.

    There are `threads` of them along output channels, each with `outputs`: channels of one group, or all of several.
    At a time `channels` of a group's input lie in shared memory. Where there are several `parts` of all input channels,
    a block sums one, and a second kernel adds them.
    """

    rows: int
    columns: int
    positions: int
    threads: int
    outputs: int
    channels: int
    groups: int = 1
    parts: int = 1

    @property
    def tile(self) -> ThreadTile:
        """The output channels as rows, the positions of the rectangle as columns."""
        return ThreadTile(self.threads, self.outputs, self.rows * self.columns // self.positions, self.positions)

    @property
    def own_rows(self) -> int:
        """The neighbouring rows of a thread; 1 if its positions are elsewhere."""
        return own_rows(self.rows, self.tile)


def own_rows(rows: int, tile: ThreadTile) -> int:
    """The neighbouring rows of a thread in a rectangle of so many."""
    return tile.columns if rows % tile.columns == 0 else 1


def elements_read(window: Window, rows: int, columns: int) -> int:
    """The elements of an input channel that a rectangle depends on."""
    sides = [1] * (window.rank - 2) + [rows, columns][-window.rank :]
    return prod((n - 1) * window.strides[d] + window.reach(d) for d, n in enumerate(sides))


def unrolls_kernel(window: Window, tile: ThreadTile) -> bool:
    """Whether a thread has the multiply-adds of all taps written out."""
    return tile.rows * tile.columns * prod(window.kernel) <= UNROLLED_TERMS


def candidates(problem: ConvolutionShapes, gpu: Gpu) -> list[Candidate]:
    """Rectangles that a device has place for, best first: the best for each part of a thread, with half the channels in
    shared memory, too."""
    result, element_bytes = _Result.of(problem), accumulator_type(problem.dtype).bytes
    room = gpu.shared_bytes // 2 // element_bytes

    def cycles(r: _Rectangle) -> float:
        return result.cycles(r, gpu)

    fitting = (r for r in _rectangles(result, gpu) if result.shared_elements(r) <= room)
    found = []
    for r in best_of_each(fitting, cycles, lambda r: (r.tile.rows, r.tile.columns), TILES_OF_PART, MOST_TILES):
        channels, tile = problem.weight[1] // r.parts, r.tile
        at_once = (channels,) if r.groups > 1 else shared_terms(r.channel_elements, element_bytes, channels, gpu)
        for n in at_once:
            method = Rectangles(r.rows, r.columns, tile.columns, tile.threads_y, tile.rows, n, r.groups, r.parts)
            found.append(Candidate(method, cycles(r)))
    return found


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """Output channels, of one group or all of several, by the positions of a rectangle, which are a tile's columns."""

    tile: ThreadTile
    groups: int
    rows: int
    columns: int
    channel_elements: int
    """The elements that a block reads of one input channel of each group, and of its weights."""
    parts: int = 1
    """The parts of the input channels."""


@dataclass(frozen=True, slots=True)
class _Result:
    """The extents of a result; `channels` are those of a group."""

    problem: ConvolutionShapes
    batch: int
    channels: int
    height: int
    width: int

    @staticmethod
    def of(problem: ConvolutionShapes) -> _Result:
        *outer, width = problem.output
        height = outer[-1] if outer else 1
        channels = problem.weight[0] // problem.groups
        return _Result(problem, prod([problem.data[0], *outer[:-1]]), channels, height, width)

    def blocks(self, r: _Rectangle) -> int:
        of_group = -(-self.channels * r.groups // r.tile.height)
        return (
            self.batch * -(-self.problem.groups // r.groups) * of_group
            * -(-self.height // r.rows) * -(-self.width // r.columns)
        )  # fmt: skip

    def shared_elements(self, r: _Rectangle) -> int:
        """The elements of the least step: one input channel, or all of them where a block has several groups."""
        return r.channel_elements * (self.problem.weight[1] if r.groups > 1 else 1)

    def own_loads(self, r: _Rectangle) -> float:
        """The elements of the input that a thread loads for a tap: fewer where its rows share them in registers."""
        window, tile, own = self.problem.window, r.tile, own_rows(r.rows, r.tile)
        if own == 1 or window.rank == 1 or not unrolls_kernel(window, tile):
            return tile.columns
        kernel, stride, dilation = window.kernel[-2], window.strides[-2], window.dilations[-2]
        rows = {row * stride + k * dilation for row in range(own) for k in range(kernel)}
        return len(rows) / kernel

    def cycles(self, r: _Rectangle, gpu: Gpu) -> float:
        """The time of all taps, and of the second kernel where there are parts: sums are written and read."""
        taps = prod(self.problem.window.kernel)
        tap = term_time(r.tile, r.channel_elements / taps, self.blocks(r) * r.parts, gpu, self.own_loads(r))
        cycles = self.problem.weight[1] // r.parts * taps * tap
        if r.parts == 1:
            return cycles
        sums = r.parts * self.batch * self.problem.weight[0] * self.height * self.width
        moved = 2 * accumulator_type(self.problem.dtype).bytes * sums
        return cycles + gpu.memory_cycles(moved) + gpu.launch_cycles

    def parts(self, r: _Rectangle, gpu: Gpu) -> Iterator[int]:
        """The numbers of parts of the input channels that give more units a block."""
        yield 1
        if r.groups == 1:
            parts = takewhile(lambda n: self.blocks(r) * n // 2 < gpu.units, PARTS)
            yield from (n for n in parts if self.problem.weight[1] % n == 0)


def _rectangles(result: _Result, gpu: Gpu) -> Iterator[_Rectangle]:
    window = result.problem.window
    for rows in dict.fromkeys(balanced(result.height, n) for n in SIDES):
        for columns in dict.fromkeys(balanced(result.width, n) for n in (SIDES if result.height > 1 else LINE)):
            read = elements_read(window, rows, columns)
            for tile, groups in _tiles(rows * columns, result, gpu):
                elements = read * groups + tile.height * prod(window.kernel)
                whole = _Rectangle(tile, groups, rows, columns, elements)
                yield from (replace(whole, parts=n) if n > 1 else whole for n in result.parts(whole, gpu))


def _tiles(positions: int, result: _Result, gpu: Gpu) -> Iterator[tuple[ThreadTile, int]]:
    """The tiles with so many positions, and the groups of each: a part of one, or several whole ones."""
    for own in range(1, max(OWN_PARTS) + 1):
        if positions % own:
            continue
        for rows in OWN_PARTS:
            for n in (1 << power for power in range(gpu.block_threads.bit_length())):
                part = ThreadTile(n, rows, positions // own, own)
                if part.height <= result.channels and part.fits(gpu):
                    yield part, 1
                if 1 < n <= result.problem.groups and result.channels % rows == 0:
                    whole = ThreadTile(n * result.channels // rows, rows, positions // own, own)
                    if whole.fits(gpu):
                        yield whole, n
