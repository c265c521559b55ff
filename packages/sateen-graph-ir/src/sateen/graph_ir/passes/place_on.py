"""Put a network on a device."""

from __future__ import annotations

from dataclasses import replace

from sateen.graph_ir.ir import Graph, Node, Value, note_node
from sateen.graph_ir.ops import Control
from sateen.runtime import Device, TargetError


def place_on(graph: Graph, device: Device) -> Graph:
    """The graph with all its values in memory of a device.

        input %x: float32[4]            input %x: float32[4] on opencl(0)
        %y = exp(%x)              =>    %y: float32[4] on opencl(0) = exp(%x)

    Raises TargetError for a node that decides what runs: its bodies would wait for the host.
    """
    placed: dict[Value, Value] = {}

    def on(v: Value) -> Value:
        if v not in placed:
            placed[v] = replace(v, device=device)
        return placed[v]

    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node.op, Control):
            refused = TargetError(f"{node.op.op_name()} decides what runs, which networks on {device} can't have")
            note_node(refused, node.outputs, node.spans)
            raise refused
        inputs = tuple(None if v is None else on(v) for v in node.inputs)
        nodes.append(replace(node, inputs=inputs, outputs=tuple(map(on, node.outputs))))
    return replace(
        graph,
        inputs=tuple(map(on, graph.inputs)),
        parameters={on(v): data for v, data in graph.parameters.items()},
        nodes=tuple(nodes),
        outputs=tuple(map(on, graph.outputs)),
        aliases={on(output): on(given) for output, given in graph.aliases.items()},
    )
