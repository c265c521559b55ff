"""Choices by conditions and indices: conjunctions, selections, a branch by its number, an element by its subscript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.expr import (
    TRUE,
    Add,
    And,
    Cast,
    Const,
    Expr,
    Operand,
    Piecewise,
    Select,
    Sub,
    add,
    as_condition,
    as_data,
    as_expr,
    cast,
    const,
    is_const,
    logical_and,
    of_one_type,
    subtract,
)
from sateen.tensor_ir.ir.types import INDEX, INT64


def all_of(conditions: Sequence[Expr]) -> Expr:
    """Their conjunction; true for none."""
    result: Expr = TRUE
    for condition in conditions:
        result = logical_and(result, condition)
    return result


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The terms of a conjunction, left to right; none for the literal true."""
    pending = [condition]
    while pending:
        term = pending.pop()
        if isinstance(term, And):
            pending += (term.b, term.a)
        elif not is_const(term, True):
            yield term


def select(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    """`then` if `condition` holds, otherwise `otherwise`, both of one type; only the chosen one's loads are performed.

    Raises ExpressionError for different types, and for a value that is no condition or that Python has decided.
    """
    condition = as_condition(condition, "select")
    then, otherwise = of_one_type(then, otherwise, "select")
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    return Select(condition, then, otherwise)


def piecewise(branches: Sequence[Any], index: Operand) -> Expr:
    """`branches[index]`. Raises ExpressionError if there is no branch, for different types, and for an index that is no
    integer or out of range."""
    if not branches:
        raise ExpressionError("piecewise expects at least one branch, found none")
    bodies = [as_expr(b) for b in branches]
    if INT64 in (body.dtype for body in bodies):
        bodies = [as_data(body) for body in bodies]
    index = as_expr(index)
    if not index.dtype.is_int:
        raise ExpressionError(f"piecewise expects an integer as index, found {index.dtype}")
    index = subscript(index)
    for body in bodies:
        if body.dtype != bodies[0].dtype:
            raise ExpressionError(f"branches of piecewise have types {bodies[0].dtype} and {body.dtype}")
    if isinstance(index, Const):
        if not 0 <= index.value < len(bodies):
            raise ExpressionError(f"piecewise expects an index in [0, {len(bodies)}), found {index.value}")
        return bodies[int(index.value)]
    return Piecewise(tuple(bodies), index, bodies[0].dtype)


def subscript(e: Expr) -> Expr:
    """An integer as the index of an element: data is converted.

    In a sum of data and an index only the data is converted, so that lanes and loops still step through the elements.
    The two ways differ only if the sum exceeds int64, and then neither is within an extent.
    """
    index: Expr = const(0)
    is_negated = False
    while e.dtype == INT64 and isinstance(e, (Add, Sub)) and (_was_index(e.a) or _was_index(e.b)):
        is_first = _was_index(e.a)
        known, rest = (e.a, e.b) if is_first else (e.b, e.a)
        is_difference = isinstance(e, Sub)
        operation = subtract if is_negated != (is_difference and not is_first) else add
        index = operation(index, cast(INDEX, known))
        is_negated = is_negated != (is_difference and is_first)
        e = rest
    data = cast(INDEX, e)
    return subtract(index, data) if is_negated else add(data, index)


def _was_index(e: Expr) -> bool:
    return isinstance(e, Const) or (isinstance(e, Cast) and e.value.dtype == INDEX)
