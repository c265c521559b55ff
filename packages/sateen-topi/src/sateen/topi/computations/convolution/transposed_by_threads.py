"""Transposed convolutions on devices: a direct convolution of stride 1 for each phase of the positions.

Positions y with the same (y + pad) % stride are a phase. They take the same kernel elements, which are a stride apart,
with neighbouring elements of the input. So a block has one phase; it reads the input with zeros around it and the
kernel elements of the phase, and tests nothing.
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
from sateen.topi.computations.convolution.sums_by_rectangles import Sums, schedule_rectangles, schedule_sums_by_element
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import Computation, accumulator_type, host_on_device, in_registers
from sateen.topi.types import Layout, View


def has_phases(window: Window) -> bool:
    """Whether the kernel elements of a phase are a stride apart: not where both stride and dilation are larger than
    1."""
    return all(1 in (window.strides[d], window.dilations[d]) for d in range(window.rank))


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """A transposed convolution of `data` [N, C, …] with `weight` [C, O/groups, …] and a bias, to a shape [N, O, …]."""

    data: View
    weight: View
    bias: View | None
    window: Window
    shape: tuple[int, ...]
    groups: int

    @property
    def taps(self) -> tuple[int, ...]:
        """The kernel elements of a phase."""
        return tuple(-(-k // s) for k, s in zip(self.window.kernel, self.window.strides, strict=True))

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of a phase."""
        return tuple(-(-extent // s) for extent, s in zip(self.shape[2:], self.window.strides, strict=True))

    @property
    def one_phase(self) -> Window:
        """The window of a phase on its positions."""
        rank = self.window.rank
        return Window(self.taps, (1,) * rank, (0, 0) * rank, self.window.dilations)

    @property
    def kind(self) -> DType:
        return accumulator_type(self.data.dtype)

    def computation(self, gpu: Gpu) -> Computation:
        """The stages: both operands by phases, their sums, and the result."""
        rank, strides, pads = self.window.rank, self.window.strides, self.window.pads
        source, weight = self._padded(), self._weight()
        inputs, outputs = self.data.shape[1] // self.groups, self.weight.shape[1]
        taps = [te.reduce_axis(n, f"k{d}") for d, n in enumerate(self.taps)]
        channel = te.reduce_axis(inputs, "c") if inputs > 1 else None
        terms = [*([] if channel is None else [channel]), *taps]

        def element(n: Expr, o: Expr, *place: Expr) -> Expr:
            c: Expr = te.const(0) if channel is None else channel
            if self.groups > 1:
                c = o // outputs * inputs + c
            index, phases = [], []
            for d, (phase, q, tap) in enumerate(zip(place[:rank], place[rank:], taps, strict=True)):
                last = self.one_phase.reach(d) - 1
                index.append(q + (phase + pads[d]) // strides[d] + last - tap * self.window.dilations[d])
                phases.append((phase + pads[d]) % strides[d])
            factor = weight(c, o % outputs if self.groups > 1 else o, *phases, *taps)
            return te.sum(source(n, c, *index).astype(self.kind) * factor.astype(self.kind), axis=terms)

        sums: te.Tensor = te.compute((*self.shape[:2], *strides, *self.positions), element, name="phases")

        def finished(n: Expr, o: Expr, *position: Expr) -> Expr:
            of_phase = [y % s for y, s in zip(position, strides, strict=True)]
            value = sums(n, o, *of_phase, *(y // s for y, s in zip(position, strides, strict=True)))
            return (value if self.bias is None else value + self.bias(o).astype(self.kind)).astype(self.data.dtype)

        result: te.Tensor = te.compute(self.shape, finished, name="conv_transpose")
        stages = Sums(sums, channel, taps, self.one_phase, self.groups, [source, weight], [], rank)
        schedule = partial(self._schedule, stages, result, gpu)
        return Computation((View(result, self.shape, Layout.row_major(len(self.shape))),), schedule)

    def _padded(self) -> te.Tensor:
        """The input, with zeros where kernel elements of the first and last positions are beyond it."""
        window, spatial = self.window, self.data.shape[2:]
        first = [reach - 1 for reach in self.one_phase.reaches]
        extents = [
            q + (window.strides[d] - 1 + window.pads[d]) // window.strides[d] + first[d]
            for d, q in enumerate(self.positions)
        ]

        def element(n: Expr, c: Expr, *index: Expr) -> Expr:
            position = [i - before for i, before in zip(index, first, strict=True)]
            inside = te.all(*(t for i, e in zip(position, spatial, strict=True) for t in (i >= 0, i < e)))
            return te.if_then_else(inside, self.data(n, c, *position), te.const(0, self.data.dtype))

        padded: te.Tensor = te.compute((*self.data.shape[:2], *extents), element, name="padded")
        return padded

    def _weight(self) -> te.Tensor:
        """The kernel elements of each phase, with zeros where it has fewer."""
        kernel, strides, rank = self.window.kernel, self.window.strides, self.window.rank

        def element(c: Expr, o: Expr, *place: Expr) -> Expr:
            index = [tap * s + phase for phase, tap, s in zip(place[:rank], place[rank:], strides, strict=True)]
            ragged = [d for d in range(rank) if kernel[d] % strides[d]]
            if not ragged:
                return self.weight(c, o, *index)
            exists = te.all(*(index[d] < kernel[d] for d in ragged))
            return te.if_then_else(exists, self.weight(c, o, *index), te.const(0, self.weight.dtype))

        taps: te.Tensor = te.compute((*self.weight.shape[:2], *strides, *self.taps), element, name="taps")
        return taps

    def _schedule(
        self, sums: Sums, result: te.Tensor, gpu: Gpu, s: te.Schedule, output: te.Tensor, machine: Machine
    ) -> None:
        """Rectangles of the positions of a phase; a thread for each element where the kernel has no place in shared
        memory."""
        del machine
        host = host_on_device(s, result, output)
        part = in_registers(s, sums.tensor, host)
        method = self._method(gpu)
        if method is None:
            schedule_sums_by_element(sums, s, s[host], part)
        elif method.parts > 1:
            schedule_rectangles(sums, s, s[host], s[host].axes, part, method)
        else:
            schedule_rectangles(sums, s, s[host], self._loops(s[host]), part, method)

    def _loops(self, host: te.Stage) -> Sequence[IterVar]:
        """The host's loops, as the axes of the sums."""
        n, o, *positions = host.axes
        both = [host.split(y, s) for y, s in zip(positions, self.window.strides, strict=True)]
        return [n, o, *(phase for _, phase in both), *(q for q, _ in both)]

    def _method(self, gpu: Gpu) -> Rectangles | None:
        """The rectangles of the best estimate, of all phases as so many images."""
        spatial = [q + reach - 1 for q, reach in zip(self.positions, self.one_phase.reaches, strict=True)]
        data = (self.data.shape[0] * prod(self.window.strides), self.data.shape[1], *spatial)
        weight = (self.shape[1], self.data.shape[1] // self.groups, *self.taps)
        problem = ConvolutionShapes(data, weight, self.one_phase, self.groups, self.data.dtype)
        found = (c.method for c in rectangles.candidates(problem, gpu))
        return next((method for method in found if isinstance(method, Rectangles)), None)
