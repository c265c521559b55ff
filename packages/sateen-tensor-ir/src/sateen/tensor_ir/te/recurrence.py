"""Scans: states that develop over time, each step computed from those before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.te.operations import PlaceholderOp
from sateen.tensor_ir.te.tensor import Array, NestBuilder, Operation, Oracle, Recurrence, Tensor


class ScanOp(Operation):
    """States over time. `scan_axis` is the loop over the steps that the initial rows leave; `inner` are the operations
    that each step computes, producers first."""

    __slots__ = ("_accesses", "_needed", "inner", "recurrences", "start")

    def __init__(self, name: str, recurrences: tuple[Recurrence, ...], inner: tuple[Operation, ...]) -> None:
        super().__init__(name, [r.state.shape for r in recurrences], [r.state.dtype for r in recurrences])
        self.recurrences = recurrences
        self.inner = inner
        first = recurrences[0]
        self.start = first.initial.shape[0]
        steps = Analyzer().simplify(first.state.shape[0] - self.start)
        self.axis = (IterVar("t", extent=steps, kind=AxisKind.TIME, span=self.span),)
        self._accesses = tuple(self._row(r.update) for r in recurrences)
        computed = {t for op in inner for t in op.outputs} | {r.state for r in recurrences}
        read = (t for op in inner for t in op.inputs if t not in computed)
        self._needed = tuple(dict.fromkeys([*(r.initial for r in recurrences), *read]))

    @property
    def scan_axis(self) -> IterVar:
        """The loop over time, at which stages can be computed."""
        return self.axis[0]

    def _row(self, update: Tensor) -> Expr:
        """The read of a row that one step stores."""
        return update(self.start + self.scan_axis, *(IterVar("row", extent=e) for e in update.shape[1:]))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(t for r in self.recurrences for t in (r.initial, r.update)))

    @property
    def needed(self) -> tuple[Tensor, ...]:
        return self._needed

    @property
    def accesses(self) -> tuple[Expr, ...]:
        return self._accesses

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(r.initial for r in self.recurrences))

    def nest(self, builder: NestBuilder) -> Stmt:
        return builder.steps(self.recurrences)

    def evaluate(self, oracle: Oracle) -> list[Array]:
        return oracle.steps(self.name, self.recurrences, self.inner)


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, str | int | float] | None = None,
) -> Any:
    """One or several states over time, which is their first dimension.

    `init` has the first rows, `update` is a compute of all rows, and `state_placeholder`, a placeholder, stands for the
    state in the definition of `update`, which may read the rows before its own:

        state[t] = init[t] where t < rows of init, otherwise update[t], from state[t - 1], state[t - 2], …

    Other computes may lie between the placeholder and the update. Several states are given as lists and returned as
    a tuple; all have the same times, and their updates may read each other's states, and each other. `inputs` may
    list what the updates read, as TVM's scan does; it says nothing new. `tag` and `attrs` are those of
    `te.compute`. Raises ExpressionError for shapes or types that disagree, for a state that is no placeholder, for
    an update that is no compute, and for anything but computes between a state and an update. A read of a row that
    is not known yet is refused when the scan is lowered.
    """
    groups = [_listed(name, what, t) for what, t in (("init", init), ("update", update), ("state", state_placeholder))]
    initial, updates, states = groups
    if inputs is not None:
        _listed(name, "inputs", inputs)
    if not initial or not len(initial) == len(updates) == len(states):
        found = f"{len(initial)}, {len(updates)} and {len(states)}"
        raise ExpressionError(f"scan {name!r} expects as many tensors as init, update and state, found {found}")
    recurrences = tuple(Recurrence(*group) for group in zip(initial, updates, states, strict=True))
    for recurrence in recurrences:
        _check_recurrence(name, recurrence, recurrences[0])
    if len(set(states)) < len(states) or len(set(updates)) < len(updates):
        raise ExpressionError(f"scan {name!r} expects a placeholder and an update of its own for each state")
    inner = _inner(name, states, updates)
    for tensor in initial:
        if any(t.op in _ancestors(tensor.op) for t in states):
            raise ExpressionError(f"scan {name!r}: the initial rows {tensor.name!r} depend on the state")
    op = ScanOp(name, recurrences, inner)
    op.describe(tag, attrs)
    return op.outputs if isinstance(update, (list, tuple)) else op.outputs[0]


def _listed(name: str, what: str, given: Any) -> list[Tensor]:
    tensors = list(given) if isinstance(given, (list, tuple)) else [given]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise ExpressionError(f"scan {name!r} expects tensors as {what}, found {type(tensor).__name__}")
    return tensors


def _check_recurrence(name: str, recurrence: Recurrence, first: Recurrence) -> None:
    initial, update, state = recurrence.initial, recurrence.update, recurrence.state
    if not isinstance(state.op, PlaceholderOp) or not state.ndim:
        found = f"{state.type} {state.name!r}" if isinstance(state.op, PlaceholderOp) else f"{state.name!r}, computed"
        raise ExpressionError(f"scan {name!r} expects a placeholder with time as first dimension, found {found}")
    if not update.op.body:
        raise ExpressionError(f"scan {name!r} expects updates made by te.compute, found {update.name!r}")
    if len({initial.dtype, update.dtype, state.dtype}) > 1 or not initial.ndim == update.ndim == state.ndim:
        raise ExpressionError(
            f"scan {name!r} expects init, update and state of one type and rank, found {initial.type}, {update.type} "
            f"and {state.type}"
        )
    if not _same(update.shape, state.shape):
        raise ExpressionError(
            f"scan {name!r}: update {update.name!r} expects the shape of state {state.type}, found {update.type}"
        )
    if not _same(initial.shape[1:], state.shape[1:]):
        raise ExpressionError(
            f"scan {name!r}: init {initial.name!r} expects rows like those of state {state.type}, found {initial.type}"
        )
    others = (first.initial.shape[0], first.state.shape[0])
    if not _same((initial.shape[0], state.shape[0]), others):
        raise ExpressionError(
            f"scan {name!r} expects all states to have {others[0]} initial rows of {others[1]}, found "
            f"{initial.shape[0]} of {state.shape[0]} for {state.name!r}"
        )
    if Analyzer().prove(initial.shape[0] > state.shape[0]):
        raise ExpressionError(
            f"scan {name!r}: init {initial.name!r} has {initial.shape[0]} rows, more than the {state.shape[0]} of "
            f"state {state.name!r}"
        )


def _same(found: Iterable[Expr], expected: Iterable[Expr]) -> bool:
    analyzer = Analyzer()
    return all(analyzer.form(a).same(analyzer.form(b)) for a, b in zip(found, expected, strict=True))


def _ancestors(op: Operation) -> set[Operation]:
    """An operation and all that it depends on."""
    found: set[Operation] = set()
    stack = [op]
    while stack:
        if (last := stack.pop()) not in found:
            found.add(last)
            stack += [t.op for t in last.inputs]
    return found


def _inner(name: str, states: Sequence[Tensor], updates: Sequence[Tensor]) -> tuple[Operation, ...]:
    """The operations of updates, and those that depend on a state between it and an update; producers first."""
    order: dict[Operation, bool] = {t.op: True for t in states}
    stack = [t.op for t in updates]
    while stack:
        op = stack[-1]
        if waiting := [t.op for t in op.inputs if t.op not in order]:
            stack += waiting
        elif stack.pop() not in order:
            order[op] = any(order[t.op] for t in op.inputs) or any(t in updates for t in op.outputs)
    inner = tuple(op for op, depends in order.items() if depends and not op.is_given)
    for op in inner:
        if not op.body:
            raise ExpressionError(
                f"scan {name!r}: {op.name!r} depends on the state, and is no compute; a step consists of computes"
            )
        if extra := [t.name for t in op.outputs if any(u.op is op for u in updates) and t not in updates]:
            raise ExpressionError(f"scan {name!r} updates one output of {op.name!r}, but not {', '.join(extra)}")
    return inner
