"""Give symbolic dimensions their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sateen.graph_ir.ir import Dimension, Graph, Node, TensorType, Value
from sateen.graph_ir.passes.infer_types import with_inputs
from sateen.runtime.errors import InferenceError
from sateen.topi.dimensions import bind


def bind_dims(graph: Graph, dims: Mapping[str, int]) -> Graph:
    """Replace symbols in types and attributes by sizes, and infer all types again.

        input %x: float32[?n, 3]; %y: float32[?n*3] = reshape(%x) {shape=(?n*3,)}          with dims = {"n": 8}
        =>  input %x: float32[8, 3]; %y: float32[24] = reshape(%x) {shape=(24,)}

    Symbols that `dims` does not name stay. Raises InferenceError for a size below one, and if a node does not take the
    sizes.
    """
    wrong = [f"{name} = {size!r}" for name, size in dims.items() if isinstance(size, bool) or not size >= 1]
    if wrong:
        raise InferenceError(f"bind_dims: expected sizes of one or more, found {', '.join(wrong)}")
    return _bound_graph(graph, dims) if dims else graph


def _bound_graph(graph: Graph, dims: Mapping[str, int]) -> Graph:
    inputs = tuple(_bound_value(v, dims) for v in graph.inputs)
    nodes = tuple(_bound_node(node, dims) for node in graph.nodes)
    if inputs == graph.inputs and nodes == graph.nodes:
        return graph
    return with_inputs(replace(graph, nodes=nodes), inputs)


def _bound_value(value: Value, dims: Mapping[str, int]) -> Value:
    type_ = value.type.bind(dims)
    return value if type_ == value.type else replace(value, type=type_)


def _bound_node(node: Node, dims: Mapping[str, int]) -> Node:
    op: Any = node.op
    attributes = op.attributes()
    bound = {name: _bound_attribute(value, dims) for name, value in attributes.items()}
    changed = {name: value for name, value in bound.items() if value is not attributes[name]}
    return replace(node, op=replace(op, **changed)) if changed else node


def _bound_attribute(value: object, dims: Mapping[str, int]) -> object:
    """The value of an attribute with sizes in its dimensions; itself if it has none of these symbols."""
    match value:
        case Dimension():
            found: object = bind(value, dims)
        case TensorType():
            found = value.bind(dims)
        case tuple():
            found = tuple(_bound_attribute(item, dims) for item in value)
        case Graph():
            return _bound_graph(value, dims)
        case _:
            return value
    return value if found == value else found
