"""Memory of a network: where each intermediate value is in the workspace, each parameter in the parameter block.

Offsets are assigned by the greedy rule of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference
(2020), section 5: tensors in order of falling size, each at the lowest place that is free while it lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.graph_ir.graph import Graph, Node, Value
from weft.graph_ir.ops.fused import Fused

ALIGNMENT = 64
"""Of every value, in bytes: a cache line, and the widest vector."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Byte offsets. `views` maps a value to the value whose memory it is."""

    workspace: Mapping[Value, int]
    workspace_bytes: int
    parameters: Mapping[Value, int]
    parameter_bytes: int
    views: Mapping[Value, Value]
    least_bytes: int
    """The most bytes that live at one time: what no plan can go below."""


def plan_memory(graph: Graph) -> MemoryPlan:
    """Place the intermediate values of a fused graph. Values that live at the same time do not overlap."""
    views = find_views(graph)
    lives = _lives(graph, views)
    sizes = {v: _aligned(v.type.bytes) for v in lives}
    offsets: dict[Value, int] = {}
    for value in sorted(lives, key=lambda v: (-sizes[v], lives[v], v.name)):
        offsets[value] = _lowest_gap(value, offsets, lives, sizes)
    parameters: dict[Value, int] = {}
    end = 0
    for value in graph.parameters:
        parameters[value] = end
        end += _aligned(value.type.bytes)
    total = max((offsets[v] + sizes[v] for v in offsets), default=0)
    return MemoryPlan(offsets, total, parameters, end, views, _most_alive(lives, sizes))


def _aligned(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def find_views(graph: Graph) -> dict[Value, Value]:
    """Values that are another value's memory: reshapes of what the network itself computes or is given."""
    views: dict[Value, Value] = {}
    for node in graph.nodes:
        if _is_view(node) and node.outputs[0] not in graph.outputs:
            source = node.inputs[0]
            assert source is not None
            views[node.outputs[0]] = views.get(source, source)
    return views


def _is_view(node: Node) -> bool:
    nodes = node.op.body.nodes if isinstance(node.op, Fused) else (node,)
    return all(n.op.is_reinterpretation(n.input_types, [v.type for v in n.outputs]) for n in nodes)


def _lives(graph: Graph, views: Mapping[Value, Value]) -> dict[Value, tuple[int, int]]:
    """First and last node during which each intermediate value is needed; those of its views count."""
    lives: dict[Value, tuple[int, int]] = {}
    outside = {*graph.inputs, *graph.parameters, *graph.outputs}
    for position, node in enumerate(graph.nodes):
        for v in (*node.inputs, *node.outputs):
            if v is None:
                continue
            root = views.get(v, v)
            if root in outside:
                continue
            first, _ = lives.get(root, (position, position))
            lives[root] = (first, position)
    return lives


def _lowest_gap(
    value: Value, offsets: Mapping[Value, int], lives: Mapping[Value, tuple[int, int]], sizes: Mapping[Value, int]
) -> int:
    first, last = lives[value]
    busy = sorted((offsets[v], offsets[v] + sizes[v]) for v in offsets if lives[v][0] <= last and first <= lives[v][1])
    place = 0
    for start, end in busy:
        if place + sizes[value] <= start:
            break
        place = max(place, end)
    return place


def _most_alive(lives: Mapping[Value, tuple[int, int]], sizes: Mapping[Value, int]) -> int:
    change: dict[int, int] = {}
    for v, (first, last) in lives.items():
        change[first] = change.get(first, 0) + sizes[v]
        change[last + 1] = change.get(last + 1, 0) - sizes[v]
    alive = most = 0
    for position in sorted(change):
        alive += change[position]
        most = max(most, alive)
    return most
