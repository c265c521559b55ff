"""Values of expressions at many points at once; an operand is evaluated only at the points that take it.

Real numbers are always float64; integers are exact in their type and wrap, or are unknown numbers (`unknown`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExecutionError, SateenError
from sateen.tensor_ir.functions import function_of
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.calls import Meanings, meaning_of_arrays
from sateen.tensor_ir.interpret.unknown import differ, equal, is_unknown
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import PACKED
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.te.tensor import Operation, Tensor

Array = np.ndarray[Any, Any]
Points = Mapping[Var, Array]
"""The value of each variable at a list of points: one per point, or a single one for all of them."""


class Definition(Protocol):
    """What a body is evaluated for: an operation, the values that it reads, and the meanings of functions."""

    op: Operation
    known: dict[Tensor, Array]
    functions: Meanings

    def require(self, tensor: Tensor, rows: Array) -> None:
        """Compute these rows of an input, if not all of it is known beforehand."""


def widened(array: Array, dtype: DType) -> Array:
    return array.astype(np.float64) if dtype.is_float else array


_OPERATIONS: dict[type[Expr], Callable[[Array, Array], Array]] = {
    ex.Add: np.add, ex.Sub: np.subtract, ex.Mul: np.multiply, ex.Div: np.divide,
    ex.FloorDiv: np.floor_divide, ex.FloorMod: np.remainder, ex.Min: np.minimum, ex.Max: np.maximum,
    ex.EQ: np.equal, ex.NE: np.not_equal, ex.LT: np.less, ex.LE: np.less_equal, ex.GT: np.greater,
    ex.GE: np.greater_equal,
}  # fmt: skip
_OF_UNKNOWN = {**_OPERATIONS, ex.EQ: equal, ex.NE: differ}
"""The operations on unknown numbers."""


class PointEvaluator:
    """Values of expressions at a list of points; a node is evaluated once."""

    def __init__(self, points: Points, count: int, definition: Definition) -> None:
        self.points = points
        self.count = count
        self.definition = definition
        self.values: dict[int, Array] = {}

    def only(self, chosen: Array) -> PointEvaluator:
        """An evaluator of the points at these positions."""
        points = {v: p[chosen] if np.ndim(p) else p for v, p in self.points.items()}
        return PointEvaluator(points, len(chosen), self.definition)

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
        return widened(value.astype(source.numpy).view(target.numpy), target)

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
