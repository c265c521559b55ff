"""What an operator is: one class that holds all facts about it. Its fields are its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from sateen.graph_ir.types import TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.topi.layout import View
from sateen.topi.operator import Computation, LayoutChoice

ELEMENT_BY_ELEMENT_SLOWDOWN = 100.0
"""Of a method in a layout that it is only defined for."""


class Op:
    """Base of operators: frozen dataclasses, equal where their attributes are.

    A subclass gives `infer` and `compute`. What an operator is to fusion follows from what its computation reads.
    Raises ArgumentError for an attribute of another kind than its annotation says.
    """

    __slots__ = ()
    is_pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_attributes(self, self.op_name())

    @classmethod
    def op_name(cls) -> str:
        """The name in text form: the class name in snake case."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The types of the outputs, row-major. Raises InferenceError where the inputs don't fit."""
        raise AssertionError(f"{self.op_name()} gives no inference")

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        """The computation over views, giving each output in the layout of its type: one call into topi."""
        raise AssertionError(f"{self.op_name()} gives no computation")

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], lanes: int
    ) -> Iterable[LayoutChoice]:
        """The layouts in which this operator can run, best first; by default row-major only."""
        yield LayoutChoice((None,) * len(inputs), (None,) * len(outputs))

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte of the first input's memory at which each output begins, if outputs are parts of that memory."""
        return None

    def parts_of_output(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte of the output's memory at which each input begins, if the output is inputs one behind the other."""
        return None

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """Floating-point operations of the multiply-adds that the definition sums, padding too, each counted as two.

        `inputs` are those that are present; all types are static. 0 for operators that memory limits, not arithmetic.
        """
        return 0

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return attributes_of(self)


def attributes_of(op: Any) -> dict[str, object]:
    """The fields of a dataclass that differ from their defaults, in order."""
    return {f.name: getattr(op, f.name) for f in fields(op) if getattr(op, f.name) != f.default}


def check_attributes(op: Any, op_name: str) -> None:
    """Raises ArgumentError where a field of a dataclass is of another kind than its annotation says."""
    own: Any = type(op)
    for name, kind, default in _kinds(own):
        value = getattr(op, name)
        if value is not default and not is_of(value, kind):
            raise ArgumentError(
                f"{op_name}: {name} expects {_kind_text(kind)}, found {value!r:.200}{_remedy(value, kind)}"
            )


@cache
def _kinds(op: type) -> tuple[tuple[str, Any, object], ...]:
    """The name, the annotation and the default of each field of a class of operators."""
    try:
        hints = get_type_hints(op)
    except NameError as error:
        raise ArgumentError(
            f"{op.__name__}: expected annotations of fields that can be resolved at run time, found: {error}"
        ) from None
    return tuple((f.name, hints[f.name], f.default) for f in fields(op))


def is_of(value: object, kind: Any) -> bool:
    """Whether the value of an attribute is of the kind that its annotation says."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return any(is_of(value, k) for k in arguments)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = arguments[:1] * len(value) if arguments[-1:] == (...,) else arguments
        return len(kinds) == len(value) and all(map(is_of, value, kinds))
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind) if isinstance(kind, type) else True


_KIND_TEXTS: Mapping[Any, str] = {
    int: "an integer", float: "a number", bool: "True or False", str: "text", type(None): "None",
}  # fmt: skip
_PLURALS: Mapping[Any, str] = {int: "integers", float: "numbers", str: "texts"}


def _kind_text(kind: Any) -> str:
    """What messages call a kind of attributes."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_kind_text, arguments))
    if get_origin(kind) is tuple:
        return f"a tuple of {_PLURALS.get(arguments[0], 'values')}"
    return _KIND_TEXTS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _remedy(value: object, kind: Any) -> str:
    """What to write in place of an attribute of another kind, where that is clear."""
    if get_origin(kind) is tuple and isinstance(value, (list, tuple)):
        numbers = tuple(v.item() if isinstance(v, np.generic) else v for v in value)
        return f"; write {numbers!r}" if is_of(numbers, kind) else ""
    if get_origin(kind) is tuple and isinstance(value, (int, float, str)):
        return f"; give one for each, such as ({value!r}, {value!r})"
    if isinstance(value, np.generic) and is_of(value.item(), kind):
        return f"; write {value.item()!r}"
    if kind is DType and isinstance(value, (str, np.dtype, type)):
        return f"; write DType.of({str(value)!r})" if isinstance(value, str) else "; write DType.of(…)"
    return ""


def require(condition: bool, op: Op, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")


__all__ = ["ELEMENT_BY_ELEMENT_SLOWDOWN", "LayoutChoice", "Op", "attributes_of", "check_attributes", "is_of", "require"]
