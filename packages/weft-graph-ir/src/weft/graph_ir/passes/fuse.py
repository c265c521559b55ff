"""Gather nodes into groups that become one kernel each."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.graph_ir.graph import Graph, GraphBuilder, Node, Value
from weft.graph_ir.ops.fused import Fused
from weft.topi.layout import View, placeholder
from weft.topi.operator import Computation, Kind, kind_of

MOST_NODES = 64
"""Larger groups gain nothing and make kernels that compile slowly."""


@dataclass(slots=True, eq=False)
class _Group:
    """Nodes of one kernel, the last of which gives its result; `master` is the node with a schedule of its own."""

    nodes: list[Node] = field(default_factory=list)
    master: Node | None = None
    takes_epilogue: bool = True


def fuse(graph: Graph) -> Graph:
    """Make every node part of a group: prologue, master, epilogue (DESIGN 4.6).

        %a = conv(%x, %w); %b = add(%a, %bias); %c = relu(%b)
        =>  %c = fused(%x, %w, %bias) { %a = conv(%x, %w); %b = add(%a, %bias); %c = relu(%b) }

    A value with one reader may join its reader's group. Injective nodes join each other; behind a master, whose
    schedule the group takes, only nodes that map its elements one to one. Requires: static types. Guarantees: every
    node of the result is `fused`, in topological order.
    """
    producers, consumers = graph.producers(), graph.consumers()
    groups: dict[Node, _Group] = {}
    for node in graph.nodes:
        computation = computation_of(node)
        kind = kind_of(computation)
        group = _Group([node], node if kind >= Kind.REDUCTION else None, computation.takes_epilogue)
        groups[node] = group
        if kind > Kind.INJECTIVE:
            continue
        for value in dict.fromkeys(v for v in node.inputs if v is not None):
            producer = producers.get(value)
            if producer is None or len(consumers[value]) != 1 or value in graph.outputs or len(producer.outputs) != 1:
                continue
            before = groups[producer]
            if before.nodes[-1] is producer and _can_join(node, kind, value, before, group):
                _join(before, group, groups)
    return _rebuild(graph, groups)


def computation_of(node: Node) -> Computation:
    """What a node computes, from placeholders of its inputs."""
    views: list[View | None] = [
        None if v is None else placeholder(v.type.static_shape, v.type.dtype, v.name, v.type.memory_layout)
        for v in node.inputs
    ]
    return node.op.compute(*views, outputs=[v.type for v in node.outputs])


def _can_join(node: Node, kind: Kind, value: Value, before: _Group, group: _Group) -> bool:
    if len(before.nodes) + len(group.nodes) > MOST_NODES:
        return False
    if before.master is None:
        return True
    if group.master is not None or not before.takes_epilogue or kind > Kind.BROADCAST:
        return False
    (output,) = node.outputs
    return output.type.shape == value.type.shape and output.type.layout == value.type.layout


def _join(before: _Group, group: _Group, groups: dict[Node, _Group]) -> None:
    """Put an earlier group in front of the current one."""
    group.nodes = [*before.nodes, *group.nodes]
    group.master = group.master or before.master
    group.takes_epilogue = group.takes_epilogue and before.takes_epilogue
    for node in before.nodes:
        groups[node] = group


def _rebuild(graph: Graph, groups: dict[Node, _Group]) -> Graph:
    """One `fused` node per group, at the place of its last node."""
    nodes = []
    for node in graph.nodes:
        group = groups[node]
        if group.nodes[-1] is node:
            nodes.append(_fused(group))
    return Graph(graph.name, graph.inputs, graph.parameters, tuple(nodes), graph.outputs, graph.aliases)


def _fused(group: _Group) -> Node:
    inner = {v for node in group.nodes for v in node.outputs}
    inputs = tuple(dict.fromkeys(v for n in group.nodes for v in n.inputs if v is not None and v not in inner))
    outputs = group.nodes[-1].outputs
    builder = GraphBuilder(group.master.op.op_name() if group.master is not None else group.nodes[-1].op.op_name())
    for v in inputs:
        builder.declare(v)
    for node in group.nodes:
        builder.append(node)
    builder.output(*outputs)
    spans = tuple(dict.fromkeys(span for node in group.nodes for span in node.spans))
    return Node(Fused(builder.finish()), inputs, outputs, spans)
