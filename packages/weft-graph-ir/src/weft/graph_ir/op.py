"""What an operator is: one class that holds all facts about it. Its fields are its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from weft.graph_ir.types import TensorType
from weft.runtime.errors import InferenceError
from weft.topi.layout import Layout, View
from weft.topi.operator import Computation


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A way to run an operator: the layouts it takes and gives. None: row-major."""

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]


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

    def is_reinterpretation(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> bool:
        """Whether the output is the first input's memory, byte for byte, under another shape."""
        return False

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)  # type: ignore[arg-type]
            if getattr(self, f.name) != f.default
        }


def require(condition: bool, op: Op, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")


@dataclass(frozen=True)
class OpSet:
    """Operators by name, for the parser of the text form. A value: `with_ops` makes another."""

    ops: dict[str, type[Op]]

    @staticmethod
    def of(*ops: type[Op]) -> OpSet:
        return OpSet({op.op_name(): op for op in ops})

    def with_ops(self, *ops: type[Op]) -> OpSet:
        return OpSet(self.ops | OpSet.of(*ops).ops)
