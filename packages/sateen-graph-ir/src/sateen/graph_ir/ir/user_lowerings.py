"""Operators computed by functions of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.topi.methods import Computable, Method
from sateen.topi.schedules import Computation
from sateen.topi.types import TensorType, View

Lowering = Callable[..., Computation | None]
"""function(op, *inputs, outputs=types): the computation of an operator in place of its own, which None keeps."""


@dataclass(frozen=True, slots=True)
class ByFunction(Method):
    """Computed by a function of a user, or, where that gives None, by the method that was chosen before.

    It has no text form: the node means the same. Outputs are never parts of inputs' memory: what a user computes is
    computed.
    """

    function: Lowering
    otherwise: Method | None

    def __post_init__(self) -> None:
        """Its fields are no numbers."""

    def compute(self, op: Computable, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
        computation = self.function(op, *inputs, outputs=outputs)
        if computation is not None:
            return computation
        if self.otherwise is None:
            return op.compute(*inputs, outputs=outputs)
        return self.otherwise.compute(op, inputs, outputs)
