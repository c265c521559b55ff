"""What tests of several files use: the machine's OpenCL as a device of the ABI."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import abi
from sateen.runtime.abi import DLDataType, DLTensor, SateenDevice, SateenLaunch, SateenPlace, Status
from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType
from sateen.tensor_ir import CompiledModule, build_functions
from sateen.tensor_ir.ir.stmt import Function

Array = np.ndarray[Any, Any]
Launch = Callable[..., CompiledModule]
"""Compiles a function and runs it on arrays, into which what its kernels write is copied back."""


class OpenCL:
    """A device whose table compiled host code calls to allocate, copy and launch.

    Called with a function of loop IR and arrays, it runs the function and returns what it compiled. `log` has what the
    host's code asked for, in order.
    """

    def __init__(self, cl: Any, device: Any) -> None:
        self.cl = cl
        self.context = cl.Context([device])
        self.queues: dict[int, Any] = {}
        self.memory: dict[int, Any] = {}
        self.kernels: Any = None
        self.log: list[str] = []
        self.fail_at = ""
        """The request that fails."""
        self._functions = {
            "alloc": abi.DeviceAlloc(self._alloc), "free": abi.DeviceFree(self._free),
            "copy": abi.DeviceCopy(self._copy), "launch": abi.DeviceLaunch(self._launch),
            "wait": abi.DeviceWait(self._wait), "sync": abi.DeviceSync(self._sync),
        }  # fmt: skip
        self.table = SateenDevice()
        self.table.id.device_type = DeviceKind.OPENCL
        for name, function in self._functions.items():
            setattr(self.table, name, ctypes.cast(function, ctypes.c_void_p))

    def __call__(self, function: Function, *arrays: Array) -> CompiledModule:
        """Run the function on copies of the arrays in the device's memory."""
        compiled = build_functions([function], "opencl")
        self.run(compiled, *arrays)
        return compiled

    def run(self, compiled: CompiledModule, *arrays: Array) -> None:
        """Call the function for the host: parameters of the device are given copies of the arrays there."""
        self.log.clear()
        self.kernels = self.cl.Program(self.context, compiled.source).build(cache_dir=False)
        parameters = compiled.program.host.parameters
        tensors, there, here = [], [], []
        for b, array in zip(parameters, arrays, strict=True):
            copy = runtime.array(array)
            data = copy.data
            on_device = b.device is not None and b.device.kind is DeviceKind.OPENCL
            if on_device:
                data = self._alloc(None, max(array.nbytes, 1))
                self._write(data, array)
                there.append((data, array))
            else:
                here.append((copy, array))
            tensors.append(_tensor(data, array, DeviceKind.OPENCL if on_device else DeviceKind.CPU))
        (loaded,) = compiled.host.module.with_devices([self.table]).functions.values()
        status = loaded._call(loaded._host_address, _pointers(tensors), len(tensors))
        for data, array in there:
            self._read(data, array)
            self._free(None, data)
        for copy, array in here:
            array[...] = copy.numpy()
        if status:
            raise RuntimeError(Status(abi.Failure.of(status).code).name)

    # The functions of the table.

    def _queue(self, number: int) -> Any:
        if number not in self.queues:
            self.queues[number] = self.cl.CommandQueue(self.context)
        return self.queues[number]

    def _write(self, data: int, array: Array) -> None:
        if array.nbytes:
            self.cl.enqueue_copy(self._queue(0), self.memory[data], array)

    def _read(self, data: int, array: Array) -> None:
        if array.nbytes:
            found = np.empty_like(array)
            self.cl.enqueue_copy(self._queue(0), found, self.memory[data])
            array[...] = found

    def _alloc(self, _: Any, size: int) -> int:
        self.log.append(f"alloc {size}")
        if self.fail_at == "alloc":
            return 0
        memory = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size)
        self.memory[memory.int_ptr] = memory
        return int(memory.int_ptr)

    def _free(self, _: Any, memory: int) -> None:
        self.log.append("free")
        self._queue(0).finish()
        del self.memory[memory]

    def _copy(self, _: Any, queue: int, to: Any, start: Any, size: int) -> int:
        self.log.append(f"copy {size}")
        if self.fail_at == "copy":
            return Status.QUEUE
        places: list[SateenPlace] = [to.contents, start.contents]
        host = [p.device.device_type == DeviceKind.CPU for p in places]
        target, source = (
            self._host_bytes(p, size) if h else self.memory[p.memory] for p, h in zip(places, host, strict=True)
        )
        names = ("dst_offset", "src_offset")
        offsets = {name: p.offset for name, p, is_host in zip(names, places, host, strict=True) if not is_host}
        if not any(host):
            offsets["byte_count"] = size
        self.cl.enqueue_copy(self._queue(queue), target, source, **offsets)
        return 0

    @staticmethod
    def _host_bytes(place: SateenPlace, size: int) -> Array:
        memory = (ctypes.c_uint8 * size).from_address(place.memory + place.offset)
        return np.frombuffer(memory, np.uint8)

    def _launch(self, _: Any, given: Any) -> int:
        launch: SateenLaunch = given.contents
        name = launch.kernel.decode()
        blocks, threads = list(launch.grid), tuple(launch.block)
        self.log.append(f"launch {name} {blocks} {list(threads)}")
        if self.fail_at == "launch":
            return Status.LAUNCH
        places = [launch.places[i] for i in range(launch.place_count)]
        assert all(p.offset == 0 and p.device.device_type == DeviceKind.OPENCL for p in places)
        scalars = [np.int64(launch.scalars[i]) for i in range(launch.scalar_count)]
        if 0 not in blocks:
            sizes = [n * m for n, m in zip(blocks, threads, strict=True)]
            kernel = self.cl.Kernel(self.kernels, name)
            kernel(self._queue(launch.queue), sizes, threads, *(self.memory[p.memory] for p in places), *scalars)
        return 0

    def _wait(self, _: Any, queue: int, other: int) -> int:
        self.log.append(f"wait {queue} for {other}")
        marker = self.cl.enqueue_marker(self._queue(other))
        self.cl.enqueue_barrier(self._queue(queue), wait_for=[marker])
        return 0

    def _sync(self, _: Any, queue: int) -> int:
        self.log.append(f"sync {queue}")
        self._queue(queue).finish()
        return 0


def _tensor(data: int, array: Array, device: DeviceKind) -> DLTensor:
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    dtype = DType.of(array.dtype)
    assert array.flags.c_contiguous
    return DLTensor(data, (device, 0), array.ndim, DLDataType(dtype.code, dtype.bits, dtype.lanes), shape)


def _pointers(tensors: list[DLTensor]) -> Any:
    return (ctypes.POINTER(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors))


@pytest.fixture(scope="session")
def launch() -> OpenCL:
    """Execution on the first OpenCL device; skipped where there is none."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        pytest.skip(f"OpenCL has no platform: {error}")
    if not devices:
        pytest.skip("OpenCL has no device")
    return OpenCL(cl, devices[0])
