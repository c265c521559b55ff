"""A group of nodes that becomes one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        require(inputs == expected, self, f"body takes {listed(expected)}, found {listed(inputs)}")
        return tuple(v.type for v in self.body.outputs)

    def output_devices(self, inputs: Sequence[Device], count: int) -> tuple[Device, ...]:
        require_devices(self, "inputs of body", [v.device for v in self.body.inputs], inputs)
        return tuple(v.device for v in self.body.outputs)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.body.operations()


def require_devices(op: Operator, values: str, expected: Sequence[Device], found: Sequence[Device]) -> None:
    """Raise InferenceError unless values, which the error calls so, are on the devices that the operator expects."""
    if [*expected] != [*found]:
        require(False, op, f"expected {values} on {listed(expected)}, found {listed(found)}")


def listed(facts: Iterable[object]) -> str:
    """The types or devices of several values, as errors tell them."""
    return ", ".join(map(str, facts)) or "none"


def copying(value: Value) -> Node:
    """A fused node that copies a value of the type of another, in memory of its device."""
    builder = GraphBuilder("copy")
    source = builder.declare(Value("source", value.type, value.device))
    builder.output(builder.add(Identity(), source, name="target"))
    body = builder.finish()
    return Node(Fused(body), body.inputs, body.outputs)


def is_copy_between_devices(node: Node) -> bool:
    """Whether a node copies a value from the memory of a device to that of another, which no kernel does."""
    return any(v is not None and v.device != node.outputs[0].device for v in node.inputs) and isinstance(node.op, Fused)
