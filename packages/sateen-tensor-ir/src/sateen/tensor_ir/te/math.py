"""Mathematical functions of te. Each is a call by name; docs/semantics.md gives accuracy and special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import BOOL, Expr, as_expr, call


def _call(name: str, what: str, fits: Callable[[DType], bool], args: tuple[Any, ...]) -> Expr:
    """A call whose operands have one type, that of the first which is no literal."""
    given = [a if isinstance(a, (int, float)) else as_expr(a) for a in args]
    kinds = [a.dtype for a in given if isinstance(a, Expr) and not isinstance(a, ex.Const)]
    kind = kinds[0] if kinds else as_expr(given[0]).dtype
    operands = [as_expr(a.value if isinstance(a, ex.Const) else a, kind) for a in given]
    if not fits(kind) or any(o.dtype != kind for o in operands):
        found = ", ".join(str(o.dtype) for o in operands)
        raise ExpressionError(f"{name} expects {what} of one type, found {found}")
    return call(name, operands)


def _float(name: str, *args: Any) -> Expr:
    return _call(name, "floating-point operands", lambda kind: kind.is_float, args)


def _integer(name: str, *args: Any) -> Expr:
    return _call(name, "integers", lambda kind: kind.is_int, args)


def exp(x: Any) -> Expr:
    """e^x."""
    return _float("exp", x)


def log(x: Any) -> Expr:
    """Natural logarithm; NaN below 0."""
    return _float("log", x)


def tanh(x: Any) -> Expr:
    """Hyperbolic tangent."""
    return _float("tanh", x)


def erf(x: Any) -> Expr:
    """The error function 2/√π ∫₀ˣ e^(-t²) dt."""
    return _float("erf", x)


def sigmoid(x: Any) -> Expr:
    """1 / (1 + e^-x)."""
    return _float("sigmoid", x)


def sin(x: Any) -> Expr:
    """Sine of an angle in radians."""
    return _float("sin", x)


def cos(x: Any) -> Expr:
    """Cosine of an angle in radians."""
    return _float("cos", x)


def power(x: Any, y: Any) -> Expr:
    """x^y as C's pow defines it."""
    return _float("pow", x, y)


def sqrt(x: Any) -> Expr:
    """Square root, correctly rounded."""
    return _float("sqrt", x)


def rsqrt(x: Any) -> Expr:
    """1 / √x."""
    return 1.0 / _float("sqrt", x)


def floor(x: Any) -> Expr:
    """The largest integral value that is at most x."""
    return _float("floor", x)


def ceil(x: Any) -> Expr:
    """The smallest integral value that is at least x."""
    return _float("ceil", x)


def trunc(x: Any) -> Expr:
    """x without its fraction, towards 0."""
    return _float("trunc", x)


def round(x: Any) -> Expr:  # noqa: A001 - te's word
    """To the nearest integer, ties to even."""
    return _float("round", x)


def fma(x: Any, y: Any, z: Any) -> Expr:
    """x·y + z, rounded once."""
    return _float("fma", x, y, z)


def isnan(x: Any) -> Expr:
    """Whether x is NaN."""
    x = as_expr(x)
    return ex.compare(ex.NE, x, x)


def abs(x: Any) -> Expr:  # noqa: A001 - te's word
    """Magnitude; the smallest integer is its own."""
    return ex.absolute(as_expr(x))


def popcount(x: Any) -> Expr:
    """The number of bits set in an integer."""
    return _integer("popcount", x)


def bitwise_and(x: Any, y: Any) -> Expr:
    """The bits that are set in both integers."""
    return _integer("bitwise_and", x, y)


def bitwise_or(x: Any, y: Any) -> Expr:
    """The bits that are set in either integer."""
    return _integer("bitwise_or", x, y)


def bitwise_xor(x: Any, y: Any) -> Expr:
    """The bits that are set in one integer alone."""
    return _integer("bitwise_xor", x, y)


def bitwise_not(x: Any) -> Expr:
    """Every bit inverted."""
    x = as_expr(x)
    return _integer("bitwise_xor", x, -1 if ex.int_range(x.dtype)[0] < 0 else ex.int_range(x.dtype)[1])


def left_shift(x: Any, y: Any) -> Expr:
    """x·2^y, wrapped; y in [0, bits)."""
    return _integer("shift_left", x, y)


def right_shift(x: Any, y: Any) -> Expr:
    """⌊x / 2^y⌋; y in [0, bits)."""
    return _integer("shift_right", x, y)


def reinterpret(dtype: DType | str, x: Any) -> Expr:
    """The bits of x as another type of the same width."""
    x, kind = as_expr(x), ex.element_type(dtype)
    if kind.bits != x.dtype.bits or BOOL in (kind, x.dtype):
        raise ExpressionError(f"reinterpret expects types of equal width, found {x.dtype} as {kind}")
    return call("reinterpret", [x], kind)
