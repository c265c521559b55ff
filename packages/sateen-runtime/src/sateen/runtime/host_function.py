"""Functions in Python that compiled code calls through the ABI: those of `te.call_packed` (docs/design/abi.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import local
from typing import Any

from sateen.runtime.abi import DLTensor, PublicFunction, Status
from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.ndarray import NDArray
from sateen.runtime.views import compact_strides


@dataclass(frozen=True, slots=True, eq=False)
class HostFunction:
    """A function of that name as C sees it, at `address` as long as this value lives.

    `function` gets an NDArray per argument, valid until it returns, and returns None. An exception, or another result,
    ends the call of the compiled function with the status FUNCTION; the error that the caller sees names the function
    and has the exception as its cause.
    """

    name: str
    function: Callable[..., object]
    address: int = field(init=False)
    _callback: object = field(init=False, repr=False)
    _failed: local = field(init=False, repr=False, default_factory=local)
    """The exception of the call that runs on a thread."""

    def __post_init__(self) -> None:
        def called(_: Any, arguments: Any, count: int) -> int:
            try:
                pointers = ctypes.cast(arguments, ctypes.POINTER(ctypes.POINTER(DLTensor)))
                result = self.function(*(_array(pointers[i][0]) for i in range(count)))
                if result is not None:
                    raise TypeError(f"expected None as the result, found {type(result).__name__}")
            except BaseException as error:  # noqa: BLE001 - kept for the caller of the compiled function
                self._failed.__dict__["error"] = error
                return Status.FUNCTION
            return 0

        callback = PublicFunction(called)
        object.__setattr__(self, "_callback", callback)
        object.__setattr__(self, "address", ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def take_failure(self) -> BaseException | None:
        """The exception that ended a call on this thread, once; None if there is none."""
        error: BaseException | None = self._failed.__dict__.pop("error", None)
        return error


def _array(tensor: DLTensor) -> NDArray:
    """Memory that the compiled code lends."""
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else compact_strides(shape)
    dtype = DType(TypeCode(tensor.dtype.code), tensor.dtype.bits)
    device = Device(DeviceKind(tensor.device.device_type), tensor.device.device_id)
    address = (tensor.data or 0) + tensor.byte_offset
    return NDArray(address, shape, strides, dtype, device, owner=None, read_only=False)
