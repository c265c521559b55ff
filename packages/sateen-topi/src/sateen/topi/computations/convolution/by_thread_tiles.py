"""Row-major convolutions on devices: a block computes output channels x a rectangle of positions.

Its threads read from copies in shared memory, of the weights and of the rectangle's part of the padded input, for some
channels of the input at a time. Where groups have few channels, as in depthwise convolutions, a block computes several
groups. A thread's positions are neighbouring rows if they can be, since these share elements of the input.
"""

from __future__ import annotations

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.direct import Plan
from sateen.topi.computations.convolution.methods import device_candidates
from sateen.topi.computations.convolution.rectangles import UNROLLED_TERMS, Rectangles, unrolls_kernel
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.strips import Strips, bind_strips
from sateen.topi.schedules import (
    bind_elements,
    bind_tile,
    extent_of,
    host_on_device,
    in_registers,
    load_together,
)


def schedule_by_thread_tiles(plan: Plan, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Tiles of threads; a thread for each element where the kernel has no place in shared memory."""
    gpu = machine.gpu
    assert gpu is not None
    host = host_on_device(s, plan.result, output)
    part = in_registers(s, plan.master, host)
    match _method(plan, gpu):
        case Strips() as method:
            _by_strips(plan, s, s[host], s[part], method)
        case Rectangles() as method:
            _by_rectangles(plan, s, s[host], part, method)
        case None:
            if plan.source.copy is not None:
                s[plan.source.copy].compute_inline()
            s[part].compute_at(s[host], bind_elements(s[host]))


def _method(plan: Plan, gpu: Gpu) -> Rectangles | Strips | None:
    """The given method if it is one of devices, otherwise the best of the candidates, if there are any."""
    if isinstance(plan.method, Rectangles | Strips):
        return plan.method
    data = plan.source.data
    problem = ConvolutionShapes(data.shape, plan.weight.shape, plan.window, plan.groups, data.dtype)
    found = (c.method for c in device_candidates(problem, gpu))
    return next((method for method in found if isinstance(method, Rectangles | Strips)), None)


def _by_rectangles(plan: Plan, s: te.Schedule, stage: te.Stage, part: te.Tensor, method: Rectangles) -> None:
    if method.parts > 1:
        stage, part = _in_parts(plan, s, stage, part, method.parts)
    sums = s[part]
    sums.compute_at(stage, _bind(plan, stage, method))
    step = _reduce(plan, sums, method)
    copy, data, weight = plan.source.copy, plan.source.data.tensor, plan.weight.tensor
    shared = [s.cache_read(data, "shared", [part]) if copy is None else copy]
    if copy is not None or data is not weight:
        shared.append(s.cache_read(weight, "shared", [part]))
    for tensor in shared:
        s[tensor].set_scope("shared")
        s[tensor].compute_at(sums, step)
        *outer, last = s[tensor].axes
        load_together(s[tensor], method.tile, outer, last)


def _in_parts(plan: Plan, s: te.Schedule, stage: te.Stage, part: te.Tensor, parts: int) -> tuple[te.Stage, te.Tensor]:
    """Make the sums of parts of the input channels a kernel of its own; the host adds them, a thread for each element.
    Returns that kernel's stage, and its sums in registers."""
    whole = s[part]
    assert plan.channel is not None
    channels = dict(zip(plan.master.op.reduce_axis, whole.op.reduce_axis, strict=True))[plan.channel]
    outer, _ = whole.split(channels, extent_of(channels.extent) // parts)
    partial: te.Tensor = s.rfactor(part, outer)
    whole.compute_at(stage, bind_elements(stage))
    for axis in whole.leaves:
        whole.unroll(axis)
    return s[partial], s.cache_write(partial, "register")


def _reduce(plan: Plan, sums: te.Stage, method: Rectangles) -> IterVar:
    """The loops of a thread's sums; returns the one over steps, for each of which a block loads copies."""
    axes = dict(zip(plan.master.op.reduce_axis, sums.op.reduce_axis, strict=True))
    kernel, tile = [axes[k] for k in plan.kernel], method.tile
    if plan.channel is None:
        step, kernel[0] = sums.split(kernel[0], extent_of(kernel[0].extent))
        channels = [step]
    else:
        step, term = sums.split(axes[plan.channel], method.channels)
        channels = [step, term]
    sums.reorder(*channels, *kernel, *sums.axes)
    if unrolls_kernel(plan.window, tile):
        for axis in kernel:
            sums.unroll(axis)
    elif tile.rows * tile.columns * extent_of(kernel[-1].extent) <= UNROLLED_TERMS:
        sums.unroll(kernel[-1])
    for axis in sums.axes:
        sums.unroll(axis)
    return step


def _by_strips(plan: Plan, s: te.Schedule, stage: te.Stage, sums: te.Stage, method: Strips) -> None:
    """A strip of channels and neighbouring positions for each thread; what pads the input is written before."""
    if plan.source.copy is not None:
        bind_elements(s[plan.source.copy])
    n, o, *outer, x = stage.axes
    blocks, channel = stage.split(o, method.rows, tail="shift")
    across, column = stage.split(x, method.columns, tail="shift")
    sums.compute_at(stage, bind_strips(stage, [n, *outer, blocks, across], channel, column))
    sums.reorder(*sums.op.reduce_axis, *sums.axes)
    for axis in sums.axes:
        sums.unroll(axis)


def _bind(plan: Plan, stage: te.Stage, method: Rectangles) -> IterVar:
    o, *outer, x = stage.axes[-plan.window.rank - 1 :]
    above = stage.axes[: -plan.window.rank - 1]
    blocks, channels = _split_channels(plan, stage, o, method)
    across, column = stage.split(x, method.columns, tail="shift")
    if not outer:
        return bind_tile(stage, [*above, *blocks, across], channels, column, method.tile)
    down, row = stage.split(outer[-1], method.rows, tail="shift")
    strip, own = stage.split(row, method.own_rows)
    grid = [*above, *outer[:-1], *blocks, down, across]
    stage.reorder(*grid, channels, own, strip, column)
    return bind_tile(stage, grid, channels, stage.fuse(own, strip, column), method.tile)


def _split_channels(plan: Plan, stage: te.Stage, o: IterVar, method: Rectangles) -> tuple[list[IterVar], IterVar]:
    """The loops over the channels of blocks, and the one over those of a block."""
    if plan.groups == 1:
        block, channels = stage.split(o, method.tile.height, tail="shift")
        return [block], channels
    group, channel = stage.split(o, extent_of(o.extent) // plan.groups)
    if method.groups == 1:
        block, channels = stage.split(channel, method.tile.height, tail="shift")
        return [group, block], channels
    block, own = stage.split(group, method.groups, tail="shift")
    return [block], stage.fuse(own, channel)
