"""The tiles of a convolution on a device: what a block of threads computes, and which is estimated to be fastest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.direct import Plan
from sateen.topi.schedules import OWN_PARTS, ThreadTile, balanced, extent_of, shape_of, term_time

SIDES = (1, 2, 4, 8, 16, 32, 64)
"""The most rows and columns of a rectangle; it gets fewer where that makes rectangles equal."""
UNROLLED_TERMS = 256
"""The most multiply-adds of a thread that are written out."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Output channels, of one group or all of several, by the positions of a rectangle, which are a tile's columns."""

    tile: ThreadTile
    groups: int
    rows: int
    columns: int
    channel_elements: int
    """The elements that a block reads of one input channel of each group, and of its weights."""

    @property
    def own_rows(self) -> int:
        """The neighbouring rows of a thread; 1 if its positions are elsewhere."""
        return self.tile.columns if self.rows % self.tile.columns == 0 else 1


@dataclass(frozen=True, slots=True)
class _Problem:
    """What the choice depends on: the extents of the result, its groups and the window."""

    plan: Plan
    batch: int
    channels: int
    height: int
    width: int

    @staticmethod
    def of(plan: Plan) -> _Problem:
        batch, outputs, *outer, width = shape_of(plan.master)
        height = outer[-1] if outer else 1
        return _Problem(plan, prod([batch, *outer[:-1]]), outputs // plan.groups, height, width)

    def blocks(self, r: Rectangle) -> int:
        of_group = -(-self.channels * r.groups // r.tile.height)
        return (
            self.batch * -(-self.plan.groups // r.groups) * of_group
            * -(-self.height // r.rows) * -(-self.width // r.columns)
        )  # fmt: skip

    def shared_elements(self, r: Rectangle) -> int:
        """The elements of the least step: one input channel, or all of them where a block has several groups."""
        channels = 1 if self.plan.channel is None else extent_of(self.plan.channel.extent)
        return r.channel_elements * (channels if r.groups > 1 else 1)

    def own_loads(self, r: Rectangle) -> float:
        """The elements of the input that a thread loads for a tap: fewer where its rows share them in registers."""
        window, tile = self.plan.window, r.tile
        if r.own_rows == 1 or window.rank == 1 or not unrolls_kernel(self.plan, tile):
            return tile.columns
        kernel, stride, dilation = window.kernel[-2], window.strides[-2], window.dilations[-2]
        rows = {row * stride + k * dilation for row in range(r.own_rows) for k in range(kernel)}
        return len(rows) / kernel

    def time(self, r: Rectangle, gpu: Gpu) -> float:
        taps = prod(self.plan.window.kernel)
        return term_time(r.tile, r.channel_elements / taps, self.blocks(r), gpu, self.own_loads(r))


def unrolls_kernel(plan: Plan, tile: ThreadTile) -> bool:
    """Whether a thread has the multiply-adds of all taps written out."""
    return tile.rows * tile.columns * prod(plan.window.kernel) <= UNROLLED_TERMS


def best_rectangle(plan: Plan, gpu: Gpu) -> Rectangle | None:
    """The rectangle and its tile that are estimated to be fastest; None if the kernel fits into no shared memory."""
    problem, room = _Problem.of(plan), gpu.shared_bytes // 2 // plan.master.dtype.bytes
    possible = (r for r in _rectangles(problem, gpu) if problem.shared_elements(r) <= room)
    return min(possible, key=lambda r: problem.time(r, gpu), default=None)


def _rectangles(problem: _Problem, gpu: Gpu) -> Iterator[Rectangle]:
    window = problem.plan.window
    for rows in dict.fromkeys(balanced(problem.height, n) for n in SIDES):
        for columns in dict.fromkeys(balanced(problem.width, n) for n in SIDES):
            sides = [1] * (window.rank - 2) + [rows, columns][-window.rank :]
            read = prod((n - 1) * window.strides[d] + window.reach(d) for d, n in enumerate(sides))
            for tile, groups in _tiles(rows * columns, problem, gpu):
                elements = read * groups + tile.height * prod(window.kernel)
                yield Rectangle(tile, groups, rows, columns, elements)


def _tiles(positions: int, problem: _Problem, gpu: Gpu) -> Iterator[tuple[ThreadTile, int]]:
    """The tiles with so many positions, and the groups of each: a part of one, or several whole ones."""
    for own in range(1, max(OWN_PARTS) + 1):
        if positions % own:
            continue
        for rows in OWN_PARTS:
            for n in (1 << power for power in range(gpu.block_threads.bit_length())):
                part = ThreadTile(n, rows, positions // own, own)
                if part.height <= problem.channels and part.fits(gpu):
                    yield part, 1
                if 1 < n <= problem.plan.groups and problem.channels % rows == 0:
                    whole = ThreadTile(n * problem.channels // rows, rows, positions // own, own)
                    if whole.fits(gpu):
                        yield whole, n
