"""Infer the types of all values from those of inputs and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sateen.graph_ir.ir import Graph, TensorType, Value, infer, note_node
from sateen.graph_ir.ops import Control
from sateen.topi.operators import Operator


def infer_types(graph: Graph) -> Graph:
    """Give every value the type that its operator infers; chosen layouts stay.

        input %x: float32[8, 3]; %y: float32[?n, 3] = relu(%x)
        =>  input %x: float32[8, 3]; %y: float32[8, 3] = relu(%x)

    Guarantees that types agree with inference. Raises InferenceError with the node if inputs don't fit.
    """
    return with_inputs(graph, graph.inputs)


def with_inputs(graph: Graph, inputs: Sequence[Value]) -> Graph:
    """The graph with other inputs, with its types inferred again; itself if nothing changes."""
    new: dict[Value, Value] = {**dict(zip(graph.inputs, inputs, strict=True)), **{v: v for v in graph.parameters}}
    nodes = []
    for node in graph.nodes:
        operands = tuple(None if v is None else new[v] for v in node.inputs)
        try:
            op = _with_inputs(node.op, operands)
            types = infer(op, operands)
        except Exception as error:
            note_node(error, operands, node.spans)
            raise
        outputs = tuple(_retyped(v, t) for v, t in zip(node.outputs, types, strict=True))
        new.update(zip(node.outputs, outputs, strict=True))
        same = op is node.op and (operands, outputs) == (node.inputs, node.outputs)
        nodes.append(node if same else replace(node, op=op, inputs=operands, outputs=outputs))
    if tuple(nodes) == graph.nodes and all(old is v for old, v in new.items()):
        return graph
    aliases = {new[output]: new[input_] for output, input_ in graph.aliases.items()}
    outputs = tuple(new[v] for v in graph.outputs)
    return Graph(graph.name, tuple(inputs), graph.parameters, tuple(nodes), outputs, aliases, graph.labels)


def _with_inputs(op: Operator, operands: Sequence[Value | None]) -> Operator:
    """The operator with bodies that take the operands; their other inputs stay."""
    if not isinstance(op, Control):
        return op
    types = [v.type for v in operands[op.deciding :] if v is not None]

    def take(body: Graph) -> Graph:
        own, read = body.inputs[: op.counted], body.inputs[op.counted :]
        if len(read) != len(types):
            return body
        return with_inputs(body, (*own, *(_retyped(v, t) for v, t in zip(read, types, strict=True))))

    return op.map_bodies(take)


def _retyped(value: Value, inferred: TensorType) -> Value:
    type_ = inferred if inferred.layout is not None else replace(inferred, layout=value.type.layout)
    return value if value.type == type_ else replace(value, type=type_)
