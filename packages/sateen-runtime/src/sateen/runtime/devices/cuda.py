"""Devices of CUDA, by the driver alone: it makes the code of PTX, or loads that of a cubin."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from ctypes import c_char, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import cast

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices import cuda_library as cu
from sateen.runtime.devices.cuda_library import CudaLibrary, cuda_library
from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import (
    DriverError,
    MemoryPart,
    MissingDriverError,
    no_such_device,
    require_few_threads,
)

_PLACES = 256
"""What addresses of memory are multiples of (CUDA C++ Programming Guide, "Device memory accesses")."""
_LOG_BYTES = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """A kernel, and the place of each argument."""

    function: int
    sizes: tuple[int, ...]
    arguments: ctypes.Array[c_void_p]
    values: ctypes.Array[c_uint64]
    is_empty: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    """Launches as one: what the driver launches, and what its arguments lie in."""

    executable: int
    launches: tuple[_Prepared, ...]


class CudaDriver:
    """The devices as CUDA lists them."""

    kind = DeviceKind.CUDA

    def descriptions(self) -> tuple[DeviceDescription, ...]:
        library = cuda_library()
        return tuple(_describe(library, i) for i in range(_count(library)))

    def connect(self, index: int) -> CudaConnection:
        library = cuda_library()
        count = _count(library)
        if index >= count:
            raise no_such_device("CUDA", Device(self.kind, index), count)
        return CudaConnection(library, index, _describe(library, index))


class CudaConnection:
    """The primary context of a device, which the other users of CUDA in this process share."""

    def __init__(self, library: CudaLibrary, index: int, description: DeviceDescription) -> None:
        self.description = description
        self._library = library
        self._device = library.number("cuDeviceGet", index)
        self._context = library.made("cuDevicePrimaryCtxRetain", self._device)
        self._streams: dict[int, int] = {}

    def _status(self, name: str, *arguments: object) -> int:
        """The status of a call in the context. A thread has one, which stays what other users of CUDA made it."""
        self._library.call("cuCtxPushCurrent_v2", self._context)
        try:
            return self._library.function(name)(*arguments)
        finally:  # its status is that of earlier work, which other calls tell, too
            self._library.function("cuCtxPopCurrent_v2")(ctypes.byref(c_void_p()))

    def _call(self, name: str, *arguments: object) -> None:
        if status := self._status(name, *arguments):
            raise self._library.failure(name, status)

    def _made(self, name: str, *arguments: object, type_: type[c_void_p | c_uint64 | c_int] = c_void_p) -> int:
        """The object or the number that a call stores where its first argument says."""
        result = type_()
        self._call(name, ctypes.byref(result), *arguments)
        return int(result.value or 0)

    def _stream(self, number: int) -> int:
        if number not in self._streams:
            self._streams[number] = self._made("cuStreamCreate", cu.STREAM_NON_BLOCKING)
        return self._streams[number]

    def allocate(self, size: int) -> int:
        return self._made("cuMemAlloc_v2", size, type_=c_uint64)

    def free(self, handle: int) -> None:
        self._call("cuMemFree_v2", handle)

    def write(self, queue: int, to: MemoryPart, address: int) -> object | None:
        self._call("cuMemcpyHtoDAsync_v2", to.handle + to.offset, address, to.size, self._stream(queue))
        return self.record(queue)

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        self._call("cuMemcpyDtoHAsync_v2", address, start.handle + start.offset, start.size, self._stream(queue))
        return self.record(queue)

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        places = to.handle + to.offset, start.handle + start.offset
        self._call("cuMemcpyDtoDAsync_v2", *places, to.size, self._stream(queue))

    def load(self, code: bytes) -> object:
        log = (c_char * _LOG_BYTES)()
        options = (c_int * 2)(cu.JIT_ERROR_LOG_BUFFER, cu.JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        image = ctypes.create_string_buffer(code)  # PTX ends with a zero
        try:
            return self._made("cuModuleLoadDataEx", image, 2, options, values)
        except DriverError as error:
            told = log.value.decode("utf-8", "replace").strip()
            raise DriverError(error.fault, f"{error}\n{told}" if told else str(error)) from None

    def unload(self, kernels: object) -> None:
        self._call("cuModuleUnload", kernels)

    def prepare(
        self,
        kernels: object,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        function = self._made("cuModuleGetFunction", kernels, name.encode())
        most = self._made("cuFuncGetAttribute", cu.FUNCTION_MAX_THREADS_PER_BLOCK, function, type_=c_int)
        require_few_threads(name, block, most)
        given = [*(part.handle + part.offset for part in parts), *(n & (1 << 64) - 1 for n in scalars)]
        values = (c_uint64 * max(len(given), 1))(*given)
        first = ctypes.addressof(values)
        arguments = (c_void_p * max(len(given), 1))(*(first + 8 * i for i in range(len(given))))
        return _Prepared(function, (*grid, *block, 0), arguments, values, 0 in grid)

    def launch(self, queue: int, prepared: object) -> None:
        if isinstance(prepared, _Graph):
            self._call("cuGraphLaunch", prepared.executable, self._stream(queue))
        else:
            self._start(cast(_Prepared, prepared), self._stream(queue))

    def _start(self, ready: _Prepared, stream: int) -> None:
        if not ready.is_empty:
            self._call("cuLaunchKernel", ready.function, *ready.sizes, stream, ready.arguments, None)

    def joined(self, prepared: Sequence[object]) -> object:
        """The launches as one graph. Each has been launched before, so that its code is on the device."""
        launches = tuple(cast(_Prepared, one) for one in prepared)
        graph = self._captured(launches)
        try:
            return _Graph(self._made("cuGraphInstantiateWithFlags", graph, 0), launches)
        finally:
            self._call("cuGraphDestroy", graph)

    def _captured(self, launches: Sequence[_Prepared]) -> int:
        """What a stream would launch, as a graph."""
        stream = self._made("cuStreamCreate", cu.STREAM_NON_BLOCKING)
        try:
            self._call("cuStreamBeginCapture_v2", stream, cu.CAPTURE_THREAD_LOCAL)
            try:
                for one in launches:
                    self._start(one, stream)
            except DriverError:
                with suppress(DriverError):
                    self._call("cuGraphDestroy", self._end_capture(stream))
                raise
            return self._end_capture(stream)
        finally:
            self._call("cuStreamDestroy_v2", stream)

    def _end_capture(self, stream: int) -> int:
        graph = c_void_p()
        self._call("cuStreamEndCapture", stream, ctypes.byref(graph))
        return int(graph.value or 0)

    def discard(self, prepared: object) -> None:
        if isinstance(prepared, _Graph):
            self._call("cuGraphExecDestroy", prepared.executable)

    def wait(self, queue: int, event: object) -> None:
        self._call("cuStreamWaitEvent", self._stream(queue), event, 0)

    def stream(self, queue: int) -> int:
        return self._stream(queue)

    def record(self, queue: int) -> object:
        event = self._made("cuEventCreate", 0)
        self._call("cuEventRecord", event, self._stream(queue))
        return event

    def is_reached(self, event: object) -> bool:
        status = self._status("cuEventQuery", event)
        if status not in (0, cu.NOT_READY):
            raise self._library.failure("the work of a queue", status)
        return status == 0

    def seconds(self, first: object, second: object) -> float:
        milliseconds = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), first, second)
        return milliseconds.value * 1e-3

    def forget(self, event: object) -> None:
        self._call("cuEventDestroy_v2", event)

    def close(self) -> None:
        with suppress(DriverError):  # a lost device has nothing left to give back
            for stream in self._streams.values():
                self._call("cuStreamDestroy_v2", stream)
            self._library.call("cuDevicePrimaryCtxRelease_v2", self._device)
        self._streams.clear()


def _count(library: CudaLibrary) -> int:
    """The number of devices. Raises MissingDriverError for none."""
    remedy, found = "CUDA_VISIBLE_DEVICES may hide them", ""
    try:
        if count := library.number("cuDeviceGetCount"):
            return count
    except DriverError as error:
        found = f": {error}"
    raise MissingDriverError(f"expected a device of CUDA, found none{found}", remedy)


def _describe(library: CudaLibrary, index: int) -> DeviceDescription:
    device = library.number("cuDeviceGet", index)

    def attribute(key: int) -> int:
        return library.number("cuDeviceGetAttribute", key, device)

    name = ctypes.create_string_buffer(256)
    library.call("cuDeviceGetName", name, len(name), device)
    version = library.number("cuDriverGetVersion")
    memory = library.number("cuDeviceTotalMem_v2", device, type_=c_size_t)
    major, minor = map(attribute, cu.COMPUTE_CAPABILITY)
    block, grid = (tuple(map(attribute, keys)) for keys in (cu.MAX_BLOCK_DIM, cu.MAX_GRID_DIM))
    return DeviceDescription(
        device=Device(DeviceKind.CUDA, index),
        name=name.value.decode("utf-8", "replace"),
        driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
        units=attribute(cu.MULTIPROCESSOR_COUNT),
        warp=attribute(cu.WARP_SIZE),
        block_threads=attribute(cu.MAX_THREADS_PER_BLOCK),
        block_axes=(block[0], block[1], block[2]),
        grid_axes=(grid[0], grid[1], grid[2]),
        shared_bytes=attribute(cu.MAX_SHARED_MEMORY_PER_BLOCK),
        memory_bytes=memory,
        allocation_bytes=memory,
        place_alignment=_PLACES,
        shares_memory=bool(attribute(cu.INTEGRATED)),
        has_float64=True,
        has_float16=True,
        architecture=f"sm_{major}{minor}",
    )
