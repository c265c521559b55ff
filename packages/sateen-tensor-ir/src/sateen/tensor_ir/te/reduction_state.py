"""Statements on the results of a stage, or the state of its reduction: elements of buffers, one for each output."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.span import Span
from sateen.tensor_ir.ir.stmt import Let, Stmt, Store, sequence
from sateen.tensor_ir.ir.tensor_expr import Combiner
from sateen.tensor_ir.te.reduction import combine

State = Sequence[tuple[Buffer, tuple[Expr, ...]]]
"""The elements that hold the state of a reduction, one per output."""


def update_state(combiner: Combiner, state: State, terms: Sequence[Expr], span: Span | None = None) -> Stmt:
    """Combine `terms` into the state; the new state of a tuple is complete before any of it is stored."""
    held = [Load(buffer, indices, buffer.dtype) for buffer, indices in state]
    if len(state) == 1:
        return store_state(state, combine(combiner, held, terms), span)
    old = [Var(f"old{i}", s.dtype) for i, s in enumerate(held)]
    new = [Var(f"term{i}", t.dtype) for i, t in enumerate(terms)]
    body = store_state(state, combine(combiner, old, new), span)
    for var, value in reversed([*zip(old, held, strict=True), *zip(new, terms, strict=True)]):
        body = Let(var, value, body, span)
    return body


def store_state(state: State, values: Sequence[Expr], span: Span | None = None) -> Stmt:
    """Store values as the state."""
    return sequence(*(Store(b, indices, v, span) for (b, indices), v in zip(state, values, strict=True)))


def store_at_once(state: State, values: Sequence[Expr], span: Span | None = None) -> Stmt:
    """Store values, all complete before the first is stored: outputs may be `aliased` to what the others read."""
    if len(values) == 1:
        return store_state(state, values, span)
    new = [Var(f"value{i}", value.dtype) for i, value in enumerate(values)]
    body = store_state(state, new, span)
    for var, value in reversed([*zip(new, values, strict=True)]):
        body = Let(var, value, body, span)
    return body
