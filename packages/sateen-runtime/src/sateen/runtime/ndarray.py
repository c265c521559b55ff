"""Arrays for compiled code: an element type, a shape, strides and a device on memory that they own or borrow.

Every array always has a DLTensor, so that a call only passes its address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import prod
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from sateen.runtime import dlpack
from sateen.runtime.abi import DLDataType, DLDevice, DLTensor
from sateen.runtime.device import Device, DeviceKind, cpu
from sateen.runtime.devices import PROCESS_DEVICES, DeviceMemory, MemoryPart, OpenDevice
from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import ArgumentError, OutOfMemoryError

ALIGNMENT = 64
"""Alignment in bytes of the memory that sateen allocates: a cache line, and the widest vector register."""


_CPU = cpu()
_Byte = ctypes.c_char


class SupportsDLPack(Protocol):
    """An array of any framework that exchanges memory through DLPack."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class NDArray(NDArrayOperatorsMixin):
    """An array in the memory of one device.

    `shape` and `strides` count elements, `data` is the address of the first element, `handle` that of the DLTensor,
    valid as long as the array. Memory belongs to the array (`array`, `empty`) or to the NumPy array or DLPack producer
    that it was made from, which it keeps alive.

    Length, iteration, indices, comparison and arithmetic are those of NumPy, element by element. They give NumPy arrays
    and numbers, which share the memory wherever NumPy's would. On a device they are refused; `to` copies.
    """

    __slots__ = (
        "__weakref__",
        "_form",
        "_owner",
        "_tensor",
        "data",
        "handle",
        "is_read_only",
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
        self._fill(_form(shape, strides, dtype, device), data, owner, read_only)

    @staticmethod
    def _over(form: _Form, data: int, owner: object, read_only: bool) -> NDArray:
        made = NDArray.__new__(NDArray)
        made._fill(form, data, owner, read_only)
        return made

    def _fill(self, form: _Form, data: int, owner: object, read_only: bool) -> None:
        self.data = data
        self.is_read_only = read_only
        self._owner = owner
        self._form = form
        self._tensor = DLTensor.from_buffer_copy(form.tensor)
        self._tensor.data = data
        self.handle = ctypes.addressof(self._tensor)

    @staticmethod
    def of(value: NDArray | np.ndarray[Any, Any] | SupportsDLPack) -> NDArray:
        """The same memory as an NDArray, without a copy. Raises ArgumentError for other values."""
        if isinstance(value, NDArray):
            return value
        if isinstance(value, np.ndarray):
            return _of_numpy(value)
        return from_dlpack(value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._form.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self._form.strides

    @property
    def dtype(self) -> DType:
        return self._form.dtype

    @property
    def device(self) -> Device:
        return self._form.device

    @property
    def type(self) -> str:
        """Element type and shape, such as float32[1, 3]."""
        return f"{self.dtype}{list(self.shape)}"

    @property
    def is_readable(self) -> bool:
        """Whether this process can read the memory; it can't read the memory of a device."""
        return self.device.kind is DeviceKind.CPU

    @property
    def is_compact(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        return self._form.is_compact

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
        """The bytes of all elements, without gaps between them."""
        return self.size * self.dtype.bytes

    def numpy(self) -> np.ndarray[Any, Any]:
        """The same memory as a NumPy array; a copy of memory of a device, as it is after all queued work.

        Raises DeviceError and DeviceLostError for a device that can't give it, ArgumentError for an object of OpenCL
        and its like that others made.
        """
        if isinstance(self._owner, np.ndarray):
            return self._owner
        if not self.is_readable:
            return self._read_back()
        return np.asarray(_Exposed(self)).view(self.dtype.numpy)

    def _here(self) -> np.ndarray[Any, Any]:
        """The same memory as a NumPy array. Raises ArgumentError for memory of a device: no copy goes unsaid."""
        if not self.is_readable:
            raise ArgumentError(
                f"expected an array in the memory of cpu(0), found one on {self.device}; numpy() copies it"
            )
        return self.numpy()

    def _read_back(self) -> np.ndarray[Any, Any]:
        """The elements of an array on a device, in memory of their own."""
        numpy, size = self.dtype.numpy, self.dtype.bytes
        reach = 0 if 0 in self.shape else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        span = np.empty(reach, numpy)
        self._holder().read(span.ctypes.data, MemoryPart(self.data, 0, span.nbytes))
        if self.is_compact:
            return span.reshape(self.shape)
        steps = [stride * size for stride in self.strides]
        return np.lib.stride_tricks.as_strided(span, self.shape, steps).copy()

    def _holder(self) -> OpenDevice:
        """The device that can copy this memory. Raises ArgumentError for an object of another context."""
        if isinstance(self._owner, DeviceMemory):
            return self._owner.device
        if not self.device.kind.has_addresses:
            raise ArgumentError(
                f"expected memory on {self.device} that sateen allocated, found an object of another context; copy it "
                "by what made it"
            )
        return PROCESS_DEVICES.open(self.device)

    def to(self, device: Device | str) -> NDArray:
        """A copy in memory of a device, or of the processor: compact, once all queued work is done.

        Raises ArgumentError for a text that is no device, DeviceError for one that is not there, OutOfMemoryError.
        """
        place, source = Device.of(device), np.ascontiguousarray(self.numpy())
        result = empty(self.shape, self.dtype, place)
        if result.is_readable:
            result.numpy()[...] = source
        else:
            PROCESS_DEVICES.open(place).write(MemoryPart(result.data, 0, source.nbytes), source.ctypes.data)
        return result

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._here()
        if copy or (dtype is not None and dtype != array.dtype):
            if copy is False:
                raise ValueError(f"an array of {self.dtype} can't become {dtype} without a copy")
            return array.astype(dtype or array.dtype)
        return array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(map(_as_numpy, options["out"]))
        return getattr(ufunc, method)(*map(_as_numpy, inputs), **options)

    def __len__(self) -> int:
        return len(self._here())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._here())

    def __getitem__(self, key: Any) -> Any:
        return self._here()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._here()[key] = value

    def __bool__(self) -> bool:
        return bool(self._here())

    def __int__(self) -> int:
        return int(self._here())

    def __float__(self) -> float:
        return float(self._here())

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
        source = self
        if copy:
            source = array(self.numpy(), device=self.device)
        elif isinstance(self._owner, DeviceMemory):
            self._owner.device.sync()
        versioned = max_version is not None and max_version[0] >= 1
        return dlpack.to_capsule(source._tensor, source, read_only=source.is_read_only, versioned=versioned)

    def __repr__(self) -> str:
        return f"NDArray({self.type} on {self.device})"

    def __str__(self) -> str:
        """The values as NumPy prints them, abbreviated for large arrays; on a device the same as `repr`."""
        return str(self._here()) if self.is_readable else repr(self)


class _Form:
    """The common part of all arrays of one element type, shape, strides and device, computed once."""

    __slots__ = ("_extents", "_steps", "device", "dtype", "is_compact", "shape", "strides", "tensor")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.is_compact = _is_compact(shape, strides)
        extents = ctypes.c_int64 * len(shape)
        self._extents = extents(*shape)
        self._steps = None if self.is_compact else extents(*strides)
        self.tensor = DLTensor(
            None,
            DLDevice(device.kind, device.index),
            len(shape),
            DLDataType(dtype.code, dtype.bits, dtype.lanes),
            self._extents,
            self._steps,
            0,
        )


_form = lru_cache(maxsize=512)(_Form)


@lru_cache(maxsize=512)
def _numpy_form(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> _Form:
    """`strides` in bytes, as in NumPy. Raises ArgumentError for a type or strides that sateen does not have."""
    kind = DType.of(dtype)
    size = kind.bytes
    if any(stride % size for stride in strides):
        raise ArgumentError(
            f"expected strides of whole elements of {kind}, found {strides} bytes; copy it with runtime.array"
        )
    return _form(shape, tuple(stride // size for stride in strides), kind, _CPU)


class _Exposed:
    """The memory of an array in NumPy's array interface, version 3; NumPy keeps this object alive, and this object
    keeps the array alive."""

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

    Raises ArgumentError for extents that are not integers of 0 or more, DeviceError for a device that is not there,
    OutOfMemoryError.
    """
    try:
        extents = tuple(index(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise ArgumentError(f"expected a shape of integers, found {shape!r:.80}") from None
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"expected extents of 0 or more, found shape {extents}")
    kind, place = DType.of(dtype), Device.of(device)
    if place.kind is DeviceKind.CPU and place != _CPU:
        raise ArgumentError(f"expected cpu(0), the only processor, found {place}")
    if kind.lanes != 1:
        raise ArgumentError(
            f"expected an element type of one lane for an array, found {kind}; {kind.lanes} lanes are a last dimension"
        )
    if place == _CPU:
        return allocator(extents, kind)()
    memory = PROCESS_DEVICES.open(place).allocate(prod(extents) * kind.bytes)
    return NDArray(memory.handle, extents, compact_strides(extents), kind, place, owner=memory, read_only=False)


def allocator(shape: tuple[int, ...], dtype: DType) -> Callable[[], NDArray]:
    """A function that makes arrays as `empty` does, all of this shape and element type."""
    form = _form(shape, compact_strides(shape), dtype, _CPU)
    numpy, size = dtype.numpy, prod(shape) * dtype.bytes + ALIGNMENT

    def allocate() -> NDArray:
        try:
            memory = np.empty(size, np.uint8)
        except (MemoryError, ValueError):
            raise OutOfMemoryError(f"no memory for an array of {dtype}{list(shape)}, {size} bytes") from None
        start = ctypes.addressof(_Byte.from_buffer(memory.data))
        offset = -start % ALIGNMENT
        return NDArray._over(form, start + offset, np.ndarray(shape, numpy, memory.data, offset), False)

    return allocate


AnyArray = NDArray | np.ndarray[Any, Any] | SupportsDLPack
"""An NDArray, a NumPy array or an array that supports DLPack."""


def array(
    values: NDArray | ArrayLike,
    dtype: DType | str | np.dtype[Any] | type | None = None,
    device: Device | str = "cpu",
) -> NDArray:
    """A copy of `values` in new memory of a device, aligned to 64 bytes and compact, of `dtype` or of the type that
    NumPy gives them. Raises ArgumentError for values that are no array of numbers, and the errors of `empty`.
    """
    try:
        source = values.numpy() if isinstance(values, NDArray) else np.asarray(values)
        result = empty(source.shape, source.dtype.newbyteorder("=") if dtype is None else dtype)
        result.numpy()[...] = source
    except ValueError as error:
        raise ArgumentError(f"expected an array of numbers, found what NumPy refuses: {error}") from None
    return result if Device.of(device) == _CPU else result.to(device)


def compact(value: NDArray | np.ndarray[Any, Any] | SupportsDLPack, alignment: int = 1) -> NDArray:
    """The same memory if its elements are in row-major order without gaps, in the byte order of this machine and at a
    multiple of `alignment`; otherwise a copy with these properties. A device's memory is never copied. Raises
    ArgumentError for values that are no array.
    """
    if isinstance(value, np.ndarray):
        if not (value.flags.c_contiguous and value.dtype.isnative):
            return array(value)
        same = _of_numpy(value)
    else:
        same = NDArray.of(value)
    lies_well = same._form.is_compact and same.data % alignment == 0
    return same if lies_well or not same.is_readable else array(same)


def from_dlpack(producer: SupportsDLPack) -> NDArray:
    """The shared memory of another framework's array, on any device. Lanes of its elements are a last dimension.

    Raises ArgumentError for an element type that sateen does not have, and for a place within an object of memory, as
    OpenCL has them: an NDArray stands for the whole object.
    """
    imported = dlpack.Imported(dlpack.capsule_of(producer))
    tensor = imported.tensor
    try:
        dtype = DType(TypeCode(tensor.dtype.code), tensor.dtype.bits)
        device = Device(DeviceKind(tensor.device.device_type), tensor.device.device_id)
    except ValueError as error:
        raise ArgumentError(f"expected an element type and a device that sateen knows, found {error}") from None
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else compact_strides(shape)
    if (lanes := tensor.dtype.lanes) != 1:
        shape, strides = (*shape, lanes), (*(step * lanes for step in strides), 1)
    if tensor.byte_offset and not device.kind.has_addresses:
        raise ArgumentError(
            f"expected an array that begins where its memory on {device} does, found byte_offset {tensor.byte_offset}; "
            "pass a copy, or the DLTensor by call_pointers"
        )
    data = (tensor.data or 0) + tensor.byte_offset
    return NDArray(data, shape, strides, dtype, device, owner=imported, read_only=imported.read_only)


def _as_numpy(value: object) -> object:
    return value._here() if isinstance(value, NDArray) else value


def _of_numpy(source: np.ndarray[Any, Any]) -> NDArray:
    form = _numpy_form(source.dtype, source.shape, source.strides)
    data, read_only = source.__array_interface__["data"]
    return NDArray._over(form, data, source, read_only)


def _is_compact(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return 0 in shape
        expected *= extent
    return True


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements in row-major order without gaps."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
