"""Values of tensors that te defines element by element.

Real numbers are always float64; integers are exact in their type and wrap, or are unknown numbers (`unknown`). Each
expression is evaluated for many points at once, and an operand only for the points that take it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.calls import Meanings
from sateen.tensor_ir.interpret.point_evaluator import Array, PointEvaluator, Points, widened
from sateen.tensor_ir.interpret.symbols import evaluate_shape
from sateen.tensor_ir.interpret.unknown import is_unknown
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tensor_expr import Combiner, Reduce
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.te.tensor import Operation, Recurrence, Tensor

MAX_POINTS = 1 << 18
"""The most points that are evaluated at once, to bound memory."""


class ElementOracle:
    """Evaluates operations that have a body, from arrays of inputs: a `te.tensor.Oracle`."""

    def __init__(self, inputs: Mapping[Tensor, Array], symbols: Mapping[Var, float], functions: Meanings) -> None:
        self.known = {t: widened(a, t.dtype) for t, a in inputs.items()}
        self.symbols = symbols
        self.functions = functions

    def values(self, tensors: Sequence[Tensor]) -> list[Array]:
        """The values of tensors, floating point as float64."""
        with np.errstate(all="ignore"):
            for op in _missing(tensors, self.known):
                for tensor, result in zip(op.outputs, op.evaluate(self), strict=True):
                    self.known.setdefault(tensor, widened(result, tensor.dtype))
        return [self.known[t] for t in tensors]

    def elements(self, op: Operation) -> list[Array]:
        return _Definition(op, self).evaluate()

    def require(self, tensor: Tensor, rows: Array) -> None:
        """Compute these rows of an input, if not all of it is known beforehand."""

    def steps(self, name: str, recurrences: Sequence[Recurrence], inner: Sequence[Operation]) -> list[Array]:
        return _Steps(self, name, recurrences, inner).states()

    def program(
        self, name: str, statement: Stmt, inputs: Sequence[tuple[Buffer, Tensor]], outputs: Sequence[Buffer]
    ) -> list[Array]:
        takes = ", ".join(tensor.name for _, tensor in inputs)
        raise ExecutionError(
            f"expected {name!r} to be defined element by element, found a statement of {takes} for "
            f"{', '.join(b.name for b in outputs)}:\n{statement}"
        )


def _missing(tensors: Sequence[Tensor], known: Mapping[Tensor, Array]) -> list[Operation]:
    """The operations to compute for `tensors`, each after its inputs."""
    done: dict[Operation, None] = {}
    stack = [t.op for t in reversed(tensors) if t not in known]
    while stack:
        waiting = [t.op for t in stack[-1].needed if t not in known and t.op not in done]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            done[stack.pop()] = None
    return list(done)


class _Definition:
    """The elements of the outputs of one computation."""

    def __init__(self, op: Operation, oracle: ElementOracle) -> None:
        self.op = op
        self.known = oracle.known
        self.require = oracle.require
        self.symbols = oracle.symbols
        self.functions = oracle.functions
        self.has_unknown = is_unknown(*(oracle.known[t] for t in op.inputs))
        self.symbol_points: dict[Var, Array] = {v: _number(v, size) for v, size in oracle.symbols.items()}

    def evaluate(self, row: int | None = None) -> list[Array]:
        """The outputs; only one row of the first dimension if it is given."""
        shape = evaluate_shape([a.extent for a in self.op.axis], self.symbols)
        count = prod(shape) if row is None else prod(shape[1:])
        integers = [np.dtype(object) if self.has_unknown else t.dtype.numpy for t in self.op.outputs]
        kinds = [np.float64 if t.dtype.is_float else kind for t, kind in zip(self.op.outputs, integers, strict=True)]
        outputs = [np.empty(shape if row is None else (1, *shape[1:]), kind) for kind in kinds]
        first = self.op.body[0]
        reduced = evaluate_shape([a.extent for a in self.op.reduce_axis], self.symbols)
        terms = prod(reduced)
        for part in _parts(count, max(MAX_POINTS // max(terms, 1), 1)):
            points = self.points(self.op.axis, shape, part, 0 if row is None else row * count)
            if isinstance(first, Reduce):
                values = [*self.reduce(first, points, len(part), reduced, terms)]
            else:
                values = [self.evaluator(points, len(part)).value(e) for e in self.op.body]
            for output, value in zip(outputs, values, strict=True):
                output.reshape(-1)[part.start : part.stop] = value
        return outputs

    def points(self, axes: Sequence[IterVar], shape: Sequence[int], part: range, first: int = 0) -> dict[Var, Array]:
        """The coordinates of a range of row-major positions, counted from `first`, in the domain of `axes`."""
        points = dict(self.symbol_points)
        if axes:
            positions = np.arange(first + part.start, first + part.stop)
            points |= zip(axes, np.unravel_index(positions, shape), strict=True)
        return points

    def evaluator(self, points: Points, count: int) -> PointEvaluator:
        return PointEvaluator(points, count, self)

    def reduce(self, e: Reduce, points: Points, count: int, shape: Sequence[int], terms: int) -> tuple[Array, ...]:
        """The state of each of `count` points over all terms of the reduction; the identity where there is none."""
        state = tuple(_identity(i, count) for i in e.combiner.identity)
        present = np.zeros(count, bool)
        for part in _parts(terms, max(MAX_POINTS // max(count, 1), 1)):
            inner = self.points(e.axes, shape, part)
            spread = {v: np.repeat(p, len(part)) if np.ndim(p) else p for v, p in points.items()}
            spread |= {v: np.tile(inner[v], count) for v in e.axes}
            values, held = self.terms(e, spread, count * len(part))
            values = tuple(v.reshape(count, -1) for v in values)
            folded, any_held = self.fold(e.combiner, values, held.reshape(count, -1))
            state, present = self.merge(e.combiner, state, present, folded, any_held)
        return state

    def terms(self, e: Reduce, points: Points, count: int) -> tuple[tuple[Array, ...], Array]:
        """The sources at each point and whether `where` holds there; otherwise the source is not evaluated."""
        evaluator = self.evaluator(points, count)
        held = np.broadcast_to(evaluator.value(e.where), (count,))
        taken = evaluator.only(np.flatnonzero(held)) if not held.all() else evaluator
        results = []
        for source in e.sources:
            value = taken.value(source)
            full = np.zeros(count, value.dtype)
            full[held] = value
            results.append(full)
        return tuple(results), held

    def fold(self, combiner: Combiner, values: tuple[Array, ...], held: Array) -> tuple[tuple[Array, ...], Array]:
        """Combine the columns, neighbours first, so that their order is kept."""
        while held.shape[1] > 1:
            even = held.shape[1] // 2 * 2
            merged, present = self.merge(
                combiner, tuple(v[:, 0:even:2] for v in values), held[:, 0:even:2],
                tuple(v[:, 1:even:2] for v in values), held[:, 1:even:2],
            )  # fmt: skip
            values = tuple(np.concatenate([m, v[:, even:]], axis=1) for m, v in zip(merged, values, strict=True))
            held = np.concatenate([present, held[:, even:]], axis=1)
        return tuple(v[:, 0] for v in values), held[:, 0]

    def merge(
        self, combiner: Combiner, left: tuple[Array, ...], has_left: Array, right: tuple[Array, ...], has_right: Array
    ) -> tuple[tuple[Array, ...], Array]:
        """The combined states; if one is absent, the other."""
        operands = zip((*combiner.left, *combiner.right), (*left, *right), strict=True)
        flat = {var: value.reshape(-1) for var, value in operands}
        evaluator = self.evaluator({**self.symbol_points, **flat}, has_left.size)
        both = has_left & has_right
        merged = []
        for result, a, b in zip(combiner.results, left, right, strict=True):
            combined = np.broadcast_to(evaluator.value(result), (has_left.size,)).reshape(has_left.shape)
            merged.append(np.where(both, combined, np.where(has_right, b, a)))
        return tuple(merged), has_left | has_right


class _Steps(ElementOracle):
    """The steps of a scan. A row of what they compute is computed when it is first read."""

    def __init__(
        self, outer: ElementOracle, name: str, recurrences: Sequence[Recurrence], inner: Sequence[Operation]
    ) -> None:
        super().__init__(outer.known, outer.symbols, outer.functions)
        self.name = name
        self.recurrences = recurrences
        self.now = 0
        self.ops = {t: op for op in inner for t in op.outputs}
        self.done: set[tuple[Operation, int]] = set()
        for tensor in (*self.ops, *(r.state for r in recurrences)):
            kind = np.float64 if tensor.dtype.is_float else tensor.dtype.numpy
            self.known[tensor] = np.zeros(evaluate_shape(tensor.shape, self.symbols), kind)

    def states(self) -> list[Array]:
        """The states at all times."""
        if is_unknown(*self.known.values()):
            raise ExecutionError(f"scan {self.name!r} asks for numbers that are not known")
        states = [self.known[r.state] for r in self.recurrences]
        start = self.known[self.recurrences[0].initial].shape[0]
        for state, recurrence in zip(states, self.recurrences, strict=True):
            state[:start] = self.known[recurrence.initial][: len(state)]
        for self.now in range(start, len(states[0])):
            for recurrence in self.recurrences:
                self.require(recurrence.update, np.full(1, self.now))
            for state, recurrence in zip(states, self.recurrences, strict=True):
                state[self.now] = self.known[recurrence.update][self.now]
        return states

    def require(self, tensor: Tensor, rows: Array) -> None:
        if any(r.state is tensor for r in self.recurrences) and (late := rows.max(initial=-1)) >= self.now:
            raise ExecutionError(
                f"scan {self.name!r}: step {self.now} reads row {late} of state {tensor.name!r}, which is not known yet"
            )
        if tensor not in self.ops:
            return
        op = self.ops[tensor]
        for row in np.unique(rows).tolist():
            if (op, row) not in self.done:
                self.done.add((op, row))
                values = _Definition(op, self).evaluate(row if op.axis else None)
                for output, value in zip(op.outputs, values, strict=True):
                    self.known[output][row if op.axis else ...] = value[0] if op.axis else value


def _number(v: Var, value: float) -> Array:
    """The value of a symbol in the type of its evaluation."""
    kind = np.int64 if v.dtype == INDEX else np.float64 if v.dtype.is_float else v.dtype.numpy
    return np.asarray(value, kind)


def _identity(e: Expr, count: int) -> Array:
    if not isinstance(e, ex.Const):
        raise ExecutionError(f"the identity of a reduction expects a literal, found {e}")
    return np.full(count, scalars.literal(e.value, e.dtype), np.float64 if e.dtype.is_float else e.dtype.numpy)


def _parts(total: int, size: int) -> Iterator[range]:
    """[0, total) in ranges of at most `size`."""
    edges = [*range(0, total, size), total]
    return (range(a, b) for a, b in pairwise(edges) if a < b)
