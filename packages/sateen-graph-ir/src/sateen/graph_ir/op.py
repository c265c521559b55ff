"""What an operator is: one class that holds all facts about it. Its fields are its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from sateen.graph_ir.types import TensorType
from sateen.runtime.errors import InferenceError
from sateen.topi.layout import View
from sateen.topi.operator import Computation, LayoutChoice

ELEMENT_BY_ELEMENT_SLOWDOWN = 100.0
"""Of a method in a layout that it is only defined for."""


class Op:
    """Base of operators: frozen dataclasses, equal where their attributes are.

    A subclass gives `infer` and `compute`. What an operator is to fusion follows from what its computation reads.
    """

    __slots__ = ()
    is_pure: ClassVar[bool] = True

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
        """Floating-point operations of the multiply-adds that the definition sums, each counted as two.

        `inputs` are those that are present; all types are static. 0 for operators that memory limits, not arithmetic.
        """
        return 0

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return attributes_of(self)


def attributes_of(op: Any) -> dict[str, object]:
    """The fields of a dataclass that differ from their defaults, in order."""
    return {f.name: getattr(op, f.name) for f in fields(op) if getattr(op, f.name) != f.default}


def require(condition: bool, op: Op, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")


__all__ = ["ELEMENT_BY_ELEMENT_SLOWDOWN", "LayoutChoice", "Op", "attributes_of", "require"]
