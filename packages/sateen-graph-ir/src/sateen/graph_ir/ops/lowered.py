"""An operator whose computation a user replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sateen.graph_ir.op_set import Lowering
from sateen.graph_ir.types import TensorType
from sateen.tensor_ir import Machine
from sateen.topi import contract
from sateen.topi.layout import View
from sateen.topi.operator import Computation, LayoutChoice, Operator


@dataclass(frozen=True, slots=True)
class Lowered(Operator):
    """`op`, computed by `function` unless that gives None. It has the text form of `op`, as it means the same.

    Its outputs are never parts of its inputs' memory: what a user computes is computed.
    """

    op: Operator
    function: Lowering

    def op_name(self) -> str:  # type: ignore[override]  # a class of wrappers has no name, each wrapper has one
        return self.op.op_name()

    def attributes(self) -> dict[str, object]:
        return self.op.attributes()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        return contract.infer(self.op, inputs)

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        computation = self.function(self.op, *inputs, outputs=outputs)
        if computation is None:
            return contract.compute(self.op, inputs, outputs)
        return contract.accepted(self, computation, inputs, outputs)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        return self.op.layouts(inputs, outputs, machine)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.op.operations(inputs, outputs)
