"""Arrays for compiled code: an element type, a shape, strides and a device on memory that they own or borrow.

Every array always has a DLTensor, so that a call only passes its address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
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
from sateen.runtime.devices import PROCESS_DEVICES, DeviceMemory, Event, MemoryPart, OpenDevice
from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import ArgumentError, DeviceError, OutOfMemoryError
from sateen.runtime.views import View, compact_strides, is_compact, runs

ALIGNMENT = 64
"""Alignment in bytes of the memory that sateen allocates: a cache line, and the widest vector register."""


_CPU = cpu()
_WITH_STREAMS = frozenset(kind for kind in DeviceKind if kind.has_streams)
_Byte = ctypes.c_char


class SupportsDLPack(Protocol):
    """An array of any framework that exchanges memory through DLPack."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class NDArray(NDArrayOperatorsMixin):
    """An array in the memory of one device.

    `shape` and `strides` count elements, `data` is the address of the first element, `handle` that of the DLTensor,
    valid as long as the array. Where memory is an object and no address, `data` is that, and `byte_offset` the place of
    the first element in it. Memory belongs to the array (`array`, `empty`) or to the NumPy array or DLPack producer
    that it was made from, which it keeps alive.

    Length, iteration, indices, comparison and arithmetic are those of NumPy, element by element. They give NumPy arrays
    and numbers, which share the memory wherever NumPy's would. On a device, slices and integers give arrays that share
    the memory, and can be assigned to; the rest is refused; `to` and `numpy` copy.
    """

    __slots__ = (
        "__weakref__",
        "_form",
        "_owner",
        "_tensor",
        "byte_offset",
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
        byte_offset: int = 0,
    ) -> None:
        """An array over memory at `data` that lives at least as long as `owner`."""
        if device.kind.has_addresses:
            data, byte_offset = data + byte_offset, 0
        self._fill(_form(shape, strides, dtype, device), data, owner, read_only, byte_offset)

    @staticmethod
    def _over(form: _Form, data: int, owner: object, read_only: bool) -> NDArray:
        made = NDArray.__new__(NDArray)
        made._fill(form, data, owner, read_only)
        return made

    def _fill(self, form: _Form, data: int, owner: object, read_only: bool, byte_offset: int = 0) -> None:
        self.data = data
        self.byte_offset = byte_offset
        self.is_read_only = read_only
        self._owner = owner
        self._form = form
        self._tensor = DLTensor.from_buffer_copy(form.tensor)
        self._tensor.data = data
        self._tensor.byte_offset = byte_offset
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
        low, high = self._view.reach
        try:
            span = np.empty(high - low, numpy)
        except (MemoryError, ValueError):
            raise OutOfMemoryError(f"no memory of the host for a copy of {self.type} on {self.device}") from None
        self.holder().read(span.ctypes.data, self.part(low, high - low))
        if self.is_compact:
            return span.reshape(self.shape)
        steps = [stride * size for stride in self.strides]
        return np.lib.stride_tricks.as_strided(span[-low:], self.shape, steps).copy()

    def holder(self) -> OpenDevice:
        """The open device that has this memory. Raises ArgumentError for an object of another context, and for memory
        of a device before it was lost or closed."""
        if isinstance(self._owner, DeviceMemory):
            return self._owner.device
        opened = PROCESS_DEVICES.open(self.device)
        if not self.device.kind.has_addresses and opened.memory_of(self.data) is None:
            raise ArgumentError(
                f"expected memory on {self.device} that sateen allocated, found an object of another context; copy it "
                "by what made it"
            )
        return opened

    def require_usable(self) -> None:
        """Raises DeviceError for memory that a device had before it was lost or closed."""
        if isinstance(self._owner, DeviceMemory):
            self._owner.device.require_usable()

    def part(self, start: int = 0, count: int | None = None) -> MemoryPart:
        """The bytes of `count` elements of memory from the first one and `start` more on, by default of all."""
        size = self.dtype.bytes
        return MemoryPart(self.data, self.byte_offset + start * size, (self.size if count is None else count) * size)

    def to(self, device: Device | str) -> NDArray:
        """A copy in memory of a device, or of the processor: compact, once all queued work is done.

        Raises ArgumentError for a text that is no device, DeviceError for one that is not there, OutOfMemoryError.
        """
        place, source = Device.of(device), np.ascontiguousarray(self.numpy()).reshape(self.shape)
        result = empty(self.shape, self.dtype, place)
        if result.is_readable:
            result.numpy()[...] = source
        else:
            result.holder().write(result.part(), source.ctypes.data)
        return result

    def copy_to(self, target: NDArray, queue: int = 0) -> Event:
        """Queue a copy to an array of the same type and shape, one of the two on a device, and don't wait for it.

        The event is reached when the copy is done; until then nobody changes either array. Both are kept until then. A
        copy between two devices goes through the host's memory, and waits for the first of them. Raises ArgumentError
        for arrays that don't fit, and that share memory; DeviceError, DeviceLostError.
        """
        self._require_fits(target)
        if self.is_readable:
            device, source = target.holder(), NDArray.of(np.ascontiguousarray(self.numpy()).reshape(self.shape))
        elif target.is_readable or target.holder() is self.holder():
            device, source = self.holder(), self
        else:
            return NDArray.of(self.numpy()).copy_to(target, queue)
        length, begins = runs(source._view, target._view)
        for start, to in begins if source.size else ():
            if source.is_readable:
                device.queue_write(target.part(to, length), source.data + start * source.dtype.bytes, source, queue)
            elif target.is_readable:
                address = target.data + to * target.dtype.bytes
                device.queue_read(address, source.part(start, length), target, queue)
            else:
                device.copy(target.part(to, length), source.part(start, length), queue)
        return device.record(queue)

    def _require_fits(self, target: NDArray) -> None:
        """Raises ArgumentError for an array that this one can't be copied to by a queue, DeviceError for memory that is
        gone."""
        self.require_usable()
        target.require_usable()
        if (self.dtype, self.shape) != (target.dtype, target.shape):
            raise ArgumentError(f"expected an array of {self.type} to copy to, found {target.type}")
        if target.is_read_only:
            raise ArgumentError("expected memory to copy to, found a read-only array")
        if self.is_readable and target.is_readable:
            raise ArgumentError(
                f"expected a device at one end of a copy, found {self.device} at both; numpy.copyto copies there"
            )
        if self.overlaps(target):
            raise ArgumentError("expected memory of its own to copy to, found some that the array shares; to() copies")

    def overlaps(self, other: NDArray) -> bool:
        """Whether some bytes between the first and the last element are those of the other array, too."""
        if self.device != other.device or not (self.device.kind.has_addresses or self.data == other.data):
            return False
        (a, b), (c, d) = self._bytes(), other._bytes()
        return a < d and c < b

    def _bytes(self) -> tuple[int, int]:
        """The lowest byte and the one behind the highest, counted in all memory or in the object."""
        low, high = (self.byte_offset + position * self.dtype.bytes for position in self._view.reach)
        base = self.data if self.device.kind.has_addresses else 0
        return base + low, base + high

    @property
    def _view(self) -> View:
        return View(self.shape, self.strides)

    def _seen(self, view: View, *, read_only: bool = False) -> NDArray:
        """The same memory, of which a view has some elements."""
        offset = self.byte_offset + view.offset * self.dtype.bytes
        owner = self if self.is_readable else self._owner
        return NDArray(
            self.data, view.shape, view.strides, self.dtype, self.device, owner=owner,
            read_only=self.is_read_only or read_only, byte_offset=offset,
        )  # fmt: skip

    def reshape(self, *shape: int | Sequence[int]) -> NDArray:
        """The same memory in another shape, given as numbers or as one tuple; an extent of -1 is what the others leave.
        Raises ArgumentError for another number of elements, and for elements that are not in row-major order."""
        return self._seen(self._view.reshaped(_numbers(shape)))

    def transpose(self, *axes: int | Sequence[int]) -> NDArray:
        """The same memory with its axes in another order, given as numbers or as one tuple, by default in the reverse
        one."""
        return self._seen(self._view.transposed(_numbers(axes)))

    def broadcast_to(self, *shape: int | Sequence[int]) -> NDArray:
        """The same memory, read-only, with elements repeated along axes of one, in a shape given as numbers or as one
        tuple. Raises ArgumentError for a shape that does not repeat this one."""
        return self._seen(self._view.broadcast(_numbers(shape)), read_only=True)

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
        return self._here()[key] if self.is_readable else self._seen(self._view.indexed(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_readable:
            self._here()[key] = value
            return
        target = self[key]
        source = value if isinstance(value, NDArray) else array(value, self.dtype)
        source.broadcast_to(*target.shape).copy_to(target).wait()

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
        """A capsule for another framework, as the Python specification of DLPack says: of this memory, or of a copy on
        the same device or on the processor.

        `stream` is CUDA's or ROCm's: all queued work has ended when this returns, but for -1, with which the consumer
        takes care of that. Raises BufferError for what the protocol can't say, DeviceLostError.
        """
        here, asked = self.__dlpack_device__(), self.__dlpack_device__() if dl_device is None else tuple(dl_device)
        self._require_stream(stream)
        source = self
        if asked == (_CPU.kind, _CPU.index) != here:
            if copy is False:
                raise BufferError(
                    f"an array on {self.device} can't be exported to DLPack device {asked} without a copy"
                )
            source = self.to(_CPU)
        elif asked != here:
            raise BufferError(f"an array on {self.device} can't be exported to DLPack device {asked}")
        elif copy:
            source = self.to(self.device)
        elif not self.is_readable and stream != -1 and (opened := self._opened()):
            opened.sync()
        versioned = max_version is not None and max_version[0] >= 1
        flags = dlpack.READ_ONLY * source.is_read_only | dlpack.IS_COPIED * (source is not self)
        return dlpack.to_capsule(source._tensor, source, flags=flags, versioned=versioned)

    def _require_stream(self, stream: object) -> None:
        """Raises BufferError for a stream that the device does not have."""
        if stream is None:
            return
        if not self.device.kind.has_streams:
            raise BufferError(f"an array on {self.device} has no stream, found {stream!r}")
        if not isinstance(stream, int) or isinstance(stream, bool) or stream == 0 or stream < -1:
            raise BufferError(f"expected a stream of {self.device}, -1, or a number of 1 or more; found {stream!r}")

    def _opened(self) -> OpenDevice | None:
        """The open device that may have work on this memory. sateen queues none on memory that it can't use, and on a
        device that it can't open."""
        try:
            return self.holder()
        except (ArgumentError, DeviceError):
            return None

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
        self.is_compact = is_compact(shape, strides)
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


def _numbers(given: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Whole numbers, or those of the only tuple. Raises ArgumentError for anything else."""
    first = given[0] if len(given) == 1 else None
    numbers: Sequence[Any] = first if isinstance(first, Sequence) else given
    try:
        return tuple(map(index, numbers))
    except TypeError:
        raise ArgumentError(f"expected whole numbers, or a tuple of them, found {tuple(given)}") from None


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
    if any(not 0 <= extent < 1 << 63 for extent in extents):
        raise ArgumentError(f"expected extents of 0 or more and below 2^63, found shape {extents}")
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

    Work of the producer that is queued on a device of CUDA is done before that of queue 0. Raises ArgumentError for an
    element type that sateen does not have.
    """
    imported = dlpack.Imported(dlpack.capsule_of(producer, _stream_for(producer)))
    tensor = imported.tensor
    try:
        dtype = DType(TypeCode(tensor.dtype.code), tensor.dtype.bits)
        device = Device(DeviceKind(tensor.device.device_type), tensor.device.device_id)
    except ValueError as error:
        raise ArgumentError(f"expected an element type and a device that sateen knows, found {error}") from None
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else compact_strides(shape)
    if (lanes := tensor.dtype.lanes) != 1:
        shape, strides = (*shape, lanes), (*(step * lanes for step in strides), 1)
    return NDArray(
        tensor.data or 0, shape, strides, dtype, device,
        owner=imported, read_only=imported.read_only, byte_offset=tensor.byte_offset,
    )  # fmt: skip


def _stream_for(producer: object) -> int | None:
    """The stream that the producer's work is to be done for: that of queue 0, where the device has streams."""
    if not hasattr(producer, "__dlpack_device__"):
        return None
    kind, index = producer.__dlpack_device__()
    if kind not in _WITH_STREAMS:
        return None
    try:
        return PROCESS_DEVICES.open(Device(DeviceKind(kind), index)).stream()
    except DeviceError:  # nothing of ours runs there
        return None


def _as_numpy(value: object) -> object:
    return value._here() if isinstance(value, NDArray) else value


def _of_numpy(source: np.ndarray[Any, Any]) -> NDArray:
    form = _numpy_form(source.dtype, source.shape, source.strides)
    data, read_only = source.__array_interface__["data"]
    return NDArray._over(form, data, source, read_only)
