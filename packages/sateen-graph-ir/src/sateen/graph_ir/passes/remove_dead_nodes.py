"""Remove nodes that no output needs."""

from __future__ import annotations

from dataclasses import replace

from sateen.graph_ir.ir import Graph, Value


def remove_dead_nodes(graph: Graph) -> Graph:
    """Remove nodes and parameters that no output depends on. Inputs stay, as do nodes that are not pure.

    %a = relu(%x); %b = exp(%x); output %a
    =>  %a = relu(%x); output %a
    """
    needed: set[Value] = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if not node.op.is_pure or any(v in needed for v in node.outputs):
            needed.update(v for v in node.inputs if v is not None)
            kept.append(node)
    parameters = {v: data for v, data in graph.parameters.items() if v in needed}
    if len(kept) == len(graph.nodes) and len(parameters) == len(graph.parameters):
        return graph
    return replace(graph, parameters=parameters, nodes=tuple(reversed(kept)))
