"""Expressions for tensor elements, before and after lowering, and the constructors that operators call.

Nodes are immutable; `==` builds a comparison, dictionaries and sets go by identity. The grammar (`*` marks nodes of
tensor expressions only, see `tensor_expr`, `+` nodes of loop IR only, see `buffer`):

    e = Const | Var | Cast(e) | Reinterpret(e) | e op e | Not(e) | Select(e, e, e) | Call(name, e...)
      | Piecewise(e..., index) | Read(tensor, e...)* | Reduce(combiner, e..., axes, where)* | Load(buffer, e...)+

Their meaning (overflow, rounding, which operand may be left unevaluated) is in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NoReturn

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.operators import Operators, numpy_operator
from sateen.tensor_ir.ir.span import Span
from sateen.tensor_ir.ir.types import BOOL, FLOAT32, INDEX, INT64, element_type, int_range, value_type, wrap

Scalar = int | float | bool

_LEAST, _MOST = int_range(INDEX)


class Expr(Operators["Expr"]):
    """Base of all expressions. `dtype` is the type of the value; operators build new nodes and fold constants."""

    __slots__ = ()
    dtype: DType

    def apply(self, name: str, *operands: Any) -> Expr:
        """The node of an operator by name. NotImplemented if the operand on the right is a tensor, which does it."""
        from sateen.tensor_ir.ir.operator_table import (
            OPERATORS,  # what operators build are nodes, so it imports this one
        )

        return NotImplemented if _takes_operators(operands[-1]) else OPERATORS[name](*operands)

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise ExpressionError("round() rounds values, and an expression has none while it is being built; use te.round")

    def __lt__(self, other: Expr | Scalar) -> Expr:
        return compare(LT, self, other)

    def __le__(self, other: Expr | Scalar) -> Expr:
        return compare(LE, self, other)

    def __gt__(self, other: Expr | Scalar) -> Expr:
        return compare(GT, self, other)

    def __ge__(self, other: Expr | Scalar) -> Expr:
        return compare(GE, self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        """A comparison. `a is b` tests whether two expressions are one node; dictionaries and sets use that."""
        return compare(EQ, self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return compare(NE, self, other)  # type: ignore[arg-type]

    __hash__ = object.__hash__

    def equal(self, other: Expr | Scalar) -> Expr:
        """`==` by name."""
        return compare(EQ, self, other)

    def not_equal(self, other: Expr | Scalar) -> Expr:
        """`!=` by name."""
        return compare(NE, self, other)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"an expression ({type(self).__name__}, {self.dtype}) has no truth value while it is being built; "
            "use te.select or te.if_then_else, te.minimum and te.maximum, te.all and te.any "
            "(0 <= i < 3 is te.all(0 <= i, i < 3)); whether two are the same axis or expression is `a is b`"
        )

    def __float__(self) -> NoReturn:
        raise ExpressionError(
            f"an expression ({type(self).__name__}, {self.dtype}) has no value while it is being built; "
            "use te's functions of expressions, such as te.exp for math.exp"
        )

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Expr:
        """A number of NumPy as the left operand of an operator. Raises ExpressionError for other functions of NumPy."""
        return self.apply(numpy_operator(function, method, options, "an expression"), *operands)

    def astype(self, dtype: DType | str) -> Expr:
        """This value converted to `dtype` (docs/semantics.md, conversions)."""
        return cast(dtype, self)

    def __str__(self) -> str:
        from sateen.tensor_ir.ir.printer import format_expr  # the printer knows every node, so it imports this module

        return format_expr(self)

    def __repr__(self) -> str:
        text = str(self)
        return f"{type(self).__name__}({text if len(text) <= 80 else f'{text[:77]}...'})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Expr):
    """A literal. `value` is an int for integers, a float for floats, a bool for bool."""

    value: Scalar
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """A scalar with a name: a symbolic extent, a loop variable, a bound value. Identity is the node, not the name."""

    name: str
    dtype: DType = INDEX


class AxisKind(Enum):
    """The kinds of iteration axes."""

    DATA = "data"
    REDUCE = "reduce"
    TIME = "time"
    """The steps of a scan, which follow one another."""
    ORDERED = "ordered"
    """The iterations of statements, which follow one another."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IterVar(Var):
    """An axis of a computation: a variable with the domain [0, extent)."""

    extent: Expr = field(default_factory=lambda: const(1))
    kind: AxisKind = AxisKind.DATA
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cast(Expr):
    """`value` converted to `dtype`."""

    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reinterpret(Expr):
    """The bits of `value` as `dtype`, a type of the same width."""

    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Binary(Expr):
    """An operation on two operands of one type."""

    a: Expr
    b: Expr
    dtype: DType
    symbol: ClassVar[str]

    def __init__(self, a: Expr, b: Expr) -> None:
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "dtype", a.dtype)


class Add(Binary):
    __slots__ = ()
    symbol = "+"


class Sub(Binary):
    __slots__ = ()
    symbol = "-"


class Mul(Binary):
    __slots__ = ()
    symbol = "*"


class Div(Binary):
    """Floating-point division."""

    __slots__ = ()
    symbol = "/"


class FloorDiv(Binary):
    """Integer division that rounds towards minus infinity."""

    __slots__ = ()
    symbol = "//"


class FloorMod(Binary):
    """The remainder of FloorDiv: it has the divisor's sign."""

    __slots__ = ()
    symbol = "%"


class Min(Binary):
    __slots__ = ()
    symbol = "min"


class Max(Binary):
    __slots__ = ()
    symbol = "max"


class Compare(Binary):
    """A comparison; the result is bool."""

    __slots__ = ()

    def __init__(self, a: Expr, b: Expr) -> None:
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "dtype", BOOL)


class EQ(Compare):
    __slots__ = ()
    symbol = "=="


class NE(Compare):
    __slots__ = ()
    symbol = "!="


class LT(Compare):
    __slots__ = ()
    symbol = "<"


class LE(Compare):
    __slots__ = ()
    symbol = "<="


class GT(Compare):
    __slots__ = ()
    symbol = ">"


class GE(Compare):
    __slots__ = ()
    symbol = ">="


class And(Binary):
    """Both; `b` is evaluated only if `a` holds."""

    __slots__ = ()
    symbol = "and"


class Or(Binary):
    """Either; `b` is evaluated only if `a` does not hold."""

    __slots__ = ()
    symbol = "or"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Expr):
    value: Expr
    dtype: DType = BOOL


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Select(Expr):
    """`then` if `condition` holds, otherwise `otherwise`. Only the chosen operand's loads are performed."""

    condition: Expr
    then: Expr
    otherwise: Expr
    dtype: DType

    def __init__(self, condition: Expr, then: Expr, otherwise: Expr) -> None:
        object.__setattr__(self, "condition", condition)
        object.__setattr__(self, "then", then)
        object.__setattr__(self, "otherwise", otherwise)
        object.__setattr__(self, "dtype", then.dtype)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """A pure function by name: an intrinsic (docs/semantics.md lists them) or a function with a user's rule."""

    name: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Piecewise(Expr):
    """`branches[index]`: a body per value of a constant axis. Folds as soon as `index` is constant."""

    branches: tuple[Expr, ...]
    index: Expr
    dtype: DType


# Constructors: they convert Python scalars, check types and fold literals.

Operand = Expr | Scalar


def const(value: Any, dtype: DType | str | None = None) -> Const:
    """A literal. The default type is index for an int, float32 for a float, bool for a bool, and its own for a number
    of NumPy.

    Raises ExpressionError if `value` is no number of Python or NumPy, or can't be represented: a fraction or NaN as an
    integer, an integer out of range.
    """
    if type(value) is int and (dtype is None or dtype is INDEX) and _LEAST <= value <= _MOST:
        return Const(value, INDEX)  # most literals are indices
    if not isinstance(value, (int, float)) or isinstance(value, np.generic):  # np.float64 is a float
        value, dtype = _number(value), value.dtype if dtype is None else dtype
    if dtype is not None:
        kind = value_type(dtype)
    elif isinstance(value, bool):
        kind = BOOL
    else:
        kind = INDEX if isinstance(value, int) else FLOAT32
    if kind.is_float:
        return Const(float(value), kind)
    if kind.is_bool:
        return Const(bool(value), kind)
    if isinstance(value, float) and not value.is_integer():
        raise ExpressionError(f"expected an integer for a literal of type {kind}, found {value!r}")
    if not int_range(kind)[0] <= int(value) <= int_range(kind)[1]:
        raise ExpressionError(f"literal {int(value)} is out of the range of {kind}: {list(int_range(kind))}")
    return Const(int(value), kind)


def _number(value: Any) -> Scalar:
    """A NumPy scalar as Python's."""
    number = value.item() if hasattr(value, "item") and getattr(value, "size", 0) == 1 else value
    if not isinstance(number, (int, float)):
        raise ExpressionError(f"expected an expression or a number, found {type(value).__name__}: {value!r:.80}")
    return number


def as_expr(value: Any, dtype: DType | None = None) -> Expr:
    """`value` as an expression; a Python or NumPy scalar becomes a literal of `dtype`.

    Raises ExpressionError for a bool where a number is expected: Python decided it when the program was built, most
    often by mistake.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, np.bool_)) and dtype is not None and not dtype.is_bool:
        raise ExpressionError(
            f"expected a number of {dtype}, found {bool(value)}, which Python has decided already; compare elements, "
            "and convert the condition with .astype(...)"
        )
    if not isinstance(value, (int, float)) and hasattr(value, "as_expr"):
        return value.as_expr()  # type: ignore[no-any-return]
    return const(value, dtype)


def of_one_type(a: Operand, b: Operand, symbol: str) -> tuple[Expr, Expr]:
    """The two operands of the operation `symbol` in one type: a literal takes the type of the other, and an index
    beside data becomes int64. Raises ExpressionError for different types."""
    if not isinstance(a, Expr):
        b = as_expr(b)
        a = as_expr(a, b.dtype)
    elif not isinstance(b, Expr):
        b = as_expr(b, a.dtype)
    if a.dtype is b.dtype or a.dtype == b.dtype:
        return a, b
    if {a.dtype, b.dtype} == {INDEX, INT64}:
        a, b = _as_one_type(a, b)
    if a.dtype != b.dtype:
        raise ExpressionError(
            f"operands of '{symbol}' have types {a.dtype} and {b.dtype}; convert one with .astype(...)"
        )
    return a, b


def _as_one_type(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """An index and an int64: the index becomes data, but an int64 literal becomes an index (docs/semantics.md, 2.3)."""
    index, data = (a, b) if a.dtype == INDEX else (b, a)
    kind = INDEX if isinstance(data, Const) and not isinstance(index, Const) else INT64
    return cast(kind, a), cast(kind, b)


def numbers(a: Operand, b: Operand, symbol: str) -> tuple[Expr, Expr]:
    """The two operands of arithmetic in one type. Raises ExpressionError for different types, and conditions."""
    a, b = of_one_type(a, b, symbol)
    if a.dtype.is_bool:
        raise ExpressionError(f"'{symbol}' needs numbers, found {a.dtype}; convert with .astype(...)")
    return a, b


def _takes_operators(operand: Any) -> bool:
    """Whether the operand on the right is no element, and does the operation itself."""
    return not isinstance(operand, (Expr, int, float)) and getattr(operand, "takes_operators", False)


def is_const(e: Expr, value: Scalar) -> bool:
    """Whether `e` is the literal `value`."""
    return isinstance(e, Const) and e.value == value


def add(a: Operand, b: Operand) -> Expr:
    a, b = numbers(a, b, "+")
    if a.dtype.is_int:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(wrap(int(a.value + b.value), a.dtype), a.dtype)
        if is_const(a, 0):
            return b
        if is_const(b, 0):
            return a
    return Add(a, b)


def subtract(a: Operand, b: Operand) -> Expr:
    a, b = numbers(a, b, "-")
    if a.dtype.is_int:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(wrap(int(a.value - b.value), a.dtype), a.dtype)
        if is_const(b, 0):
            return a
    return Sub(a, b)


def multiply(a: Operand, b: Operand) -> Expr:
    a, b = numbers(a, b, "*")
    if a.dtype.is_int:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(wrap(int(a.value * b.value), a.dtype), a.dtype)
        if is_const(a, 0) or is_const(b, 1):
            return a
        if is_const(a, 1) or is_const(b, 0):
            return b
    return Mul(a, b)


def divide(a: Operand, b: Operand) -> Expr:
    a, b = numbers(a, b, "/")
    if not a.dtype.is_float:
        raise ExpressionError(f"'/' is the division of floating-point numbers, found {a.dtype}; use // for integers")
    return Div(a, b)


def floordiv(a: Operand, b: Operand) -> Expr:
    a, b = _integers(a, b, "//")
    if isinstance(b, Const) and b.value == 1:
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(wrap(int(a.value) // int(b.value), a.dtype), a.dtype)
    return FloorDiv(a, b)


def floormod(a: Operand, b: Operand) -> Expr:
    a, b = _integers(a, b, "%")
    if isinstance(b, Const) and b.value == 1:
        return const(0, a.dtype)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(int(a.value) % int(b.value), a.dtype)
    return FloorMod(a, b)


def _integers(a: Operand, b: Operand, symbol: str) -> tuple[Expr, Expr]:
    a, b = of_one_type(a, b, symbol)
    if not a.dtype.is_int:
        raise ExpressionError(f"'{symbol}' is the floor division of integers, found {a.dtype}")
    if is_const(b, 0):
        raise ExpressionError(f"'{symbol}' by the constant 0")
    return a, b


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller operand; NaN if either is NaN."""
    a, b = numbers(a, b, "min")
    if isinstance(a, Const) and isinstance(b, Const) and a.dtype.is_int:
        return a if a.value <= b.value else b
    return Min(a, b)


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger operand; NaN if either is NaN."""
    a, b = numbers(a, b, "max")
    if isinstance(a, Const) and isinstance(b, Const) and a.dtype.is_int:
        return a if a.value >= b.value else b
    return Max(a, b)


def absolute(x: Expr) -> Expr:
    """Magnitude; the smallest integer is its own."""
    if x.dtype.is_int and int_range(x.dtype)[0] == 0:
        return x
    return call("fabs", [x]) if x.dtype.is_float else maximum(x, subtract(0, x))


COMPARISONS: dict[type[Compare], Callable[[Any, Any], bool]] = {
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
}
"""The result of each comparison for two values."""


def compare(kind: type[Compare], a: Operand, b: Operand) -> Expr:
    a, b = of_one_type(a, b, kind.symbol)
    if isinstance(a, Const) and isinstance(b, Const) and not a.dtype.is_float:  # those still have to be rounded
        return const(bool(COMPARISONS[kind](a.value, b.value)))
    return kind(a, b)


TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)


def as_condition(value: Any, what: str) -> Expr:
    """`value` as a condition for `what`. Raises ExpressionError for another type, and for a bool of Python.

    Python decided such a bool when the program was built, most often by mistake: by `a is b`, or `==` of tensors.
    """
    if isinstance(value, (bool, np.bool_)):
        raise ExpressionError(
            f"{what} expects a condition on expressions, found {bool(value)}, which Python has decided already; "
            f"compare expressions, or write te.const({bool(value)})"
        )
    e = as_expr(value)
    if not e.dtype.is_bool:
        raise ExpressionError(f"{what} expects a condition (bool), found {e.dtype}; compare it with something first")
    return e


def logical_and(a: Operand, b: Operand) -> Expr:
    a, b = as_condition(a, "'and'"), as_condition(b, "'and'")
    if isinstance(a, Const):
        return b if a.value else FALSE
    if isinstance(b, Const):
        return a if b.value else FALSE
    return And(a, b)


def logical_or(a: Operand, b: Operand) -> Expr:
    a, b = as_condition(a, "'or'"), as_condition(b, "'or'")
    if isinstance(a, Const):
        return TRUE if a.value else b
    if isinstance(b, Const):
        return TRUE if b.value else a
    return Or(a, b)


def logical_not(a: Operand) -> Expr:
    a = as_condition(a, "'not'")
    if isinstance(a, Const):
        return const(not a.value)
    return a.value if isinstance(a, Not) else Not(a)


def cast(dtype: DType | str, value: Operand) -> Expr:
    """`value` converted to `dtype` (docs/semantics.md, conversions). Raises ArgumentError for an invalid type."""
    kind = value_type(dtype)
    value = as_expr(value)
    if value.dtype == kind:
        return value
    if isinstance(value, Const) and value.dtype.is_int and kind.is_int:
        return Const(wrap(int(value.value), kind), kind)
    if isinstance(value, Cast) and {kind, value.dtype} == {INDEX, INT64}:  # what was exact on the way is left out
        return cast(kind, value.value)
    return Cast(value, kind)


def reinterpret(dtype: DType | str, value: Operand) -> Expr:
    """The bits of `value` as a type of the same width. Raises ExpressionError for another width, and for bool."""
    x, kind = as_data(as_expr(value)), element_type(dtype)
    if kind.bits != x.dtype.bits or BOOL in (kind, x.dtype):
        raise ExpressionError(f"reinterpret expects types of equal width, found {x.dtype} as {kind}")
    return Reinterpret(x, kind)


def as_data(e: Expr) -> Expr:
    """A value for memory, a call or a reduction: an index becomes an int64."""
    return cast(INT64, e) if e.dtype == INDEX else e


def call(name: str, args: Sequence[Any], dtype: DType | None = None) -> Expr:
    """A call of a function by name; the default type is that of the first argument. Raises ExpressionError if there is
    neither a type nor an argument.

    Indices among the arguments become int64, and so does an index result.
    """
    operands = tuple(as_data(as_expr(a)) for a in args)
    if dtype is None and not operands:
        raise ExpressionError(f"a call of {name!r} without arguments expects dtype=, found none")
    return Call(name, operands, dtype if dtype is not None else operands[0].dtype)
