"""Numbers of a script that runs as Python: each has a type of te, and te's rules give the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExecutionError, ExpressionError
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.calls import meaning_of_values
from sateen.tensor_ir.interpret.scalars import Trap, Value
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Const, Expr, as_expr
from sateen.tensor_ir.ir.operator_table import OPERATORS
from sateen.tensor_ir.ir.operators import Operators
from sateen.tensor_ir.ir.types import BOOL, INDEX, wrap


class Number(Operators["Number"]):
    """A value of a type: an int, a bool, or what `scalars` takes for a floating-point number."""

    __slots__ = ("dtype", "value")

    takes_operators: ClassVar[bool] = True
    __array_ufunc__ = None  # NumPy's numbers leave operators to it

    def __init__(self, value: Value, dtype: DType) -> None:
        self.value = value
        self.dtype = dtype

    def as_expr(self) -> Expr:
        """The number as a literal."""
        return Const(float(self.value) if self.dtype.is_float else self.value, self.dtype)

    def astype(self, dtype: DType | str) -> Number:
        """This value converted to `dtype`."""
        return evaluate(ex.cast(dtype, self.as_expr()))

    def apply(self, name: str, *operands: Any) -> Number:
        if (
            name in ("floordiv", "floormod")
            and as_expr(operands[1]).dtype.is_int
            and ex.is_const(as_expr(operands[1]), 0)
        ):
            raise ExecutionError("division by zero")
        return evaluate(OPERATORS[name](*(x.as_expr() if isinstance(x, Number) else x for x in operands)))

    def __lt__(self, other: Any) -> Number:
        return self.apply("less", self, other)

    def __le__(self, other: Any) -> Number:
        return self.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Number:
        return self.apply("greater", self, other)

    def __ge__(self, other: Any) -> Number:
        return self.apply("greater_equal", self, other)

    def __eq__(self, other: object) -> Number:  # type: ignore[override]
        return self.apply("equal", self, other)

    def __ne__(self, other: object) -> Number:  # type: ignore[override]
        return self.apply("not_equal", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        if self.dtype != BOOL:
            raise ExpressionError(f"a condition expects a comparison, found {self.dtype}; compare it with something")
        return bool(self.value)

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise ExpressionError("round(x) of a number of te names no type; use te.round(x)")

    def __repr__(self) -> str:
        return f"{self.dtype}({self.value})"


def evaluate(e: Expr) -> Number:
    """The value of an expression of literals. Raises ExecutionError where it has none."""
    try:
        with np.errstate(all="ignore"):
            return Number(_value(e, {}), e.dtype)
    except (Trap, ZeroDivisionError) as error:
        what = "division by zero" if isinstance(error, ZeroDivisionError) else str(error)
        raise ExecutionError(what) from None


_OPERATIONS: Mapping[type[ex.Binary], Callable[[Value, Value], Value]] = MappingProxyType({
    ex.Add: lambda a, b: a + b,
    ex.Sub: lambda a, b: a - b,
    ex.Mul: lambda a, b: a * b,
    ex.Div: lambda a, b: a / b,
    ex.FloorDiv: lambda a, b: a // b,
    ex.FloorMod: lambda a, b: a % b,
    ex.Min: scalars.minimum,
    ex.Max: scalars.maximum,
})  # fmt: skip


def _value(e: Expr, known: dict[int, Value]) -> Value:
    """The value of a node; `known` has those of nodes by id, for nodes that have several readers."""
    if id(e) not in known:
        known[id(e)] = _computed(e, known)
    return known[id(e)]


def _computed(e: Expr, known: dict[int, Value]) -> Value:
    match e:
        case Const():
            return scalars.literal(e.value, e.dtype)
        case ex.And():
            return _value(e.a, known) and _value(e.b, known)
        case ex.Or():
            return _value(e.a, known) or _value(e.b, known)
        case ex.Not():
            return not _value(e.value, known)
        case ex.Select():
            return _value(e.then if _value(e.condition, known) else e.otherwise, known)
        case ex.Cast():
            return scalars.conversion(e.value.dtype, e.dtype)(_value(e.value, known))
        case ex.Reinterpret():
            return scalars.reinterpretation(e.value.dtype, e.dtype)(_value(e.value, known))
        case ex.Call():
            meaning = meaning_of_values(e, {})
            if meaning is None:
                raise ExecutionError(f"{e.name!r} has no meaning in Python; compile the script")
            return meaning(*(_value(a, known) for a in e.args))
        case ex.Binary():
            a, b = _value(e.a, known), _value(e.b, known)
            if isinstance(e, ex.Compare):
                return bool(ex.COMPARISONS[type(e)](a, b))
            result = _OPERATIONS[type(e)](a, b)
            return wrap(result, e.dtype) if e.dtype.is_int and e.dtype != INDEX else result
    raise ExpressionError(f"expected an expression of numbers, found {e!r}")


def stored(value: Any, dtype: DType, what: str) -> Value:
    """A value as an element of `dtype`, rounded. Raises ExpressionError for one of another type."""
    if isinstance(value, bool) and not dtype.is_bool:
        raise ExpressionError(f"{what} {dtype}, found bool; convert with .astype(...)")
    if not isinstance(value, (Number, Expr, int, float, np.generic)):
        raise ExpressionError(f"{what} {dtype}, found {type(value).__name__}")
    e = ex.as_data(as_expr(value, dtype))
    if e.dtype != dtype:
        raise ExpressionError(f"{what} {dtype}, found {e.dtype}; convert with .astype({str(dtype)!r})")
    number = evaluate(e).value
    return scalars.rounded(dtype)(number) if dtype.is_float else number
