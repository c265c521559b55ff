"""A network as functions of loop IR: a kernel for each distinct group, memory planned, the entry that calls them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sateen.graph_ir.compile.entry import build_entry
from sateen.graph_ir.ir import HOST, Graph, Node, TensorType, Value
from sateen.graph_ir.kernels import GroupKey, LoweredGroup, group_key, lower_kernel
from sateen.graph_ir.memory import MemoryPlan, copy_early_outputs, find_views, plan_memory
from sateen.graph_ir.ops import Control, Fused, copying, is_copy_between_devices
from sateen.graph_ir.passes.copy_outputs import copy_outputs
from sateen.graph_ir.passes.fuse import fuse
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.runtime import DeviceKind, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function, digest, verify


@dataclass(frozen=True, slots=True, eq=False)
class LoweredNetwork:
    """A network as functions of loop IR: one function per distinct group, and the entry that calls them."""

    graph: Graph
    plan: MemoryPlan
    kernels: tuple[Function, ...]
    calls: Mapping[Node, str]
    """The kernel of each node; a node that only renames memory, or copies between devices, has none."""
    copies: Mapping[TensorType, str]
    """The kernel that copies a value of each type that iterations hand on."""
    entry: Function | None
    """What calls the kernels; None for a network on devices, whose actions `device_actions` makes."""
    host_kernels: tuple[Function, ...] = ()
    """The functions for the host of a network on devices."""

    def __repr__(self) -> str:
        return f"LoweredNetwork({self.graph!r} of {len(self.kernels) + len(self.host_kernels)} kernels)"


def lower_network(
    graph: Graph,
    target: Target,
    begin: Callable[[Function, Node], None] = lambda function, node: None,
    *,
    timed: bool = False,
    denormals: str = "keep",
    target_host: Target | None = None,
    machine: Machine | None = None,
) -> LoweredNetwork:
    """Fuse, lower every distinct group of an optimised graph and of bodies in it once, and plan memory.

    `begin` gets each kernel as soon as it is lowered, and the first fused node that it computes. With `timed` the entry
    writes a clock after each step, with `denormals` flush it may treat subnormal numbers as zeros. What is on the host
    of a network for devices is lowered for `target_host`.
    `machine` is what schedules ask, by default that of the target.
    """
    fused = fuse(lift_parameters(copy_outputs(graph)))
    machine = Machine.of(target, target_host) if machine is None else machine
    is_for_devices = machine.kind is not DeviceKind.CPU
    functions: dict[tuple[DeviceKind, str], Function] = {}
    kernels: dict[GroupKey, LoweredGroup] = {}

    def kernel_of(node: Node) -> LoweredGroup:
        assert isinstance(node.op, Fused)
        group = group_key(node.op.body)
        if group not in kernels:
            where = node.outputs[0].device.kind
            kernel = lower_kernel(node, "kernel", machine.at(where))
            key = where, digest(kernel.function)
            if key not in functions:
                name = re.sub(r"\W", "_", node.op.body.name, flags=re.ASCII)
                functions[key] = replace(kernel.function, name=f"k{len(functions)}_{name}")
                begin(functions[key], node)
            kernels[group] = replace(kernel, function=functions[key])
        return kernels[group]

    def kernels_of(graph: Graph) -> dict[Node, LoweredGroup]:
        return {
            node: kernel_of(node)
            for node in _nodes_to_run(graph)
            if not isinstance(node.op, Control) and not is_copy_between_devices(node)
        }

    if fused.aliases:
        fused = copy_early_outputs(fused, _overwritable(kernels_of(fused)))
    calls = kernels_of(fused)
    nodes = list(_nodes_to_run(fused))
    read = (v for node in nodes if isinstance(node.op, Control) for v in node.op.copied(node.inputs))
    copied = {v.type: v for v in read if not is_for_devices or v.device != HOST}  # beside devices the host copies bytes
    copies = {type_: kernel_of(copying(v)).function.name for type_, v in copied.items()}
    plan = plan_memory(fused, {node: kernel.scratch for node, kernel in calls.items()}, _overwritable(calls))
    names = {node: kernel.function.name for node, kernel in calls.items()}
    host = tuple(f for (kind, _), f in functions.items() if is_for_devices and kind is DeviceKind.CPU)
    own = tuple(f for f in functions.values() if f not in host)
    if is_for_devices:
        return LoweredNetwork(fused, plan, own, names, copies, None, host)
    entry = build_entry(fused, names, copies, plan, timed=timed, denormals=denormals, alignment=target.block_alignment)
    verify(entry, after="build_entry")
    return LoweredNetwork(fused, plan, own, names, copies, entry)


def _overwritable(kernels: Mapping[Node, LoweredGroup]) -> dict[Node, list[Value]]:
    """The inputs of each node whose memory its output may use."""
    return {node: [v for i in kernel.overwritable if (v := node.inputs[i])] for node, kernel in kernels.items()}


def _nodes_to_run(graph: Graph) -> Iterator[Node]:
    """The nodes that have something to do; nodes of bodies come after the node that has them."""
    free = find_views(graph).free
    for node in graph.nodes:
        if node not in free:
            yield node
        if isinstance(node.op, Control):
            for body in node.op.bodies:
                yield from _nodes_to_run(body)
