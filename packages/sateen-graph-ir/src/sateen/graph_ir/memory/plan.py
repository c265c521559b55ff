"""The memory plan of a network: the place of each intermediate value in the workspace and of each parameter in the
parameter block.

Offsets are assigned by the greedy rule of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference
(2020), section 5: blocks in order of decreasing size, each at the lowest place that is free during its life. If that
takes more bytes than live at one time, blocks that ended highest go first and the rule is tried again. If very many
blocks live together, the last ones are placed above all blocks that live with them, even if there are holes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from sateen.graph_ir.ir import HOST, Graph, Node, Value
from sateen.graph_ir.memory.views import DEVICE_ALIGNMENT, Location, find_views, location_of
from sateen.graph_ir.ops import Control
from sateen.runtime import Device, DeviceKind
from sateen.runtime.display import size
from sateen.tensor_ir.targets import WIDEST_VECTOR

HOST_ALIGNMENT = WIDEST_VECTOR
"""The alignment of every block of the host in bytes: a cache line, and the widest vector."""
MOST_TRIES = 16
"""The most tries; more gained nothing on the measured networks."""
MOST_PAIRS = 4_000_000
"""The most pairs of parts of blocks compared in all tries after the first."""
MOST_COMPARED = 400_000_000
"""The most pairs of parts compared in one try: a few seconds."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Byte offsets. A value in `views` is in the memory of another, which is no view."""

    workspace: Mapping[Value, int]
    scratch: Mapping[Node, tuple[int, ...]]
    """The offsets of each piece of storage that a node needs while it runs: what its kernel asks for, on the device of
    its outputs; for control nodes a piece per value that iterations hand on, on that value's device."""
    body_workspaces: Mapping[Node, Mapping[Device, int]]
    """The offset, on each device, of the workspace that the bodies of a control node share."""
    workspaces: Mapping[Device, int]
    """The bytes of the workspace on each device."""
    parameters: Mapping[Value, int]
    parameter_blocks: Mapping[Device, int]
    """The bytes of the block of parameters on each device."""
    views: Mapping[Value, Location]
    free: frozenset[Node]
    """Nodes with nothing to do: their values are already in the right places."""
    bodies: Mapping[Graph, MemoryPlan]
    """The plans of control nodes' bodies."""
    least_bytes: int
    """The most bytes that live at one time, on all devices: what no plan can go below."""

    @property
    def workspace_bytes(self) -> int:
        """The bytes of the workspace on the host."""
        return self.workspaces.get(HOST, 0)

    @property
    def parameter_bytes(self) -> int:
        """The bytes of the parameters on the host."""
        return self.parameter_blocks.get(HOST, 0)

    def __repr__(self) -> str:
        return f"MemoryPlan(workspace {size(self.workspace_bytes)}, parameters {size(self.parameter_bytes)})"


@dataclass(frozen=True, slots=True)
class _Part:
    """Bytes [start, end) of a block, and the positions of the first and last nodes that need them."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Contiguous memory, whose parts may live from different nodes on."""

    parts: tuple[_Part, ...]
    alignment: int = HOST_ALIGNMENT

    @property
    def size(self) -> int:
        return max(part.end for part in self.parts)

    @property
    def first(self) -> int:
        return min(part.first for part in self.parts)

    @property
    def last(self) -> int:
        return max(part.last for part in self.parts)


def plan_memory(
    graph: Graph,
    scratch: Mapping[Node, Sequence[int]] | None = None,
    overwritable: Mapping[Node, Sequence[Value]] | None = None,
) -> MemoryPlan:
    """Place the values of a graph that are neither given to it nor its outputs, and the storage of its nodes.

    `scratch` is the bytes that kernels need while they run, on the device of their outputs. Control nodes are planned
    with their bodies; they need the bodies' memory, and memory for each value that iterations hand on. A node's output
    may use the memory of an `overwritable` input of the same size; it does so if nothing else needs that memory any
    more. Otherwise values that live at the same time do not overlap. Each device has its own memory.
    """
    found = find_views(graph)
    views = dict(found.views)
    _overwrite(graph, overwritable or {}, views)
    values = _blocks(graph, views)
    devices = {block: root.device for root, block in values.items()}
    bodies: dict[Graph, MemoryPlan] = {}
    shared: dict[Node, dict[Device, _Block]] = {}
    pieces: dict[Node, list[_Block]] = {}
    for position, node in enumerate(graph.nodes):
        if isinstance(node.op, Control):
            plans = {body: plan_memory(body, scratch, overwritable) for body in node.op.bodies}
            bodies.update(plans)
            most = _largest([plan.workspaces for plan in plans.values()])
            shared[node] = {device: _piece(size, position, device) for device, size in most.items()}
            devices.update((block, device) for device, block in shared[node].items())
            needed = [(v.device, v.type.bytes) for v in node.op.state]
        else:
            needed = [(node.outputs[0].device, size) for size in (scratch or {}).get(node, ())]
        pieces[node] = [_piece(size, position, device) for device, size in needed]
        devices.update((block, device) for block, (device, _) in zip(pieces[node], needed, strict=True))
    places: dict[_Block, int] = {}
    workspaces, least = {}, 0
    for device in dict.fromkeys(devices.values()):
        blocks = [block for block in devices if devices[block] == device]
        found_places = _place(blocks)
        places |= found_places
        workspaces[device] = _end(found_places)
        least += _most_alive(blocks)
    parameters: dict[Value, int] = {}
    ends: dict[Device, int] = {}
    for value in _by_first_use(graph):
        parameters[value] = ends.get(value.device, 0)
        ends[value.device] = parameters[value] + _aligned(value.type.bytes, _alignment(value.device))
    return MemoryPlan(
        {v: places[block] for v, block in values.items()},
        {node: tuple(places[block] for block in own) for node, own in pieces.items() if own},
        {node: {device: places[block] for device, block in own.items()} for node, own in shared.items()},
        workspaces,
        parameters,
        ends,
        {v: location_of(v, views) for v in views},
        found.free,
        bodies,
        least,
    )


def _by_first_use(graph: Graph) -> list[Value]:
    """The parameters in the order in which nodes read them, so that a run reads a file from its start to its end."""
    read = (v for node in graph.nodes for v in node.inputs if v is not None and v in graph.parameters)
    return list(dict.fromkeys((*read, *graph.parameters)))


def _largest(workspaces: Sequence[Mapping[Device, int]]) -> dict[Device, int]:
    """The bytes on each device of a workspace that may be any of several."""
    most: dict[Device, int] = {}
    for sizes in workspaces:
        most |= {device: max(size, most.get(device, 0)) for device, size in sizes.items()}
    return most


def _piece(size: int, position: int, device: Device) -> _Block:
    """Storage of a node while it runs."""
    alignment = _alignment(device)
    return _Block((_Part(0, _aligned(size, alignment), position, position),), alignment)


def _alignment(device: Device) -> int:
    return HOST_ALIGNMENT if device.kind is DeviceKind.CPU else DEVICE_ALIGNMENT


def _aligned(size: int, alignment: int) -> int:
    return -(-max(size, 1) // alignment) * alignment


def _outside(graph: Graph) -> set[Value]:
    """The values outside the workspace."""
    return {*graph.inputs, *graph.parameters, *graph.outputs}


def _overwrite(graph: Graph, overwritable: Mapping[Node, Sequence[Value]], views: dict[Value, Location]) -> None:
    """Let outputs take the place of inputs if both fill their memory and the input's is not needed any more."""
    outside = _outside(graph)
    last: dict[Value, Node] = {}
    for node in graph.nodes:
        last.update((location_of(v, views).source, node) for v in (*node.inputs, *node.outputs) if v is not None)
    for node in graph.nodes:
        for v in overwritable.get(node, ()):
            (output,) = node.outputs
            root = location_of(v, views).source
            is_whole = root.type.bytes == v.type.bytes == output.type.bytes
            readers = [location_of(u, views).source for u in node.inputs if u is not None].count(root)
            if output in views or not is_whole or not outside.isdisjoint((root, output)) or readers > 1:
                continue
            if last[root] is node and root.device == output.device:
                views[output] = Location(root, 0)
                last[root] = last[output]


def _blocks(graph: Graph, views: Mapping[Value, Location]) -> dict[Value, _Block]:
    """The memory of the values that are no views. A part of it lives as long as any value in it."""
    outside = _outside(graph)
    lives: dict[Value, tuple[int, int]] = {}
    for position, node in enumerate(graph.nodes):
        for v in (*node.inputs, *node.outputs):
            if v is not None:
                first, _ = lives.get(v, (position, position))
                lives[v] = (first, position)
    inside: dict[Value, list[_Part]] = {}
    for v, (first, last) in lives.items():
        location = location_of(v, views)
        if location.source not in outside:
            part = _Part(location.offset, location.offset + max(v.type.bytes, 1), first, last)
            inside.setdefault(location.source, []).append(part)
    blocks: dict[Value, _Block] = {}
    for root, parts in inside.items():
        alignment = _alignment(root.device)
        blocks[root] = _Block(tuple(_divided(parts, root.type.bytes, alignment)), alignment)
    return blocks


def _divided(parts: Sequence[_Part], size: int, alignment: int) -> Iterator[_Part]:
    """Overlapping parts of `size` bytes, divided into parts that do not overlap, up to a multiple of the alignment."""
    ends = {
        0,
        _aligned(size, alignment),
        *(part.start for part in parts),
        *(part.end for part in parts if part.end < size),
    }
    for start, end in pairwise(sorted(ends)):
        here = [part for part in parts if part.start <= start < part.end]
        if here:
            yield _Part(start, end, min(part.first for part in here), max(part.last for part in here))


def _place(blocks: Sequence[_Block]) -> dict[_Block, int]:
    """An offset for each block: the best of several tries. Each try begins with the blocks that ended highest in the
    one before."""
    order = sorted(blocks, key=lambda b: (-b.size, b.first, b.last))
    least, best, total = _most_alive(blocks), dict[_Block, int](), inf
    parts = sum(len(block.parts) for block in blocks)
    positions = max((block.last for block in blocks), default=0) + 1
    for _ in range(max(1, min(MOST_TRIES, MOST_PAIRS // max(parts, 1) ** 2))):
        places: dict[_Block, int] = {}
        occupied = _Occupied(parts, positions)
        for block in order:
            places[block] = occupied.lowest_place(block)
            occupied.add(block, places[block])
        end = _end(places)
        if end < total:
            best, total = places, end
        if end <= least:
            break
        highest = [b for b in order if places[b] + b.size == end]
        order = highest + [b for b in order if places[b] + b.size < end]
    return best


def _end(places: Mapping[_Block, int]) -> int:
    return max((place + block.size for block, place in places.items()), default=0)


class _Occupied:
    """The parts that have a place: their bytes in the workspace, and the first and last nodes of their lives."""

    def __init__(self, capacity: int, positions: int) -> None:
        self._count = 0
        self._compared = 0
        self._starts, self._ends, self._firsts, self._lasts = np.empty((4, capacity), np.int64)
        self._tops = np.zeros(positions, np.int64)
        """Where the highest part that lives at each node ends."""

    def add(self, block: _Block, place: int) -> None:
        for part in block.parts:
            self._starts[self._count] = place + part.start
            self._ends[self._count] = place + part.end
            self._firsts[self._count] = part.first
            self._lasts[self._count] = part.last
            self._count += 1
            tops = self._tops[part.first : part.last + 1]
            np.maximum(tops, place + part.end, out=tops)

    def lowest_place(self, block: _Block) -> int:
        """The lowest offset at which no part of a block overlaps one that is here while both live.

        After MOST_COMPARED pairs of parts, an offset above all that live with it.
        """
        self._compared += self._count * len(block.parts)
        if self._compared > MOST_COMPARED:
            highest = max(int(self._tops[part.first : part.last + 1].max()) for part in block.parts)
            return _aligned(highest, block.alignment)
        beside = [(part, self._alive_with(part)) for part in block.parts]
        highs = [self._ends[alive] - part.start for part, alive in beside]
        lows = [self._starts[alive] - part.end for part, alive in beside]
        barred_from, barred_to = np.concatenate(lows), np.concatenate(highs)
        order = np.argsort(barred_from, kind="stable")
        barred_from, barred_to = barred_from[order], -(-barred_to[order] // block.alignment) * block.alignment
        above = np.maximum.accumulate(np.concatenate(([0], barred_to)))
        free = above[:-1] <= barred_from
        return int(above[free.argmax() if free.any() else -1])

    def _alive_with(self, part: _Part) -> np.ndarray[Any, np.dtype[np.intp]]:
        own = slice(self._count)
        return np.flatnonzero((self._firsts[own] <= part.last) & (self._lasts[own] >= part.first))


def _most_alive(blocks: Sequence[_Block]) -> int:
    change: dict[int, int] = {}
    for part in (part for block in blocks for part in block.parts):
        change[part.first] = change.get(part.first, 0) + part.end - part.start
        change[part.last + 1] = change.get(part.last + 1, 0) - part.end + part.start
    alive = most = 0
    for position in sorted(change):
        alive += change[position]
        most = max(most, alive)
    return most
