"""A group of nodes that becomes one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.graph_ir.ir import Graph, GraphBuilder, Node, TensorType, Value
from sateen.graph_ir.ops.element_wise import Identity
from sateen.runtime import Device
from sateen.topi.operators import Operator, require


@dataclass(frozen=True, slots=True, eq=False)
class Fused(Operator):
    """The nodes of `body`, whose inputs stand for the node's own in order."""

    minds_layouts: ClassVar[bool] = True
    body: Graph

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        expected = tuple(v.type for v in self.body.inputs)
        require(
            inputs == expected, self, f"body takes {', '.join(map(str, expected))}, found {', '.join(map(str, inputs))}"
        )
        return tuple(v.type for v in self.body.outputs)

    def output_device(self, inputs: Sequence[Device]) -> Device:
        return self.body.outputs[0].device

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.body.operations()


def copying(type_: TensorType) -> Node:
    """A fused node that copies a value of a type."""
    builder = GraphBuilder("copy")
    builder.output(builder.add(Identity(), builder.declare(Value("source", type_)), name="target"))
    body = builder.finish()
    return Node(Fused(body), body.inputs, body.outputs)
