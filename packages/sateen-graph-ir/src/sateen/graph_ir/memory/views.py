"""Values in the memory of others, so that reshapes, splits and concatenations cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import ByFunction, Graph, Node, Value
from sateen.graph_ir.ops import Fused
from sateen.runtime import DeviceKind

DEVICE_ALIGNMENT = 256
"""What offsets in memory of a device are multiples of: the most that OpenCL, Vulkan and WebGPU ask for where a kernel
gets a part of an object (WebGPU 3.6.2, minStorageBufferOffsetAlignment)."""


@dataclass(frozen=True, slots=True)
class Location:
    """The memory of `source` from a byte on."""

    source: Value
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The values in another's memory, and the nodes that therefore have nothing to do."""

    views: Mapping[Value, Location]
    parts: frozenset[Node]
    """The nodes whose outputs are parts of an input."""
    concatenations: frozenset[Node]
    """The nodes whose inputs are computed at their places in the output."""

    @property
    def free(self) -> frozenset[Node]:
        return self.parts | self.concatenations


def find_views(graph: Graph) -> Views:
    """The values of a graph that are in the memory of others.

    A value has only one place: an input of two concatenations is in the first one's output. Inputs, parameters and
    outputs of the graph have separate memory. Requires: static types.
    """
    views: dict[Value, Location] = {}
    parts: set[Node] = set()
    concatenations: set[Node] = set()
    outputs = set(graph.outputs)
    for node in graph.nodes:
        offsets = _parts_of_input(node)
        if offsets is not None and outputs.isdisjoint(node.outputs) and _can_lie(node, offsets):
            source = node.inputs[0]
            assert source is not None
            views.update((v, Location(source, offset)) for v, offset in zip(node.outputs, offsets, strict=True))
            parts.add(node)
            continue
        pieces = find_pieces(node, graph, views)
        if pieces and all(pieces):
            views.update(views_of(node, pieces))
            concatenations.add(node)
    return Views(views, frozenset(parts), frozenset(concatenations))


def location_of(value: Value, views: Mapping[Value, Location]) -> Location:
    """The final place of a value: in the memory of a value that is no view."""
    offset = 0
    while value in views:
        offset += views[value].offset
        value = views[value].source
    return Location(value, offset)


def find_pieces(node: Node, graph: Graph, views: Mapping[Value, Location]) -> list[Location | None]:
    """For each input of a concatenation the value that owns its memory, and its byte offset in the output; None for an
    input that has its place already. Empty for other nodes, and if an input would not be contiguous."""
    first, *others = _nodes_of(node)
    computed = others or isinstance(first.method, ByFunction)
    offsets = None if computed else first.op.parts_of_output(first.input_types, first.output_types)
    if offsets is None or not _can_lie(node, offsets):
        return []
    outer = dict(zip(node.op.body.inputs, node.inputs, strict=True)) if isinstance(node.op, Fused) else {}
    taken = {*graph.inputs, *graph.parameters, *graph.outputs}
    pieces: list[Location | None] = []
    for v, offset in zip(first.inputs, offsets, strict=True):
        assert v is not None
        location = location_of(outer.get(v) or v, views)
        is_whole = location.offset == 0 and location.source.type.bytes == v.type.bytes
        pieces.append(Location(location.source, offset) if is_whole and location.source not in taken else None)
        taken.add(location.source)
    return pieces


def views_of(node: Node, pieces: Sequence[Location | None]) -> dict[Value, Location]:
    """The views that a concatenation makes of its pieces."""
    return {piece.source: Location(node.outputs[0], piece.offset) for piece in pieces if piece is not None}


def _can_lie(node: Node, offsets: Sequence[int]) -> bool:
    """Whether memory of the node's device may be used from these offsets on."""
    is_host = node.outputs[0].device.kind is DeviceKind.CPU
    return is_host or not any(offset % DEVICE_ALIGNMENT for offset in offsets)


def _nodes_of(node: Node) -> tuple[Node, ...]:
    return node.op.body.nodes if isinstance(node.op, Fused) else (node,)


def _parts_of_input(node: Node) -> Sequence[int] | None:
    """The byte offset of each output in the first input, through all nodes of a group."""
    offsets = [0]
    for inner in _nodes_of(node):
        of_user = isinstance(inner.method, ByFunction)
        parts = None if of_user else inner.op.parts_of_input(inner.input_types, inner.output_types)
        if parts is None or len(offsets) > 1:
            return None
        offsets = [offsets[0] + part for part in parts]
    return offsets
