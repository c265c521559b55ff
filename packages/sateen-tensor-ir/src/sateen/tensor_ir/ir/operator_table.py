"""What the operators of Python make of expressions: by type, where bits and conditions share a symbol."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Const, Expr, Operand, as_expr, call, compare, const, numbers, of_one_type
from sateen.tensor_ir.ir.types import INDEX, int_range, wrap


def _negative(x: Expr) -> Expr:
    if isinstance(x, Const) and x.dtype.is_float:
        return Const(-x.value, x.dtype)
    return ex.Mul(x, const(-1, x.dtype)) if x.dtype.is_float else ex.subtract(0, x)


def _power(a: Operand, b: Operand) -> Expr:
    """a to the power of b: products for integers, whose exponent is a literal, and for a square."""
    a, b = numbers(a, b, "**")
    if isinstance(b, Const) and b.value >= 0 and (a.dtype.is_int or b.value == 2):
        return _product(a, int(b.value))
    if a.dtype.is_int:
        raise ExpressionError(
            f"'**' of {a.dtype} expects a number of at least 0 as exponent, found {b}; 1 << x is a power of two"
        )
    return call("pow", [a, b])


def _product(x: Expr, count: int) -> Expr:
    """x · x · …, `count` times, by squares."""
    result: Expr = const(1, x.dtype)
    while count:
        if count & 1:
            result = x if ex.is_const(result, 1) else ex.multiply(result, x)
        count >>= 1
        x = ex.multiply(x, x) if count else x
    return result


def _on_bits(name: str, symbol: str, fold: Callable[[int, int], int], a: Operand, b: Operand) -> Expr:
    """An operator on the bits of integers. Raises ExpressionError for other types, and for an amount that no shift
    takes."""
    a, b = of_one_type(a, b, symbol)
    if not a.dtype.is_int:
        raise ExpressionError(f"'{symbol}' expects integers, found {a.dtype}")
    if not isinstance(b, Const):
        return call(name, [a, b])
    n = int(b.value)
    if symbol in ("<<", ">>") and not 0 <= n < a.dtype.bits:
        raise ExpressionError(f"'{symbol}' of {a.dtype} expects an amount in [0, {a.dtype.bits}), found {n}")
    if isinstance(a, Const):
        return Const(wrap(fold(int(a.value), n), a.dtype), a.dtype)
    form = _of_index(symbol, a, n) if a.dtype == INDEX else None
    return call(name, [a, b]) if form is None else form


def _of_index(symbol: str, x: Expr, n: int) -> Expr | None:
    """The same as arithmetic, which an index without overflow permits: so it stays one, with known bounds and strides.
    None for other masks than 2^k - 1, and other operators."""
    match symbol:
        case "<<":
            return ex.multiply(x, 1 << n)
        case ">>":
            return ex.floordiv(x, 1 << n)
        case "&" if n >= 0 and n & (n + 1) == 0:
            return ex.floormod(x, n + 1)
        case _:
            return None


def _by_type(symbol: str, of_conditions: Callable[..., Expr], of_integers: Callable[..., Expr], *operands: Any) -> Expr:
    """An operator that is logical on conditions, and bit by bit on integers. Raises ExpressionError for one of each."""
    kinds = [as_expr(x).dtype for x in operands]
    if all(kind.is_bool for kind in kinds):
        return of_conditions(*operands)
    if any(kind.is_bool for kind in kinds):
        raise ExpressionError(f"'{symbol}' expects two conditions or two integers, found {kinds[0]} and {kinds[1]}")
    return of_integers(*operands)


def _differ(a: Operand, b: Operand) -> Expr:
    return compare(ex.NE, ex.as_condition(a, "'^'"), ex.as_condition(b, "'^'"))


def _inverted(x: Expr) -> Expr:
    """Every bit inverted: -1 - x, and the largest value less x if there is no sign."""
    if not x.dtype.is_int:
        raise ExpressionError(f"'~' expects an integer or a condition, found {x.dtype}")
    low, high = int_range(x.dtype)
    return ex.subtract(-1 if low else high, x)


OPERATORS: Mapping[str, Callable[..., Expr]] = MappingProxyType({
    "add": ex.add,
    "subtract": ex.subtract,
    "multiply": ex.multiply,
    "divide": ex.divide,
    "floordiv": ex.floordiv,
    "floormod": ex.floormod,
    "power": _power,
    "negative": _negative,
    "absolute": ex.absolute,
    "left_shift": partial(_on_bits, "shift_left", "<<", operator.lshift),
    "right_shift": partial(_on_bits, "shift_right", ">>", operator.rshift),
    "bitwise_and": partial(_by_type, "&", ex.logical_and, partial(_on_bits, "bitwise_and", "&", operator.and_)),
    "bitwise_or": partial(_by_type, "|", ex.logical_or, partial(_on_bits, "bitwise_or", "|", operator.or_)),
    "bitwise_xor": partial(_by_type, "^", _differ, partial(_on_bits, "bitwise_xor", "^", operator.xor)),
    "bitwise_not": partial(_by_type, "~", ex.logical_not, _inverted),
    "less": partial(compare, ex.LT),
    "less_equal": partial(compare, ex.LE),
    "greater": partial(compare, ex.GT),
    "greater_equal": partial(compare, ex.GE),
    "equal": partial(compare, ex.EQ),
    "not_equal": partial(compare, ex.NE),
})  # fmt: skip
"""The constructors of operators and comparisons, by the names that `Operators` and `NUMPY_OPERATORS` give them."""
