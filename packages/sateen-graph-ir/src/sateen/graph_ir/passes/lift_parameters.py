"""Move the parameters of graphs within nodes to the graph around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sateen.graph_ir.ir import Array, Graph, GraphBuilder, Node, TensorType, Value
from sateen.graph_ir.ops import Control
from sateen.runtime import Device


def lift_parameters(graph: Graph) -> Graph:
    """Let control nodes capture the parameters of their bodies, so that one block of memory holds all parameters.

        %y = loop(%x) {count=3, carried=1}
          body = input %i; input %s; parameter %p: float32[2] = [1.0, 0.0]; %t = add(%s, %p); output %t
        =>  parameter %p: float32[2] = [1.0, 0.0]; %y = loop(%x, %p) {count=3, carried=1}
              body = input %i; input %s; input %p: float32[2]; %t = add(%s, %p); output %t

    Bodies with the same data in the same layout share a parameter. Guarantees: bodies have no parameters.
    """
    names = GraphBuilder()
    names.reserve(graph)
    parameters = dict(graph.parameters)
    known: dict[tuple[int, TensorType, Device], Value] = {
        (id(data), v.type, v.device): v for v, data in parameters.items()
    }

    def lifted(value: Value, data: Array) -> Value:
        key = id(data), value.type, value.device
        if key not in known:
            known[key] = replace(value, name=names.unique(value.name))
            parameters[known[key]] = data
        return known[key]

    def changed(node: Node) -> Node:
        if not isinstance(node.op, Control):
            return node
        op = node.op.map_bodies(lift_parameters)
        held = {v: data for body in op.bodies for v, data in body.parameters.items()}
        if not held:
            return node
        captured = [lifted(v, data) for v, data in held.items()]
        return replace(node, op=op.map_bodies(_capturing(op, list(held))), inputs=(*node.inputs, *captured))

    nodes = tuple(map(changed, graph.nodes))
    return replace(graph, parameters=parameters, nodes=nodes) if nodes != graph.nodes else graph


def _capturing(op: Control, values: list[Value]) -> Callable[[Graph], Graph]:
    """Makes inputs of a body's own parameters among `values`, and adds unused inputs for the others."""

    def change(body: Graph) -> Graph:
        names = GraphBuilder()
        names.reserve(body)
        added = [v if v in body.parameters else replace(v, name=names.unique(v.name)) for v in values]
        return replace(op.with_captures(body, (*op.captures(body), *added)), parameters={})

    return change
