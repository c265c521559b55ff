"""Row-major convolutions on devices: a block computes output channels x a rectangle of positions.

Its threads read from copies in shared memory, of the weights and of the rectangle's part of the padded input, for some
channels of the input at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.direct import Plan
from sateen.topi.schedules import (
    OWN_PARTS,
    ThreadTile,
    balanced,
    bind_elements,
    bind_own_tile,
    bind_tile,
    extent_of,
    host_on_device,
    in_registers,
    load_together,
    own_tile,
    shape_of,
    shared_terms,
    term_time,
)

SIDES = (1, 2, 4, 8, 16, 32, 64)
"""The most rows and columns of a rectangle; it gets fewer where that makes rectangles equal."""
UNROLLED_TERMS = 256
"""The most multiply-adds of a thread that are written out."""


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """A tile whose columns are the positions of a rectangle, row by row."""

    tile: ThreadTile
    rows: int
    columns: int
    channel_elements: int
    """The elements that a block reads of one input channel and its weights."""


def schedule_by_thread_tiles(plan: Plan, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Tiles of threads; a thread for each element where channels are in groups, or the kernel has no place."""
    gpu = machine.gpu
    assert gpu is not None
    host = host_on_device(s, plan.result, output)
    part = in_registers(s, plan.master, host)
    if gpu.warp == 1:
        _by_own_tiles(plan, s, s[host], s[part], gpu)
        return
    found = _best(plan, gpu) if plan.groups == 1 else None
    if found is None:
        if plan.source.copy is not None:
            s[plan.source.copy].compute_inline()
        s[part].compute_at(s[host], bind_elements(s[host]))
        return
    stage, sums, tile = s[host], s[part], found.tile
    sums.compute_at(stage, _bind(stage, found))
    axes = dict(zip(plan.master.op.reduce_axis, sums.op.reduce_axis, strict=True))
    kernel = [axes[k] for k in plan.kernel]
    if plan.channel is None:
        step, channels = kernel[0], []
    else:
        terms = extent_of(plan.channel.extent)
        count = shared_terms(found.channel_elements, plan.master.dtype.bytes, terms, gpu)
        step, term = sums.split(axes[plan.channel], count)
        channels = [step, term]
    sums.reorder(*channels, *kernel, *sums.axes)
    if tile.rows * tile.columns * extent_of(kernel[-1].extent) <= UNROLLED_TERMS and kernel[-1] is not step:
        sums.unroll(kernel[-1])
    for axis in sums.axes:
        sums.unroll(axis)
    copy, data, weight = plan.source.copy, plan.source.data.tensor, plan.weight.tensor
    shared = [s.cache_read(data, "shared", [part]) if copy is None else copy]
    if copy is not None or data is not weight:
        shared.append(s.cache_read(weight, "shared", [part]))
    for tensor in shared:
        s[tensor].set_scope("shared")
        s[tensor].compute_at(sums, step)
        load_together(s[tensor], tile)


def _by_own_tiles(plan: Plan, s: te.Schedule, stage: te.Stage, sums: te.Stage, gpu: Gpu) -> None:
    """A tile of channels and neighbouring positions for each thread; what pads the input is written before."""
    if plan.source.copy is not None:
        bind_elements(s[plan.source.copy])
    n, o, *outer, x = stage.axes
    rows, columns = own_tile(extent_of(o.extent), extent_of(x.extent), plan.source.data.tensor.dtype, gpu)
    blocks, channel = stage.split(o, rows, tail="shift")
    across, column = stage.split(x, columns, tail="shift")
    sums.compute_at(stage, bind_own_tile(stage, [n, *outer, blocks, across], channel, column))
    sums.reorder(*sums.op.reduce_axis, *sums.axes)
    for axis in sums.axes:
        sums.unroll(axis)


def _bind(stage: te.Stage, found: _Rectangle) -> IterVar:
    n, o, *outer, x = stage.axes
    blocks, channels = stage.split(o, found.tile.height, tail="shift")
    across, column = stage.split(x, found.columns, tail="shift")
    if not outer:
        return bind_tile(stage, [n, blocks, across], channels, column, found.tile)
    down, row = stage.split(outer[-1], found.rows, tail="shift")
    grid = [n, *outer[:-1], blocks, down, across]
    stage.reorder(*grid, channels, row, column)
    return bind_tile(stage, grid, channels, stage.fuse(row, column), found.tile)


def _best(plan: Plan, gpu: Gpu) -> _Rectangle | None:
    """The rectangle and its tile that are estimated to be fastest; None if the kernel fits into no shared memory."""
    batch, outputs, *outer, width = shape_of(plan.master)
    height = outer[-1] if outer else 1
    taps = prod(plan.window.kernel)

    def time(r: _Rectangle) -> float:
        blocks = (
            prod([batch, *outer[:-1]]) * -(-outputs // r.tile.height) * -(-height // r.rows) * -(-width // r.columns)
        )
        return term_time(r.tile, r.channel_elements / taps, blocks, gpu)

    room = gpu.shared_bytes // 2
    possible = _rectangles(plan, outputs, height, width, gpu)
    return min((r for r in possible if r.channel_elements * plan.master.dtype.bytes <= room), key=time, default=None)


def _rectangles(plan: Plan, outputs: int, height: int, width: int, gpu: Gpu) -> Iterator[_Rectangle]:
    window = plan.window
    for rows in dict.fromkeys(balanced(height, n) for n in SIDES):
        for columns in dict.fromkeys(balanced(width, n) for n in SIDES):
            sides = [1] * (window.rank - 2) + [rows, columns][-window.rank :]
            read = prod((n - 1) * window.strides[d] + window.reach(d) for d, n in enumerate(sides))
            for tile in _tiles(rows * columns, outputs, gpu):
                elements = read + tile.height * prod(window.kernel)
                yield _Rectangle(tile, rows, columns, elements)


def _tiles(positions: int, outputs: int, gpu: Gpu) -> Iterator[ThreadTile]:
    """The tiles with so many positions."""
    for own in range(1, max(OWN_PARTS) + 1):
        if positions % own:
            continue
        for rows in OWN_PARTS:
            for n in range(gpu.block_threads.bit_length()):
                tile = ThreadTile(1 << n, rows, positions // own, own)
                if tile.height <= outputs and tile.fits(gpu):
                    yield tile
