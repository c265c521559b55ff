"""Compute what is equal once."""

from __future__ import annotations

from weft.graph_ir.graph import Graph, GraphRewriter, Value
from weft.graph_ir.op import Op
from weft.graph_ir.text import digest
from weft.graph_ir.types import TensorType


def share_equal_nodes(graph: Graph) -> Graph:
    """Let equal operators on equal inputs share their outputs, and equal parameters their data.

        %a = relu(%x); %b = relu(%x); %c = add(%a, %b)
        =>  %a = relu(%x); %c = add(%a, %a)

    Nodes that are not pure stay, as do the parameters that nothing reads any more: remove_dead_nodes takes those.
    An output of the graph keeps a name of its own: its node is never the one that goes.
    """
    rewriter = GraphRewriter(graph)
    first = _equal_parameters(graph)
    known: dict[tuple[Op, tuple[Value | None, ...], tuple[TensorType, ...]], tuple[Value, ...]] = {}
    for old, new in first.items():
        rewriter.stand_for(old, new)
    for node in graph.nodes:
        key = (node.op, rewriter.values(node.inputs), tuple(v.type for v in node.outputs))
        if not node.op.is_pure or key not in known or any(v in graph.outputs for v in node.outputs):
            rewriter.keep(node)
            known.setdefault(key, tuple(rewriter.value(v) for v in node.outputs))
        else:
            rewriter.replace(node, *known[key])
    return rewriter.finish()


def _equal_parameters(graph: Graph) -> dict[Value, Value]:
    """For each parameter that an earlier one equals, that one."""
    first: dict[tuple[TensorType, str], Value] = {}
    result = {}
    for v, data in graph.parameters.items():
        earlier = first.setdefault((v.type, digest(data)), v)
        if earlier is not v:
            result[v] = earlier
    return result
