"""Commutative reductions: their combiner, identity, and the condition `where` without which a term is absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from sateen.runtime.display import counted
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import (
    TRUE,
    AxisKind,
    Const,
    Expr,
    IterVar,
    Var,
    add,
    as_condition,
    as_data,
    as_expr,
    const,
    maximum,
    minimum,
    multiply,
)
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.tensor_expr import Combiner, Reduce
from sateen.tensor_ir.ir.types import int_range
from sateen.tensor_ir.ir.visit import substitute, walk


def combine(combiner: Combiner, left: Sequence[Expr], right: Sequence[Expr]) -> tuple[Expr, ...]:
    """The combined state of two."""
    values = dict(zip((*combiner.left, *combiner.right), (*left, *right), strict=True))
    return tuple(substitute(result, values) for result in combiner.results)


def reduce_axis(domain: int | Expr | tuple[Any, Any], name: str = "r") -> IterVar:
    """An axis to reduce over: its extent, or (0, extent).

    Raises ExpressionError if the domain does not start at 0: shift the index in the body instead.
    """
    if isinstance(domain, tuple):
        if len(domain) != 2 or domain[0] != 0:
            found = ", ".join(map(str, domain))
            raise ExpressionError(f"reduce_axis {name!r} expects a domain (0, extent), found ({found})")
        domain = domain[1]
    extent = as_expr(domain)
    if not extent.dtype.is_int:
        raise ExpressionError(f"reduce_axis {name!r} expects an integer extent, found {extent.dtype}")
    if isinstance(extent, Const) and extent.value < 0:
        raise ExpressionError(f"reduce_axis {name!r} expects an extent of at least 0, found {extent}")
    return IterVar(name=name, extent=subscript(extent), kind=AxisKind.REDUCE, span=caller_span())


def min_value(dtype: DType | str) -> Expr:
    """The smallest value of a type: -inf for floating point."""
    kind = DType.of(dtype)
    return const(float("-inf"), kind) if kind.is_float else const(False if kind.is_bool else int_range(kind)[0], kind)


def max_value(dtype: DType | str) -> Expr:
    """The largest value of a type: +inf for floating point."""
    kind = DType.of(dtype)
    return const(float("inf"), kind) if kind.is_float else const(True if kind.is_bool else int_range(kind)[1], kind)


Reducer = Callable[..., Any]


def comm_reducer(combine: Callable[[Any, Any], Any], identity: Callable[..., Any], name: str = "reduce") -> Reducer:
    """A reducer from `combine(left, right)` and `identity(dtype…)`, both over tuples for a tuple reduction.

    The result is called as `reducer(source, axis=…, where=…)`; a tuple of sources gives a tuple of expressions, to be
    returned from the function of a compute. `reducer(x, y, …)` of expressions without axes combines these, from left
    to right. Raises ExpressionError if one of the two is no function.
    """
    for what, function in (("combine", combine), ("identity", identity)):
        if not callable(function):
            raise ExpressionError(f"comm_reducer expects a function as {what}, found {type(function).__name__}")

    def reducer(source: Any, *given: Any, axis: Any = None, where: Expr | None = None) -> Any:
        many = isinstance(source, tuple)
        if given and not isinstance(given[0], (IterVar, list, tuple)):
            if axis is not None or where is not None:
                raise ExpressionError(f"{name} expects axes made by te.reduce_axis, found {given[0]!r:.80} beside them")
            return as_expr(reduce(combine, (source, *given)))
        axis, where = _named(name, given, axis, where)
        sources = tuple(as_data(as_expr(s)) for s in (source if many else (source,)))
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
        if not axes:
            raise ExpressionError(f"{name} expects at least one reduce axis, found none")
        for a in axes:
            if not isinstance(a, IterVar) or a.kind is not AxisKind.REDUCE:
                raise ExpressionError(f"{name} expects axes made by te.reduce_axis, found {a!r:.80}")
        condition = TRUE if where is None else as_condition(where, f"where= of {name}")
        kinds = [s.dtype for s in sources]
        left = tuple(Var(f"left{i}", k) for i, k in enumerate(kinds))
        right = tuple(Var(f"right{i}", k) for i, k in enumerate(kinds))
        if many:
            count = len(kinds)
            state = _called(name, "combine", combine, (left, right), f"two tuples of {counted(count, 'value')}")
            first = _called(name, "identity", identity, kinds, counted(count, "type"))
        else:
            state = (_called(name, "combine", combine, (left[0], right[0]), "two values, as the source is no tuple"),)
            first = (_called(name, "identity", identity, kinds, "a type, as the source is no tuple"),)
        results, start = _state(name, "combine", state, kinds), _state(name, "identity", first, kinds)
        combiner = Combiner(name, left, right, results, start)
        outputs = tuple(Reduce(combiner, sources, axes, condition, i, k) for i, k in enumerate(kinds))
        return outputs if many else outputs[0]

    return reducer


def _named(name: str, given: Sequence[Any], axis: Any, where: Any) -> tuple[Any, Any]:
    """The axes and the condition of a reduction, each given by place or by name."""
    if len(given) > 2 or (given and axis is not None) or (len(given) == 2 and where is not None):
        raise ExpressionError(f"{name} expects a source, its axes and a condition, found {len(given) + 1} by place")
    found = (*given, *(axis, where)[len(given) :])
    if found[0] is None:
        raise ExpressionError(f"{name} expects axes made by te.reduce_axis, found none")
    return found[0], found[1]


def _called(name: str, what: str, function: Callable[..., Any], arguments: Sequence[Any], given: str) -> Any:
    """What a function of the reducer gives. Raises ExpressionError if it can't be called with these arguments."""
    try:
        return function(*arguments)
    except TypeError as error:
        raise ExpressionError(f"{name} calls {what} with {given}, which fails: {error}") from error


def _state(name: str, what: str, values: Any, kinds: Sequence[DType]) -> tuple[Expr, ...]:
    """The result of a function of the reducer, as a value of each element type of the state."""
    if not isinstance(values, tuple) or len(values) != len(kinds):
        found = f"{len(values)}" if isinstance(values, tuple) else type(values).__name__
        raise ExpressionError(f"{name} expects a tuple of {len(kinds)} values from {what}, found {found}")
    state = tuple(as_data(as_expr(value, kind)) for value, kind in zip(values, kinds, strict=True))
    if (found_kinds := [value.dtype for value in state]) != list(kinds):
        expected, found = (", ".join(map(str, types)) for types in (kinds, found_kinds))
        raise ExpressionError(f"{name} expects values of {expected} from {what}, found {found}")
    return state


_sum = comm_reducer(add, lambda dtype: const(0, dtype), "sum")
_prod = comm_reducer(multiply, lambda dtype: const(1, dtype), "prod")
_max = comm_reducer(maximum, min_value, "max")
_min = comm_reducer(minimum, max_value, "min")


def sum(source: Expr, axis: IterVar | Sequence[IterVar] | None = None, where: Expr | None = None) -> Expr:  # noqa: A001 - te's word
    """Σ source over `axis`, which must be given; terms where `where` is false are absent."""
    return _sum(source, axis=axis, where=where)  # type: ignore[no-any-return]


def prod(source: Expr, axis: IterVar | Sequence[IterVar] | None = None, where: Expr | None = None) -> Expr:
    """Product of source over `axis`, which must be given; terms where `where` is false are absent."""
    return _prod(source, axis=axis, where=where)  # type: ignore[no-any-return]


def max(source: Any, *given: Any, axis: Any = None, where: Expr | None = None) -> Expr:  # noqa: A001 - te's word
    """Maximum of source over `axis`, NaN if any term is NaN; -inf or the smallest integer over nothing. `max(x, y, …)`
    of expressions and numbers is their maximum."""
    return _max(source, *given, axis=axis, where=where)  # type: ignore[no-any-return]


def min(source: Any, *given: Any, axis: Any = None, where: Expr | None = None) -> Expr:  # noqa: A001 - te's word
    """Minimum of source over `axis`, NaN if any term is NaN; +inf or the largest integer over nothing. `min(x, y, …)`
    of expressions and numbers is their minimum."""
    return _min(source, *given, axis=axis, where=where)  # type: ignore[no-any-return]


def check_body(name: str, bodies: tuple[Expr, ...]) -> None:
    """Raise ExpressionError for a reduction that does not stand alone at the top, and an axis that none declares."""
    first = bodies[0]
    reductions = [isinstance(b, Reduce) for b in bodies]
    if any(reductions) and not (
        all(reductions)
        and all(b.combiner is first.combiner and b.output == i for i, b in enumerate(bodies))  # type: ignore[attr-defined]
        and len(bodies) == len(first.sources)  # type: ignore[attr-defined]
    ):
        raise ExpressionError(f"compute {name!r}: a tuple reduction gives all its outputs, in order, from one reducer")
    declared = set(first.axes) if isinstance(first, Reduce) else set()
    for body in bodies:
        for node in walk(body):
            if isinstance(node, Reduce) and node is not body:
                raise ExpressionError(
                    f"compute {name!r}: a reduction must stand alone at the top; compute it as a tensor of its own"
                )
            if isinstance(node, IterVar) and node.kind is AxisKind.REDUCE and node not in declared:
                raise ExpressionError(
                    f"compute {name!r}: axis {node.name!r} is used, but no reduction over it declares it"
                )
