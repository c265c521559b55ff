"""Outputs that may use the memory of an input: nothing may read the input once the output is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.graph_ir.ir import Graph, GraphBuilder, Node, Value
from sateen.graph_ir.memory.views import Views, find_views, location_of
from sateen.graph_ir.ops import copying


def copy_early_outputs(graph: Graph, overwritable: Mapping[Node, Sequence[Value]]) -> Graph:
    """Compute aliased outputs separately and copy them at the end, if their input is still read later.

        input %x; alias %y = %x; %y = reverse(%x); %z = relu(%x)
        =>  input %x; alias %y = %x; %y.1 = reverse(%x); %z = relu(%x); %y = copy(%y.1)

    `overwritable` are the inputs of a node whose memory its output may use: such an output stays if its node is the
    last one to read the input. Requires: a fused graph.
    """
    views = find_views(graph)
    early = [o for o, i in graph.aliases.items() if not _is_last(graph, o, i, overwritable, views)]
    if not early:
        return graph
    names = GraphBuilder()
    names.reserve(graph)
    beside = {v: replace(v, name=names.unique(v.name)) for v in early}
    nodes = [
        replace(
            node,
            inputs=tuple(None if v is None else beside.get(v, v) for v in node.inputs),
            outputs=tuple(beside.get(v, v) for v in node.outputs),
        )
        if not beside.keys().isdisjoint((*node.inputs, *node.outputs))
        else node
        for node in graph.nodes
    ]
    copies = [Node(copying(v).op, (source,), (v,)) for v, source in beside.items()]
    return replace(graph, nodes=(*nodes, *copies))


def _is_last(
    graph: Graph, output: Value, input_: Value, overwritable: Mapping[Node, Sequence[Value]], views: Views
) -> bool:
    """Whether no node reads the input after the output is written to its memory."""

    def lies_in(value: Value | None, source: Value) -> bool:
        return value is not None and location_of(value, views.views).source is source

    is_written = False
    for node in graph.nodes:
        if node in views.free:
            continue
        read = [v for v in node.inputs if lies_in(v, input_)]
        writes = any(lies_in(v, output) for v in node.outputs)
        if is_written and read:
            return False
        if writes and read:
            (value, *more), whole = read, output.type.bytes
            in_place = value in overwritable.get(node, ()) and value is not None and value.type.bytes == whole
            if more or not in_place or node.outputs != (output,):
                return False
        is_written = is_written or writes
    return True
