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
from sateen.topi.schedules.by_element import schedule_by_element
from sateen.topi.schedules.computation import Computation, for_machines
from sateen.topi.schedules.register_tiles import elements, extent_of, host_of, reduce_in_vectors, share_among_threads
from sateen.topi.schedules.thread_tiles import host_on_device
from sateen.topi.types import Layout, View

ROW_THREADS = 256
"""The most threads that share a row on a device."""


def flattened(index: Sequence[Expr], extents: Sequence[int]) -> Expr:
    """The row-major position of an index."""
    position: Expr = te.const(0)
    for i, extent in zip(index, extents, strict=True):
        position = position * extent + i
    return position


def unflattened(position: Expr, extents: Sequence[int]) -> tuple[Expr, ...]:
    """The index at a row-major position."""
    index: list[Expr] = []
    for d in reversed(range(len(extents))):
        index.append(position % extents[d] if d > 0 else position)
        position = position // extents[d]
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
            self._schedule_on_device(s, result, output, machine)

        view = View(result, self.shape, Layout.row_major(len(self.shape)))
        return Computation((view,), for_machines(schedule, on_device))

    def _schedule_on_device(self, s: te.Schedule, result: te.Tensor, output: te.Tensor, machine: Machine) -> None:
        """A block per row, whose threads share its elements and combine their parts of each statistic.

        Rows across memory get a thread for each element and for each statistic, so that neighbours read neighbours.
        """
        gpu = machine.gpu
        assert gpu is not None
        if self.inner > 1:
            schedule_by_element(s, output, machine)
            return
        host = host_on_device(s, result, output)
        if host is not result:
            s[result].compute_inline()
        threads = 1 << (min(self.length, gpu.block_threads, ROW_THREADS).bit_length() - 1)
        stage = s[host]
        axes = list(stage.axes)
        row = stage.fuse(*axes[self.begin :])
        if self.begin:
            block = stage.fuse(*axes[: self.begin])
        else:
            block, row = stage.split(row, self.length)
        stage.bind(block, te.thread_axis("blockIdx.x"))
        stage.bind(stage.split(row, threads)[1], te.thread_axis("threadIdx.x"))
        for tensor in self.stages:
            part = s[tensor]
            if not part.op.reduce_axis:
                part.compute_inline()
                continue
            part.set_scope("shared")
            part.compute_at(stage, block)
            (terms,) = part.op.reduce_axis
            part.bind(part.split(terms, threads)[1], te.thread_axis("threadIdx.x"))

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
