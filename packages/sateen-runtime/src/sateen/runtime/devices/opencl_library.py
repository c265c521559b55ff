"""libOpenCL by ctypes: the functions of OpenCL 1.2 that sateen calls, with their types (cl.h of Khronos)."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from ctypes import c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from sateen.runtime.devices.driver import DriverError, Fault, MissingDriverError

DEVICE_TYPE_ALL = 0xFFFFFFFF
PLATFORM_NAME, PLATFORM_VERSION = 0x0902, 0x0901
DEVICE_TYPE = 0x1000
DEVICE_TYPE_CPU = 2
DEVICE_MAX_COMPUTE_UNITS = 0x1002
DEVICE_MAX_WORK_GROUP_SIZE, DEVICE_MAX_WORK_ITEM_SIZES = 0x1004, 0x1005
DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010
DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019
DEVICE_GLOBAL_MEM_SIZE, DEVICE_LOCAL_MEM_SIZE = 0x101F, 0x1023
DEVICE_NAME, DRIVER_VERSION, DEVICE_EXTENSIONS = 0x102B, 0x102D, 0x1030
DEVICE_HOST_UNIFIED_MEMORY = 0x1035
QUEUE_PROFILING = 2
MEM_READ_WRITE = 1
BUFFER_CREATE_TYPE_REGION = 0x1220
PROGRAM_BUILD_LOG = 0x1183
MEM_SIZE = 0x1102
KERNEL_WORK_GROUP_SIZE, KERNEL_LOCAL_MEM_SIZE = 0x11B0, 0x11B2
EVENT_EXECUTION_STATUS = 0x11D3
PROFILING_COMMAND_END = 0x1283
COMPLETE = 0

_NAMES = {
    -1: "DEVICE_NOT_FOUND", -2: "DEVICE_NOT_AVAILABLE", -3: "COMPILER_NOT_AVAILABLE",
    -4: "MEM_OBJECT_ALLOCATION_FAILURE", -5: "OUT_OF_RESOURCES", -6: "OUT_OF_HOST_MEMORY",
    -11: "BUILD_PROGRAM_FAILURE", -13: "MISALIGNED_SUB_BUFFER_OFFSET", -14: "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    -36: "INVALID_COMMAND_QUEUE", -38: "INVALID_MEM_OBJECT", -46: "INVALID_KERNEL_NAME", -48: "INVALID_KERNEL",
    -51: "INVALID_ARG_SIZE", -52: "INVALID_KERNEL_ARGS", -54: "INVALID_WORK_GROUP_SIZE", -55: "INVALID_WORK_ITEM_SIZE",
    -61: "INVALID_BUFFER_SIZE", -63: "INVALID_GLOBAL_WORK_SIZE", -1001: "PLATFORM_NOT_FOUND_KHR",
}  # fmt: skip
_FAULTS = {
    -2: Fault.LOST, -4: Fault.MEMORY, -5: Fault.MEMORY, -6: Fault.MEMORY, -11: Fault.CODE, -14: Fault.LOST,
    -36: Fault.LOST, -46: Fault.CODE,
}  # fmt: skip

_Handles = ctypes.POINTER(c_void_p)
_Sizes = ctypes.POINTER(c_size_t)
_Status = ctypes.POINTER(c_int32)
_Count = ctypes.POINTER(c_uint32)
_WAIT = (c_uint32, _Handles, _Handles)
"""The number of events to wait for, these events, and where the new one is put."""

_RETURN_STATUS: dict[str, tuple[Any, ...]] = {
    "clGetPlatformIDs": (c_uint32, _Handles, _Count),
    "clGetPlatformInfo": (c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clGetDeviceIDs": (c_void_p, c_uint64, c_uint32, _Handles, _Count),
    "clGetDeviceInfo": (c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clReleaseContext": (c_void_p,),
    "clReleaseCommandQueue": (c_void_p,),
    "clReleaseMemObject": (c_void_p,),
    "clReleaseProgram": (c_void_p,),
    "clReleaseKernel": (c_void_p,),
    "clReleaseEvent": (c_void_p,),
    "clBuildProgram": (c_void_p, c_uint32, _Handles, c_char_p, c_void_p, c_void_p),
    "clGetProgramBuildInfo": (c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clSetKernelArg": (c_void_p, c_uint32, c_size_t, c_void_p),
    "clGetKernelWorkGroupInfo": (c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clGetMemObjectInfo": (c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clEnqueueWriteBuffer": (c_void_p, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, *_WAIT),
    "clEnqueueReadBuffer": (c_void_p, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, *_WAIT),
    "clEnqueueCopyBuffer": (c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t, *_WAIT),
    "clEnqueueNDRangeKernel": (c_void_p, c_void_p, c_uint32, _Sizes, _Sizes, _Sizes, *_WAIT),
    "clEnqueueMarkerWithWaitList": (c_void_p, *_WAIT),
    "clEnqueueBarrierWithWaitList": (c_void_p, *_WAIT),
    "clFlush": (c_void_p,),
    "clGetEventInfo": (c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
    "clGetEventProfilingInfo": (c_void_p, c_uint32, c_size_t, c_void_p, _Sizes),
}
_RETURN_OBJECT: dict[str, tuple[Any, ...]] = {
    "clCreateContext": (c_void_p, c_uint32, _Handles, c_void_p, c_void_p, _Status),
    "clCreateCommandQueue": (c_void_p, c_void_p, c_uint64, _Status),
    "clCreateBuffer": (c_void_p, c_uint64, c_size_t, c_void_p, _Status),
    "clCreateSubBuffer": (c_void_p, c_uint64, c_uint32, c_void_p, _Status),
    "clCreateProgramWithSource": (c_void_p, c_uint32, ctypes.POINTER(c_char_p), _Sizes, _Status),
    "clCreateKernel": (c_void_p, c_char_p, _Status),
}


class OpenCLLibrary:
    """The functions by their names: `call` for those that return a status, `make` for those that return an object."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions: dict[str, Any] = {}
        for table, result in ((_RETURN_STATUS, c_int32), (_RETURN_OBJECT, c_void_p)):
            for name, types in table.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, types
                self._functions[name] = function

    def call(self, name: str, *arguments: Any) -> None:
        """Raises DriverError for a status other than 0."""
        status = self._functions[name](*arguments)
        if status:
            raise failure(name, status)

    def make(self, name: str, *arguments: Any) -> int:
        """The new object. Raises DriverError."""
        status = c_int32()
        made = self._functions[name](*arguments, ctypes.byref(status))
        if status.value or not made:
            raise failure(name, status.value)
        return int(made)

    def function(self, name: str) -> Callable[..., int]:
        """A function that is called often."""
        return self._functions[name]  # type: ignore[no-any-return]

    def value(self, name: str, type_: type[Any], *of: Any) -> Any:
        """What an information function tells, a number or an array of numbers."""
        result = type_()
        self.call(name, *of, ctypes.sizeof(result), ctypes.byref(result), None)
        return result

    def text(self, name: str, *of: Any) -> str:
        """What an information function tells, a text."""
        size = c_size_t()
        self.call(name, *of, 0, None, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        self.call(name, *of, size.value, buffer, None)
        return buffer.value.decode("utf-8", "replace").strip()


def failure(function: str, status: int) -> DriverError:
    """The error that a status stands for."""
    return DriverError(_FAULTS.get(status, Fault.OTHER), f"{function}: {_NAMES.get(status, 'status')} ({status})")


@cache
def opencl_library() -> OpenCLLibrary:
    """The loader of OpenCL on this machine. Raises MissingDriverError without one."""
    for name in ("libOpenCL.so.1", "OpenCL.dll", ctypes.util.find_library("OpenCL")):
        if name is not None:
            try:
                return OpenCLLibrary(ctypes.CDLL(name))
            except (OSError, AttributeError):
                continue
    raise MissingDriverError(
        "expected the loader of OpenCL, libOpenCL, found none",
        "install it with a driver (Debian: ocl-icd-libopencl1, and PoCL for processors, pocl-opencl-icd)",
    )
