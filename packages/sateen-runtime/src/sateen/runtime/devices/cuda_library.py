"""libcuda by ctypes: the functions of CUDA's driver that sateen calls, with their types (cuda.h, from CUDA 11.4 on)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from sateen.runtime.devices.driver import DriverError, Fault, MissingDriverError

MAX_THREADS_PER_BLOCK = 1
MAX_BLOCK_DIM, MAX_GRID_DIM = (2, 3, 4), (5, 6, 7)
MAX_SHARED_MEMORY_PER_BLOCK, WARP_SIZE, MULTIPROCESSOR_COUNT = 8, 10, 16
INTEGRATED = 18
COMPUTE_CAPABILITY = (75, 76)
FUNCTION_MAX_THREADS_PER_BLOCK = 0
JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 5, 6
STREAM_NON_BLOCKING = 1
CAPTURE_THREAD_LOCAL = 1
NOT_READY = 600

_DEVICE_POINTER = c_uint64
_Address = POINTER(_DEVICE_POINTER)
_Handle = POINTER(c_void_p)
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_Handle, c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_Handle,),
    "cuMemAlloc_v2": (_Address, c_size_t),
    "cuMemFree_v2": (_DEVICE_POINTER,),
    "cuMemcpyHtoDAsync_v2": (_DEVICE_POINTER, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, _DEVICE_POINTER, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (_DEVICE_POINTER, _DEVICE_POINTER, c_size_t, c_void_p),
    "cuStreamCreate": (_Handle, c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, _Handle),
    "cuEventCreate": (_Handle, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuEventDestroy_v2": (c_void_p,),
    "cuModuleLoadDataEx": (_Handle, c_void_p, c_uint, POINTER(c_int), _Handle),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (_Handle, c_void_p, c_char_p),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, c_void_p),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, _Handle, _Handle),
    "cuGraphInstantiateWithFlags": (_Handle, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
}
_FAULTS = {
    2: Fault.MEMORY,
    **dict.fromkeys((200, 209, 218, 221, 222, 223, 300, 500), Fault.CODE),
    **dict.fromkeys((4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999), Fault.LOST),
}
"""What statuses mean. Those of a lost device stay: every later call of the process returns them, too."""


class CudaLibrary:
    """The functions by their names; `call` raises for every status but success."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions: dict[str, Any] = {}
        for name, types in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = c_int, types
            self._functions[name] = function

    def call(self, name: str, *arguments: Any) -> None:
        """Raises DriverError for a status other than 0."""
        status = self._functions[name](*arguments)
        if status:
            raise self.failure(name, status)

    def function(self, name: str) -> Callable[..., int]:
        """A function that is called often."""
        return self._functions[name]  # type: ignore[no-any-return]

    def made(self, name: str, *arguments: Any) -> int:
        """The object that a function makes, which it stores where its first argument says."""
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return int(handle.value or 0)

    def number(self, name: str, *arguments: Any, type_: type[Any] = c_int) -> int:
        """The number that a function stores where its first argument says."""
        result = type_()
        self.call(name, ctypes.byref(result), *arguments)
        return int(result.value)

    def failure(self, function: str, status: int) -> DriverError:
        """The error that a status stands for."""
        fault = _FAULTS.get(status, Fault.OTHER)
        return DriverError(fault, f"{function}: {self._told('cuGetErrorName', status)} ({status})")

    def _told(self, name: str, status: int) -> str:
        text = c_char_p()
        self._functions[name](status, ctypes.byref(text))
        return (text.value or b"unknown status").decode("utf-8", "replace")


@cache
def cuda_library() -> CudaLibrary:
    """CUDA's driver on this machine. Raises MissingDriverError without one."""
    remedy = "install NVIDIA's driver, which brings it; the toolkit is not needed"
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            library = CudaLibrary(ctypes.CDLL(name))
        except OSError:
            continue
        except AttributeError as error:
            raise MissingDriverError(
                f"expected a driver of CUDA 11.4 or later, found one without {error.name}", remedy
            ) from None
        try:
            library.call("cuInit", 0)
        except DriverError as error:
            raise MissingDriverError(f"expected a device of CUDA, found none: {error}", remedy) from None
        return library
    raise MissingDriverError("expected CUDA's driver, libcuda.so.1, found none", remedy)
