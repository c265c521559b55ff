"""Operators that functions of users compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.topi.methods import Computable, Method
from sateen.topi.schedules import Computation
from sateen.topi.types import TensorType, View

Lowering = Callable[..., Computation | None]
"""function(op, *inputs, outputs=types): the computation of an operator in place of its own; None keeps its own."""


@dataclass(frozen=True, slots=True)
class ByFunction(Method):
    """The method of a node that a function of a user computes, or, if that gives None, the method chosen before.

    It has no text form, since the node's meaning is the same. Outputs are never parts of inputs' memory, so that the
    user's function always runs.
    """

    function: Lowering
    otherwise: Method | None

    def __post_init__(self) -> None:
        """Skips the check of methods, since the fields are no numbers."""

    def compute(self, op: Computable, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
        computation = self.function(op, *inputs, outputs=outputs)
        if computation is not None:
            return computation
        if self.otherwise is None:
            return op.compute(*inputs, outputs=outputs)
        return self.otherwise.compute(op, inputs, outputs)
