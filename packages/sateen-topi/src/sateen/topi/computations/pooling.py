"""Pools: the maximum or the average of a window or of a whole channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import ir_builder
from sateen.topi.computations.arguments import (
    require,
    require_floats,
    require_numbers,
    require_one_of,
    require_rank,
    require_views,
    require_window,
)
from sateen.topi.computations.pool_methods import UNROLLED_TAPS, Channels, Lines, Windows, writes_rows_out
from sateen.topi.computations.reductions import extremum_reducer, neighbours_along
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import (
    Computation,
    accumulator_type,
    balanced,
    elements,
    extent_of,
    flattened,
    for_machines,
    host_of,
    host_on_device,
    in_registers,
    largest_divisor,
    loop_kind,
    loops,
    reduce_by_threads,
    reduce_in_vectors,
    register_tile,
    shape_of,
    share_among_threads,
    unflattened,
)
from sateen.topi.types import Layout, View

COLUMNS = 8
"""The number of columns that are computed together where no method says so: the chains of their reductions overlap on
any machine."""

BLOCKS = 4
"""The blocks of channels whose sums are added together where no method says so."""


def max_pool(
    data: View,
    window: Window,
    ceil_mode: bool = False,
    layout: Layout | None = None,
    method: Windows | Lines | None = None,
) -> Computation:
    """The maximum over windows of data [N, C, …], without padding. A method is for blocks of channels."""
    _require_pool("max_pool", data, window, ceil_mode)
    return _window_pool(data, window, ceil_mode, data.dtype, layout, te.max, lambda value, _: value, method)


def max_pool_indices(data: View, window: Window, ceil_mode: bool = False, column_major: bool = False) -> Computation:
    """The maxima of windows of data [N, C, …] and their positions in it, row-major, or each image column by column.

    Of equal elements the first is taken. The outputs are row-major.
    """
    _require_pool("max_pool_indices", data, window, ceil_mode)
    n, c, *spatial = data.shape
    output = window.output(spatial, ceil_mode)
    shape = (n, c, *output)

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, values, places = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        parallel = loop_kind(prod(shape) * prod(window.kernel))
        with loops(ib, shape, kind=parallel) as index:
            found = ib.allocate("int64", (1,), "register", "found")
            best = ib.allocate(data.dtype, (1,), "register", "best")
            found[0] = te.const(-1)
            best[0] = te.const(0, data.dtype)
            with loops(ib, window.kernel) as taps:
                at = [window.position(d, index[2 + d], k) for d, k in enumerate(taps)]
                with ib.if_scope(window.inside(spatial, output, at)):
                    value = ib.let("value", source[(*index[:2], *at)])
                    better = te.any(found[0] < 0, value > best[0])
                    if data.dtype.is_float:
                        better = te.any(better, te.all(te.isnan(value), ~te.isnan(best[0])))
                    with ib.if_scope(better):
                        best[0] = value
                        found[0] = flattened(at[::-1], spatial[::-1]) if column_major else flattened(at, spatial)
            values[tuple(index)] = best[0]
            places[tuple(index)] = (index[0] * c + index[1]) * prod(spatial) + found[0]
        return ib.get()

    tensors = te.extern([shape, shape], [data.tensor], body, name="max_pool_indices", dtype=[data.dtype, "int64"])
    views = tuple(View(t, shape, Layout.row_major(len(shape))) for t in tensors)
    return Computation(views, by_blocks=lambda gpu: _indices_by_threads(data, window, shape, column_major, gpu))


def _indices_by_threads(data: View, window: Window, shape: Sequence[int], column_major: bool, gpu: Gpu) -> Computation:
    """`max_pool_indices` as a reduction to pairs of a number and its place in an image."""
    _, c, *spatial = data.shape
    taps = [te.reduce_axis(k, f"k{d}") for d, k in enumerate(window.kernel)]
    larger = extremum_reducer(largest=True, last=False)

    def element(b: Expr, channel: Expr, *position: Expr) -> Any:
        at = [window.position(d, y, k) for d, (y, k) in enumerate(zip(position, taps, strict=True))]
        where = window.inside(spatial, shape[2:], at)
        place = flattened(at, spatial).astype("int32")
        return larger((data(b, channel, *at), place), axis=taps, where=where)

    best, first = te.compute(shape, element, name="best")

    def finished(b: Expr, channel: Expr, *position: Expr) -> tuple[Expr, Expr]:
        place = first(b, channel, *position).astype("int64")
        if column_major:
            place = flattened(unflattened(place, spatial)[::-1], spatial[::-1])
        image = (b * c + channel).astype("int64") * prod(spatial)
        return best(b, channel, *position), image + place

    outputs = te.compute(shape, finished, name="max_pool_indices")

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        del machine
        reduce_by_threads(s, best, output, shape[-1], gpu)

    return Computation(tuple(View(t, tuple(shape), Layout.row_major(len(shape))) for t in outputs), schedule)


def average_pool(
    data: View,
    window: Window,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: Layout | None = None,
    method: Windows | None = None,
) -> Computation:
    """The average over windows of data [N, C, …], padding counted as zeros or not at all. A method is for blocks of
    channels."""
    _require_pool("average_pool", data, window, ceil_mode)
    require_floats("average_pool", data=data)

    def divided(total: Expr, position: Sequence[Expr]) -> Expr:
        count: Expr = te.const(1)
        for d, y in enumerate(position):
            count = count * _taps(window, d, data.shape[2 + d], y, count_include_pad)
        return total / count.astype(total.dtype)

    def shared(total: Expr, _: Sequence[Expr]) -> Expr:
        return total / float(prod(window.kernel))

    finish = divided if _is_clipped(window, data.shape[2:], ceil_mode) else shared
    return _window_pool(data, window, ceil_mode, accumulator_type(data.dtype), layout, te.sum, finish, method)


def _require_pool(operator: str, data: View, window: Window, ceil_mode: bool) -> None:
    """Check data [N, C, …] and a window that never covers only padding."""
    require_views(operator, data=data)
    require_rank(operator, "data [N, C, …]", data, 3, or_more=True)
    require_numbers(operator, data=data)
    require_window(operator, window, data.shape[2:], ceil_mode=ceil_mode)
    reach = [window.reach(d) for d in range(window.rank)]
    small = all(p < reach[i % window.rank] for i, p in enumerate(window.pads))
    require(small, operator, f"pads smaller than the window's {reach}", list(window.pads))


def _is_clipped(window: Window, spatial: Sequence[int], ceil_mode: bool) -> bool:
    output = window.output(spatial, ceil_mode)
    return any(window.is_padded(d, spatial[d], output[d]) for d in range(window.rank))


def _taps(window: Window, d: int, extent: int, y: Expr, padding_counts: bool) -> Expr:
    """The number of kernel elements that count at output position y."""
    step, kernel, start = window.dilations[d], window.kernel[d], y * window.strides[d] - window.pads[d]
    stop = extent + (window.pads[window.rank + d] if padding_counts else 0)
    last = te.minimum((stop - start + (step - 1)) // step, kernel)
    return last if padding_counts else last - te.maximum((0 - start + (step - 1)) // step, 0)


def _window_pool(
    data: View,
    window: Window,
    ceil_mode: bool,
    kind: DType,
    layout: Layout | None,
    reducer: Callable[..., Expr],
    finish: Callable[[Expr, Sequence[Expr]], Expr],
    method: Windows | Lines | None,
) -> Computation:
    n, c, *spatial = data.shape
    output = window.output(spatial, ceil_mode)
    shape = (n, c, *output)
    layout = layout or data.layout

    def reduced(source: View, along: range, name: str) -> View:
        """The reduction along some dimensions of what may be reduced along others."""
        axes = {d: te.reduce_axis(window.kernel[d], f"k{d}") for d in along}
        extents = [output[d] if d in along else extent for d, extent in enumerate(source.shape[2:])]

        def element(*physical: Expr) -> Expr:
            b, channel, *position = layout.logical_index(physical)
            index = [window.position(d, y, axes[d]) if d in along else y for d, y in enumerate(position)]
            where = window.inside(spatial, output, index, along)
            return reducer(source(b, channel, *index).astype(kind), axis=list(axes.values()), where=where)

        found = (n, c, *extents)
        return View(te.compute(layout.physical_shape(found), element, name=name), found, layout)

    lines = None
    if isinstance(method, Lines) and not layout.is_row_major:
        lines = reduced(data, range(window.rank - 1, window.rank), "lines")
        master = reduced(lines, range(window.rank - 1), "pool").tensor
    else:
        master = reduced(data, range(window.rank), "pool").tensor

    def finished(*physical: Expr) -> Expr:
        return finish(master(*physical), layout.logical_index(physical)[2:]).astype(data.dtype)

    result = te.compute(master.shape, finished, name="pooled")
    clips = tuple(window.is_padded(d, spatial[d], output[d]) for d in range(window.rank))
    in_blocks = reducer is te.max and not layout.is_row_major
    written_out = writes_rows_out(window, is_maximum=in_blocks)
    plan = _Plan(None if lines is None else lines.tensor, master, result, window, layout, clips, written_out, method)
    return Computation((View(result, shape, layout),), for_machines(plan.schedule, plan.schedule_on_device))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """The stages of a pool and their schedule."""

    lines: te.Tensor | None
    """The lines of windows, where they are reduced first."""
    master: te.Tensor
    result: te.Tensor
    window: Window
    layout: Layout
    clips: tuple[bool, ...]
    """Whether windows reach beyond the data, by dimension."""
    writes_rows_out: bool
    """Whether rows of windows are no loop."""
    method: Windows | Lines | None

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Vectors along the innermost axis in memory, channels or columns."""
        host = host_of(s, self.result, output, machine)
        if self.layout.is_row_major:
            self._by_columns(s, host, machine)
        elif self.lines is None:
            self._by_windows(s, host, machine)
        else:
            self._by_lines(s, host, self.lines, machine)

    @property
    def _work(self) -> int:
        return elements(self.master) * prod(self.window.kernel)

    def _by_columns(self, s: te.Schedule, host: te.Tensor, machine: Machine) -> None:
        """A vector of columns at a time."""
        tile = in_registers(s, self.master, host)
        stage = s[host]
        *outer, last = stage.axes
        xo, lane = stage.split(last, min(machine.lanes(self.master.dtype), extent_of(last.extent)), tail="partition")
        self._partition(stage, [*outer, xo])
        register_tile(stage, lane)
        s[tile].compute_at(stage, share_among_threads(stage, [*outer, xo], self._work, machine))
        _write_out(s[tile], rows=self.writes_rows_out)

    def _by_windows(self, s: te.Schedule, host: te.Tensor, machine: Machine) -> None:
        """Register tiles of rows and columns of the output."""
        tile = in_registers(s, self.master, host)
        stage = s[host]
        *outer, _, _ = stage.axes
        xo, vo, xi, lane = self._split(stage, machine)
        rows: list[IterVar] = []
        if self.method is not None and self.method.rows > 1:
            yo, yi = stage.split(outer.pop(), self.method.rows, tail="partition")
            outer, rows = [*outer, yo], [yi]
        stage.reorder(*outer, xo, vo, *rows, xi, lane)
        self._partition(stage, [*outer, xo])
        register_tile(stage, *rows, xi, lane)
        s[tile].compute_at(stage, share_among_threads(stage, [*outer, xo, vo], self._work, machine))
        _write_out(s[tile], rows=self.writes_rows_out)

    def _by_lines(self, s: te.Schedule, host: te.Tensor, lines: te.Tensor, machine: Machine) -> None:
        """All lines that some rows of the output take, into a buffer; then these rows."""
        assert self.method is not None
        tile = in_registers(s, self.master, host)
        line = s.cache_write(lines, "register")
        s[lines].set_scope("local")
        stage, buffer = s[host], s[lines]
        *outer, y, _, _ = stage.axes
        xo, vo, xi, lane = self._split(stage, machine)
        yo, yi = stage.split(y, self.method.rows, tail="partition")
        stage.reorder(*outer, yo, yi, xo, vo, xi, lane)
        if self.clips[-2]:
            stage.pragma(yo, "partition")
        register_tile(stage, xi, lane)
        buffer.compute_at(stage, share_among_threads(stage, [*outer, yo], self._work, machine))
        s[tile].compute_at(stage, vo)
        *outer, _, _ = buffer.axes
        xo, vo, xi, lane = self._split(buffer, machine)
        buffer.reorder(*outer, xo, vo, xi, lane)
        if self.clips[-1]:
            buffer.pragma(xo, "partition")
        register_tile(buffer, xi, lane)
        s[line].compute_at(buffer, vo)
        for part in (tile, line):
            _write_out(s[part], rows=False)

    def _split(self, stage: te.Stage, machine: Machine) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """The loops over tiles of columns and over vectors of a block, and those of a tile."""
        x, last = stage.axes[-2:]
        columns = balanced(extent_of(x.extent), COLUMNS) if self.method is None else self.method.columns
        xo, xi = stage.split(x, columns, tail="partition")
        vo, lane = stage.split(last, min(machine.lanes(self.master.dtype), extent_of(last.extent)))
        return xo, vo, xi, lane

    def _partition(self, stage: te.Stage, loops: Sequence[IterVar]) -> None:
        """Let tiles at the edges have code of their own; rows do where they are written out."""
        if self.clips[-1]:
            stage.pragma(loops[-1], "partition")
        if self.writes_rows_out and self.clips[-2]:
            stage.pragma(loops[-2], "partition")

    def schedule_on_device(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        assert machine.gpu is not None
        host = host_on_device(s, self.result, output)
        reduce_by_threads(s, self.master, host, shape_of(self.master)[-1], machine.gpu)


def _write_out(part: te.Stage, *, rows: bool) -> None:
    """A tile of accumulators, the columns of whose windows are written out if they are few, perhaps rows as well."""
    *data, last = part.axes
    terms = part.op.reduce_axis
    if rows:
        part.unroll(terms[-2])
    if rows or extent_of(terms[-1].extent) <= UNROLLED_TAPS:
        part.unroll(terms[-1])
    part.reorder(*terms, *data, last)
    register_tile(part, *data, last)


def global_pool(data: View, kind: str, layout: Layout | None = None, method: Channels | None = None) -> Computation:
    """The average ("average") or maximum ("max") of each channel of data [N, C, …]; spatial dimensions become 1. A
    method is for blocks of channels."""
    require_one_of("global_pool", "kind", kind, ("average", "max"))
    require_views("global_pool", data=data)
    require_rank("global_pool", "data [N, C, …]", data, 3, or_more=True)
    require_floats("global_pool", data=data)
    n, c, *spatial = data.shape
    shape = (n, c, *(1 for _ in spatial))
    layout = layout or data.layout
    axes = [te.reduce_axis(extent, f"r{d}") for d, extent in enumerate(spatial)]
    wide = accumulator_type(data.dtype) if kind == "average" else data.dtype
    reducer = te.sum if kind == "average" else te.max

    def element(*physical: Expr) -> Expr:
        b, channel, *_ = layout.logical_index(physical)
        value: Expr = reducer(data(b, channel, *axes).astype(wide), axis=axes)
        return value

    master: te.Tensor = te.compute(layout.physical_shape(shape), element, name="pool")
    size = float(prod(spatial))

    def finished(*physical: Expr) -> Expr:
        value = master(*physical)
        return (value / size if kind == "average" else value).astype(data.dtype)

    result = te.compute(master.shape, finished, name="pooled")

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result, output, machine)
        tile = in_registers(s, master, host)
        stage = s[host]
        lanes = machine.lanes(wide)
        work = elements(master) * prod(spatial)
        b, channel, *rest = stage.axes
        if layout.is_row_major:
            place = share_among_threads(stage, [b, channel], work, machine)
            for axis in rest:
                stage.unroll(axis)
            if data.layout.is_row_major:
                reduce_in_vectors(s, tile, lanes, stage, place, machine.accumulators)
            else:
                s[tile].compute_at(stage, place)
            return
        *ones, last = rest
        blocks = BLOCKS if method is None else method.blocks
        co, ci = stage.split(channel, largest_divisor(shape_of(host)[1], blocks))
        vo, lane = stage.split(last, min(lanes, extent_of(last.extent)))
        stage.reorder(b, co, vo, ci, *ones, lane)
        register_tile(stage, ci, *ones, lane)
        s[tile].compute_at(stage, share_among_threads(stage, [b, co, vo], work, machine))
        part = s[tile]
        *channels, last = part.axes
        part.reorder(*part.op.reduce_axis, *channels, last)
        register_tile(part, *channels, last)

    def on_device(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        assert machine.gpu is not None
        host = host_on_device(s, result, output)
        reduce_by_threads(s, master, host, neighbours_along(data, range(2, data.ndim)), machine.gpu)

    return Computation((View(result, shape, layout),), for_machines(schedule, on_device))
