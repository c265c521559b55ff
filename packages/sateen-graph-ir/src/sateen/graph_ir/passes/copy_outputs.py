"""Give every output of a graph a node that computes it."""

from __future__ import annotations

from dataclasses import replace

from sateen.graph_ir.ir import Graph, GraphBuilder, Node
from sateen.graph_ir.ops import Identity


def copy_outputs(graph: Graph) -> Graph:
    """Copy the outputs that are inputs or parameters, since the caller's outputs have separate memory.

        input %x: float32[2]; output %x
        =>  input %x: float32[2]; %x.1 = identity(%x); output %x.1

    Guarantees: each output is computed by a node.
    """
    given = [v for v in graph.outputs if v in graph.inputs or v in graph.parameters]
    if not given:
        return graph
    names = GraphBuilder()
    names.reserve(graph)
    copies = {v: replace(v, name=names.unique(v.name), type=replace(v.type, layout=None)) for v in given}
    nodes = tuple(Node(Identity(), (v,), (copy,)) for v, copy in copies.items())
    return replace(
        graph,
        nodes=(*graph.nodes, *nodes),
        outputs=tuple(copies.get(v, v) for v in graph.outputs),
        aliases={copies.get(v, v): source for v, source in graph.aliases.items()},
    )
