"""The direct method of convolution: register tiles of the output, with the estimate of each and their schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import gcd, prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import IterVar
from sateen.topi.computations.convolution.input import ConvolutionInput, reads_padding
from sateen.topi.computations.convolution.shapes import ConvolutionShapes, panels
from sateen.topi.computations.windows import Window
from sateen.topi.cost import bytes_per_cycle, convolution_cycles, tiles_cycles, windows_cycles
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import (
    PAIR,
    ReductionTile,
    ask_ahead,
    balanced,
    elements,
    extent_of,
    host_of,
    in_registers,
    is_asked_for,
    largest_divisor,
    multiply_pairs,
    register_tile,
    shape_of,
    share_among_threads,
)
from sateen.topi.types import Block, Layout, View


@dataclass(frozen=True, slots=True)
class Direct(Method):
    """Register tiles of rows x columns of the output, for `vectors` of output channels."""

    rows: int
    columns: int
    vectors: int


def candidates(problem: ConvolutionShapes, machine: Machine) -> Iterator[Candidate]:
    """All tiles that fit the registers; columns of one vector where each channel is by itself."""
    lanes, (outputs, channels, *kernel) = machine.lanes(), problem.weight
    *_, width = problem.output
    height = problem.output[-2] if len(problem.output) > 1 else 1
    shares = channels < lanes and kernel[-1] > 1  # columns share elements of the input, which take registers too
    padded = reads_padding(problem.window, problem.data[2:], problem.output)
    tiled = machine
    if channels > lanes and channels % lanes:  # a sum in two loops, between which LLVM spills large tiles
        tiled = replace(machine, vector_registers=machine.vector_registers * 2 // 3)
    if problem.is_depthwise:
        for columns in dict.fromkeys(balanced(width, n) for n in range(1, machine.vector_registers // 2)):
            yield Candidate(Direct(1, columns, 1), _depthwise_cycles(problem, columns, machine))
        return
    for vectors in panels(outputs // problem.groups, lanes):
        most = tiled.tile_positions(vectors) // (2 if shares else 1)
        for columns in dict.fromkeys(balanced(width, n) for n in range(1, most + 1)):
            tallest = min(height, most // columns) if columns == width and not padded else 1
            for rows in dict.fromkeys(balanced(height, n) for n in range(1, tallest + 1)):
                method = Direct(rows, columns, vectors)
                yield Candidate(method, _cycles(problem, method, machine))


def _cycles(problem: ConvolutionShapes, method: Direct, machine: Machine) -> float:
    """The cycles of all images. Each group of output channels reads a whole image, also where the schedule copies parts
    of it once for all groups: the estimate is too high there."""
    batch = problem.data[0]
    *outer, width = problem.output
    terms = prod(problem.weight[1:])
    groups = -(-problem.weight[0] // (machine.lanes() * method.vectors))
    exposed = machine.rates.panel_exposed
    row = partial(tiles_cycles, vectors=method.vectors, terms=terms, machine=machine, exposed=exposed)
    strips, rest = divmod(prod(outer), method.rows)
    cycles = strips * row(width * method.rows, method.columns * method.rows)
    if rest:
        cycles += row(width * rest, method.columns * rest)
    image = 4 * prod(problem.data[1:]) // problem.groups
    traffic = image / bytes_per_cycle(image, machine) * machine.rates.exposed
    parts = batch * groups * prod(outer)
    work, weights = batch * groups * (cycles + traffic), 4 * prod(problem.weight)
    asked = is_asked_for(batch * prod(problem.output), machine)
    return convolution_cycles(work, weights, method.vectors, parts, machine, asked=asked)


def _depthwise_cycles(problem: ConvolutionShapes, columns: int, machine: Machine) -> float:
    batch, channels = problem.data[:2]
    *outer, width = problem.output
    blocks = -(-channels // machine.lanes())
    rows = batch * blocks * prod(outer)
    image = 4 * prod(problem.data)
    traffic = image / bytes_per_cycle(image, machine) * machine.rates.exposed
    work = rows * windows_cycles(width, columns, prod(problem.window.kernel), machine) + traffic
    return convolution_cycles(work, 4 * prod(problem.weight), 1, rows, machine, asked=False)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The stages of a convolution and their schedules."""

    master: te.Tensor
    result: te.Tensor
    channel: IterVar | None
    kernel: list[IterVar]
    window: Window
    groups: int
    weight: View
    layout: Layout
    source: ConvolutionInput
    method: Method | None

    @property
    def work(self) -> int:
        """The number of multiply-adds divided by the vector length of a small machine: comparable to elements moved."""
        terms = prod(self.window.kernel) * (extent_of(self.channel.extent) if self.channel is not None else 1)
        return elements(self.master) * max(1, terms // 8)

    @property
    def _block(self) -> int:
        """The input channels that are together in a panel of weights; 1: none."""
        return 1 if self.channel is None else gcd(extent_of(self.channel.extent), self.weight.layout.block_of(1))

    @property
    def _pairs(self) -> bool:
        """Whether channels lie in pairs in a panel of weights, which an instruction multiplies."""
        return self.weight.layout.order[-1] == Block(1, PAIR)

    def schedule_blocked(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of columns (of rows, too, if a row is short) x vectors of output channels.

        One group of output channels runs over the whole image before the next, so that its weights stay in the cache.
        Where caches don't keep the image of a 1x1 convolution for the next group, all groups run over a part of it.
        """
        self.source.schedule(s, machine)
        host = host_of(s, self.result, output, machine)
        tile = ReductionTile.of(s, self.master, host)
        stage = s[host]
        n, ob, *spatial, oi = stage.axes
        *_, width, _ = shape_of(host)
        lanes = self.layout.block_of(1)
        blocks = extent_of(ob.extent) // (1 if self.groups == 1 or self.channel is None else self.groups)
        vectors = self._vectors_of_tile(blocks, lanes)
        most = machine.tile_positions(vectors)
        if self._block == 1 and self.window.kernel[-1] > 1 and not machine.multiplies_by_element:
            most //= 2  # as in `candidates`; a register of terms serves several columns
        given = self.method if isinstance(self.method, Direct) else None
        height = 0 if given is None else given.rows
        columns = balanced(width, most) if given is None else given.columns
        obo, obi = stage.split(ob, vectors, tail="partition")
        xo, xi = stage.split(spatial[-1], columns, tail="partition")
        rows: list[IterVar] = []
        if len(spatial) > 1 and columns == width and not self.source.is_conditional:
            height = height or balanced(extent_of(spatial[-2].extent), most // columns)
            yo, yi = stage.split(spatial[-2], height, tail="partition")
            spatial, rows = [*spatial[:-2], yo, xo], [yi]
        else:
            spatial = [*spatial[:-1], xo]
        if self.source.pads_columns:
            stage.pragma(xo, "partition")
        lines = extent_of(spatial[0].extent)
        kept = self._lines_kept(extent_of(obo.extent), lines, machine)
        if kept < lines:
            part, line = stage.split(spatial[0], kept)
            stage.reorder(n, part, obo, line, *spatial[1:], *rows, xi, obi, oi)
            self._keep(s, tile.part, stage, share_among_threads(stage, [n, part], self.work, machine))
            place = [line, *spatial[1:]][-1]
        else:
            stage.reorder(n, obo, *spatial, *rows, xi, obi, oi)
            place = share_among_threads(stage, [n, obo, *spatial], self.work, machine)
        tile.place(stage, place, [*rows, xi, obi, oi], lanes)
        self._reduce(tile.part, columns * vectors, machine)

    def _lines_kept(self, groups: int, lines: int, machine: Machine) -> int:
        """How many lines the second cache keeps while groups of output channels read them in turn; all if a cache keeps
        the image, only one group reads it, or threads would have too few parts of it."""
        data, rates = self.source.data, machine.rates
        image = data.dtype.bytes * prod(data.shape[1:])
        own, common = machine.l2_bytes * rates.own_part, machine.l3_bytes * rates.common_part
        if groups == 1 or self.groups > 1 or not self.window.is_plain or image <= max(own, common):
            return lines
        kept = largest_divisor(lines, max(1, int(lines * own / image)))
        return kept if lines // kept >= machine.even_iterations else lines

    def _keep(self, s: te.Schedule, part: te.Stage, host: te.Stage, place: IterVar) -> None:
        """Copy the data of a part of the image to where its channels lie one after the other. In place they would be as
        far apart as the image is large, and, where that is a power of two, share few lines of a cache."""
        copy = s[s.cache_read(self.source.data.tensor, "global", part.op)]
        copy.compute_at(host, place)
        copy.vectorize(copy.axes[-1])

    def _vectors_of_tile(self, blocks: int, lanes: int) -> int:
        """The vectors of a tile: as many as a panel of weights has."""
        if self.channel is None and self.groups > 1:
            return 1
        panel = self.weight.layout.block_of(0)
        return panel // lanes if panel >= lanes and blocks % (panel // lanes) == 0 else 1

    def _reduce(self, stage: te.Stage, tile: int, machine: Machine) -> None:
        """Order of the reduction: blocks of channels, kernel, channels of a block; the innermost are unrolled."""
        n, ob, *spatial, oi = stage.axes
        data = [n, *spatial, ob]
        axes = dict(zip(self.master.op.reduce_axis, stage.op.reduce_axis, strict=True))
        kernel = [axes[k] for k in self.kernel]
        inner: list[IterVar] = []
        outer: list[IterVar] = []
        pair: IterVar | None = None
        budget = max(1, machine.unrolled_terms // tile)
        columns = extent_of(kernel[-1].extent)
        if self.source.pads_columns or (self.channel is None and columns <= budget):
            stage.unroll(kernel[-1])
            budget = max(1, budget // columns)
        if self.channel is not None:
            block = self._block
            if block == 1:
                outer = [axes[self.channel]]
            else:
                co, ci = stage.split(axes[self.channel], block)
                if self._pairs:
                    ci, pair = stage.split(ci, PAIR)
                    block //= PAIR
                cs, cu = stage.split(ci, largest_divisor(block, min(budget, 4)))
                outer, inner = [co], [cs, cu]
                stage.unroll(cu)
        if pair is None:
            stage.reorder(*outer, *kernel, *inner, *data, oi)
            register_tile(stage, *data, oi)
        else:
            stage.reorder(*outer, *kernel, *inner, *data, oi, pair)
            multiply_pairs(stage, data, oi, self.layout.block_of(1))
        if self.channel is not None:
            steps = inner[0] if inner else kernel[-1] if kernel else outer[0]
            positions = elements(self.master) // (extent_of(data[-1].extent) * extent_of(oi.extent))
            ask_ahead(stage, self.weight.tensor, steps, 1, positions, machine)

    def schedule_planar(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of output channels x vectors along the last dimension."""
        self.source.schedule(s, machine)
        host = host_of(s, self.result, output, machine)
        tile = in_registers(s, self.master, host)
        stage = s[host]
        n, o, *spatial = stage.axes
        outputs, width, lanes = extent_of(o.extent), shape_of(host)[-1], machine.lanes(self.master.dtype)
        vectors = min(-(-width // lanes), 2)
        lanes = min(lanes, width)
        channels = largest_divisor(outputs // self.groups, machine.tile_positions(vectors))
        oo, oi = stage.split(o, channels)
        xo, xi = stage.split(spatial[-1], vectors * lanes, tail="partition")
        xv, lane = stage.split(xi, lanes)
        stage.reorder(n, oo, *spatial[:-1], xo, oi, xv, lane)
        register_tile(stage, oi, xv, lane)
        place = share_among_threads(stage, [n, oo, *spatial[:-1], xo], self.work, machine)
        s[tile].compute_at(stage, place)
        inner = s[tile]
        n, o, *spatial = inner.axes
        xv, lane = inner.split(spatial[-1], lanes, tail="round_up" if self.source.copy is not None else "guard")
        inner.reorder(*inner.op.reduce_axis, n, *spatial[:-1], o, xv, lane)
        register_tile(inner, n, *spatial[:-1], o, xv, lane)
