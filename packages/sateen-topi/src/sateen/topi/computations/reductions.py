"""Reductions along axes: sums, norms, extrema and their positions.

A reduction runs in vectors: along memory if the innermost axis is reduced, otherwise across it. If both kinds of axes
are reduced, the innermost ones go first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.arguments import (
    require_axes,
    require_axis,
    require_count,
    require_numbers,
    require_one_of,
    require_views,
)
from sateen.topi.computations.broadcast import divide
from sateen.topi.computations.element_wise import absolute, is_unsigned
from sateen.topi.schedules import (
    Computation,
    accumulator_type,
    balanced,
    elements,
    extent_of,
    host_of,
    in_registers,
    on_cpu,
    reduce_in_vectors,
    register_tile,
    share_among_threads,
)
from sateen.topi.types import Block, Layout, View, compute

FLOAT64 = DType.of("float64")
Index = Sequence[Expr]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction: result(combination of term(x) over all x, their number).

    With `is_wide` integers are combined in 64 bits: the result fits their type even if the combination does not.
    """

    combine: Callable[..., Any]
    term: Callable[[Expr], Expr] | None = None
    result: Callable[[Expr, int], Expr] | None = None
    is_wide: bool = False


def _square(x: Expr) -> Expr:
    return x * x


def _real(function: Callable[[Expr], Expr], x: Expr) -> Expr:
    """function(x), of an integer in float64."""
    return function(x if x.dtype.is_float else x.astype(FLOAT64)).astype(x.dtype)


REDUCTIONS: Mapping[str, Reduction] = {
    "sum": Reduction(te.sum),
    "mean": Reduction(te.sum, result=lambda total, n: divide(total, te.const(n, total.dtype)), is_wide=True),
    "max": Reduction(te.max),
    "min": Reduction(te.min),
    "prod": Reduction(te.prod),
    "sum_square": Reduction(te.sum, _square),
    "l1": Reduction(te.sum, absolute),
    "l2": Reduction(te.sum, _square, lambda total, n: _real(te.sqrt, total)),
    "log_sum": Reduction(te.sum, result=lambda total, n: _real(te.log, total)),
}
"""Reductions by name; the sum of exponentials needs two passes and is `reduce_log_sum_exp`."""


def reduced_shape(shape: Sequence[Any], axes: Sequence[int], keepdims: bool) -> tuple[Any, ...]:
    """The shape after reducing over `axes`: 1 in their place, or without them."""
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)


def reduce(x: View, axes: Sequence[int], keepdims: bool, kind: str, layout: Layout | None = None) -> Computation:
    """The reduction `kind` (a name of REDUCTIONS) of x over `axes`; over none, of each element alone.

    16-bit floating point is reduced in float32, bool as an integer (`max` is any, `min` all).
    """
    require_one_of("reduce", "kind", kind, REDUCTIONS)
    require_views("reduce", x=x)
    require_axes("reduce", axes, x.ndim)
    wanted = REDUCTIONS[kind]
    state = _widest(x.dtype) if wanted.is_wide and x.dtype.is_int else _state_type(x.dtype)
    count = prod(x.shape[axis] for axis in axes)

    def term(e: Expr) -> Expr:
        e = e.astype(state)
        return e if wanted.term is None else wanted.term(e)

    def finish(total: Expr, _: Index) -> Expr:
        return (total if wanted.result is None else wanted.result(total, count)).astype(x.dtype)

    if not axes:
        return Computation((compute(x.shape, lambda *i: finish(term(x(*i)), i), kind, layout or x.layout),))
    plain = wanted.result is None and state == x.dtype
    steps = _steps(x, axes, keepdims, lambda e, _: term(e), wanted.combine, kind, layout)
    return _computation(x, axes, keepdims, steps, None if plain else finish, kind, layout)


def reduce_log_sum_exp(x: View, axes: Sequence[int], keepdims: bool, layout: Layout | None = None) -> Computation:
    """log Σ e^x over `axes`, with the largest x taken out of the sum so that no exponential overflows."""
    require_views("reduce_log_sum_exp", x=x)
    require_numbers("reduce_log_sum_exp", x=x)
    require_axes("reduce_log_sum_exp", axes, x.ndim)
    state = x.dtype if x.dtype.is_int else accumulator_type(x.dtype)
    real = state if state.is_float else FLOAT64
    if not axes:
        return Computation((compute(x.shape, x, "log_sum_exp", layout or x.layout),))
    largest = _steps(x, axes, True, lambda e, _: e.astype(state), te.max, "largest", None)
    peak = largest[-1].view

    def shift(index: Index) -> Expr:
        top = peak(*(te.const(0) if d in axes else i for d, i in enumerate(index))).astype(real)
        return te.select(te.abs(top) < float("inf"), top, 0.0)

    def term(e: Expr, index: Index) -> Expr:
        return te.exp(e.astype(real) - shift(index))

    def finish(total: Expr, index: Index) -> Expr:
        return (te.log(total) + shift(_input_index(index, x.ndim, axes, keepdims))).astype(x.dtype)

    steps = _steps(x, axes, keepdims, term, te.sum, "log_sum_exp", layout)
    return _computation(x, axes, keepdims, [*largest, *steps], finish, "log_sum_exp", layout)


def arg_extremum(
    x: View, axis: int, keepdims: bool, largest: bool, last: bool = False, layout: Layout | None = None
) -> Computation:
    """The position of the largest or smallest element along an axis, as int64: the first of equal ones, or the last.

    NaN counts as the extremum.
    """
    require_views("arg_extremum", x=x)
    require_axis("arg_extremum", axis, x.ndim)
    require_count("arg_extremum", f"extent of axis {axis}", x.shape[axis], 1)
    state = _state_type(x.dtype)
    combine = te.comm_reducer(
        lambda a, b: _first_of(a, b, largest, last),
        lambda kind, _: (te.min_value(kind) if largest else te.max_value(kind), -1 if last else _FAR),
        "argmax" if largest else "argmin",
    )

    def term(e: Expr, index: Index) -> Any:
        return e.astype(state), index[axis].astype("int32")

    step = _Step.of(x, (axis,), keepdims, term, combine, "extremum", layout, states=2)
    return _computation(x, (axis,), keepdims, [step], lambda place, _: place.astype("int64"), "place", layout)


_FAR = (1 << 31) - 1
"""The index that stands for no element; any other precedes it."""


def _first_of(a: Sequence[Expr], b: Sequence[Expr], largest: bool, last: bool) -> tuple[Expr, Expr]:
    (x, i), (y, j) = a, b
    better = x > y if largest else x < y
    same = x.equal(y)
    if x.dtype.is_float:
        x_nan, y_nan = te.isnan(x), te.isnan(y)
        better, same = te.any(better, te.all(x_nan, ~y_nan)), te.any(same, te.all(x_nan, y_nan))
    chosen = te.any(better, te.all(same, i > j if last else i < j))
    return te.select(chosen, x, y), te.select(chosen, i, j)


def _state_type(dtype: DType) -> DType:
    return DType.of("uint8") if dtype.is_bool else accumulator_type(dtype)


def _widest(dtype: DType) -> DType:
    """The integers of 64 bits of the same kind."""
    return DType.of("uint64" if is_unsigned(te.const(0, dtype)) else "int64")


def _input_index(index: Index, rank: int, axes: Sequence[int], keepdims: bool, at: Index = ()) -> list[Expr]:
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
class _Step:
    """One reduction: its result (the last of its outputs) and whether it runs along memory."""

    view: View
    along_memory: bool
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
    ) -> _Step:
        """term(x, index), of `states` values, combined over `axes`. A result without axes gets one of extent 1."""
        shape = reduced_shape(x.shape, axes, keepdims) or (1,)
        layout = layout if layout is not None and layout.rank == len(shape) else Layout.row_major(len(shape))
        reduced = [te.reduce_axis(x.shape[axis], f"r{axis}") for axis in sorted(axes)]

        def element(*index: Expr) -> Any:
            source = _input_index(index, x.ndim, axes, keepdims, reduced)
            return combine(term(x(*source), source), axis=reduced)

        terms = prod(x.shape[axis] for axis in axes)
        if states == 1:
            view = compute(shape, element, name, layout)
        else:
            several = te.compute(layout.physical_shape(shape), lambda *i: element(*layout.logical_index(i)), name)
            view = View(several[-1], shape, layout)
        return _Step(view, _innermost(x) in axes, terms)

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
        if self.along_memory:
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


def _innermost(x: View) -> int:
    """The axis whose elements are neighbours in memory; -1 if x has one element."""
    for part, extent in zip(reversed(x.layout.order), reversed(x.layout.physical_shape(x.shape)), strict=True):
        if extent > 1:
            return part.axis if isinstance(part, Block) else part
    return -1


def _steps(
    x: View,
    axes: Sequence[int],
    keepdims: bool,
    term: Callable[[Expr, Index], Expr],
    combine: Callable[..., Any],
    name: str,
    layout: Layout | None,
) -> list[_Step]:
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
        return [_Step.of(x, axes, keepdims, term, combine, name, layout)]
    first = _Step.of(x, along, True, term, combine, f"{name}_along", None)
    rest = _Step.of(first.view, axes, keepdims, lambda e, _: e, combine, name, layout)
    return [first, rest]


def _computation(
    x: View,
    axes: Sequence[int],
    keepdims: bool,
    steps: Sequence[_Step],
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

    return Computation((output,), on_cpu(schedule))
