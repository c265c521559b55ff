"""A reduction as steps, in vectors: along memory if the innermost axis is reduced, otherwise across it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.te import Expr
from sateen.topi.schedules import (
    Computation,
    balanced,
    elements,
    extent_of,
    for_machines,
    host_of,
    host_on_device,
    in_registers,
    reduce_by_threads,
    reduce_in_vectors,
    register_tile,
    schedule_by_element,
    share_among_threads,
)
from sateen.topi.types import Block, Layout, View, compute

Index = Sequence[Expr]


def reduced_shape(shape: Sequence[Any], axes: Sequence[int], keepdims: bool) -> tuple[Any, ...]:
    """The shape after reducing over `axes`: 1 in their place, or without them."""
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)


def input_index(index: Index, rank: int, axes: Sequence[int], keepdims: bool, at: Index = ()) -> list[Expr]:
    """The index into the input of an index of the output: `at`, or 0, along the reduced axes."""
    own = iter(index)
    places = iter(at)
    result: list[Expr] = []
    for d in range(rank):
        if d in axes:
            result.append(next(places, te.const(0)))
            if keepdims:
                next(own)
        else:
            result.append(next(own))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One reduction: its result (the last of its outputs), and how many results have terms that are neighbours in
    memory: 1 if it runs along memory."""

    view: View
    neighbours: int
    terms: int

    @staticmethod
    def of(
        x: View,
        axes: Sequence[int],
        keepdims: bool,
        term: Callable[[Expr, Index], Any],
        combine: Callable[..., Any],
        name: str,
        layout: Layout | None,
        states: int = 1,
    ) -> Step:
        """term(x, index), of `states` values, combined over `axes`. A result without axes gets one of extent 1."""
        shape = reduced_shape(x.shape, axes, keepdims) or (1,)
        layout = layout if layout is not None and layout.rank == len(shape) else Layout.row_major(len(shape))
        reduced = [te.reduce_axis(x.shape[axis], f"r{axis}") for axis in sorted(axes)]

        def element(*index: Expr) -> Any:
            source = input_index(index, x.ndim, axes, keepdims, reduced)
            return combine(term(x(*source), source), axis=reduced)

        terms = prod(x.shape[axis] for axis in axes)
        if states == 1:
            view = compute(shape, element, name, layout)
        else:
            several = te.compute(layout.physical_shape(shape), lambda *i: element(*layout.logical_index(i)), name)
            view = View(several[-1], shape, layout)
        return Step(view, neighbours_along(x, axes), terms)

    @property
    def work(self) -> int:
        return self.terms * elements(self.view.tensor)

    def _is_long(self, machine: Machine) -> bool:
        """Whether there is work for several threads, but too few results to divide it among them."""
        few = elements(self.view.tensor) < machine.even_iterations and len(self.view.tensor.op.outputs) == 1
        return few and self.work >= machine.even_iterations * machine.rates.serial_elements

    def schedule(self, s: te.Schedule, host: te.Tensor, machine: Machine) -> None:
        """Schedule the reduction in registers at the loops of the host, which is the result or reads it element by
        element."""
        tensor = self.view.tensor
        if self.work == 0:
            return
        if self._is_long(machine):
            tensor = host = self._cut(s, machine)
        if self.neighbours == 1:
            self._along(s, tensor, host, machine)
        else:
            self._across(s, tensor, host, machine)

    def _cut(self, s: te.Schedule, machine: Machine) -> te.Tensor:
        """Partial results of enough parts of the reduction to keep any number of threads busy."""
        tensor = self.view.tensor
        stage = s[tensor]
        whole = stage.fuse(*stage.op.reduce_axis)
        step = machine.lanes(tensor.dtype) * machine.accumulators
        size = -(-self.terms // (machine.even_iterations * step)) * step
        part, _ = stage.split(whole, size)
        partial: te.Tensor = s.rfactor(tensor, part)
        return partial

    def _along(self, s: te.Schedule, tensor: te.Tensor, host: te.Tensor, machine: Machine) -> None:
        tile = in_registers(s, tensor, host)
        stage = s[host]
        place = share_among_threads(stage, stage.axes, self.work, machine)
        reduce_in_vectors(s, tile, machine.lanes(tensor.dtype), stage, place, machine.accumulators)

    def _across(self, s: te.Schedule, tensor: te.Tensor, host: te.Tensor, machine: Machine) -> None:
        tile = in_registers(s, tensor, host)
        stage, registers = s[host], s[tile]
        extents = [extent_of(axis.extent) for axis in stage.axes]
        wide = [d for d, extent in enumerate(extents) if extent > 1] or [0]
        column = wide[-1]
        lanes = min(machine.lanes(tensor.dtype), extents[column])
        vectors = min(machine.accumulators, -(-extents[column] // lanes))
        whole = extents[column] % (vectors * lanes) == 0 or extents[column] < vectors * lanes
        loops = list(stage.axes)
        inner: list[te.IterVar] = []
        loops[column], columns = stage.split(loops[column], vectors * lanes, tail="guard" if whole else "partition")
        if len(wide) > 1 and vectors < machine.accumulators:
            row = wide[-2]
            loops[row], rows = stage.split(loops[row], balanced(extents[row], machine.accumulators // vectors))
            inner.append(rows)
        inner += stage.split(columns, lanes)
        stage.reorder(*loops, *inner)
        register_tile(stage, *inner)
        registers.compute_at(stage, share_among_threads(stage, loops, self.work, machine))
        data = list(registers.axes)
        data[column : column + 1] = registers.split(data[column], lanes)
        data.append(data.pop(column + 1))
        registers.reorder(*registers.op.reduce_axis, *data)
        register_tile(registers, *data)


def neighbours_along(x: View, axes: Sequence[int]) -> int:
    """The elements of x that lie between two that follow each other along the innermost of `axes`, or one."""
    count = 1
    for part, extent in zip(reversed(x.layout.order), reversed(x.layout.physical_shape(x.shape)), strict=True):
        if extent > 1 and (part.axis if isinstance(part, Block) else part) in axes:
            return count
        count *= extent
    return count


def steps_of(
    x: View,
    axes: Sequence[int],
    keepdims: bool,
    term: Callable[[Expr, Index], Expr],
    combine: Callable[..., Any],
    name: str,
    layout: Layout | None,
) -> list[Step]:
    """A reduction in one step, or in two if it goes both along memory and across it: along memory first."""
    along: list[int] = []
    for d in reversed(range(x.ndim)):
        if d not in axes and x.shape[d] > 1:
            break
        along += [d] if d in axes else []
    across = [d for d in axes if d not in along]
    wide = any(x.shape[d] > 1 for d in across) and any(x.shape[d] > 1 for d in along)
    kept_between = any(x.shape[d] > 1 for d in range(min(across, default=0), x.ndim) if d not in axes)
    if not (wide and kept_between and x.layout.is_row_major):
        return [Step.of(x, axes, keepdims, term, combine, name, layout)]
    first = Step.of(x, along, True, term, combine, f"{name}_along", None)
    rest = Step.of(first.view, axes, keepdims, lambda e, _: e, combine, name, layout)
    return [first, rest]


def computation_by_steps(
    x: View,
    axes: Sequence[int],
    keepdims: bool,
    steps: Sequence[Step],
    finish: Callable[[Expr, Index], Expr] | None,
    name: str,
    layout: Layout | None,
) -> Computation:
    """The steps of a reduction, then finish(value, index) of the last one element by element."""
    *before, last = steps
    has_axes = bool(reduced_shape(x.shape, axes, keepdims))
    result = last.view
    if finish is not None:

        def element(*index: Expr) -> Expr:
            return finish(last.view(*index), index if has_axes else ())

        result = compute(result.shape, element, f"{name}_result", result.layout)
    output = result if has_axes else compute((), lambda: result(0), f"{name}_scalar", layout)

    def schedule(s: te.Schedule, tensor: te.Tensor, machine: Machine) -> None:
        for step in before:
            step.schedule(s, step.view.tensor, machine)
        last.schedule(s, host_of(s, result.tensor, tensor, machine) if has_axes else result.tensor, machine)

    def on_device(s: te.Schedule, tensor: te.Tensor, machine: Machine) -> None:
        assert machine.gpu is not None
        if any(step.work == 0 for step in steps):
            schedule_by_element(s, tensor, machine)
            return
        for step in before:
            reduce_by_threads(s, step.view.tensor, step.view.tensor, step.neighbours, machine.gpu)
        host = host_on_device(s, result.tensor, tensor)
        reduce_by_threads(s, last.view.tensor, host, last.neighbours, machine.gpu)

    return Computation((output,), for_machines(schedule, on_device))
