"""The target that tuning measures for: one that this machine, a device of it or one elsewhere runs."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.devices import DevicePlace, compiled_for, opened
from sateen.graph_ir.compile import network_target
from sateen.runtime import Device, DeviceKind, Target, TargetError, open_device
from sateen.tensor_ir.targets import with_features


def tuning_target(compilation: Compilation, device: DevicePlace | None) -> Target:
    """The target. Raises TargetError if what measures can't run its code, DeviceError if there is no such device."""
    return _target_here(compilation.target) if device is None else _target_there(compilation, device)


def _target_here(text: str) -> Target:
    target, host = Target.of(text), Target.host()
    if target.device_kind is not DeviceKind.CPU:
        return _on_device(network_target(target), Device(target.device_kind), open_device)
    missing = host.missing_features(with_features(target))
    if target.kind != host.kind or target.triple != host.triple or missing:
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise TargetError(f"tuning measures on this machine, {host.triple}{lacks}; it can't run code for {target}")
    return target


def _target_there(compilation: Compilation, device: DevicePlace) -> Target:
    with opened(device) as session:
        there = Target.parse(session.info()["target"])
        target = Target.of(compiled_for(session, compilation, device.device).target)
        if target.device_kind is not DeviceKind.CPU:
            return _on_device(network_target(target), device.device or Device(target.device_kind), session.device)
    missing = there.missing_features(with_features(target))
    if target.kind != there.kind or target.triple != there.triple or missing:
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise TargetError(f"{device.text} has {there.triple}{lacks}; it can't run code for {target}")
    return target


def _on_device(target: Target, device: Device, opened: Callable[[Device], object]) -> Target:
    """The target of a device that can be opened. Raises TargetError for kernels that no driver takes, and for a device
    of another kind; DeviceError if there is none."""
    if compiler := target.kernel_compiler:
        raise TargetError(f"tuning measures on devices; kernels for {target} are text for {compiler} and no driver")
    if device.kind is not target.device_kind:
        raise TargetError(f"{device} can't run code for {target}")
    opened(device)
    return target
