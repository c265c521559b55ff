"""Where the nodes of a network are computed: the device of its target, and other devices that marks name."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from sateen.graph_ir.ir import HOST
from sateen.graph_ir.passes import Pipeline, Placed
from sateen.graph_ir.passes.place_devices import place_devices
from sateen.graph_ir.passes.require_host import require_host
from sateen.runtime import Device, DeviceKind, Target, TargetError
from sateen.tensor_ir.codegen import TARGET_KINDS, machine_of

NOWHERE: Placed = MappingProxyType({})
"""No marks of nodes: all are on the device of the target."""


def placing(target: Target, placed: Placed = NOWHERE) -> Pipeline:
    """The passes that put the nodes of a network for a target where they are computed.

    Raises TargetError for marks where the target is a processor.
    """
    device = Device(target.device_kind)
    if device != HOST:
        return (require_host, partial(place_devices, device=device, placed=placed))
    if placed != NOWHERE:
        raise TargetError(f"placed: expected a target of a device, whose network may have parts elsewhere: {target}")
    return (require_host,)


def host_of(target: Target, target_host: Target | str) -> Target | None:
    """The target of the host of a network for devices; None for a processor.

    Raises TargetError for one that libraries can't be made for.
    """
    if target.device_kind is DeviceKind.CPU:
        return None
    host = Target.of(target_host)
    if not TARGET_KINDS[host.kind].has_libraries:
        raise TargetError(f"target_host: expected a target of kind llvm, found {host}")
    machine_of(host)
    return host
