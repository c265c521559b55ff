"""OpenCL of this machine as a device of the ABI (docs/design/abi.md). One queue of OpenCL serves all queues of a
program, in the order of its requests."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from sateen.runtime import DeviceFunctions, DevicePlace, KernelLaunch
from sateen.runtime.device import DeviceKind, opencl
from sateen.tensor_ir import CompiledModule

Array = np.ndarray[Any, Any]


def devices() -> list[Any]:
    """The devices that OpenCL has here."""
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:
        return []


class OpenCLDevice:
    """The first device. Runs functions whose arguments are in the host's memory."""

    def __init__(self) -> None:
        self._context = cl.Context(devices()[:1])
        self._queue = cl.CommandQueue(self._context)
        self._memory: dict[int, Any] = {}
        self._kernels: Any = None
        self._functions = DeviceFunctions(
            opencl(), self._alloc, self._free, self._copy, self._launch, self._wait, self._sync
        )

    def run(self, compiled: CompiledModule, name: str, arrays: Sequence[Array]) -> None:
        """Call the function that launches the kernels of a module."""
        self._kernels = cl.Program(self._context, compiled.source).build(cache_dir=False)
        compiled.host.module.with_devices([self._functions])[name](*arrays)

    def _alloc(self, size: int) -> int:
        memory = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(size, 1))
        self._memory[memory.int_ptr] = memory
        return int(memory.int_ptr)

    def _free(self, memory: int) -> None:
        self._queue.finish()
        del self._memory[memory]

    def _copy(self, _queue: int, to: DevicePlace, start: DevicePlace, size: int) -> None:
        places = {"dst_offset": to, "src_offset": start}
        on_host = {name: p.device.kind is DeviceKind.CPU for name, p in places.items()}
        offsets = {name: p.offset for name, p in places.items() if not on_host[name]}
        if not any(on_host.values()):
            offsets["byte_count"] = size
        memories = [
            (ctypes.c_uint8 * size).from_address(p.memory + p.offset) if on_host[name] else self._memory[p.memory]
            for name, p in places.items()
        ]
        cl.enqueue_copy(self._queue, *memories, **offsets)

    def _launch(self, launch: KernelLaunch) -> None:
        if 0 in launch.grid:
            return
        sizes = [n * m for n, m in zip(launch.grid, launch.block, strict=True)]
        arguments = (*(self._memory[p.memory] for p in launch.places), *map(np.int64, launch.scalars))
        cl.Kernel(self._kernels, launch.kernel)(self._queue, sizes, launch.block, *arguments)

    def _wait(self, _queue: int, _other: int) -> None:
        """All queues are one."""

    def _sync(self, _queue: int) -> None:
        self._queue.finish()
