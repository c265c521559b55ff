"""The packing of a network: what makes the parameters that its kernels read of those that the file holds.

It is a graph of its own, compiled like the network, whose function `pack` runs when an artifact is first loaded
(docs/design/packing.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sateen.graph_ir.ir import HOST, Graph, Node, Value
from sateen.graph_ir.memory import HOST_ALIGNMENT, MemoryPlan
from sateen.graph_ir.ops import ConvertLayout, PreparedWeight
from sateen.graph_ir.passes import choose_folded, is_worth_reading
from sateen.tensor_ir.ir import Function

PAGE = 4096
"""The least that a system maps and unmaps, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class ParameterBlocks:
    """The places of parameters, as byte offsets: in the block that the file holds, and in the one that the packing
    fills, if there is one."""

    stored: Mapping[Value, int]
    """What the network reads, then, behind `kept` bytes, what only its packing reads."""
    kept: int
    stored_bytes: int
    packed: Mapping[Value, int]
    packed_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class LoweredPacking:
    """The packing of a lowered network: a fused graph, the kernel of each node, and the function that calls them."""

    graph: Graph
    plan: MemoryPlan
    calls: Mapping[Node, str]
    entry: Function


def separate_packing(graph: Graph) -> tuple[Graph, Graph | None]:
    """Part the nodes that depend on parameters only from a network: gives the network and its packing.

        parameter %w; input %x; %u = winograd_weight(%w) {tile=4}; %y = winograd_conv(%x, %u) {tile=4}; output %y
        =>  input %x; input %u; %y = winograd_conv(%x, %u) {tile=4}; output %y
            parameter %w; %u = winograd_weight(%w) {tile=4}; output %u

    The packed values are inputs of the network, behind its own. Nodes stay in it whose results are far larger than what
    they are made of, as in precompute_parameters, and those that compute its outputs.
    """
    choice = choose_folded(graph, is_worth_reading)
    read = {v for node in choice.staying for v in node.inputs}
    packed = tuple(v for node in choice.evaluated for v in node.outputs if v in read)
    if not packed:
        return graph, None
    sources = {v for node in choice.evaluated for v in node.inputs}
    staying = tuple(node for node in graph.nodes if node in choice.staying)
    network = replace(
        graph,
        inputs=(*graph.inputs, *packed),
        parameters={v: data for v, data in graph.parameters.items() if v in read or v in graph.outputs},
        nodes=staying,
    )
    parameters = {v: data for v, data in graph.parameters.items() if v in sources}
    packing = Graph(f"{graph.name} packing", (), parameters, tuple(choice.evaluated), packed)
    return network, _in_final_layouts(packing)


def _in_final_layouts(packing: Graph) -> Graph:
    """Let operators that write any layout give that in which their result is needed."""
    producers, consumers = packing.producers(), packing.consumers()
    made: dict[Node, Node] = {}
    for node in packing.nodes:
        (source,) = node.inputs if isinstance(node.op, ConvertLayout) else (None,)
        producer = None if source is None else producers.get(source)
        if producer is None or source is None or source in packing.outputs or len(consumers[source]) > 1:
            continue
        if isinstance(producer.op, PreparedWeight):
            made[producer] = replace(producer, outputs=node.outputs)
            made[node] = made[producer]
    return replace(packing, nodes=tuple(dict.fromkeys(made.get(node, node) for node in packing.nodes)))


def place_parameters(plan: MemoryPlan, packing: Graph | None) -> ParameterBlocks:
    """Blocks for what a planned network reads of the host's parameters, and for what its packing reads and gives."""
    kept = plan.parameter_blocks.get(HOST, 0)
    if packing is None:
        return ParameterBlocks(plan.parameters, kept, kept, {}, 0)
    others = [v for v in packing.parameters if v not in plan.parameters]
    first = -(-kept // PAGE) * PAGE if others else kept  # so that whole pages can be given back once they are packed
    places, stored_bytes = _placed(others, first)
    packed, packed_bytes = _placed(packing.outputs)
    return ParameterBlocks({**plan.parameters, **places}, first, stored_bytes, packed, packed_bytes)


def _placed(values: Sequence[Value], start: int = 0) -> tuple[dict[Value, int], int]:
    """A place for each value from a byte on, one after the other, and the end of all."""
    places: dict[Value, int] = {}
    for v in values:
        places[v] = start
        start += -(-max(v.type.bytes, 1) // HOST_ALIGNMENT) * HOST_ALIGNMENT
    return places, start
