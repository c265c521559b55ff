"""What a run of a network on devices does: its nodes as actions on numbered blocks of memory (sateen.runtime.actions).

It is the counterpart of `entry`, which makes a function of a processor of the same nodes. Values that iterations hand
on are in the node's outputs: each iteration computes the next ones separately, then copies them. What decides and what
counts lies behind the workspace of its device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sateen.graph_ir import ops
from sateen.graph_ir.compile.launch_list import launches_of
from sateen.graph_ir.ir import HOST, Graph, Node, TensorType, Value
from sateen.graph_ir.memory import DEVICE_ALIGNMENT, Location, MemoryPlan
from sateen.runtime import Device
from sateen.runtime.actions import (
    Action,
    BlockCopy,
    Choice,
    Conditional,
    DeviceBlocks,
    HostCall,
    Repeat,
    with_step,
)
from sateen.runtime.launches import BlockPlace
from sateen.tensor_ir.ir import Function
from sateen.tensor_ir.lowering import DeviceProgram

Places = Mapping[Value, BlockPlace]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceKernels:
    """The functions of a network on devices: of each node by name, and of copies of values that iterations hand on.

    `programs` are those of devices by name, `functions` those of the host.
    """

    of_nodes: Mapping[Node, str]
    of_copies: Mapping[TensorType, str]
    programs: Mapping[str, DeviceProgram]
    functions: Mapping[str, Function]


def device_actions(
    graph: Graph, plan: MemoryPlan, kernels: DeviceKernels, first: Device
) -> tuple[tuple[Action, ...], tuple[DeviceBlocks, ...]]:
    """The actions of a fused graph in the order of its steps, and what each device has, `first` before the others."""
    arrays = (*graph.inputs, *graph.outputs)
    devices = tuple(dict.fromkeys((first, *_devices(graph))))
    writer = _Writer(kernels, {device: len(arrays) + 2 * i for i, device in enumerate(devices)}, dict(plan.workspaces))
    given = {v: BlockPlace(i, 0, v.type.bytes) for i, v in enumerate(arrays)}
    given |= {v: BlockPlace(writer.parameters[v.device], offset, v.type.bytes) for v, offset in plan.parameters.items()}
    steps = writer.steps(graph, plan, given, dict.fromkeys(devices, 0))
    actions = tuple(with_step(action, i) for i, step in enumerate(steps) for action in step)
    placed = (
        DeviceBlocks(
            device,
            tuple(i for i, v in enumerate(arrays) if v.device == device),
            plan.parameter_blocks.get(device, 0),
            writer.sizes.get(device, 0),
        )
        for device in devices
    )
    return actions, tuple(placed)


def _devices(graph: Graph) -> Iterator[Device]:
    """The devices of values, and the host where something decides."""
    yield from (v.device for v in (*graph.inputs, *graph.parameters, *graph.outputs))
    for node in graph.nodes:
        yield from (v.device for v in node.outputs)
        if isinstance(node.op, ops.Control):
            yield HOST
            for body in node.op.bodies:
                yield from _devices(body)


@dataclass(frozen=True, slots=True)
class _Writer:
    kernels: DeviceKernels
    parameters: Mapping[Device, int]
    """The block of parameters on each device; the next one is its workspace."""
    sizes: dict[Device, int] = field(default_factory=dict)
    """The bytes of the workspace on each device, with what lies behind the plan's."""

    def steps(self, graph: Graph, plan: MemoryPlan, given: Places, starts: Mapping[Device, int]) -> list[list[Action]]:
        """The actions of each node that has something to do. `given` has the places of inputs, parameters and outputs;
        the graph's workspace on a device begins at a byte of `starts`."""

        def place(v: Value) -> BlockPlace:
            view = plan.views.get(v, Location(v, 0))
            source = given.get(view.source) or inside(view.source.device, plan.workspace[view.source], 0)
            return BlockPlace(source.block, source.offset + view.offset, v.type.bytes)

        def inside(device: Device, offset: int, size: int) -> BlockPlace:
            return BlockPlace(self.parameters[device] + 1, starts[device] + offset, size)

        def following(op: ops.Control, offsets: Sequence[int]) -> list[BlockPlace]:
            return [inside(v.device, o, v.type.bytes) for v, o in zip(op.state, offsets, strict=True)]

        steps: list[list[Action]] = []
        for node in graph.nodes:
            if node in plan.free:
                continue
            inputs = [place(v) for v in node.inputs if v is not None]
            outputs = [place(v) for v in node.outputs]
            scratch = plan.scratch.get(node, ())
            bodies = {d: starts[d] + n for d, n in plan.body_workspaces.get(node, {}).items()}
            match node.op:
                case ops.If() as op:
                    then, otherwise = (self._body(body, plan, inputs[1:], outputs, bodies) for body in op.bodies)
                    steps.append([Choice(inputs[0], tuple(then), tuple(otherwise))])
                case ops.Loop() as op:
                    steps.append(self._counted(op, plan, inputs, outputs, following(op, scratch), bodies))
                case ops.While() as op:
                    steps.append(self._conditional(op, plan, inputs, outputs, following(op, scratch), bodies))
                case _:
                    on = node.outputs[0].device
                    steps.append(self._computed(node, [*inputs, *outputs], [inside(on, o, 0) for o in scratch]))
        return steps

    def _computed(self, node: Node, places: Sequence[BlockPlace], scratch: Sequence[BlockPlace]) -> list[Action]:
        if node not in self.kernels.of_nodes:
            source, to = places
            return [BlockCopy(to, source)]
        return self._called(self.kernels.of_nodes[node], [*places, *scratch])

    def _called(self, name: str, places: Sequence[BlockPlace]) -> list[Action]:
        """What a kernel does on places, whose sizes its parameters say."""
        if name in self.kernels.programs:
            return list(launches_of(self.kernels.programs[name], places))
        sizes = [(b.size() or 0) * b.dtype.bytes for b in self.kernels.functions[name].parameters]
        return [HostCall(name, tuple(BlockPlace(p.block, p.offset, n) for p, n in zip(places, sizes, strict=True)))]

    def _body(
        self,
        body: Graph,
        plan: MemoryPlan,
        inputs: Sequence[BlockPlace],
        outputs: Sequence[BlockPlace],
        starts: Mapping[Device, int],
    ) -> list[Action]:
        given = dict(zip((*body.inputs, *body.outputs), (*inputs, *outputs), strict=True))
        return [action for step in self.steps(body, plan.bodies[body], given, starts) for action in step]

    def _counted(
        self,
        op: ops.Loop,
        plan: MemoryPlan,
        inputs: Sequence[BlockPlace],
        outputs: Sequence[BlockPlace],
        following: Sequence[BlockPlace],
        starts: Mapping[Device, int],
    ) -> list[Action]:
        number = self._variable(op.body.inputs[0].device, ops.NUMBER.bytes)
        state, stacked = outputs[: op.carried], outputs[op.carried :]
        rows = [self._variable(v.device, v.type.bytes) for v in op.body.outputs[op.carried :]]
        given = [number, *state, *inputs[op.carried :]]
        body = self._body(op.body, plan, given, [*following, *rows], starts)
        repeated = (*body, *self._hand_on(op, following, state))
        return [
            *self._hand_on(op, inputs[: op.carried], state),
            Repeat(op.count, number, repeated, tuple(zip(rows, stacked, strict=True))),
        ]

    def _conditional(
        self,
        op: ops.While,
        plan: MemoryPlan,
        inputs: Sequence[BlockPlace],
        outputs: Sequence[BlockPlace],
        following: Sequence[BlockPlace],
        starts: Mapping[Device, int],
    ) -> list[Action]:
        number = self._variable(op.body.inputs[0].device, ops.NUMBER.bytes)
        goes_on = self._variable(HOST, ops.CONDITION.bytes)
        most, first, *read = inputs
        given = [number, *outputs, *read[len(outputs) :]]
        body = self._body(op.body, plan, given, [goes_on, *following], starts)
        return [
            BlockCopy(goes_on, first),
            *self._hand_on(op, read[: len(outputs)], outputs),
            Conditional(goes_on, most, number, (*body, *self._hand_on(op, following, outputs))),
        ]

    def _hand_on(
        self, op: ops.Control, sources: Sequence[BlockPlace], targets: Sequence[BlockPlace]
    ) -> Iterator[Action]:
        """Copies of the values that iterations hand on: by kernels on a device, which other kernels join."""
        for v, source, to in zip(op.state, sources, targets, strict=True):
            if v.device == HOST:
                yield BlockCopy(to, source)
            else:
                yield from self._called(self.kernels.of_copies[v.type], [source, to])

    def _variable(self, device: Device, size: int) -> BlockPlace:
        """Memory behind the plan's."""
        start = -(-self.sizes.get(device, 0) // DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT
        self.sizes[device] = start + size
        return BlockPlace(self.parameters[device] + 1, start, size)
