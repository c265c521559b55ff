"""Values of tensors that te defines element by element.

Real numbers are always float64; integers are exact in their type and wrap, or are unknown numbers (`unknown`). Each
expression is evaluated for many points at once, and an operand only for the points that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExecutionError, SateenError
from sateen.tensor_ir.functions import function_of
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.calls import Meanings, meaning_of_arrays
from sateen.tensor_ir.interpret.symbols import evaluate_shape
from sateen.tensor_ir.interpret.unknown import differ, equal, is_unknown
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.external import PACKED
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read, Reduce
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.te.tensor import Operation, Recurrence, Tensor

Array = np.ndarray[Any, Any]
Points = Mapping[Var, Array]
"""The value of each variable at a list of points: one per point, or a single one for all of them."""

MAX_POINTS = 1 << 18
"""The most points that are evaluated at once, to bound memory."""


class ElementOracle:
    """Evaluates operations that have a body, from arrays of inputs: a `te.tensor.Oracle`."""

    def __init__(self, inputs: Mapping[Tensor, Array], symbols: Mapping[Var, float], functions: Meanings) -> None:
        self.known = {t: _widened(a, t.dtype) for t, a in inputs.items()}
        self.symbols = symbols
        self.functions = functions

    def values(self, tensors: Sequence[Tensor]) -> list[Array]:
        """The values of tensors, floating point as float64."""
        with np.errstate(all="ignore"):
            for op in _missing(tensors, self.known):
                for tensor, result in zip(op.outputs, op.evaluate(self), strict=True):
                    self.known.setdefault(tensor, _widened(result, tensor.dtype))
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


def _widened(array: Array, dtype: DType) -> Array:
    return array.astype(np.float64) if dtype.is_float else array


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

    def evaluator(self, points: Points, count: int) -> _Evaluator:
        return _Evaluator(points, count, self)

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


_OPERATIONS: dict[type[Expr], Callable[[Array, Array], Array]] = {
    ex.Add: np.add, ex.Sub: np.subtract, ex.Mul: np.multiply, ex.Div: np.divide,
    ex.FloorDiv: np.floor_divide, ex.FloorMod: np.remainder, ex.Min: np.minimum, ex.Max: np.maximum,
    ex.EQ: np.equal, ex.NE: np.not_equal, ex.LT: np.less, ex.LE: np.less_equal, ex.GT: np.greater,
    ex.GE: np.greater_equal,
}  # fmt: skip
_OF_UNKNOWN = {**_OPERATIONS, ex.EQ: equal, ex.NE: differ}
"""The operations on unknown numbers."""


class _Evaluator:
    """Values of expressions at a list of points; a node is evaluated once."""

    def __init__(self, points: Points, count: int, definition: _Definition) -> None:
        self.points = points
        self.count = count
        self.definition = definition
        self.values: dict[int, Array] = {}

    def only(self, chosen: Array) -> _Evaluator:
        """An evaluator of the points at these positions."""
        points = {v: p[chosen] if np.ndim(p) else p for v, p in self.points.items()}
        return _Evaluator(points, len(chosen), self.definition)

    def value(self, e: Expr) -> Array:
        """One value per point, or a single one if all are the same."""
        known = self.values.get(id(e))
        if known is None:
            known = self.values[id(e)] = np.asarray(self.operation(e))
        return known

    def operation(self, e: Expr) -> Array:
        match e:
            case ex.Const():
                value = scalars.literal(e.value, e.dtype)
                return np.asarray(np.float64(value) if e.dtype.is_float else np.asarray(value, e.dtype.numpy))
            case Var():
                if e not in self.points:
                    raise self.error(f"variable {e.name!r} has no value; pass it in symbols=")
                return self.points[e]
            case Read():
                return self.read(e)
            case ex.And():
                return self.choose([self.value(e.a)], [e.b], ex.FALSE)
            case ex.Or():
                return self.choose([self.value(e.a)], [ex.TRUE], e.b)
            case ex.Select():
                return self.choose([self.value(e.condition)], [e.then], e.otherwise)
            case ex.Piecewise():
                return self.piecewise(e)
            case ex.FloorDiv() | ex.FloorMod():
                divisor = self.value(e.b)
                if not is_unknown(divisor) and not np.all(divisor):
                    raise self.error(f"division by zero in {e}", np.broadcast_to(divisor == 0, (self.count,)))
                return self.binary(e, self.value(e.a), divisor)
            case ex.Binary():
                return self.binary(e, self.value(e.a), self.value(e.b))
            case ex.Not():
                return np.logical_not(self.value(e.value))
            case ex.Cast():
                return self.cast(self.value(e.value), e.value.dtype, e.dtype)
            case ex.Reinterpret():
                return self.reinterpret(self.value(e.value), e.value.dtype, e.dtype)
            case ex.Call():
                return self.call(e)
            case _:
                raise self.error(f"a tensor expression expects no {type(e).__name__}: {e}")

    def binary(self, e: ex.Binary, a: Array, b: Array) -> Array:
        if not is_unknown(a, b):
            return _OPERATIONS[type(e)](a, b)
        try:
            return np.asarray(_OF_UNKNOWN[type(e)](a, b))
        except (TypeError, SateenError) as error:
            raise self.error(f"{e} of numbers that are not known: {error}") from error

    def choose(self, conditions: Sequence[Array], operands: Sequence[Expr], otherwise: Expr) -> Array:
        """At each point the operand of the first condition that holds; each is evaluated only where it is taken."""
        left = np.ones(self.count, bool)
        result = np.zeros(self.count, np.float64 if otherwise.dtype.is_float else otherwise.dtype.numpy)
        for condition, operand in [*zip(conditions, operands, strict=True), (np.asarray(True), otherwise)]:
            taken = np.flatnonzero(left & condition)
            if len(taken):
                value = (self if len(taken) == self.count else self.only(taken)).value(operand)
                result = result.astype(object) if is_unknown(value) else result
                result[taken] = value
            left &= ~condition
        return result

    def piecewise(self, e: ex.Piecewise) -> Array:
        index = self.value(e.index)
        beyond = (index < 0) | (index >= len(e.branches))
        if beyond.any():
            raise self.error(
                f"piecewise expects an index in [0, {len(e.branches)})", np.broadcast_to(beyond, (self.count,))
            )
        last = len(e.branches) - 1
        return self.choose([index == i for i in range(last)], e.branches[:last], e.branches[last])

    def read(self, e: Read[Tensor]) -> Array:
        array = self.definition.known[e.tensor]
        indices = [self.value(i) for i in e.indices]
        for d, (index, extent) in enumerate(zip(indices, array.shape, strict=True)):
            beyond = (index < 0) | (index >= extent)
            if beyond.any():
                where = np.broadcast_to(beyond, (self.count,))
                found = int(np.broadcast_to(index, (self.count,))[np.flatnonzero(where)[0]])
                raise self.error(f"{e} reads dimension {d} of extent {extent} at {found}", where)
        self.definition.require(e.tensor, indices[0] if indices else np.zeros(1, np.int64))
        return np.asarray(array[tuple(indices)])

    def error(self, message: str, where: Array | None = None) -> ExecutionError:
        """The error, with the coordinates of the first point of `where`."""
        op = self.definition.op
        place = ""
        if where is not None:
            first = np.flatnonzero(where)[0]
            axes = [v for v in (*op.axis, *op.reduce_axis) if v in self.points]
            place = "".join(f"\n  {v.name} = {np.broadcast_to(self.points[v], (self.count,))[first]}" for v in axes)
        span = f"\n  from {op.span}" if op.span is not None else ""
        return ExecutionError(f"tensor {op.name!r}: {message}{place}{span}")

    def cast(self, value: Array, source: DType, target: DType) -> Array:
        if is_unknown(value):
            raise self.error(f"a number that is not known does not become {target}")
        if target.is_float:
            return value.astype(np.float64)
        if target.is_bool:
            return np.not_equal(value, 0)
        if source.is_float:
            flat = [scalars.to_integer(x, target) for x in value.reshape(-1).tolist()]
            return np.array(flat, target.numpy).reshape(value.shape)
        return value.astype(target.numpy)

    def reinterpret(self, value: Array, source: DType, target: DType) -> Array:
        if is_unknown(value):
            raise self.error(f"the bits of a number that is not known do not become {target}")
        return _widened(value.astype(source.numpy).view(target.numpy), target)

    def call(self, e: ex.Call) -> Array:
        if e.name.startswith(PACKED):  # a trace, whose function only compiled code and loops call
            return self.value(e.args[-1])
        args = [self.value(a) for a in e.args]
        if is_unknown(*args):
            raise self.error(f"{e.name} asks for a number that is not known")
        meaning = meaning_of_arrays(e, self.definition.functions)
        if meaning is None:
            raise self.error(f"call of {e.name!r}, which is no native function; give its meaning in functions=")
        self.check_domain(e, args)
        return np.asarray(meaning(*args))

    def check_domain(self, e: ex.Call, args: Sequence[Array]) -> None:
        """Raise ExecutionError at a point where the function has no result for an operand."""
        function = function_of(e.name)
        if function is None or function.domain is None:
            return
        within, operand = function.domain.range(e.dtype), args[function.domain.operand]
        beyond = np.broadcast_to((operand < within.start) | (operand >= within.stop), (self.count,))
        if beyond.any():
            found = np.broadcast_to(operand, (self.count,))[np.flatnonzero(beyond)[0]]
            raise self.error(function.domain.refusal(function.name, e.dtype, found), beyond)
