"""Transposed convolution in one to three dimensions: each input element adds a scaled kernel to the output.

Computed from the output: position y takes kernel elements k with y + pad = i·stride + k for an input position i. Those
are (y + pad) % stride plus multiples of the stride, so that only existing terms are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import (
    require,
    require_count,
    require_floats,
    require_integers,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
    require_window,
)
from sateen.topi.computations.convolution.direct import Direct
from sateen.topi.computations.convolution.shapes import OperandLayouts
from sateen.topi.computations.convolution.transposed_by_threads import Phases, has_phases
from sateen.topi.computations.windows import Window
from sateen.topi.methods import Method
from sateen.topi.schedules import (
    Computation,
    accumulator_type,
    balanced,
    extent_of,
    host_of,
    in_registers,
    largest_divisor,
    on_cpu,
    register_tile,
    schedule_injective,
    share_among_threads,
    vector_of,
)
from sateen.topi.types import Block, Layout, View


def conv_transpose_layouts(
    data: Sequence[int],
    data_layout: Layout | None,
    weight: Sequence[int],
    groups: int,
    lanes: int,
    vectors: int = 0,
) -> OperandLayouts | None:
    """Layouts in which vectors of `lanes` output channels are computed; None if row-major is better.

    `data` [N, C, …] and `weight` [C, O/groups, …] are shapes. Weights are in panels of as many vectors as a register
    tile has: `vectors`, or as many as suit the channels.
    """
    rank, channels, per_group = len(data), data[1], weight[1]
    if lanes == 1 or per_group % lanes:
        return None
    block = data_layout.block_of(1) if data_layout is not None else lanes if channels >= lanes else 1
    inner = gcd(channels // groups, block)
    panel = lanes * (vectors or (2 if per_group % (2 * lanes) == 0 else 1))
    kernel = tuple(range(2, rank))
    packed = Layout((1, 0, *kernel, *([Block(0, inner)] if inner > 1 else []), Block(1, panel)))
    return OperandLayouts(
        Layout.blocked(rank, 1, block) if block > 1 else None, packed, Layout.blocked(1, 0, lanes),
        Layout.blocked(rank, 1, lanes),
    )  # fmt: skip


def conv_transpose(
    data: View,
    weight: View,
    bias: View | None,
    window: Window,
    spatial: Sequence[int],
    groups: int = 1,
    layout: Layout | None = None,
    method: Method | None = None,
) -> Computation:
    """data [N, C, …] with weight [C, O/groups, …] + bias [O] as ONNX ConvTranspose, giving extents `spatial`.

    Sums are in float32 if data is shorter. `method` gives the tile of an output in a blocked layout; by default it
    suits the shapes.
    """
    name = "conv_transpose"
    require_views(name, data=data, weight=weight, **({} if bias is None else {"bias": bias}))
    require_rank(name, "data [N, C, …]", data, 3, or_more=True)
    require_rank(name, "weight [C, O/groups, …]", weight, data.ndim)
    require_same_type(name, data=data, weight=weight, **({} if bias is None else {"bias": bias}))
    require_floats(name, data=data)
    require_count(name, "groups", groups, 1)
    channels = data.shape[1]
    require(weight.shape[0] == channels, name, f"a weight of {channels} input channels", weight.shape[0])
    require(channels % groups == 0, name, f"a multiple of {groups} input channels", channels)
    if bias is not None:
        require_shape(name, "bias", bias, (weight.shape[1] * groups,))
    require_window(name, window, [window.reach(d) for d in range(data.ndim - 2)])
    kernel = tuple(weight.shape[2:])
    require(window.kernel == kernel, name, f"a window of {list(kernel)}", list(window.kernel))
    require_integers(name, "spatial", spatial, data.ndim - 2, 1)
    shape = (data.shape[0], weight.shape[1] * groups, *spatial)
    layout = layout or Layout.row_major(len(shape))
    if not layout.is_row_major:
        return _Blocked(data, weight, bias, window, shape, groups, layout, method).computation()
    if window.dilations[-1] == 1:
        found = _Planar(data, weight, bias, window, shape, groups).computation()
    else:
        found = _Blocked(data, weight, bias, window, shape, groups, layout).computation()
    if not has_phases(window) or 0 in data.shape:
        return found
    return replace(found, by_blocks=Phases(data, weight, bias, window, shape, groups).computation)


def _taps(window: Window, d: int) -> te.IterVar:
    """The axis over kernel elements that an output position may take along a dimension."""
    strided = window.strides[d] > 1 and window.dilations[d] == 1
    return te.reduce_axis(-(-window.kernel[d] // window.strides[d]) if strided else window.kernel[d], f"k{d}")


def _term(window: Window, d: int, extent: int, y: Expr, tap: Expr) -> tuple[Expr, Expr, list[Expr]]:
    """Input position, kernel element and the conditions under which output position y has this term."""
    stride, dilation, kernel = window.strides[d], window.dilations[d], window.kernel[d]
    place = y + window.pads[d]
    if stride == 1:
        i, k, exists = place - tap * dilation, tap, []
    elif dilation == 1:
        i, k = place // stride - tap, tap * stride + place % stride
        exists = [k < kernel] if kernel % stride else []
    else:
        distance = place - tap * dilation
        i, k, exists = distance // stride, tap, [(distance % stride).equal(0)]
    return i, k, [*exists, i >= 0, i < extent]


class _Transposed:
    """The common part of both ways to compute it."""

    def __init__(
        self, data: View, weight: View, bias: View | None, window: Window, shape: tuple[int, ...], groups: int
    ) -> None:
        self.data, self.weight, self.bias = data, weight, bias
        self.window, self.shape, self.groups = window, shape, groups
        self.kind = accumulator_type(data.dtype)
        self.taps = [_taps(window, d) for d in range(window.rank)]
        self.per_group = data.shape[1] // groups
        self.channel = te.reduce_axis(self.per_group, "c")

    def factor(self, o: Expr, kernel: Sequence[Expr]) -> Expr:
        value = self.weight(self.input_channel(o), o % self.weight.shape[1] if self.groups > 1 else o, *kernel)
        return value.astype(self.kind)

    def input_channel(self, o: Expr) -> Expr:
        return o // self.weight.shape[1] * self.per_group + self.channel if self.groups > 1 else self.channel

    def finished(self, value: Expr, o: Expr) -> Expr:
        value = value if self.bias is None else value + self.bias(o).astype(self.kind)
        return value.astype(self.data.dtype)

    @property
    def work(self) -> int:
        return prod(self.shape) * max(1, self.per_group * prod(extent_of(t.extent) for t in self.taps) // 8)


class _Blocked(_Transposed):
    """Vectors of output channels; columns a stride apart have the same kernel elements, so tiles are whole strides."""

    def __init__(
        self,
        data: View,
        weight: View,
        bias: View | None,
        window: Window,
        shape: tuple[int, ...],
        groups: int,
        layout: Layout,
        method: Method | None = None,
    ) -> None:
        super().__init__(data, weight, bias, window, shape, groups)
        self.layout, self.method = layout, method

    def computation(self) -> Computation:
        layout = self.layout

        def element(*physical: Expr) -> Expr:
            n, o, *position = layout.logical_index(physical)
            terms = [
                _term(self.window, d, self.data.shape[2 + d], y, tap)
                for d, (y, tap) in enumerate(zip(position, self.taps, strict=True))
            ]
            value = self.data(n, self.input_channel(o), *(i for i, _, _ in terms)).astype(self.kind)
            factor = self.factor(o, [k for _, k, _ in terms])
            where = te.all(*(c for _, _, conditions in terms for c in conditions))
            return te.sum(value * factor, axis=[self.channel, *self.taps], where=where)

        self.master: te.Tensor = te.compute(layout.physical_shape(self.shape), element, name="conv_transpose")
        self.result: te.Tensor = te.compute(
            self.master.shape, lambda *p: self.finished(self.master(*p), layout.logical_index(p)[1]), name="biased"
        )
        return Computation((View(self.result, self.shape, layout),), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, self.result, output, machine)
        tile = in_registers(s, self.master, host)
        stage = s[host]
        if self.layout.is_row_major:
            *loops, last = stage.axes
            s[tile].compute_at(stage, share_among_threads(stage, [*loops, last], self.work, machine))
            return
        n, ob, *spatial, oi = stage.axes
        lanes = self.layout.block_of(1)
        panel = self.weight.layout.block_of(1)
        vectors = largest_divisor(extent_of(ob.extent) // self.groups, max(1, panel // lanes))
        stride, width = self.window.strides[-1], extent_of(spatial[-1].extent)
        most = machine.tile_positions(vectors)
        columns = stride * balanced(-(-width // stride), most // stride)
        if isinstance(self.method, Direct):
            columns = self.method.columns
        obo, obi = stage.split(ob, vectors, tail="partition")
        xo, xi = stage.split(spatial[-1], columns, tail="partition")
        stage.pragma(xo, "partition")
        loops = [n, obo, *spatial[:-1], xo]
        stage.reorder(*loops, xi, obi, oi)
        register_tile(stage, xi, obi, oi)
        s[tile].compute_at(stage, share_among_threads(stage, loops, self.work, machine))
        self._reduce(s[tile], columns * vectors)

    def _reduce(self, stage: te.Stage, accumulators: int) -> None:
        n, ob, *spatial, oi = stage.axes
        channel, *taps = stage.op.reduce_axis
        block = gcd(self.per_group, self.weight.layout.block_of(0))
        co, ci = stage.split(channel, block)
        cs, cu = stage.split(ci, largest_divisor(block, 4 if accumulators <= 32 else 1))
        data = [n, *spatial, ob]
        stage.reorder(co, *taps, cs, cu, *data, oi)
        stage.unroll(taps[-1])
        register_tile(stage, cu, *data, oi)


class _Planar(_Transposed):
    """Vectors of columns that are a stride apart, over a copy of the input with zeros around its rows."""

    def computation(self) -> Computation:
        window, stride, last = self.window, self.window.strides[-1], self.window.rank - 1
        pad, width = window.pads[last], self.data.shape[-1]
        taps = extent_of(self.taps[-1].extent)
        line = vector_of(self.data)
        self.columns = -(-self.shape[-1] // stride)
        if self.columns > line:  # whole vectors: the phases are a tensor of their own
            self.columns = -(-self.columns // line) * line
        n, channels, *rows, _ = self.data.shape

        def copied(*index: Expr) -> Expr:
            *place, x = index
            column = x - (taps - 1)
            inside = te.all(column >= 0, column < width)
            return te.if_then_else(inside, self.data(*place, column), te.const(0, self.data.dtype))

        extent = self.columns + (stride - 1 + pad) // stride + taps - 1
        self.copy: te.Tensor = te.compute((n, channels, *rows, extent), copied, name="padded")

        def element(b: Expr, o: Expr, *place: Expr) -> Expr:
            *position, phase, q = place
            terms = [
                _term(window, d, self.data.shape[2 + d], y, tap)
                for d, (y, tap) in enumerate(zip(position, self.taps[:-1], strict=True))
            ]
            tap, start = self.taps[-1], phase + pad
            k = tap * stride + start % stride
            column = q + start // stride - tap + (taps - 1)
            value = self.copy(b, self.input_channel(o), *(i for i, _, _ in terms), column)
            where = te.all(*(c for _, _, conditions in terms for c in conditions), k < window.kernel[-1])
            factor = self.factor(o, [*(k for _, k, _ in terms), k])
            return te.sum(value.astype(self.kind) * factor, axis=[self.channel, *self.taps], where=where)

        phases = (*self.shape[:-1], stride, self.columns)
        self.master: te.Tensor = te.compute(phases, element, name="phases")

        def interleaved(*index: Expr) -> Expr:
            *place, x = index
            return self.finished(self.master(*place, x % stride, x // stride), index[1])

        self.result: te.Tensor = te.compute(self.shape, interleaved, name="conv_transpose")
        return Computation((View(self.result, self.shape, Layout.row_major(len(self.shape))),), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        schedule_injective(s, self.copy, machine)
        if output is not self.result:
            s[self.result].compute_inline()
        schedule_injective(s, output, machine)
        tile = in_registers(s, self.master, self.master)
        stage = s[self.master]
        n, o, *spatial, phase, q = stage.axes
        lanes = min(machine.lanes(self.kind), self.columns)
        outputs = extent_of(o.extent) // self.groups
        tile_outputs = largest_divisor(outputs, machine.vector_registers // 2)
        most = max(1, machine.vector_registers // 2 // tile_outputs)
        vectors = largest_divisor(-(-self.columns // lanes), most)
        oo, oi = stage.split(o, tile_outputs)
        qo, qi = stage.split(q, vectors * lanes, tail="partition")
        qv, lane = stage.split(qi, lanes)
        loops = [n, oo, *spatial, phase, qo]
        stage.reorder(*loops, oi, qv, lane)
        register_tile(stage, oi, qv, lane)
        s[tile].compute_at(stage, share_among_threads(stage, loops, self.work, machine))
        part = s[tile]
        n, o, *spatial, phase, q = part.axes
        qv, lane = part.split(q, lanes)
        part.reorder(*part.op.reduce_axis, n, *spatial, phase, o, qv, lane)
        register_tile(part, n, *spatial, phase, o, qv, lane)
