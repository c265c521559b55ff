"""An open device as the table that compiled host code calls (docs/design/abi.md)."""

from __future__ import annotations

from sateen.runtime.device import DeviceKind
from sateen.runtime.device_functions import DeviceFunctions, DevicePlace, KernelLaunch
from sateen.runtime.devices.driver import MemoryPart
from sateen.runtime.devices.opened import DeviceMemory, Kernels, OpenDevice


def as_functions(device: OpenDevice, kernels: Kernels) -> DeviceFunctions:
    """The functions of a device that launch these kernels. Their errors are causes of those of the call."""
    calls = _Calls(device, kernels)
    place = device.description.device
    return DeviceFunctions(place, calls.alloc, calls.free, calls.copy, calls.launch, device.wait, device.sync)


class _Calls:
    """What compiled code asks for, with memory as numbers."""

    def __init__(self, device: OpenDevice, kernels: Kernels) -> None:
        self.device = device
        self.kernels = kernels
        self.memory: dict[int, DeviceMemory] = {}

    def alloc(self, size: int) -> int:
        memory = self.device.allocate(size)
        self.memory[memory.handle] = memory
        return memory.handle

    def free(self, handle: int) -> None:
        self.memory.pop(handle).free()

    def copy(self, queue: int, to: DevicePlace, start: DevicePlace, size: int) -> None:
        if start.device.kind is DeviceKind.CPU:
            self.device.write(MemoryPart(to.memory, to.offset, size), start.memory + start.offset, queue)
        elif to.device.kind is DeviceKind.CPU:
            self.device.read(to.memory + to.offset, MemoryPart(start.memory, start.offset, size), queue)
        else:
            target, source = (MemoryPart(p.memory, p.offset, size) for p in (to, start))
            self.device.copy(target, source, queue)

    def launch(self, launch: KernelLaunch) -> None:
        parts = [MemoryPart(p.memory, p.offset, None) for p in launch.places]
        prepared = self.device.prepare(self.kernels, launch.kernel, launch.grid, launch.block, parts, launch.scalars)
        self.device.launch(prepared, launch.queue)
