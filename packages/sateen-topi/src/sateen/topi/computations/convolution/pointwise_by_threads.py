"""Convolutions of 1x1 on devices: products of the weight and the input, whose positions are a line.

Nothing is padded, so that blocks divide the line as suits them, and threads access neighbours at once, as in products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution import rectangles
from sateen.topi.computations.convolution.rectangles import Rectangles
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.convolution.sums_by_rectangles import Sums, in_parts, require_fitting
from sateen.topi.computations.windows import plain
from sateen.topi.methods import Method
from sateen.topi.schedules import (
    Computation,
    access_lanes,
    accumulator_type,
    bind_tile,
    extent_of,
    flattened,
    host_on_device,
    in_registers,
    load_together,
    pad_banks,
    register_tile,
    unflattened,
)
from sateen.topi.types import Layout, View

UNROLLED_TERMS = 512
"""The most multiply-adds of a thread that are written out."""


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise:
    """A convolution of `data` [N, C, …] with `weight` [O, C, 1, …] and a bias, in one group."""

    data: View
    weight: View
    bias: View | None
    method: Method | None

    @property
    def kind(self) -> DType:
        return accumulator_type(self.data.dtype)

    def computation(self, gpu: Gpu) -> Computation:
        """The stages: both operands, their sums, and the result."""
        batch, channels, *spatial = self.data.shape
        outputs, kernel = self.weight.shape[0], self.weight.shape[2:]
        shape = (batch, outputs, *spatial)
        line: te.Tensor = te.compute(
            (batch, channels, prod(spatial)), lambda n, c, p: self.data(n, c, *unflattened(p, spatial)), name="line"
        )
        by_terms: te.Tensor = te.compute(
            (channels, outputs), lambda c, o: self.weight(o, c, *[te.const(0)] * len(kernel)), name="by_terms"
        )
        c = te.reduce_axis(channels, "c")
        sums: te.Tensor = te.compute(
            (batch, outputs, prod(spatial)),
            lambda n, o, p: te.sum(line(n, c, p).astype(self.kind) * by_terms(c, o).astype(self.kind), axis=c),
            name="conv",
        )

        def finished(n: Expr, o: Expr, *position: Expr) -> Expr:
            value = sums(n, o, flattened(position, spatial))
            return (value if self.bias is None else value + self.bias(o).astype(self.kind)).astype(self.data.dtype)

        result: te.Tensor = te.compute(shape, finished, name="pointwise")
        stages = Sums(sums, c, (), plain(1), 1, (line, by_terms), ())
        schedule = partial(self._schedule, stages, result, gpu)
        return Computation((View(result, shape, Layout.row_major(len(shape))),), schedule)

    def _schedule(
        self, sums: Sums, result: te.Tensor, gpu: Gpu, s: te.Schedule, output: te.Tensor, machine: Machine
    ) -> None:
        """Tiles of threads over output channels and positions; where these are few, a second kernel adds parts.

        Raises LoweringError for a method whose rectangles are larger than the line.
        """
        del machine
        tensor = host_on_device(s, result, output)
        host, part, method = s[tensor], in_registers(s, sums.tensor, tensor), self._method(gpu)
        require_fitting(sums, method)
        if method.parts > 1:
            host, part = in_parts(sums, s, host, part, method.parts)
            loops = host.axes
        else:
            n, o, *positions = host.axes
            loops = (n, o, host.fuse(*positions))
        step = _bind(host, s[part], loops, method, gpu)
        line, by_terms = (s[copy] for copy in sums.copies)
        tile, terms = method.tile, method.channels
        for copy in (line, by_terms):
            copy.set_scope("shared")
            copy.compute_at(s[part], step)
        *place, position = line.axes
        lanes = access_lanes(gpu, self.data.dtype, extent_of(position.extent), tile.width)
        load_together(line, tile, place, position, lanes, terms * tile.width)
        channel, row = by_terms.axes
        pad_banks(by_terms, channel, tile.height, gpu)
        lanes = access_lanes(gpu, self.weight.dtype, extent_of(channel.extent), terms)
        load_together(by_terms, tile, [row], channel, lanes, terms * tile.height)

    def _method(self, gpu: Gpu) -> Rectangles:
        """The given method if it is one of devices, otherwise the best of the candidates."""
        if isinstance(self.method, Rectangles):
            return self.method
        shapes = ConvolutionShapes(self.data.shape, self.weight.shape, plain(self.data.ndim - 2), 1, self.data.dtype)
        best = rectangles.candidates(shapes.on_a_line, gpu)[0].method
        assert isinstance(best, Rectangles)
        return best


def _bind(host: te.Stage, sums: te.Stage, loops: Sequence[IterVar], method: Rectangles, gpu: Gpu) -> IterVar:
    """The loops of blocks and threads, and those of a thread's sums; returns the one over steps, for each of which a
    block loads copies."""
    *grid, o, position = loops
    tile, terms = method.tile, method.channels
    lanes = access_lanes(gpu, sums.op.outputs[0].dtype, tile.columns, extent_of(position.extent))
    block, rows = host.split(o, tile.height, tail="shift")
    across, columns = host.split(position, tile.width, tail="shift")
    sums.compute_at(host, bind_tile(host, [*grid, block, across], rows, columns, tile, lanes))
    step, term = sums.split(sums.op.reduce_axis[0], terms)
    sums.reorder(step, term, *sums.axes)
    if tile.rows * tile.columns * terms <= UNROLLED_TERMS:
        sums.unroll(term)
    register_tile(sums, *sums.axes)
    return step
