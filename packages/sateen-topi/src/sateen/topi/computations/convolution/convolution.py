"""Convolution in one to three dimensions: any strides, pads, dilations and groups.

The layout of the output decides how to compute it. Blocked by channels: vectors of output channels, with broadcast
elements of the input and without terms for padding. Row-major: vectors along the innermost dimension, on a copy of the
input with its padding, in which elements that are a stride apart are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import gcd

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import (
    require,
    require_count,
    require_rank,
    require_shape,
    require_views,
    require_weight,
    require_window,
)
from sateen.topi.computations.convolution.by_thread_tiles import schedule_by_thread_tiles
from sateen.topi.computations.convolution.by_warp_tiles import conv_on_warps
from sateen.topi.computations.convolution.direct import Plan
from sateen.topi.computations.convolution.input import ConvolutionInput, is_wide
from sateen.topi.computations.convolution.pointwise_by_threads import Pointwise
from sateen.topi.computations.convolution.shapes import OperandLayouts
from sateen.topi.computations.products import Warped
from sateen.topi.computations.windows import Window
from sateen.topi.methods import Method
from sateen.topi.schedules import Computation, accumulator_type, for_machines, on_cpu
from sateen.topi.types import INT32, Block, Layout, View


def conv_layouts(
    data: Sequence[int],
    data_layout: Layout | None,
    weight: Sequence[int],
    width: int,
    groups: int,
    lanes: int,
    vectors: int = 0,
) -> OperandLayouts | None:
    """Layouts in which vectors of `lanes` output channels are computed; None if row-major is better.

    `data` and `weight` are shapes, `width` is the last output extent. Inputs with fewer channels than lanes stay as
    they are, with their axes in any order. Weights are packed in reading order, in panels of as many output channels as
    a register tile has: `vectors` of them, or as many as suit the width.
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
    return OperandLayouts(given, packed, Layout.blocked(1, 0, lanes), Layout.blocked(rank, 1, lanes))


def _vectors(blocks: int, width: int) -> int:
    """The vectors of output channels in a register tile: more if there are few columns to fill it."""
    preferred = (4, 2, 3) if width <= 4 else (2, 3)
    return next((n for n in preferred if blocks % n == 0), 1)


def conv(
    data: View, weight: View, bias: View | None, window: Window, groups: int = 1, layout: Layout | None = None,
    method: Method | None = None, dtype: DType | None = None,
) -> Computation:  # fmt: skip
    """data [N, C, …] * weight [O, C/groups, …] + bias [O], as ONNX Conv; with sums in float32 if data is shorter.

    `dtype` is that of the result and of the bias, by default that of data.
    `method` gives the tile of an output in a blocked layout, or those of a device; by default the tiles suit
    the shapes.
    """
    require_views("conv", data=data, weight=weight, **({} if bias is None else {"bias": bias}))
    require_rank("conv", "data [N, C, …]", data, 3, or_more=True)
    require_rank("conv", "weight [O, C/groups, …]", weight, data.ndim)
    given = dtype or data.dtype
    require(bias is None or bias.dtype == given, "conv", f"a bias of {given}", bias and bias.dtype)
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
    n, _, *spatial = data.shape
    outputs, per_group, *_ = weight.shape
    shape = (n, outputs, *window.output(spatial))
    layout = layout or Layout.row_major(len(shape))
    if isinstance(method, Warped) and groups == 1 and layout.is_row_major:
        return conv_on_warps(data, weight, bias, window, method)
    kind = accumulator_type(data.dtype)
    axes = [te.reduce_axis(k, f"k{d}") for d, k in enumerate(window.kernel)]
    channel = te.reduce_axis(per_group, "c") if per_group > 1 else None
    planar = layout.is_row_major
    source = ConvolutionInput(data, window, shape[2:], copied=planar or is_wide(window, spatial, shape[2:]))

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
    if bias is not None or kind != given:
        result = te.compute(
            master.shape, lambda *p: _finished(master(*p), bias, layout.logical_index(p)[1], given), name="biased"
        )
    plan = Plan(master, result, channel, axes, window, groups, weight, layout, source, method)
    if not planar:
        return Computation((View(result, shape, layout),), on_cpu(plan.schedule_blocked))
    on_device = partial(schedule_by_thread_tiles, plan)
    computation = Computation((View(result, shape, layout),), for_machines(plan.schedule_planar, on_device))
    if groups > 1 or not window.is_plain or 0 in data.shape:
        return computation
    return replace(computation, by_blocks=Pointwise(data, weight, bias, method).computation)


def _finished(value: Expr, bias: View | None, channel: Expr, dtype: DType) -> Expr:
    return (value if bias is None else value + bias(channel).astype(value.dtype)).astype(dtype)
