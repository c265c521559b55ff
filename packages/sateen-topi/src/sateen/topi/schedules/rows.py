"""Operators that need statistics of rows for each element: softmax, normalizations.

A row is along adjacent axes of a row-major tensor. Its elements are `inner` apart: 1 if those axes are the last ones.
Statistics are computed where the row is written, for a row (or a vector of rows) at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.computation import Computation, for_machines
from sateen.topi.schedules.register_tiles import (
    elements,
    extent_of,
    host_of,
    reduce_in_vectors,
    shape_of,
    share_among_threads,
)
from sateen.topi.schedules.thread_reductions import Shares, compute_across, reduce_by_threads, share_terms
from sateen.topi.schedules.thread_tiles import bind_elements, host_on_device, own_columns
from sateen.topi.types import Layout, View


def flattened(index: Sequence[Expr], extents: Sequence[int]) -> Expr:
    """The row-major position of an index."""
    position: Expr = te.const(0)
    for i, extent in zip(index, extents, strict=True):
        position = position * extent + i
    return position


def unflattened(position: Expr, extents: Sequence[int]) -> tuple[Expr, ...]:
    """The index at a row-major position; of no elements, any."""
    index: list[Expr] = []
    for d in reversed(range(len(extents))):
        extent = max(extents[d], 1)
        index.append(position % extent if d > 0 else position)
        position = position // extent
    return tuple(reversed(index))


@dataclass(slots=True, eq=False)
class Rows:
    """Rows along axes begin to end - 1 of tensors of `shape`: [outer, row, inner], each the product of some extents.

    `statistic` and `buffer` make the stages of an operator, in the order in which they are computed.
    """

    shape: tuple[int, ...]
    begin: int
    end: int
    stages: list[te.Tensor] = field(default_factory=list)

    @property
    def outer(self) -> int:
        return prod(self.shape[: self.begin])

    @property
    def length(self) -> int:
        return prod(self.shape[self.begin : self.end])

    @property
    def inner(self) -> int:
        return prod(self.shape[self.end :])

    def index(self, o: Expr, r: Expr, i: Expr) -> tuple[Expr, ...]:
        """The index of an element of a row."""
        shape = self.shape
        return (
            *unflattened(o, shape[: self.begin]), *unflattened(r, shape[self.begin : self.end]),
            *unflattened(i, shape[self.end :]),
        )  # fmt: skip

    def row_of(self, index: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The row that an element is in, as (outer, inner)."""
        outer, inner = slice(None, self.begin), slice(self.end, None)
        return flattened(index[outer], self.shape[outer]), flattened(index[inner], self.shape[inner])

    def reduction(
        self, reducer: Callable[..., Expr], value: Callable[[Expr, Expr, Expr], Expr], name: str
    ) -> te.Tensor:
        """A statistic: value(outer, r, inner) reduced over r."""
        r = te.reduce_axis(self.length, "r")
        return self.statistic(lambda o, i: reducer(value(o, r, i), axis=r), name)

    def statistic(self, value: Callable[[Expr, Expr], Expr], name: str) -> te.Tensor:
        """A number per row."""
        tensor: te.Tensor = te.compute((self.outer, self.inner), value, name=name)
        self.stages.append(tensor)
        return tensor

    def buffer(self, value: Callable[[Expr, Expr, Expr], Expr], name: str) -> te.Tensor:
        """A number per element of a row, kept while the row is processed."""
        tensor: te.Tensor = te.compute((self.outer, self.length, self.inner), value, name=name)
        self.stages.append(tensor)
        return tensor

    def computation(self, value: Callable[..., Expr], name: str) -> Computation:
        """The operator with element value(*index), which reads the stages made before."""
        result: te.Tensor = te.compute(self.shape, value, name=name)

        def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
            self._schedule(s, result, output, machine)

        def on_device(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
            host = host_on_device(s, result, output)
            axes = list(s[host].axes)
            outer, row, inner = axes[: self.begin], axes[self.begin : self.end], axes[self.end :]
            self.schedule_on_device(s, result, host, outer, row, inner, machine)

        view = View(result, self.shape, Layout.row_major(len(self.shape)))
        return Computation((view,), for_machines(schedule, on_device))

    def schedule_on_device(
        self,
        s: te.Schedule,
        result: te.Tensor,
        host: te.Tensor,
        outer: Sequence[IterVar],
        row: Sequence[IterVar],
        inner: Sequence[IterVar],
        machine: Machine,
        tail: str = "guard",
    ) -> None:
        """Bind the loops of the host, the result or what reads it in place, and compute all stages there. `tail` is
        that of a row whose threads have not equally many elements.

        A block has some neighbouring rows. The threads of a row combine their parts of each statistic, then write it.
        Where rows are few and long, statistics have kernels of their own, and a thread writes an element.
        """
        gpu, stage = machine.gpu, s[host]
        assert gpu is not None
        if host is not result:
            s[result].compute_inline()
        statistics = [tensor for tensor in self.stages if tensor.op.reduce_axis]
        columns = own_columns(t.dtype for t in statistics[0].op.inputs)
        shares = Shares.of(self.outer * self.inner, max(self.length, 1), self.inner, columns, gpu)
        kept = self._kept_in_blocks(shares, gpu)
        for tensor in self.stages:
            if tensor not in kept:
                s[tensor].compute_inline()
        if 0 in shape_of(host):
            return
        if shares.parts > 1:
            for tensor in statistics:
                reduce_by_threads(s, tensor, tensor, self.inner, gpu)
            bind_elements(stage, [*outer, *row, *inner])
            return
        loops = self._blocks(stage, outer, row, inner, shares, gpu)
        if not gpu.runs_in_step:
            self._compute_alone(s, statistics, stage, loops, columns)
        else:
            self._compute_together(s, kept, stage, loops, shares, tail)

    def _kept_in_blocks(self, shares: Shares, gpu: Gpu) -> list[te.Tensor]:
        """The stages that are not computed where they are read: statistics, and what shared memory holds of a row."""
        has_room = shares.parts == 1 and gpu.runs_in_step
        room = gpu.shared_bytes // gpu.resident_blocks if has_room else 0
        size = shares.results * self.length
        return [t for t in self.stages if t.op.reduce_axis or (t.ndim == 3 and size * t.dtype.bytes <= room)]

    def _blocks(
        self,
        stage: te.Stage,
        outer: Sequence[IterVar],
        row: Sequence[IterVar],
        inner: Sequence[IterVar],
        shares: Shares,
        gpu: Gpu,
    ) -> tuple[IterVar, IterVar, IterVar]:
        """The loops of the host over blocks, the rows of one, and a row."""
        across = self.inner > 1
        r = stage.fuse(*row) if across else stage.fuse(*row, *inner)
        if outer:
            o = stage.fuse(*outer)
        else:
            o, r = stage.split(r, self.length)
        if across and shares.results > self.inner:
            block, several = stage.split(o, shares.results // self.inner)
            i = stage.fuse(*inner)
            stage.reorder(block, several, i, r)
            own = stage.fuse(several, i)
        elif across:
            i, own = stage.split(stage.fuse(*inner), shares.results, tail="guard" if gpu.runs_in_step else "shift")
            stage.reorder(o, i, own, r)
            block = stage.fuse(o, i)
        else:
            block, own = stage.split(o, shares.results)
        stage.bind(block, te.thread_axis("blockIdx.x"))
        return block, own, r

    def _compute_together(
        self,
        s: te.Schedule,
        kept: Sequence[te.Tensor],
        host: te.Stage,
        loops: tuple[IterVar, IterVar, IterVar],
        shares: Shares,
        tail: str,
    ) -> None:
        """Rows by the threads of a block, with stages in its shared memory: neighbouring threads have neighbours."""
        block, own, r = loops
        on_x = self.inner > 1 or shares.threads == 1
        own_thread, turns = ("threadIdx.x", "threadIdx.y") if on_x else ("threadIdx.y", "threadIdx.x")
        host.bind(own, te.thread_axis(own_thread))
        self._take_turns(host, r, shares, turns, tail)
        for tensor in kept:
            part = s[tensor]
            part.set_scope("shared")
            part.compute_at(host, block)
            if part.op.reduce_axis:
                part.bind(part.fuse(*part.axes), te.thread_axis(own_thread))
                share_terms(part, shares.threads, turns)
                continue
            o, k, i = part.axes
            part.reorder(o, i, k)
            part.bind(part.fuse(o, i), te.thread_axis(own_thread))
            self._take_turns(part, k, shares, turns)

    @staticmethod
    def _take_turns(stage: te.Stage, row: IterVar, shares: Shares, turns: str, tail: str = "guard") -> None:
        """Let the threads of a row take turns at its elements."""
        if shares.threads > 1:
            stage.bind(stage.split(row, shares.threads, tail=tail)[1], te.thread_axis(turns))

    def _compute_alone(
        self,
        s: te.Schedule,
        statistics: Sequence[te.Tensor],
        host: te.Stage,
        loops: tuple[IterVar, IterVar, IterVar],
        columns: int,
    ) -> None:
        """Rows, or neighbouring rows at once, by a thread with vectors: the loops are those over blocks, the rows of
        one, and a row."""
        block, own, r = loops
        if self.inner == 1:
            for tensor in statistics:
                reduce_in_vectors(s, tensor, columns, host, own, 1)
            host.vectorize(host.split(r, min(columns, self.length), tail="partition")[1])
            return
        host.reorder(block, r, own)
        host.vectorize(own)
        for tensor in statistics:
            s[tensor].set_scope("register")
            compute_across(s[tensor], host, block)

    def _schedule(self, s: te.Schedule, result: te.Tensor, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result, output, machine)
        if host is not result:
            s[result].compute_inline()
        stage = s[host]
        lanes = machine.lanes(self.stages[0].dtype)
        axes = list(stage.axes)
        outer, row, inner = axes[: self.begin], axes[self.begin : self.end], axes[self.end :]
        loops = [stage.fuse(*outer)] if outer else []
        r = stage.fuse(*row)
        work = elements(host) * 4
        if self.inner > 1:
            column, lane = stage.split(stage.fuse(*inner), min(lanes, self.inner), tail="partition")
            stage.reorder(*loops, column, r, lane)
            stage.vectorize(lane)
            place = share_among_threads(stage, [*loops, column], work, machine)
        else:
            if not loops:
                one, r = stage.split(r, self.length)
                loops = [one]
            ones = [stage.fuse(*inner)] if inner else []
            ro, lane = stage.split(r, min(lanes, self.length), tail="partition")
            stage.reorder(*loops, ro, *ones, lane)
            stage.vectorize(lane)
            place = share_among_threads(stage, loops, work, machine)
        self.schedule_statistics(s, stage, place, machine)

    def schedule_statistics(self, s: te.Schedule, host: te.Stage, place: IterVar, machine: Machine) -> None:
        """Compute all stages at a loop of the host; each iteration writes a row (or a vector of rows)."""
        for tensor in self.stages:
            self._schedule_statistic(s, tensor, host, place, machine)

    def _schedule_statistic(
        self, s: te.Schedule, tensor: te.Tensor, host: te.Stage, place: IterVar, machine: Machine
    ) -> None:
        """One stage at the loop over rows: vectors along the row, or across rows if those are adjacent."""
        stage, lanes = s[tensor], machine.lanes(self.stages[0].dtype)
        op = stage.op
        reduces = bool(op.reduce_axis)
        if self.inner == 1 and reduces:
            reduce_in_vectors(s, tensor, lanes, host, place, machine.accumulators)
            return
        stage.compute_at(host, place)
        if len(op.axis) == 2:
            stage.set_scope("register")
        if self.inner > 1:
            *_, i = op.axis
            if reduces:
                o, _ = op.axis
                stage.reorder(*op.reduce_axis, o, i)
            stage.vectorize(i if extent_of(i.extent) <= lanes else stage.split(i, lanes)[1])
        elif len(op.axis) == 3:
            o, r, i = op.axis
            ro, lane = stage.split(r, min(lanes, self.length), tail="partition")
            stage.reorder(o, ro, i, lane)
            stage.vectorize(lane)
