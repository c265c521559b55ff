"""An operator whose computation a user replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sateen.graph_ir.op import LayoutChoice, Op
from sateen.graph_ir.op_set import Lowering
from sateen.graph_ir.ops.custom import Custom, accepted
from sateen.graph_ir.types import TensorType
from sateen.topi.layout import View
from sateen.topi.operator import Computation


@dataclass(frozen=True, slots=True)
class Lowered(Op):
    """`op`, computed by `function` unless that gives None. It has the text form of `op`, as it means the same.

    Its outputs are never parts of its inputs' memory: what a user computes is computed.
    """

    op: Op
    function: Lowering

    def op_name(self) -> str:  # type: ignore[override]  # a class of wrappers has no name, each wrapper has one
        return self.op.op_name()

    def attributes(self) -> dict[str, object]:
        return self.op.attributes()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        return self.op.infer(*inputs)

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        subject = self.op.operator if isinstance(self.op, Custom) else self.op
        computation = self.function(subject, *inputs, outputs=outputs)
        if computation is None:
            return self.op.compute(*inputs, outputs=outputs)
        return accepted(self, computation, inputs, outputs)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], lanes: int
    ) -> Iterable[LayoutChoice]:
        return self.op.layouts(inputs, outputs, lanes)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.op.operations(inputs, outputs)
