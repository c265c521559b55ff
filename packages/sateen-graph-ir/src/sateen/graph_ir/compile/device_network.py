"""The code of a network on devices: kernels of the device, functions of the host, and what a run does with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sateen.graph_ir.compile.device_actions import DeviceKernels, device_actions
from sateen.graph_ir.compile.lowered_network import LoweredNetwork
from sateen.graph_ir.ir import Graph, note_node
from sateen.graph_ir.kernels import note_group
from sateen.graph_ir.ops import Control
from sateen.runtime import Device, SateenError, Target, TargetError
from sateen.runtime.actions import MOST_NESTED, Action, DeviceBlocks
from sateen.tensor_ir import ObjectCache, build_functions
from sateen.tensor_ir.ir import Function
from sateen.tensor_ir.lowering import DeviceProgram

NetworkCode = Callable[[Sequence[Function], Target], tuple[bytes, Sequence[DeviceProgram]]]
"""Makes the code of kernels of a device, and says what a host launches."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceNetwork:
    """The parts of an artifact for devices; `memory` begins with the device of the target."""

    kernels: bytes
    library: bytes
    actions: tuple[Action, ...]
    memory: tuple[DeviceBlocks, ...]


def device_network(
    network: LoweredNetwork,
    make: NetworkCode,
    target: Target,
    target_host: Target | str,
    soname: str,
    denormals: str,
    cache: ObjectCache | None,
) -> DeviceNetwork:
    """Compile a network for the devices of a target and a host.

    Raises CodegenError and LoweringError with the nodes of a kernel, TargetError for bodies nested too deeply.
    """
    _require_readable(network.graph)
    kernels, programs = _device_code(network, make, target)
    called = DeviceKernels(
        network.calls,
        network.copies,
        {program.host.name: program for program in programs},
        {function.name: function for function in network.host_kernels},
    )
    actions, memory = device_actions(network.graph, network.plan, called, Device(target.device_kind))
    library = b""
    if network.host_kernels:
        host = [replace(function, denormals=denormals) for function in network.host_kernels]
        library = build_functions(host, target_host, cache=cache).library(soname)
    return DeviceNetwork(kernels, library, actions, memory)


def _require_readable(graph: Graph, depth: int = 0) -> None:
    """Raise TargetError for bodies within each other that readers of actions refuse."""
    for node in graph.nodes:
        if not isinstance(node.op, Control):
            continue
        if depth == MOST_NESTED:
            refused = TargetError(f"expected at most {MOST_NESTED} nodes that decide within each other, found more")
            note_node(refused, node.outputs, node.spans)
            raise refused
        for body in node.op.bodies:
            _require_readable(body, depth + 1)


def _device_code(network: LoweredNetwork, make: NetworkCode, target: Target) -> tuple[bytes, Sequence[DeviceProgram]]:
    """The code of the kernels of a device. An error names the nodes of the first kernel that can't be made, and as
    remedy those of all."""
    try:
        return make(network.kernels, target)
    except SateenError:
        refused = {f.name: e for f in network.kernels if (e := _refusal(f, make, target)) is not None}
        nodes = [node for node, name in network.calls.items() if name in refused]
        if not nodes:
            raise
        error = refused[network.calls[nodes[0]]]
        note_group(error, nodes[0])
        names = [next((span.node for span in node.spans), node.outputs[0].name) for node in nodes]
        options = " ".join(f"--place '{name}=cpu'" for name in names)
        error.add_note(f"on the host it may run: {options}, or placed={dict.fromkeys(names, 'cpu')}")
        raise error from None


def _refusal(function: Function, make: NetworkCode, target: Target) -> SateenError | None:
    """The error of making a kernel, if it can't be made."""
    try:
        make([function], target)
    except SateenError as error:
        return error
    return None
