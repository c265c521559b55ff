"""A network as functions of loop IR: a kernel for each distinct group, memory planned, the entry that calls them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sateen.graph_ir.compile.entry import build_entry, build_pack_entry
from sateen.graph_ir.compile.packing import LoweredPacking, ParameterBlocks, place_parameters, separate_packing
from sateen.graph_ir.ir import HOST, Graph, Node, TensorType, Value
from sateen.graph_ir.kernels import GroupKey, KernelFacts, KernelMaker, LoweredKernels, group_key
from sateen.graph_ir.memory import MemoryPlan, copy_early_outputs, find_views, plan_memory
from sateen.graph_ir.ops import Control, Fused, copying, is_copy_between_devices
from sateen.graph_ir.passes.copy_outputs import copy_outputs
from sateen.graph_ir.passes.fuse import fuse
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.runtime import DeviceKind, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function, verify


@dataclass(frozen=True, slots=True, eq=False)
class LoweredNetwork:
    """A network as functions of loop IR: one function per distinct group, and the entry that calls them."""

    graph: Graph
    plan: MemoryPlan
    kernels: tuple[Function, ...]
    """The distinct kernels; none where another maker than lowering made them."""
    names: tuple[str, ...]
    """The names of all distinct kernels."""
    calls: Mapping[Node, str]
    """The kernel of each node; a node that only renames memory, or copies between devices, has none."""
    copies: Mapping[TensorType, str]
    """The kernel that copies a value of each type that iterations hand on."""
    entry: Function | None
    """What calls the kernels; None for a network on devices, whose actions `device_actions` makes."""
    blocks: ParameterBlocks
    """The places of parameters on the host."""
    host_kernels: tuple[Function, ...] = ()
    """The functions for the host of a network on devices."""
    packing: LoweredPacking | None = None
    """What gives parameters the form that kernels read, if the file is to hold them in another."""

    def __repr__(self) -> str:
        return f"LoweredNetwork({self.graph!r} of {len(self.names)} kernels)"


def lower_network(
    graph: Graph,
    target: Target,
    begin: Callable[[Function, Node], None] = lambda function, node: None,
    *,
    maker: KernelMaker | None = None,
    timed: bool = False,
    denormals: str = "keep",
    target_host: Target | None = None,
    machine: Machine | None = None,
    parameters: str = "packed",
) -> LoweredNetwork:
    """Fuse, lower every distinct group of an optimised graph and of bodies in it once, and plan memory.

    `begin` gets each kernel as soon as it is lowered, and the first fused node that it computes; a `maker` makes them
    all in another way. With `timed` the entry writes a clock after each step, with `denormals` flush it may treat
    subnormal numbers as zeros. What is on the host of a network for devices is lowered for `target_host`.
    `machine` is what schedules ask, by default that of the target. With `parameters` trained what depends on parameters
    only is done by a packing (`separate_packing`).
    """
    network, apart = separate_packing(graph) if parameters == "trained" else (graph, None)
    fused = fuse(lift_parameters(copy_outputs(network)))
    fused_apart = None if apart is None else fuse(apart)
    machine = Machine.of(target, target_host) if machine is None else machine
    is_for_devices = machine.kind is not DeviceKind.CPU
    lowered = LoweredKernels(machine, begin)
    kernels = _Kernels(lowered if maker is None else maker)
    if fused.aliases:
        fused = copy_early_outputs(fused, _overwritable(kernels.of(fused)))
    calls = kernels.of(fused, () if fused_apart is None else (fused_apart,))
    nodes = list(_nodes_to_run(fused))
    read = (v for node in nodes if isinstance(node.op, Control) for v in node.op.copied(node.inputs))
    copied = {v.type: v for v in read if not is_for_devices or v.device != HOST}  # beside devices the host copies bytes
    copies = {type_: kernels.of_node(copying(v)).name for type_, v in copied.items()}
    plan = plan_memory(fused, {node: kernel.scratch for node, kernel in calls.items()}, _overwritable(calls))
    blocks = place_parameters(plan, apart)
    names = {node: kernel.name for node, kernel in calls.items()}
    if is_for_devices:
        own, host = lowered.on(machine.kind), lowered.on(DeviceKind.CPU)
        return LoweredNetwork(fused, plan, own, kernels.names, names, copies, None, blocks, host)
    alignment = target.block_alignment
    entry = build_entry(fused, names, copies, plan, blocks, timed=timed, denormals=denormals, alignment=alignment)
    verify(entry, after="build_entry")
    packing = None if fused_apart is None else _lowered_packing(fused_apart, kernels, blocks, alignment)
    own = lowered.on(DeviceKind.CPU)
    return LoweredNetwork(fused, plan, own, kernels.names, names, copies, entry, blocks, packing=packing)


def _lowered_packing(graph: Graph, kernels: _Kernels, blocks: ParameterBlocks, alignment: int) -> LoweredPacking:
    calls = kernels.of(graph)
    plan = plan_memory(graph, {node: kernel.scratch for node, kernel in calls.items()})
    names = {node: kernel.name for node, kernel in calls.items()}
    entry = build_pack_entry(graph, names, plan, blocks, alignment=alignment)
    verify(entry, after="build_pack_entry")
    return LoweredPacking(graph, plan, names, entry)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel as the plan and the entry see it (KernelFacts)."""

    name: str
    scratch: tuple[int, ...]
    overwritable: tuple[int, ...]


class _Kernels:
    """The kernels of a network by group, each begun once, and known by one name if others do the same."""

    def __init__(self, maker: KernelMaker) -> None:
        self._maker = maker
        self._begun: dict[GroupKey, tuple[str, Callable[[], KernelFacts]]] = {}
        self._names: dict[tuple[DeviceKind, str], str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the distinct kernels, in the order in which they were asked for."""
        return tuple(self._names.values())

    def of(self, graph: Graph, following: Sequence[Graph] = ()) -> dict[Node, _Kernel]:
        """The kernels of the nodes of a graph and of bodies in it. All begin before the first is waited for, and so do
        those of graphs that follow."""
        groups, *_ = [self._begin_all(g) for g in (graph, *following)]
        return {node: self._named(node, group) for node, group in groups.items()}

    def of_node(self, node: Node) -> _Kernel:
        return self._named(node, self._begin(node))

    def _begin_all(self, graph: Graph) -> dict[Node, GroupKey]:
        nodes = (node for node in _nodes_to_run(graph) if not isinstance(node.op, Control))
        return {node: self._begin(node) for node in nodes if not is_copy_between_devices(node)}

    def _begin(self, node: Node) -> GroupKey:
        assert isinstance(node.op, Fused)
        group = group_key(node.op.body)
        if group not in self._begun:
            name = f"k{len(self._begun)}_" + re.sub(r"\W", "_", node.op.body.name, flags=re.ASCII)
            self._begun[group] = name, self._maker.begin(node, name)
        return group

    def _named(self, node: Node, group: GroupKey) -> _Kernel:
        name, facts_of = self._begun[group]
        facts = facts_of()
        known = self._names.setdefault((node.outputs[0].device.kind, facts.digest), name)
        return _Kernel(known, facts.scratch, facts.overwritable)


def _overwritable(kernels: Mapping[Node, _Kernel]) -> dict[Node, list[Value]]:
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
