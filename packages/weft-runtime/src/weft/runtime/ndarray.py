"""Arrays as compiled code takes them: an element type, a shape, strides and a device over memory that they own or
borrow.

Arrays of this module live as a DLTensor all the time, so that a call passes an address and builds nothing.
"""

from __future__ import annotations

import ctypes
from math import prod
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from weft.runtime import dlpack
from weft.runtime.abi import DLDataType, DLDevice, DLTensor
from weft.runtime.device import Device, DeviceKind, cpu
from weft.runtime.dtype import DType, TypeCode
from weft.runtime.errors import ArgumentError

ALIGNMENT = 64
"""Alignment in bytes of the memory that weft allocates: a cache line, and the widest vector register."""


class SupportsDLPack(Protocol):
    """An array of any framework that exchanges memory through DLPack."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class NDArray:
    """An array in the memory of one device.

    `shape` and `strides` count elements, `data` is the address of the first element, `handle` that of the DLTensor,
    valid as long as the array. Memory belongs to the array (`array`, `empty`) or to the NumPy array or DLPack producer
    that it was made of, which it keeps alive.
    """

    __slots__ = (
        "__weakref__",
        "_extents",
        "_owner",
        "_steps",
        "_tensor",
        "data",
        "device",
        "dtype",
        "handle",
        "is_read_only",
        "shape",
        "strides",
    )

    def __init__(
        self,
        data: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        device: Device,
        *,
        owner: object,
        read_only: bool,
    ) -> None:
        """An array over memory at `data` that lives at least as long as `owner`."""
        self.data = data
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.is_read_only = read_only
        self._owner = owner
        extents = ctypes.c_int64 * len(shape)
        self._extents = extents(*shape)
        self._steps = None if self.is_compact else extents(*strides)
        self._tensor = DLTensor(
            data,
            DLDevice(device.kind, device.index),
            len(shape),
            DLDataType(dtype.code, dtype.bits, dtype.lanes),
            self._extents,
            self._steps,
            0,
        )
        self.handle = ctypes.addressof(self._tensor)

    @staticmethod
    def of(value: NDArray | np.ndarray[Any, Any] | SupportsDLPack) -> NDArray:
        """The same memory as an NDArray, without a copy. Raises ArgumentError for what is no array."""
        if isinstance(value, NDArray):
            return value
        if isinstance(value, np.ndarray):
            return _of_numpy(value)
        return from_dlpack(value)

    @property
    def is_compact(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return 0 in self.shape
            expected *= extent
        return True

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, gaps between them not counted."""
        return self.size * self.dtype.bytes

    def numpy(self) -> np.ndarray[Any, Any]:
        """The same memory as a NumPy array. Raises ArgumentError for memory of a device."""
        if isinstance(self._owner, np.ndarray):
            return self._owner
        if self.device.kind is not DeviceKind.CPU:
            raise ArgumentError(f"expected an array in the memory of cpu(0), found one on {self.device}")
        return np.asarray(_Exposed(self)).view(self.dtype.numpy)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if copy or (dtype is not None and dtype != array.dtype):
            if copy is False:
                raise ValueError(f"an array of {self.dtype} can't become {dtype} without a copy")
            return array.astype(dtype or array.dtype)
        return array

    def __dlpack_device__(self) -> tuple[int, int]:
        return int(self.device.kind), self.device.index

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for another framework, as the Python specification of DLPack says; arrays of a processor have no
        `stream`.
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"an array on {self.device} can't be exported to DLPack device {dl_device}")
        if stream is not None and self.device.kind is DeviceKind.CPU:
            raise BufferError(f"an array on {self.device} has no stream, found {stream!r}")
        source = array(self.numpy()) if copy else self
        versioned = max_version is not None and max_version[0] >= 1
        return dlpack.to_capsule(source._tensor, source, read_only=source.is_read_only, versioned=versioned)

    def __repr__(self) -> str:
        return f"NDArray({self.dtype}{list(self.shape)} on {self.device})"


class _Exposed:
    """The memory of an array in NumPy's array interface, version 3; NumPy keeps this alive, and this the array."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: NDArray) -> None:
        self._array = array
        self.__array_interface__ = {
            "version": 3,
            "typestr": array.dtype.numpy.str,
            "data": (array.data, array.is_read_only),
            "shape": array.shape,
            "strides": tuple(stride * array.dtype.bytes for stride in array.strides),
        }


def empty(
    shape: int | tuple[int, ...], dtype: DType | str | np.dtype[Any] | type = "float32", device: Device | str = "cpu"
) -> NDArray:
    """A new compact array of unset memory, aligned to 64 bytes.

    Raises ArgumentError for extents that are negative or no integers, and devices without memory of weft's.
    """
    try:
        extents = tuple(index(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise ArgumentError(f"expected a shape of integers, found {shape!r:.80}") from None
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"expected extents of 0 or more, found shape {extents}")
    kind, place = DType.of(dtype), Device.of(device)
    if place != cpu():
        raise ArgumentError(
            f"expected device cpu(0), where weft allocates arrays, found {place}; from_dlpack takes others"
        )
    if kind.lanes != 1:
        raise ArgumentError(f"expected an element type of one lane for an array, found {kind}")
    memory = np.empty(prod(extents) * kind.bytes + ALIGNMENT, np.uint8)
    return _of_numpy(np.ndarray(extents, kind.numpy, memory.data, -memory.ctypes.data % ALIGNMENT))


def array(values: NDArray | ArrayLike, dtype: DType | str | np.dtype[Any] | type | None = None) -> NDArray:
    """A copy of `values` in new memory, aligned to 64 bytes and compact, of their own type as NumPy sees it or of
    `dtype`. Raises ArgumentError for what is no array of numbers.
    """
    try:
        source = values.numpy() if isinstance(values, NDArray) else np.asarray(values)
        result = empty(source.shape, source.dtype if dtype is None else dtype)
        result.numpy()[...] = source
    except ValueError as error:
        raise ArgumentError(f"expected an array of numbers, found what NumPy refuses: {error}") from None
    return result


def from_dlpack(producer: SupportsDLPack) -> NDArray:
    """The memory of another framework's array, shared, on whatever device.

    Raises ArgumentError for what weft has no type for.
    """
    imported = dlpack.Imported(dlpack.capsule_of(producer))
    tensor = imported.tensor
    try:
        dtype = DType(TypeCode(tensor.dtype.code), tensor.dtype.bits)
        device = Device(DeviceKind(tensor.device.device_type), tensor.device.device_id)
    except ValueError as error:
        raise ArgumentError(f"expected an element type and a device that weft knows, found {error}") from None
    if tensor.dtype.lanes != 1:
        raise ArgumentError(f"expected an element type of one lane for an array, found {tensor.dtype.lanes}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _compact_strides(shape)
    data = (tensor.data or 0) + tensor.byte_offset
    return NDArray(data, shape, strides, dtype, device, owner=imported, read_only=imported.read_only)


def _of_numpy(source: np.ndarray[Any, Any]) -> NDArray:
    dtype = DType.of(source.dtype)
    size = dtype.bytes
    if any(stride % size for stride in source.strides):
        raise ArgumentError(
            f"expected strides of whole elements of {dtype}, found {source.strides} bytes; copy it with runtime.array"
        )
    strides = tuple(stride // size for stride in source.strides)
    read_only = not source.flags.writeable
    return NDArray(source.ctypes.data, source.shape, strides, dtype, cpu(), owner=source, read_only=read_only)


def _compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
