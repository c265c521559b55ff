"""The verifier of graphs: the rules that hold for every graph, checked after every pass."""

from __future__ import annotations

from collections.abc import Container

from sateen.graph_ir.ir.graph import Graph, Node, Value, infer_outputs, note_node, require_labels
from sateen.graph_ir.ir.text import subgraphs
from sateen.runtime.errors import InferenceError


def verify_graph(graph: Graph, verified: Container[Node] = frozenset()) -> None:
    """Raise InferenceError if a graph is malformed.

    Names are unique and values defined once, before their use; the type and the device of each output are those that
    its operator infers, in any layout; parameters have data of their types; each output occurs once; aliases are
    outputs and inputs of one type and device, each once. What a node says by itself is not verified again for nodes of
    a graph that was `verified`.
    """
    names: set[str] = set()
    known: set[Value] = set()

    def define(value: Value) -> None:
        if value.name in names:
            raise InferenceError(f"graph {graph.name!r}: expected unique names, found {value} twice")
        names.add(value.name)
        known.add(value)

    for v in (*graph.inputs, *graph.parameters):
        define(v)
    for v, data in graph.parameters.items():
        if data.shape != v.type.physical_shape or data.dtype != v.type.dtype.numpy:
            found = f"{data.dtype}{list(data.shape)}"
            raise InferenceError(f"parameter {v} has type {v.type}, found data of {found}")
    for node in graph.nodes:
        try:
            for operand in node.inputs:
                if operand is not None:
                    _require_known(operand, known, f"input of {node.op.op_name()}")
            if node not in verified:
                _verify_node(node)
        except Exception as error:
            note_node(error, node.inputs, node.spans)
            raise
        for v in node.outputs:
            define(v)
    given: set[Value] = set()
    for v in graph.outputs:
        _require_known(v, known, "output")
        if v in given:
            raise InferenceError(f"graph {graph.name!r}: expected each output once, found {v} twice")
        given.add(v)
    outputs = {v.name: v for v in graph.outputs}
    for name, labels in graph.labels.items():
        if name not in outputs:
            raise InferenceError(f"graph {graph.name!r}: expected labels of outputs, found those of {name!r}")
        require_labels(outputs[name], labels)
    if len(set(graph.aliases.values())) < len(graph.aliases):
        raise InferenceError(f"graph {graph.name!r}: expected an input for each output in aliases, found one twice")
    for output, input_ in graph.aliases.items():
        is_pair = output in graph.outputs and input_ in graph.inputs
        if not is_pair or (output.type, output.device) != (input_.type, input_.device):
            raise InferenceError(
                f"alias: expected an output and an input of one type, found {output}: {output.declared} "
                f"and {input_}: {input_.declared}"
            )


def _verify_node(node: Node) -> None:
    """The rules that hold for a node wherever it is."""
    name = node.op.op_name()
    inferred = infer_outputs(node.op, node.inputs)
    if len(inferred) != len(node.outputs):
        raise InferenceError(f"{name}: expected {len(inferred)} outputs, found {len(node.outputs)}")
    for v, (t, device) in zip(node.outputs, inferred, strict=True):
        if (v.type.dtype, v.type.shape) != (t.dtype, t.shape) or t.layout not in (None, v.type.layout):
            raise InferenceError(f"{name}: {v} is {v.type}, inferred {t}")
        if v.device != device:
            raise InferenceError(f"{name}: {v} is on {v.device}, inferred {device}")
    for body in subgraphs(node.op).values():
        verify_graph(body)


def _require_known(value: Value, known: set[Value], role: str) -> None:
    if value not in known:
        raise InferenceError(f"expected every {role} to be defined before its use, found {value}")
