"""The kinds of element types that operators take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.runtime.dtype import DType, TypeCode
from sateen.tensor_ir.ir import int_range
from sateen.topi.operators import Operator, require


@dataclass(frozen=True, slots=True)
class ElementKind:
    """A set of element types and its name in messages."""

    text: str
    holds: Callable[[DType], bool]

    def check(self, op: Operator, name: str, type_: TensorType) -> None:
        """Raise InferenceError if the operand `name` is of another kind."""
        require(self.holds(type_.dtype), op, f"{name} expects {self.text}, found {type_.dtype}")


def require_literal(op: Operator, name: str, value: float, dtype: DType) -> None:
    """Raise InferenceError if elements of an integer type can't have the value of an attribute."""
    if dtype.is_int:
        least, most = int_range(dtype)
        fits = value == value // 1 and least <= value <= most
        require(fits, op, f"{name} expects an integer of {least} to {most} for {dtype}, found {value}")


def _is_float(t: DType) -> bool:
    return t.is_float and t.bits >= 16


FLOATS = ElementKind("floating-point numbers of 16 bits or more", _is_float)
INTEGERS = ElementKind("integers", lambda t: t.is_int)
SIGNED = ElementKind("signed numbers", lambda t: t.code is TypeCode.INT or _is_float(t))
NUMBERS = ElementKind("numbers", lambda t: t.is_int or _is_float(t))
BOOLEANS = ElementKind("bool", lambda t: t.is_bool)
ANY = ElementKind("numbers other than float8, or bool", lambda t: t.is_bool or t.is_int or _is_float(t))
