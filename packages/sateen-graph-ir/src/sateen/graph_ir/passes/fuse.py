"""Gather nodes into groups that become one kernel each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.graph_ir.ir import Graph, GraphBuilder, Node, Value
from sateen.graph_ir.memory import find_views
from sateen.graph_ir.ops import Control, Fused
from sateen.topi.schedules import Computation, Kind, kind_of, reads_in_place
from sateen.topi.types import View

MOST_NODES = 64
"""The most nodes of a group, each counted as often as it is inlined; larger groups gain nothing and compile slowly."""


@dataclass(slots=True, eq=False)
class _Group:
    """Nodes of one kernel, the last of which gives its result; `master` is the node with a schedule of its own."""

    nodes: list[Node] = field(default_factory=list)
    master: Node | None = None
    takes_epilogue: bool = True

    def inputs(self) -> list[Value]:
        """The values that the nodes read, each once."""
        return list(dict.fromkeys(v for node in self.nodes for v in node.inputs if v is not None))


def fuse(graph: Graph) -> Graph:
    """Make every node part of a group: prologue, master, epilogue (docs/design/network.md).

        %a = conv(%x, %w); %b = add(%a, %bias); %c = relu(%b)
        =>  %c = fused(%x, %w, %bias) { %a = conv(%x, %w); %b = add(%a, %bias); %c = relu(%b) }

    A group joins the one that holds all readers of its result. Injective nodes join each other; after a master, whose
    schedule the group takes, only nodes that map its elements one to one join. A concatenation whose inputs can be
    computed directly in its output (`find_views`) stays alone, as do nodes that are already `fused`. Requires: static
    types. Guarantees: every node of the result is `fused` or runs bodies that are fused so, in topological order.
    """
    return _rebuild(graph, _gather(graph)[0])


def separations(graph: Graph) -> dict[Value, str]:
    """The values that the groups of `fuse` keep in memory, and the reason why no reader is in the group that gives
    them."""
    groups, reasons = _gather(graph)
    given = {v for group in groups.values() for v in group.nodes[-1].outputs}
    return {v: "output of the network" if v in graph.outputs else reasons.get(v, "no reader") for v in given}


def _gather(graph: Graph) -> tuple[dict[Node, _Group], dict[Value, str]]:
    """The group of each node, and why values did not bring their readers into the group that gives them."""
    producers, consumers = graph.producers(), graph.consumers()
    concatenations = find_views(graph).concatenations
    groups: dict[Node, _Group] = {}
    computed: dict[Node, Computed] = {}
    known: dict[object, Computed] = {}
    reasons: dict[Value, str] = {}
    for node in graph.nodes:
        if isinstance(node.op, (Control, Fused)):
            groups[node] = _Group([node])
            reasons.update((v, f"read by {node.op.op_name()}") for v in node.inputs if v is not None)
            continue
        key = node.computation_key
        if key not in known:
            known[key] = compute_node(node)
        computed[node] = known[key]
        is_master = computed[node].kind >= Kind.REDUCTION
        computation = computed[node].computation
        takes_epilogue = computation.takes_epilogue and not (is_master and computation.schedule is None)
        group = _Group([node], node if is_master else None, takes_epilogue)
        groups[node] = group
        pending = group.inputs()
        while pending:
            value = pending.pop(0)
            producer = producers.get(value)
            if producer is None or groups[producer] is group or value in graph.outputs:
                continue
            reason = _why_free(producer, node, concatenations) or _why_apart(
                value, consumers[value], groups[producer], group, computed
            )
            if reason:
                reasons[value] = reason
            else:
                _join(groups[producer], group, groups)
                pending = group.inputs()
    return groups, reasons


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """The computation of a node, from placeholders of its inputs."""

    computation: Computation
    kind: Kind
    operands: Sequence[View | None]
    _one_to_one: dict[int, bool] = field(default_factory=dict)

    def maps_one_to_one(self, position: int) -> bool:
        """Whether each element reads of an operand only the element at its own place."""
        if position not in self._one_to_one:
            operand = self.operands[position]
            is_in_place = operand is None or reads_in_place(self.computation.view.tensor, operand.tensor)
            self._one_to_one[position] = is_in_place
        return self._one_to_one[position]


def compute_node(node: Node) -> Computed:
    computation, views = node.computed()
    return Computed(computation, kind_of(computation), views)


def _why_free(producer: Node, reader: Node, concatenations: Collection[Node]) -> str:
    """The reason why a value is kept for a node that needs no kernel; '' if there is no such node."""
    if isinstance(producer.op, (Control, Fused)):
        return f"given by {producer.op.op_name()}"
    if producer in concatenations:
        return f"{producer.op.op_name()} only puts values side by side"
    return f"computed where {reader.op.op_name()} needs it" if reader in concatenations else ""


def _why_apart(
    value: Value, consumers: Sequence[Node], before: _Group, group: _Group, computed: Mapping[Node, Computed]
) -> str:
    """The reason why the group that gives `value` can't join a group that reads it; '' if it can."""
    if any(node not in group.nodes for node in consumers):
        return f"read {len(consumers)} times"
    first = consumers[0]
    name = first.op.op_name()
    if any(v.device != value.device for v in (*first.outputs, *before.nodes[-1].inputs) if v is not None):
        return "copied from device to device"
    if computed[first].kind > Kind.INJECTIVE:
        return f"{name} begins a kernel"
    if len(before.nodes[-1].outputs) != 1:
        return "one of several results"
    if _inlined([*before.nodes, *group.nodes], before.master or group.master) > MOST_NODES:
        return f"a group has {MOST_NODES} nodes at most"
    if before.master is None:
        return ""
    master = before.master.op.op_name()
    if group.master is not None:
        return f"{name} is behind {group.master.op.op_name()} already"
    if not before.takes_epilogue:
        return f"{master} takes nothing behind it"
    moved = {value}
    for node in group.nodes:
        places = [i for i, v in enumerate(node.inputs) if v in moved]
        if places and node.outputs[0].type.layout != value.type.layout:
            return f"{node.op.op_name()} gives another layout"
        if not all(computed[node].maps_one_to_one(i) for i in places):
            return f"{node.op.op_name()} moves the elements of {master}"
        moved.update(node.outputs if places else ())
    return ""


def _inlined(nodes: Sequence[Node], master: Node | None) -> int:
    """The number of computed nodes if each reader inlines its operands; the master's result is kept."""
    times: dict[Value, int] = {}
    total = 0
    for node in reversed(nodes):
        count = 1 if node is nodes[-1] or node is master else sum(times.get(v, 0) for v in node.outputs)
        total += count
        for v in node.inputs:
            if v is not None:
                times[v] = times.get(v, 0) + count
    return total


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
        if isinstance(node.op, Control):
            nodes.append(replace(node, op=node.op.map_bodies(fuse)))
        elif isinstance(node.op, Fused):
            nodes.append(node)
        elif group.nodes[-1] is node:
            nodes.append(_fused(group))
    return Graph(graph.name, graph.inputs, graph.parameters, tuple(nodes), graph.outputs, graph.aliases, graph.labels)


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
