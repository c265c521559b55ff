"""Kinds of reductions along axes: sums, norms, extrema and their positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
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
from sateen.topi.computations.reductions.steps import Index, Step, computation_by_steps, input_index, steps_of
from sateen.topi.schedules import (
    Computation,
    accumulator_type,
)
from sateen.topi.types import Layout, View, compute

FLOAT64 = DType.of("float64")


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
    steps = steps_of(x, axes, keepdims, lambda e, _: term(e), wanted.combine, kind, layout)
    return computation_by_steps(x, axes, keepdims, steps, None if plain else finish, kind, layout)


def reduce_log_sum_exp(x: View, axes: Sequence[int], keepdims: bool, layout: Layout | None = None) -> Computation:
    """log Σ e^x over `axes`, with the largest x taken out of the sum so that no exponential overflows."""
    require_views("reduce_log_sum_exp", x=x)
    require_numbers("reduce_log_sum_exp", x=x)
    require_axes("reduce_log_sum_exp", axes, x.ndim)
    state = x.dtype if x.dtype.is_int else accumulator_type(x.dtype)
    real = state if state.is_float else FLOAT64
    if not axes:
        return Computation((compute(x.shape, x, "log_sum_exp", layout or x.layout),))
    largest = steps_of(x, axes, True, lambda e, _: e.astype(state), te.max, "largest", None)
    peak = largest[-1].view

    def shift(index: Index) -> Expr:
        top = peak(*(te.const(0) if d in axes else i for d, i in enumerate(index))).astype(real)
        return te.select(te.abs(top) < float("inf"), top, 0.0)

    def term(e: Expr, index: Index) -> Expr:
        return te.exp(e.astype(real) - shift(index))

    def finish(total: Expr, index: Index) -> Expr:
        return (te.log(total) + shift(input_index(index, x.ndim, axes, keepdims))).astype(x.dtype)

    steps = steps_of(x, axes, keepdims, term, te.sum, "log_sum_exp", layout)
    return computation_by_steps(x, axes, keepdims, [*largest, *steps], finish, "log_sum_exp", layout)


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
    combine = extremum_reducer(largest, last)

    def term(e: Expr, index: Index) -> Any:
        return e.astype(state), index[axis].astype("int32")

    step = Step.of(x, (axis,), keepdims, term, combine, "extremum", layout, states=2)
    return computation_by_steps(x, (axis,), keepdims, [step], lambda place, _: place.astype("int64"), "place", layout)


def extremum_reducer(largest: bool, last: bool) -> Callable[..., Any]:
    """The reducer of pairs of a number and its place, an int32: the first pair of the extremum, or the last."""
    return te.comm_reducer(
        lambda a, b: _first_of(a, b, largest, last),
        lambda kind, _: (te.min_value(kind) if largest else te.max_value(kind), -1 if last else _FAR),
        "argmax" if largest else "argmin",
    )


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
