"""The arithmetic of Python on expressions and whole tensors: which operator each symbol names, and what has none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from sateen.runtime.errors import ExpressionError

Result = TypeVar("Result")


class Operators(Generic[Result]):
    """Base of what has `+ - * / // % ** << >> & | ^ ~` and `abs`. Each calls `apply` with the operator's name."""

    __slots__ = ()

    @abstractmethod
    def apply(self, name: str, *operands: Any) -> Result:
        """The result of an operator by name; NotImplemented if the operand on the right is to give it."""

    def __add__(self, other: Any) -> Result:
        return self.apply("add", self, other)

    def __radd__(self, other: Any) -> Result:
        return self.apply("add", other, self)

    def __sub__(self, other: Any) -> Result:
        return self.apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Result:
        return self.apply("subtract", other, self)

    def __mul__(self, other: Any) -> Result:
        return self.apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Result:
        return self.apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Result:
        return self.apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Result:
        return self.apply("divide", other, self)

    def __floordiv__(self, other: Any) -> Result:
        return self.apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Result:
        return self.apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Result:
        return self.apply("floormod", self, other)

    def __rmod__(self, other: Any) -> Result:
        return self.apply("floormod", other, self)

    def __pow__(self, other: Any) -> Result:
        return self.apply("power", self, other)

    def __rpow__(self, other: Any) -> Result:
        return self.apply("power", other, self)

    def __lshift__(self, other: Any) -> Result:
        return self.apply("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Result:
        return self.apply("left_shift", other, self)

    def __rshift__(self, other: Any) -> Result:
        return self.apply("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Result:
        return self.apply("right_shift", other, self)

    def __and__(self, other: Any) -> Result:
        return self.apply("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Result:
        return self.apply("bitwise_and", other, self)

    def __or__(self, other: Any) -> Result:
        return self.apply("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Result:
        return self.apply("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Result:
        return self.apply("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Result:
        return self.apply("bitwise_xor", other, self)

    def __invert__(self) -> Result:
        return self.apply("bitwise_not", self)

    def __neg__(self) -> Result:
        return self.apply("negative", self)

    def __abs__(self) -> Result:
        return self.apply("absolute", self)


COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

NUMPY_OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in ("add", "subtract", "multiply", "divide", "power", "left_shift", "right_shift")},
        **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "negative", "absolute")},
        **{name: name for name in COMPARISONS},
        "floor_divide": "floordiv",
        "remainder": "floormod",
        "invert": "bitwise_not",
    }
)
"""The operators, and the comparisons of expressions, by the names of NumPy's functions."""


def numpy_operator(function: Any, method: str, options: Mapping[str, Any], what: str) -> str:
    """The operator that a function of NumPy stands for. Raises ExpressionError for other functions, of `what`."""
    name = NUMPY_OPERATORS.get(function.__name__) if method == "__call__" and not options else None
    if name is None:
        raise ExpressionError(
            f"numpy.{function.__name__} computes values, and {what} has none while it is being built; use te's "
            "functions of expressions, such as te.exp for numpy.exp"
        )
    return name
