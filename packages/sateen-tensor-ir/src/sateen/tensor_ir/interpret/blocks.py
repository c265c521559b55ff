"""Memory of the loop interpreter as bytes, for kernels that are called.

A caller gives a kernel places in its buffers, whose elements may have another type and shape there: the values of a
network's kernels are in one block. So the bytes are kept, with a mark for those that have been written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.interpret.memory import Indices, SharedMemory
from sateen.tensor_ir.interpret.scalars import Trap, Value
from sateen.tensor_ir.interpret.symbols import evaluate_shape
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import Function


class Block:
    """Bytes, and whether each has been written."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.is_written = np.zeros(size, bool)


class Window(SharedMemory):
    """The elements of a buffer in a block, from the byte `start` on; without strides they lie one after the other."""

    def __init__(
        self, buffer: Buffer, shape: Sequence[int], strides: Sequence[int] | None, block: Block, start: int
    ) -> None:
        super().__init__(buffer, shape)
        self.block, self.start = block, start
        self.strides = _strides(shape) if strides is None else tuple(strides)
        self.end = start + _size(self.shape, self.strides) * buffer.dtype.bytes
        if not 0 <= start <= self.end <= len(block.bytes):
            raise Trap(f"{buffer.name!r} is from byte {start} to {self.end} of {len(block.bytes)}")
        self._elements = block.bytes[start : self.end].view(buffer.dtype.numpy)
        self._is_written = block.is_written[start : self.end].reshape(-1, buffer.dtype.bytes)

    @classmethod
    def alone(
        cls,
        buffer: Buffer,
        shape: Sequence[int],
        data: np.ndarray[Any, Any] | None = None,
        strides: Sequence[int] | None = None,
    ) -> Window:
        """A buffer in a separate block, with `data` or nothing written."""
        size = _size(shape, _strides(shape) if strides is None else strides)
        window = cls(buffer, shape, strides, Block(size * buffer.dtype.bytes), 0)
        if data is not None:
            places = window._places()
            window._elements[places], window._is_written[places] = data, True
        return window

    def __missing__(self, indices: Indices) -> Value:
        value = self.get(indices)
        return super().__missing__(indices) if value is None else value

    def get(self, indices: Indices, default: Value = None) -> Value:
        self._check(indices, "access")
        place = self._place(indices)
        if not self._is_written[place].all():
            return default
        value, dtype = self._elements[place], self.buffer.dtype
        if not dtype.is_float:
            return value.item()
        return np.float64(value) if dtype.bits == 64 else np.float32(value)

    def store(self, indices: Indices, value: Value) -> None:
        self._check(indices, "store to")
        place = self._place(indices)
        self._elements[place] = value
        self._is_written[place] = True

    def flat(self, offset: int, access: str) -> np.ndarray[Any, Any]:
        """The elements in memory from an offset on, for a function that reads (r) or writes (w) some of them."""
        if not 0 <= offset <= len(self._elements):
            raise Trap(f"an address is {offset} elements after the first of {self.buffer.name!r}, outside of it")
        if "w" in access:
            self._is_written[offset:] = True
        return self._elements[offset:]

    def whole(self, access: str) -> np.ndarray[Any, Any]:
        """All elements in their shape, for a function that reads them (r), or writes to them (w)."""
        places = self._places()
        if "w" in access:
            self._is_written[places] = True
        elif not self._is_written[places].all():
            raise Trap(f"a function reads {self.buffer.name!r}, of which not all has been written")
        steps = [stride * self.buffer.dtype.bytes for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self._elements, self.shape, steps, writeable="w" in access)

    def overlaps(self, other: Window) -> bool:
        """Whether the two have bytes in common."""
        return self.block is other.block and self.start < other.end and other.start < self.end

    def copy_to(self, array: np.ndarray[Any, Any]) -> None:
        """Put the elements that have been written into an array of this shape."""
        places = self._places()
        written = self._is_written[places].all(axis=-1)
        array[written] = self._elements[places][written]

    def _place(self, indices: Indices) -> int:
        return sum(index * stride for index, stride in zip(indices, self.strides, strict=True))

    def _places(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The place of each element, in an array of this shape."""
        places = np.zeros(self.shape, np.int64)
        for axis, stride in zip(np.indices(self.shape), self.strides, strict=True):
            places += axis * stride
        return places


MemoryPlace = tuple[Window, int]
"""A memory, and a byte offset in it."""


def copy(target: MemoryPlace, source: MemoryPlace, size: int) -> None:
    """Copy bytes; unwritten ones stay unwritten. Raises Trap for a place outside of its memory."""
    (to, to_start), (start_of, start) = target, source
    for memory, first in (target, source):
        if not 0 <= first <= first + size <= memory.end - memory.start:
            name, length = memory.buffer.name, memory.end - memory.start
            raise Trap(f"a copy expects bytes within the {length} of {name!r}, found {first} to {first + size}")
    there, here = to.start + to_start, start_of.start + start
    to.block.bytes[there : there + size] = start_of.block.bytes[here : here + size]
    to.block.is_written[there : there + size] = start_of.block.is_written[here : here + size]


def arguments(
    kernel: Function, places: Sequence[MemoryPlace], symbols: Mapping[Var, float] | None = None
) -> dict[Buffer, Window]:
    """The parameters of a kernel, from the memory and byte offset of each.

    `symbols` are the values of the symbols in their shapes. Raises Trap for another number of them, for one that
    exceeds its memory or is not aligned as the kernel requires, and for two that overlap if the kernel writes to one of
    them and they are not aliased.
    """
    if len(places) != len(kernel.parameters):
        raise Trap(f"kernel {kernel.name!r} expects {len(kernel.parameters)} arguments, found {len(places)}")
    windows: dict[Buffer, Window] = {}
    for buffer, (memory, offset) in zip(kernel.parameters, places, strict=True):
        try:
            shape = evaluate_shape(buffer.shape, symbols or {})
            strides = None if buffer.strides is None else evaluate_shape(buffer.strides, symbols or {})
        except ArgumentError:
            raise Trap(f"kernel {kernel.name!r} expects constant shapes, found {buffer.name}: {buffer.type}") from None
        if offset % buffer.alignment:
            expected = f"a place that is a multiple of {buffer.alignment} bytes"
            raise Trap(f"{buffer.name!r} of kernel {kernel.name!r} expects {expected}, found {offset}")
        windows[buffer] = Window(buffer, shape, strides, memory.block, memory.start + offset)
    for first, one in windows.items():
        for second, other in windows.items():
            written = {first, second} & kernel.outputs
            if first is not second and written and not {first, second} <= kernel.aliased and one.overlaps(other):
                raise Trap(f"{first.name!r} and {second.name!r} of kernel {kernel.name!r} overlap, but are not aliased")
    return windows


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The stride of each dimension, in elements, of elements one after the other."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _size(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The elements from the first to the last one."""
    last = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return last + 1 if prod(shape) else 0
