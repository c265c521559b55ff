"""Put the nodes of a network on devices, and copies where values change theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sateen.graph_ir.ir import HOST, Graph, GraphBuilder, Node, Value, note_node
from sateen.graph_ir.ops import Control, CopyTo, Fused
from sateen.runtime import ArgumentError, Device, TargetError
from sateen.runtime.display import did_you_mean, named

Placed = Mapping[str, Device | str] | Callable[[Node], Device | str | None]
"""Devices of nodes: by the name of a node or of its value, or by a function, which gives None for no mark."""


def place_devices(graph: Graph, device: Device, placed: Placed) -> Graph:
    """Put nodes where they are marked, others on `device`, and copy each value once to each other device that reads it.

        input %x: float32[4]                  input %x: float32[4] on opencl(0)
        %y: float32[4] = exp(%x)              %y: float32[4] on opencl(0) = exp(%x)
        %z: float32[4] = cum_sum(%y)      =>  %y.1: float32[4] = copy_to(%y) {device="cpu(0)"}
        %u: float32[4] = relu(%z)             %z: float32[4] = cum_sum(%y.1)
                                              %z.1: float32[4] on opencl(0) = copy_to(%z) {device="opencl(0)"}
                                              %u: float32[4] on opencl(0) = relu(%z.1)
        with a mark of %z for cpu

    A mark counts for its nodes alone. A node without one moves to another device if all nodes that give its inputs and
    all that read its outputs are marked for that: no copy is needed then. Inputs are where they are first read,
    parameters on each device that reads them, outputs where they are computed. Bodies of a node that decides are where
    the node is, but for marks in them; what decides is on the host, which waits for it. So is a node that reads
    nothing, and an input that nothing reads; nodes of `copy_to` are where they copy to. Requires: all values on the
    host. Raises ArgumentError for a name that no node has, TargetError for a device that is neither the host nor of the
    kind of `device`.
    """
    marks = _marks(graph, device, placed)
    return _Placer(graph, device, marks).run()


def _marks(graph: Graph, device: Device, placed: Placed) -> dict[Node, Device]:
    """The devices of marked nodes, those in bodies too."""
    nodes = list(_all_nodes(graph))
    if not isinstance(placed, Mapping):
        found = {node: placed(node) for node in nodes}
        return {node: _allowed(node, mark, device) for node, mark in found.items() if mark is not None}
    marks: dict[Node, Device] = {}
    known = dict.fromkeys(name for node in nodes for name in _names(node))
    for name, mark in placed.items():
        if name not in known:
            raise ArgumentError(
                f"placed: expected a node of graph {graph.name!r}, one of {named(list(known)) or 'none'}, "
                f"found {name!r}{did_you_mean(name, known)}"
            )
        marks |= {node: _allowed(node, mark, device) for node in nodes if name in _names(node)}
    return marks


def _allowed(node: Node, mark: Device | str, device: Device) -> Device:
    found = Device.of(mark)
    if found != HOST and found.kind is not device.kind:
        refused = TargetError(f"placed: expected {HOST} or a device of kind {device.kind}, found {found}")
        note_node(refused, node.outputs, node.spans)
        raise refused
    return found


def _all_nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        if isinstance(node.op, Control):
            for body in node.op.bodies:
                yield from _all_nodes(body)


def _names(node: Node) -> list[str]:
    """The names of a node in the user's model, and those of its values."""
    return [*(span.node for span in node.spans), *(v.name for v in node.outputs)]


@dataclass(slots=True, eq=False)
class _Placer:
    """Places the nodes of one graph. `inputs` and `outputs` are the devices that a node which runs it asks for."""

    graph: Graph
    device: Device
    marks: Mapping[Node, Device]
    inputs: Mapping[Value, Device] = field(default_factory=dict)
    outputs: Mapping[Value, Device] = field(default_factory=dict)
    names: GraphBuilder = field(default_factory=GraphBuilder)
    nodes: list[Node] = field(default_factory=list)
    places: dict[tuple[Value, Device], Value] = field(default_factory=dict)
    """What stands for a value on a device."""

    def run(self) -> Graph:
        graph = self.graph
        self.names.reserve(graph)
        devices = self._with_neighbours()
        first = self._first_readers(devices)
        given = {v: self.inputs.get(v) or first.get(v, HOST) for v in graph.inputs}
        homes = {**given, **{v: first.get(v, self.device) for v in graph.parameters}}
        homes |= {v: devices[node] for node in graph.nodes for v in node.outputs}
        self.places = {(v, home): replace(v, device=home) for v, home in homes.items()}
        for node in graph.nodes:
            self._place(node, devices[node], homes)
        outputs = tuple(self._on(v, self.outputs.get(v, homes[v]), homes) for v in graph.outputs)
        held = {new: graph.parameters[v] for (v, _), new in self.places.items() if v in graph.parameters}
        return replace(
            graph,
            inputs=tuple(self.places[v, given[v]] for v in graph.inputs),
            parameters=held,
            nodes=tuple(self.nodes),
            outputs=outputs,
            aliases={self.places[o, homes[o]]: self.places[i, given[i]] for o, i in graph.aliases.items()},
        )

    def _with_neighbours(self) -> dict[Node, Device]:
        """The device of each node: its mark, or that of all its neighbours."""
        producers, consumers = self.graph.producers(), self.graph.consumers()
        devices: dict[Node, Device] = {}
        for node in self.graph.nodes:
            beside = [producers[v] for v in node.inputs if v in producers]
            readers = [n for v in node.outputs for n in consumers.get(v, ())]
            is_output = any(v in self.graph.outputs for v in node.outputs)
            others = {self.marks.get(n) for n in (*beside, *readers)}
            (only,) = others if len(others) == 1 and beside and readers and not is_output else (None,)
            devices[node] = _own_device(node, self.device) or self.marks.get(node) or only or self.device
        return devices

    def _first_readers(self, devices: Mapping[Node, Device]) -> dict[Value, Device]:
        """Where each value is first read; an input whose memory an output may use is where that is computed."""
        first: dict[Value, Device] = {}
        for node in self.graph.nodes:
            for v, device in zip(node.inputs, _read_on(node, devices[node]), strict=True):
                if v is not None:
                    first.setdefault(v, device)
        producers = self.graph.producers()
        first |= {i: devices[producers[o]] for o, i in self.graph.aliases.items() if o in producers}
        return first

    def _place(self, node: Node, device: Device, homes: Mapping[Value, Device]) -> None:
        read = _read_on(node, device)
        inputs = tuple(
            None if v is None else self._on(v, homes[v] if isinstance(node.op, CopyTo) else where, homes)
            for v, where in zip(node.inputs, read, strict=True)
        )
        outputs = tuple(self.places[v, device] for v in node.outputs)
        op = node.op
        if isinstance(op, Control):
            counted, deciding = op.counted, op.deciding_outputs
            op = op.map_bodies(lambda body: self._body(body, device, counted, deciding))
        elif isinstance(op, Fused):
            op = Fused(self._body(op.body, device))
        self.nodes.append(replace(node, op=op, inputs=inputs, outputs=outputs))

    def _body(self, body: Graph, device: Device, counted: int = 0, deciding: int = 0) -> Graph:
        """A body on a device, but for what counts among its inputs, which is where it is read, and what decides among
        its outputs."""
        inputs = dict.fromkeys(body.inputs[counted:], device)
        outputs = {v: HOST if i < deciding else device for i, v in enumerate(body.outputs)}
        return _Placer(body, device, self.marks, inputs, outputs).run()

    def _on(self, v: Value, device: Device, homes: Mapping[Value, Device]) -> Value:
        """A value on a device: a copy where it is elsewhere, and the same data where it is a parameter."""
        key = v, device
        if key not in self.places:
            self.places[key] = replace(v, name=self.names.unique(v.name), device=device)
            if v not in self.graph.parameters:
                producer = self.graph.producers().get(v)
                spans = () if producer is None else producer.spans
                self.nodes.append(Node(CopyTo(str(device)), (self.places[v, homes[v]],), (self.places[key],), spans))
        return self.places[key]


def _own_device(node: Node, device: Device) -> Device | None:
    """Where a node is whatever the marks are: a copy where it copies to, and what reads nothing on the host."""
    if isinstance(node.op, CopyTo):
        return _allowed(node, node.op.device, device)
    return HOST if not any(node.inputs) else None


def _read_on(node: Node, device: Device) -> list[Device]:
    """The device on which a node on `device` reads each of its inputs."""
    deciding = node.op.deciding if isinstance(node.op, Control) else 0
    return [HOST if i < deciding else device for i in range(len(node.inputs))]
