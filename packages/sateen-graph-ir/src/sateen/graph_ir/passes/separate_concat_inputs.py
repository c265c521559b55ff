"""Give concatenations inputs that can be computed directly in the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.memory import Location, find_pieces, find_views, views_of
from sateen.graph_ir.ops import Identity


def separate_concat_inputs(graph: Graph) -> Graph:
    """Copy the inputs of concatenations that have another place, if the other inputs then need no copy.

        input %x: float32[1, 2]; %a = relu(%b); %y = concat(%x, %a) {axis=1}
        =>  %a = relu(%b); %x.1 = identity(%x); %y = concat(%x.1, %a) {axis=1}

    Done only if at most half of the bytes are copied. Runs after choose_layouts. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    found = find_views(graph)
    views = {v: found.views[v] for node in found.parts for v in node.outputs}
    for node in graph.nodes:
        pieces = find_pieces(node, graph, views)
        copied = [v for v, piece in zip(node.inputs, pieces, strict=False) if piece is None]
        if not pieces or 2 * sum(v.type.bytes for v in copied if v is not None) > node.outputs[0].type.bytes:
            rewriter.keep(node)
            continue
        views.update(views_of(node, pieces))
        if copied:
            rewriter.put(node, _separated(node, pieces, rewriter), node.outputs)
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _separated(node: Node, pieces: Sequence[Location | None], rewriter: GraphRewriter) -> tuple[Value | None, ...]:
    """The inputs of a node, copied if they are no pieces."""
    inputs: list[Value | None] = []
    for v, piece in zip(rewriter.values(node.inputs), pieces, strict=True):
        if v is not None and piece is None:
            copy = replace(v, name=rewriter.builder.unique(v.name))
            rewriter.builder.append(Node(Identity(), (v,), (copy,), node.spans))
            inputs.append(copy)
        else:
            inputs.append(v)
    return tuple(inputs)
