"""Convolution in one to three dimensions: any strides, pads, dilations and groups.

Two ways to compute it, told apart by the layout of the output. Blocked by channels: vectors of output channels, the
input's elements broadcast, padding left out of the reduction. Row-major: vectors along the innermost dimension, over a
copy of the input with its padding, in which elements that are a stride apart are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir.expr import Expr, IterVar
from sateen.tensor_ir.targets import WIDEST_VECTOR
from sateen.topi.arguments import (
    require,
    require_count,
    require_integers,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
    require_weight,
    require_window,
)
from sateen.topi.layout import Block, Layout, View
from sateen.topi.operator import Computation, on_cpu
from sateen.topi.tiling import (
    INT32,
    Tile,
    accumulator_type,
    balanced,
    elements,
    extent_of,
    host_of,
    in_registers,
    largest_divisor,
    register_tile,
    shape_of,
    share_among_threads,
)
from sateen.topi.window import Window

UNROLLED_TERMS = 400
"""Multiply-adds that an innermost loop holds at most: more don't run faster, but fill the instruction cache."""
COLUMN_MULTIPLE = WIDEST_VECTOR // 2
"""No vector of elements is longer: rows of a row-major input's copy that are longer come in multiples of this."""
UNROLLED_TAPS = 16
"""Kernel columns that are written out so that each one's padding is decided while compiling."""


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of a convolution's operands."""

    data: Layout | None
    weight: Layout | None
    bias: Layout | None
    output: Layout | None


def blocked_layouts(
    data: Sequence[int],
    data_layout: Layout | None,
    weight: Sequence[int],
    width: int,
    groups: int,
    lanes: int,
    vectors: int = 0,
) -> Layouts | None:
    """Layouts in which vectors of `lanes` output channels are computed; None where row-major is better.

    `data` and `weight` are shapes, `width` is the last output extent. Inputs with fewer channels than lanes stay as
    they are, their axes in any order. Weights are packed in panels of as many output channels as a register tile has,
    in the order of reading: `vectors` of them, or as many as suit the width.
    """
    channels, outputs, rank = data[1], weight[0], len(data)
    depthwise = groups == channels == outputs and groups > 1
    if lanes == 1 or outputs < lanes or (groups > 1 and not depthwise and outputs // groups % lanes):
        return None
    block = 1 if data_layout is None else data_layout.block_of(1)
    if block == 1 and channels >= lanes:
        block = lanes
    in_order = data_layout is not None and data_layout.is_unblocked
    given = Layout.blocked(rank, 1, block) if block > 1 else data_layout if in_order else None
    if depthwise and block != lanes:
        return None
    kernel = tuple(range(2, rank))
    inner = gcd(weight[1], block)
    panel = lanes if depthwise else lanes * (vectors or _vectors(-(-outputs // groups // lanes), width))
    packed = Layout((0, 1, *kernel, *([Block(1, inner)] if inner > 1 else []), Block(0, panel)))
    return Layouts(given, packed, Layout.blocked(1, 0, lanes), Layout.blocked(rank, 1, lanes))


def _vectors(blocks: int, width: int) -> int:
    """How many vectors of output channels a register tile has: more where there are few columns to fill it."""
    preferred = (4, 2, 3) if width <= 4 else (2, 3)
    return next((n for n in preferred if blocks % n == 0), 1)


def conv(
    data: View, weight: View, bias: View | None, window: Window, groups: int = 1, layout: Layout | None = None,
    tile: Sequence[int] = (),
) -> Computation:  # fmt: skip
    """data [N, C, …] * weight [O, C/groups, …] + bias [O], as ONNX Conv; sums in float32 where data is shorter.

    `tile` are rows and columns of the output that registers hold at a time, where its layout is blocked.
    """
    require_views("conv", data=data, weight=weight, **({} if bias is None else {"bias": bias}))
    require_rank("conv", "data [N, C, …]", data, 3, or_more=True)
    require_rank("conv", "weight [O, C/groups, …]", weight, data.ndim)
    require_same_type("conv", data=data, **({} if bias is None else {"bias": bias}))
    require(data.dtype.is_float or data.dtype == INT32, "conv", "floating-point numbers or int32", data.dtype)
    require_weight("conv", "weight", weight, data)
    require_count("conv", "groups", groups, 1)
    own = data.shape[1] / groups
    require(weight.shape[1] == own, "conv", f"a weight of {own:g} input channels", weight.shape[1])
    require(weight.shape[0] % groups == 0, "conv", f"a multiple of {groups} output channels", weight.shape[0])
    if bias is not None:
        require_shape("conv", "bias", bias, weight.shape[:1])
    require_window("conv", window, data.shape[2:])
    kernel = tuple(weight.shape[2:])
    require(window.kernel == kernel, "conv", f"a window of {list(kernel)}", list(window.kernel))
    require_integers("conv", "tile", tile, 2 if tile else 0, 1)
    n, _, *spatial = data.shape
    outputs, per_group, *_ = weight.shape
    shape = (n, outputs, *window.output(spatial))
    layout = layout or Layout.row_major(len(shape))
    kind = accumulator_type(data.dtype)
    axes = [te.reduce_axis(k, f"k{d}") for d, k in enumerate(window.kernel)]
    channel = te.reduce_axis(per_group, "c") if per_group > 1 else None
    planar = layout.is_row_major
    source = _Source(data, window, shape[2:], copied=planar or _is_wide(window, spatial, shape[2:]))

    def element(*physical: Expr) -> Expr:
        b, o, *position = layout.logical_index(physical)
        first = o // (outputs // groups) * per_group if groups > 1 else te.const(0)
        c = first + channel if channel is not None else first
        value, inside = source.read(b, c, position, axes)
        factor = weight(o, channel if channel is not None else te.const(0), *axes)
        terms = [channel, *axes] if channel is not None else axes
        return te.sum(value.astype(kind) * factor.astype(kind), axis=terms, where=inside)

    master: te.Tensor = te.compute(layout.physical_shape(shape), element, name="conv")
    result = master
    if bias is not None or kind != data.dtype:
        result = te.compute(
            master.shape, lambda *p: _finished(master(*p), bias, layout.logical_index(p)[1], data.dtype), name="biased"
        )
    plan = _Plan(master, result, channel, axes, window, groups, weight, layout, source, tuple(tile))
    return Computation(
        (View(result, shape, layout),), on_cpu(plan.schedule_planar if planar else plan.schedule_blocked)
    )


def _finished(value: Expr, bias: View | None, channel: Expr, dtype: DType) -> Expr:
    return (value if bias is None else value + bias(channel).astype(value.dtype)).astype(dtype)


def reads_padding(window: Window, spatial: Sequence[int], output: Sequence[int]) -> bool:
    """Whether some window sticks out of the input."""
    return any(window.is_padded(d, spatial[d], output[d]) for d in range(window.rank))


def _is_wide(window: Window, spatial: Sequence[int], output: Sequence[int]) -> bool:
    """Whether too many kernel columns meet padding for each to be decided on its own."""
    last = window.rank - 1
    return window.kernel[last] > UNROLLED_TAPS and window.is_padded(last, spatial[last], output[last])


def _whole_vectors(columns: int) -> int:
    """Columns rounded up so that the last vector of a row is whole, for vectors of any power of two up to a row."""
    return min(1 << (columns - 1).bit_length(), -(-columns // COLUMN_MULTIPLE) * COLUMN_MULTIPLE)


class _Source:
    """The input as the reduction reads it: in place, or as a copy with its padding.

    In the copy, elements that are a stride apart are neighbours: its last dimensions are [x % stride, x // stride].
    """

    def __init__(self, data: View, window: Window, output: Sequence[int], copied: bool) -> None:
        self.data, self.window, self.output = data, window, tuple(output)
        spatial = data.shape[2:]
        self.is_conditional = reads_padding(window, spatial, output)
        self.copy: te.Tensor | None = None
        self.columns = _whole_vectors(output[-1])
        is_ragged = self.columns > output[-1] > COLUMN_MULTIPLE // 2
        if copied and (self.is_conditional or window.strides[-1] > 1 or is_ragged):
            self.copy = self._padded()
            self.is_conditional = False

    @property
    def pads_columns(self) -> bool:
        """Whether some column of the output reads padding."""
        last = self.window.rank - 1
        return self.is_conditional and self.window.is_padded(last, self.data.shape[-1], self.output[last])

    def _padded(self) -> te.Tensor:
        window, (n, c, *spatial), data = self.window, self.data.shape, self.data
        counts = (*self.output[:-1], self.columns)
        extents = [(o - 1) * s + window.reach(d) for d, (o, s) in enumerate(zip(counts, window.strides, strict=True))]
        phases = window.strides[-1]

        def element(*index: Expr) -> Expr:
            b, ch, *rest, phase, quotient = index
            position = [i - window.pads[d] for d, i in enumerate([*rest, quotient * phases + phase])]
            inside = te.all(*(t for d, i in enumerate(position) for t in (i >= 0, i < spatial[d])))
            return te.if_then_else(inside, data(b, ch, *position), te.const(0, data.dtype))

        columns = -(-extents[-1] // phases)
        copy: te.Tensor = te.compute((n, c, *extents[:-1], phases, columns), element, name="padded")
        return copy

    def schedule(self, s: te.Schedule, machine: Machine) -> None:
        """Vectors along the columns of the copy, if there is one."""
        if self.copy is None:
            return
        stage = s[self.copy]
        *rows, column = stage.axes
        columns = extent_of(column.extent)
        outer, lane = stage.split(column, min(columns, machine.lanes(self.data.dtype)), tail="partition")
        stage.pragma(outer, "partition")
        stage.vectorize(lane)
        share_among_threads(stage, rows, elements(self.copy))

    def read(self, n: Expr, c: Expr, position: Sequence[Expr], kernel: Sequence[IterVar]) -> tuple[Expr, Expr]:
        """The input under kernel element `kernel` at an output position, and whether it is there."""
        window = self.window
        if self.copy is None:
            index = [window.position(d, y, k) for d, (y, k) in enumerate(zip(position, kernel, strict=True))]
            inside = window.inside(self.data.shape[2:], self.output, index) if self.is_conditional else te.const(True)
            return self.data(n, c, *index), inside
        steps = zip(position, kernel, window.strides, window.dilations, strict=True)
        *rows, _ = [y * stride + k * dilation for y, k, stride, dilation in steps]
        offset, phases = kernel[-1] * window.dilations[-1], window.strides[-1]
        return self.copy(n, c, *rows, offset % phases, position[-1] + offset // phases), te.const(True)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A convolution's stages and how to schedule them."""

    master: te.Tensor
    result: te.Tensor
    channel: IterVar | None
    kernel: list[IterVar]
    window: Window
    groups: int
    weight: View
    layout: Layout
    source: _Source
    tile: tuple[int, ...]

    @property
    def work(self) -> int:
        """Multiply-adds over the vector length of a small machine: comparable to elements moved."""
        terms = prod(self.window.kernel) * (extent_of(self.channel.extent) if self.channel is not None else 1)
        return elements(self.master) * max(1, terms // 8)

    @property
    def _block(self) -> int:
        """Input channels that lie together in a panel of weights; 1: none."""
        return 1 if self.channel is None else gcd(extent_of(self.channel.extent), self.weight.layout.block_of(1))

    def schedule_blocked(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of columns (rows too where a row is short) x vectors of output channels.

        One group of output channels runs over the whole image before the next, so that its weights stay in the cache.
        """
        self.source.schedule(s, machine)
        host = host_of(s, self.result, output, machine)
        tile = Tile.of(s, self.master, host)
        stage = s[host]
        n, ob, *spatial, oi = stage.axes
        *_, width, _ = shape_of(host)
        lanes = self.layout.block_of(1)
        blocks = extent_of(ob.extent) // (1 if self.groups == 1 or self.channel is None else self.groups)
        vectors = self._vectors_of_tile(blocks, lanes)
        most = (machine.vector_registers - 1 - vectors) // vectors
        if self._block == 1 and self.window.kernel[-1] > 1:
            most //= 2  # neighbouring columns share elements of the input, which take registers too
        height, columns = self.tile or (0, balanced(width, most))
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
        stage.reorder(n, obo, *spatial, *rows, xi, obi, oi)
        place = share_among_threads(stage, [n, obo, *spatial], self.work)
        tile.place(stage, place, [*rows, xi, obi, oi], lanes)
        self._reduce(tile.part, columns * vectors)

    def _vectors_of_tile(self, blocks: int, lanes: int) -> int:
        """As many as a panel of weights has."""
        if self.channel is None and self.groups > 1:
            return 1
        panel = self.weight.layout.block_of(0)
        return panel // lanes if panel >= lanes and blocks % (panel // lanes) == 0 else 1

    def _reduce(self, stage: te.Stage, tile: int) -> None:
        """Order of the reduction: blocks of channels, kernel, channels of a block; the innermost are unrolled."""
        n, ob, *spatial, oi = stage.axes
        data = [n, *spatial, ob]
        axes = dict(zip(self.master.op.reduce_axis, stage.op.reduce_axis, strict=True))
        kernel = [axes[k] for k in self.kernel]
        inner: list[IterVar] = []
        outer: list[IterVar] = []
        budget = max(1, UNROLLED_TERMS // tile)
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
                cs, cu = stage.split(ci, largest_divisor(block, min(budget, 4)))
                outer, inner = [co], [cs, cu]
                stage.unroll(cu)
        stage.reorder(*outer, *kernel, *inner, *data, oi)
        register_tile(stage, *data, oi)

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
        channels = largest_divisor(outputs // self.groups, (machine.vector_registers - 1 - vectors) // vectors)
        oo, oi = stage.split(o, channels)
        xo, xi = stage.split(spatial[-1], vectors * lanes, tail="partition")
        xv, lane = stage.split(xi, lanes)
        stage.reorder(n, oo, *spatial[:-1], xo, oi, xv, lane)
        register_tile(stage, oi, xv, lane)
        place = share_among_threads(stage, [n, oo, *spatial[:-1], xo], self.work)
        s[tile].compute_at(stage, place)
        inner = s[tile]
        n, o, *spatial = inner.axes
        xv, lane = inner.split(spatial[-1], lanes, tail="round_up" if self.source.copy is not None else "guard")
        inner.reorder(*inner.op.reduce_axis, n, *spatial[:-1], o, xv, lane)
        register_tile(inner, n, *spatial[:-1], o, xv, lane)
