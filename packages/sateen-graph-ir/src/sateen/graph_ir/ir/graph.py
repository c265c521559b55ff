"""Graphs: a flat tuple of nodes over named values, in topological order, immutable.

    graph = inputs, parameters (values with data), nodes, outputs, aliases, labels
    node  = outputs <- op(inputs)

A graph is made by a GraphBuilder and changed only by copying through a GraphRewriter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sateen.graph_ir.ir.types import TensorType
from sateen.runtime.device import Device, cpu
from sateen.runtime.display import counted, html_table, named, shortened, size
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi import operators
from sateen.topi.methods import Method
from sateen.topi.operators import LayoutChoice, Operator
from sateen.topi.schedules import Computation
from sateen.topi.types import View, placeholder

Array = np.ndarray[Any, Any]
HOST = cpu()
"""The device whose code calls the network."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor in a graph, in memory of a device. Identity is the object; names are unique within a graph."""

    name: str
    type: TensorType
    device: Device = HOST

    @property
    def declared(self) -> str:
        """Its type, and its device where that is not the host: `float32[1, 3] on opencl(0)`."""
        return str(self.type) if self.device == HOST else f"{self.type} on {self.device}"

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"Value({shortened(str(self))}: {self.declared})"


@dataclass(frozen=True, slots=True)
class NodeSpan:
    """The origin of a node: the user's model, and the node's name and operator there."""

    model: str
    node: str
    operator: str

    def __str__(self) -> str:
        model = f" of model {self.model!r}" if self.model else ""
        return f"node {self.node!r} ({self.operator}){model}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One application of an operator. An absent optional input is None."""

    op: Operator
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    spans: tuple[NodeSpan, ...] = ()
    method: Method | None = None
    """The chosen method of computing it, if any."""

    def __repr__(self) -> str:
        outputs = named([f"{v}: {v.type}" for v in self.outputs])
        return f"Node({outputs} = {self.op.op_name()}({named([v or 'none' for v in self.inputs])}))"

    @property
    def input_types(self) -> tuple[TensorType, ...]:
        """The types of the inputs that are present."""
        return tuple(v.type for v in self.inputs if v is not None)

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The types of the outputs."""
        return tuple(v.type for v in self.outputs)

    @property
    def computation_key(self) -> Hashable:
        """What its computation depends on: equal for nodes that compute alike."""
        return self.op, self.method, tuple(v and v.type for v in self.inputs), self.output_types

    def computation(self, inputs: Sequence[View | None]) -> Computation:
        """Its computation on views of its inputs, by its method, with outputs in the layouts of their types."""
        return operators.computation_of(self.op, inputs, self.output_types, self.method)

    def computed(self) -> tuple[Computation, list[View | None]]:
        """Its computation from placeholders of its inputs, and these. An error says of which node it is."""
        views = [
            None if v is None else placeholder(v.type.static_shape, v.type.dtype, v.name, v.type.memory_layout)
            for v in self.inputs
        ]
        try:
            return self.computation(views), views
        except Exception as error:
            note_node(error, self.inputs, self.spans)
            raise

    def layouts(self, inputs: Sequence[TensorType], machine: Machine) -> Iterable[LayoutChoice]:
        """The layouts in which it can run, best first, for the present layouts of its inputs."""
        if self.method is None:
            return self.op.layouts(inputs, self.output_types, machine)
        return self.op.layouts_by(self.method, inputs, self.output_types, machine)

    def operations(self) -> int:
        """The number of floating-point operations by definition (`Operator.operations`). Requires static types."""
        return self.op.operations(self.input_types, self.output_types)


def require_labels(output: Value, labels: Sequence[str]) -> None:
    """Raises InferenceError unless there is a label for each element along the last axis of an output. Any number of
    labels fits an output of int64: they name its values 0, 1, ...."""
    shape = output.type.shape
    if str(output.type.dtype) == "int64":
        return
    if not shape or (isinstance(shape[-1], int) and shape[-1] != len(labels)):
        raise InferenceError(
            f"labels: expected one for each element along the last axis of {output}: {output.type}, found {len(labels)}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A network. `parameters` are constants; `aliases` maps an output to the input whose memory it may reuse. `labels`
    says by the name of an output what the elements along its last axis are called, such as the classes of scores; of an
    output of int64, what its values 0, 1, ... stand for."""

    name: str
    inputs: tuple[Value, ...]
    parameters: Mapping[Value, Array]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    aliases: Mapping[Value, Value] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        from sateen.graph_ir.ir.text import (
            format_graph,  # Python's repr: the text form knows graphs, so it imports this module
        )

        return format_graph(self)

    def __repr__(self) -> str:
        given, made = (named([f"{v.name}: {v.type}" for v in values]) for values in (self.inputs, self.outputs))
        held = f"{counted(len(self.nodes), 'node')}, parameters {size(self.parameter_bytes)}"
        return f"Graph({shortened(self.name)}: {given} -> {made}; {held})"

    def _repr_html_(self) -> str:
        facts = {
            "inputs": named([f"{v.name}: {v.type}" for v in self.inputs]),
            "outputs": named([f"{v.name}: {v.type}" for v in self.outputs]),
            "parameters": f"{len(self.parameters)}, {size(self.parameter_bytes)}",
        }
        rows = [
            (
                node.op.op_name(),
                named([v.name for v in node.outputs]),
                named([v.type for v in node.outputs]),
                named([v.name if v else "none" for v in node.inputs]),
            )
            for node in self.nodes
        ]
        return html_table(f"graph {self.name}", facts, ("operator", "result", "type", "of"), rows)

    @property
    def parameter_bytes(self) -> int:
        """The bytes of all parameters."""
        return sum(data.nbytes for data in self.parameters.values())

    def operations(self) -> int:
        """The number of floating-point operations of all nodes (`Operator.operations`). Requires static types."""
        return sum(node.operations() for node in self.nodes)

    def producers(self) -> dict[Value, Node]:
        """The node that computes each value."""
        return {v: node for node in self.nodes for v in node.outputs}

    def constants(self) -> set[Value]:
        """The parameters, and the values that nodes compute of parameters alone."""
        found: set[Value] = set(self.parameters)
        for node in self.nodes:
            inputs = {v for v in node.inputs if v is not None}
            if inputs and inputs <= found:
                found.update(node.outputs)
        return found

    def consumers(self) -> dict[Value, list[Node]]:
        """The nodes that read each value, in order, once per read."""
        result: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for v in node.inputs:
                if v is not None:
                    result.setdefault(v, []).append(node)
        return result


def infer(op: Operator, inputs: Sequence[Value | None]) -> tuple[TensorType, ...]:
    """Output types of an operator on values. Absent inputs are None; trailing ones may be left out."""
    return operators.types_of(op, [None if v is None else v.type for v in inputs])


def note_node(error: Exception, inputs: Iterable[Value | None], spans: Iterable[NodeSpan]) -> None:
    """Add the node to its error: its origin and its inputs."""
    for span in spans:
        error.add_note(f"in {span}")
    for v in inputs:
        if v is not None:
            error.add_note(f"  {v}: {v.declared}")


def infer_outputs(op: Operator, inputs: Sequence[Value | None]) -> tuple[tuple[TensorType, Device], ...]:
    """The type and the device of each output of an operator on values."""
    types = infer(op, inputs)
    devices = operators.devices_of(op, [v.device for v in inputs if v is not None], len(types))
    return tuple(zip(types, devices, strict=True))


def infer_at(
    op: Operator, inputs: Sequence[Value | None], spans: Iterable[NodeSpan]
) -> tuple[tuple[TensorType, Device], ...]:
    """The same, with the node in errors."""
    try:
        return infer_outputs(op, inputs)
    except Exception as error:
        note_node(error, inputs, spans)
        raise
