"""Sums of convolutions on devices by rectangles: a block computes output channels x a rectangle of positions.

Its threads read from copies in shared memory, of the weights and of the rectangle's part of the padded input, for some
channels of the input at a time. Where groups have few channels, as in depthwise convolutions, a block computes several
groups. A thread's positions are neighbouring rows if they can be, since these share elements of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import IterVar
from sateen.topi.computations.convolution.rectangles import UNROLLED_TERMS, Rectangles, elements_read, unrolls_kernel
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import bind_elements, bind_tile, extent_of, load_together, shape_of


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The sums of a convolution with the axes [N, O, phases…, positions…], and what they read.

    The input comes before the weight; `copies` are stages that schedules compute in shared memory, `operands` tensors
    that are copied there as they are.
    """

    tensor: te.Tensor
    channel: IterVar | None
    kernel: Sequence[IterVar]
    window: Window
    groups: int
    copies: Sequence[te.Tensor]
    operands: Sequence[te.Tensor]
    phases: int = 0
    """The axes between channels and positions, each iteration of which is in blocks of its own."""


def schedule_rectangles(
    sums: Sums, s: te.Schedule, host: te.Stage, loops: Sequence[IterVar], part: te.Tensor, method: Rectangles
) -> None:
    """Compute `part`, the sums in registers, by rectangles of the host, whose `loops` are as the axes of the sums.

    Raises LoweringError for a method whose rectangles are larger than the result.
    """
    require_fitting(sums, method)
    if method.parts > 1:
        host, part = in_parts(sums, s, host, part, method.parts)
        loops = host.axes
    stage = s[part]
    stage.compute_at(host, _bind(sums, host, loops, method))
    step = _reduce(sums, stage, method)
    copies = [*sums.copies, *(s.cache_read(tensor, "shared", [part]) for tensor in dict.fromkeys(sums.operands))]
    read = elements_read(sums.window, method.rows, method.columns) * method.groups
    counts = [method.channels * n for n in (read, method.tile.height * prod(sums.window.kernel))]
    for tensor, count in zip(copies, counts, strict=False):  # one copy where the data is the weight
        s[tensor].set_scope("shared")
        s[tensor].compute_at(stage, step)
        *outer, last = s[tensor].axes
        load_together(s[tensor], method.tile, outer, last, elements=count)


def schedule_sums_by_element(sums: Sums, s: te.Schedule, host: te.Stage, part: te.Tensor) -> None:
    """A thread for each element, which reads its terms from memory."""
    for tensor in sums.copies:
        s[tensor].compute_inline()
    s[part].compute_at(host, bind_elements(host))


def require_fitting(sums: Sums, method: Rectangles) -> None:
    """Raises LoweringError for a method whose rectangles are larger than the result."""
    *outer, width = shape_of(sums.tensor)[-sums.window.rank :]
    height = outer[-1] if outer else 1
    if method.rows > height or method.columns > width:
        raise LoweringError(f"{sums.tensor.name}: expected rectangles within {height} x {width}, found {method}")


def in_parts(sums: Sums, s: te.Schedule, host: te.Stage, part: te.Tensor, parts: int) -> tuple[te.Stage, te.Tensor]:
    """Make the sums of parts of the input channels a kernel of its own; the host adds them, a thread for each element.
    Returns that kernel's stage, and its sums in registers."""
    whole = s[part]
    assert sums.channel is not None
    channels = dict(zip(sums.tensor.op.reduce_axis, whole.op.reduce_axis, strict=True))[sums.channel]
    outer, _ = whole.split(channels, extent_of(channels.extent) // parts)
    partial: te.Tensor = s.rfactor(part, outer)
    whole.compute_at(host, bind_elements(host))
    for axis in whole.leaves:
        whole.unroll(axis)
    return s[partial], s.cache_write(partial, "register")


def _reduce(sums: Sums, stage: te.Stage, method: Rectangles) -> IterVar:
    """The loops of a thread's sums; returns the one over steps, for each of which a block loads copies."""
    axes = dict(zip(sums.tensor.op.reduce_axis, stage.op.reduce_axis, strict=True))
    kernel, tile = [axes[k] for k in sums.kernel], method.tile
    if sums.channel is None:
        step, kernel[0] = stage.split(kernel[0], extent_of(kernel[0].extent))
        channels = [step]
    else:
        step, term = stage.split(axes[sums.channel], method.channels)
        channels = [step, term]
    stage.reorder(*channels, *kernel, *stage.axes)
    if unrolls_kernel(sums.window, tile):
        for axis in kernel:
            stage.unroll(axis)
    elif tile.rows * tile.columns * extent_of(kernel[-1].extent) <= UNROLLED_TERMS:
        stage.unroll(kernel[-1])
    for axis in stage.axes:
        stage.unroll(axis)
    return step


def _bind(sums: Sums, host: te.Stage, loops: Sequence[IterVar], method: Rectangles) -> IterVar:
    rank = sums.window.rank
    *outer, x = loops[-rank:]
    o = loops[-rank - sums.phases - 1]
    grid = [axis for axis in loops[:-rank] if axis is not o] + outer[:-1]
    blocks, channels = _split_channels(sums, host, o, method)
    across, column = host.split(x, method.columns, tail="shift")
    if not outer:
        return bind_tile(host, [*grid, *blocks, across], channels, column, method.tile)
    down, row = host.split(outer[-1], method.rows, tail="shift")
    strip, own = host.split(row, method.own_rows)
    grid = [*grid, *blocks, down, across]
    host.reorder(*grid, channels, own, strip, column)
    return bind_tile(host, grid, channels, host.fuse(own, strip, column), method.tile)


def _split_channels(sums: Sums, host: te.Stage, o: IterVar, method: Rectangles) -> tuple[list[IterVar], IterVar]:
    """The loops over the channels of blocks, and the one over those of a block."""
    if sums.groups == 1:
        block, channels = host.split(o, method.tile.height, tail="shift")
        return [block], channels
    group, channel = host.split(o, extent_of(o.extent) // sums.groups)
    if method.groups == 1:
        block, channels = host.split(channel, method.tile.height, tail="shift")
        return [group, block], channels
    block, own = host.split(group, method.groups, tail="shift")
    return [block], host.fuse(own, channel)
