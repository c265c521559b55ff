"""Devices of OpenCL 1.2."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import partial
from typing import cast

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices import opencl_library as cl
from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import (
    DriverError,
    Fault,
    MemoryPart,
    MissingDriverError,
    no_such_device,
    require_few_threads,
)
from sateen.runtime.devices.opencl_library import OpenCLLibrary, failure, opencl_library

_UNLIMITED = (1 << 31) - 1
REMEDY = "install the driver of one; that for processors is PoCL (Debian: pocl-opencl-icd)"
_WARP = 32
"""The threads that run in step, where the driver doesn't tell before a kernel is made."""


@dataclass(frozen=True, slots=True)
class _Kernels:
    program: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """A kernel with its arguments, which OpenCL keeps in the object, and the parts of memory that it gets."""

    kernel: int
    parts: tuple[int, ...]
    threads: ctypes.Array[c_size_t]
    block: ctypes.Array[c_size_t]
    is_empty: bool


class OpenCLDriver:
    """The devices of all platforms, in the order in which the loader lists them."""

    kind = DeviceKind.OPENCL

    def descriptions(self) -> tuple[DeviceDescription, ...]:
        library = opencl_library()
        return tuple(_describe(library, device, i) for i, device in enumerate(_devices(library)))

    def connect(self, index: int) -> OpenCLConnection:
        library = opencl_library()
        devices = _devices(library)
        if index >= len(devices):
            raise no_such_device("OpenCL", Device(self.kind, index), len(devices))
        return OpenCLConnection(library, devices[index], _describe(library, devices[index], index))


class OpenCLConnection:
    """A context with one device. Its queues measure time."""

    def __init__(self, library: OpenCLLibrary, device: int, description: DeviceDescription) -> None:
        self.description = description
        self._library = library
        self._device = device
        one = (c_void_p * 1)(device)
        self._context = library.make("clCreateContext", None, 1, one, None, None)
        self._queues: dict[int, int] = {}
        self._enqueue = library.function("clEnqueueNDRangeKernel")

    def _queue(self, number: int) -> int:
        if number not in self._queues:
            made = self._library.make("clCreateCommandQueue", self._context, self._device, cl.QUEUE_PROFILING)
            self._queues[number] = made
        return self._queues[number]

    def allocate(self, size: int) -> int:
        return self._library.make("clCreateBuffer", self._context, cl.MEM_READ_WRITE, size, None)

    def free(self, handle: int) -> None:
        self._library.call("clReleaseMemObject", handle)

    def write(self, queue: int, to: MemoryPart, address: int) -> object | None:
        return self._queued("clEnqueueWriteBuffer", queue, to, address)

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        return self._queued("clEnqueueReadBuffer", queue, start, address)

    def _queued(self, name: str, queue: int, part: MemoryPart, address: int) -> object:
        """The event of a copy between the host and a part of memory."""
        place, event = (part.handle, False, part.offset, part.size, address), c_void_p()
        self._library.call(name, self._queue(queue), *place, 0, None, ctypes.byref(event))
        self._library.call("clFlush", self._queue(queue))
        return event.value

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        places = (start.handle, to.handle, start.offset, to.offset, to.size)
        self._library.call("clEnqueueCopyBuffer", self._queue(queue), *places, 0, None, None)

    def load(self, code: bytes) -> object:
        if b"cl_khr_fp64" in code and not self.description.has_float64:
            raise DriverError(
                Fault.CODE, "the kernels compute float64, and the device has no cl_khr_fp64; use float32 in the network"
            )
        library = self._library
        text, length = c_char_p(code), c_size_t(len(code))
        arguments = (self._context, 1, ctypes.byref(text), ctypes.byref(length))
        program = library.make("clCreateProgramWithSource", *arguments)
        try:
            library.call("clBuildProgram", program, 1, (c_void_p * 1)(self._device), b"", None, None)
        except DriverError as error:
            log = library.text("clGetProgramBuildInfo", program, self._device, cl.PROGRAM_BUILD_LOG)
            library.call("clReleaseProgram", program)
            raise DriverError(Fault.CODE, f"{error}\n{log}") from None
        return program

    def unload(self, kernels: object) -> None:
        self._library.call("clReleaseProgram", kernels)

    def prepare(
        self,
        kernels: object,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        library = self._library
        kernel = library.make("clCreateKernel", kernels, name.encode())
        made: list[int] = []
        try:
            self._require_room(kernel, name, block)
            for i, part in enumerate(parts):
                if part.offset:
                    region = (c_size_t * 2)(part.offset, self._size(part))
                    region_of = (part.handle, cl.MEM_READ_WRITE, cl.BUFFER_CREATE_TYPE_REGION)
                    made.append(library.make("clCreateSubBuffer", *region_of, region))
                memory = c_void_p(made[-1] if part.offset else part.handle)
                library.call("clSetKernelArg", kernel, i, ctypes.sizeof(memory), ctypes.byref(memory))
            for i, scalar in enumerate(scalars, start=len(parts)):
                value = c_uint64(scalar & (1 << 64) - 1)
                library.call("clSetKernelArg", kernel, i, 8, ctypes.byref(value))
        except DriverError:
            self._release(kernel, made)
            raise
        threads = (c_size_t * 3)(*(n * m for n, m in zip(grid, block, strict=True)))
        return _Prepared(kernel, tuple(made), threads, (c_size_t * 3)(*block), 0 in grid)

    def _require_room(self, kernel: int, name: str, block: tuple[int, int, int]) -> None:
        """Raises DriverError for a block with more threads than its registers allow, or more shared memory than there
        is, of which not every driver says so."""
        told = partial(self._library.value, "clGetKernelWorkGroupInfo")
        require_few_threads(name, block, told(c_size_t, kernel, self._device, cl.KERNEL_WORK_GROUP_SIZE).value)
        shared, most = (
            told(c_uint64, kernel, self._device, cl.KERNEL_LOCAL_MEM_SIZE).value,
            self.description.shared_bytes,
        )
        if shared > most:
            raise DriverError(
                Fault.OTHER, f"kernel {name} expects {shared} bytes of shared memory, the device has at most {most}"
            )

    def _size(self, part: MemoryPart) -> int:
        """The bytes of a part, one at least."""
        if part.size is not None:
            return max(part.size, 1)
        whole = int(self._library.value("clGetMemObjectInfo", c_size_t, part.handle, cl.MEM_SIZE).value)
        return whole - part.offset

    def launch(self, queue: int, prepared: object) -> None:
        ready = cast(_Prepared, prepared)
        if ready.is_empty:
            return
        kernel, threads, block = ready.kernel, ready.threads, ready.block
        status = self._enqueue(self._queue(queue), kernel, 3, None, threads, block, 0, None, None)
        if status:
            raise failure("clEnqueueNDRangeKernel", status)

    def discard(self, prepared: object) -> None:
        ready = cast(_Prepared, prepared)
        self._release(ready.kernel, ready.parts)

    def _release(self, kernel: int, parts: Sequence[int]) -> None:
        self._library.call("clReleaseKernel", kernel)
        for part in parts:
            self._library.call("clReleaseMemObject", part)

    def wait(self, queue: int, event: object) -> None:
        waited = (c_void_p * 1)(cast(int, event))
        self._library.call("clEnqueueBarrierWithWaitList", self._queue(queue), 1, waited, None)

    def record(self, queue: int) -> object:
        event = c_void_p()
        self._library.call("clEnqueueMarkerWithWaitList", self._queue(queue), 0, None, ctypes.byref(event))
        self._library.call("clFlush", self._queue(queue))
        return event.value

    def is_reached(self, event: object) -> bool:
        status = self._library.value("clGetEventInfo", c_int32, event, cl.EVENT_EXECUTION_STATUS).value
        if status < 0:
            raise DriverError(Fault.LOST, str(failure("the work of a queue", status)))
        return bool(status == cl.COMPLETE)

    def seconds(self, first: object, second: object) -> float:
        ends = [
            self._library.value("clGetEventProfilingInfo", c_uint64, event, cl.PROFILING_COMMAND_END).value
            for event in (first, second)
        ]
        return float(ends[1] - ends[0]) * 1e-9

    def forget(self, event: object) -> None:
        self._library.call("clReleaseEvent", event)

    def close(self) -> None:
        for queue in self._queues.values():
            self._library.call("clReleaseCommandQueue", queue)
        self._queues.clear()
        self._library.call("clReleaseContext", self._context)


def _devices(library: OpenCLLibrary) -> list[int]:
    """The devices of all platforms. Raises MissingDriverError if there is none."""
    found: list[int] = []
    try:
        for platform in _listed(library, "clGetPlatformIDs"):
            try:
                found.extend(_listed(library, "clGetDeviceIDs", platform, cl.DEVICE_TYPE_ALL))
            except DriverError:  # a platform without devices says so by a status
                continue
    except DriverError:
        pass
    if not found:
        raise MissingDriverError("expected a device of OpenCL, found none", REMEDY)
    return found


def _listed(library: OpenCLLibrary, name: str, *of: object) -> list[int]:
    count = c_uint32()
    library.call(name, *of, 0, None, ctypes.byref(count))
    handles = (c_void_p * count.value)()
    library.call(name, *of, count.value, handles, None)
    return [handle for handle in handles if handle]


def _describe(library: OpenCLLibrary, device: int, index: int) -> DeviceDescription:
    def number(key: int, type_: type[c_uint32 | c_uint64 | c_size_t] = c_uint64) -> int:
        return int(library.value("clGetDeviceInfo", type_, device, key).value)

    def text(key: int) -> str:
        return library.text("clGetDeviceInfo", device, key)

    axes = library.value("clGetDeviceInfo", c_size_t * 3, device, cl.DEVICE_MAX_WORK_ITEM_SIZES)
    extensions = text(cl.DEVICE_EXTENSIONS).split()
    return DeviceDescription(
        device=Device(DeviceKind.OPENCL, index),
        name=text(cl.DEVICE_NAME),
        driver=f"OpenCL {text(cl.DRIVER_VERSION)}",
        units=number(cl.DEVICE_MAX_COMPUTE_UNITS, c_uint32),
        warp=1 if number(cl.DEVICE_TYPE) & cl.DEVICE_TYPE_CPU else _WARP,
        block_threads=number(cl.DEVICE_MAX_WORK_GROUP_SIZE, c_size_t),
        block_axes=(axes[0], axes[1], axes[2]),
        grid_axes=(_UNLIMITED, _UNLIMITED, _UNLIMITED),
        shared_bytes=number(cl.DEVICE_LOCAL_MEM_SIZE),
        memory_bytes=number(cl.DEVICE_GLOBAL_MEM_SIZE),
        allocation_bytes=number(cl.DEVICE_MAX_MEM_ALLOC_SIZE),
        place_alignment=number(cl.DEVICE_MEM_BASE_ADDR_ALIGN, c_uint32) // 8,
        shares_memory=bool(number(cl.DEVICE_HOST_UNIFIED_MEMORY, c_uint32)),
        has_float64="cl_khr_fp64" in extensions,
        has_float16="cl_khr_fp16" in extensions,
    )
