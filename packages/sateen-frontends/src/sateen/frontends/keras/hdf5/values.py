"""Types, extents and data: of numbers, and of text of fixed or varying length (sections III.E, IV.A.2.b to IV.A.2.m of
the specification)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_DIMENSIONS = 32
_CHARACTER_BYTES = 4
"""The most bytes of memory that a byte of text takes: one wide character makes all of a text wide (PEP 393)."""
_FLOATS = {(2, 5): "e", (4, 8): "f", (8, 11): "d"}
"""The types of floating point by their bytes and the bits of their exponents."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """The type of an element: of NumPy, or None for text, with its bytes. Varying text is in a heap."""

    numpy: np.dtype[np.generic] | None
    bytes: int
    is_varying: bool = False


@dataclass(frozen=True, slots=True)
class Extents:
    """The extents of data, and how far they may grow; None stands for any number."""

    now: tuple[int, ...]
    most: tuple[int | None, ...]


def element_type(fields: Fields) -> ElementType:
    """Raises FrontendError for types other than numbers and text."""
    kind, flags, _, _, size = (fields.number(n) for n in (1, 1, 1, 1, 4))
    order = ">" if flags & 1 else "<"
    match kind & 15:
        case 0 if size in {1, 2, 4, 8}:
            return ElementType(np.dtype(f"{order}{'i' if flags & 8 else 'u'}{size}"), size)
        case 1:
            fields.take(5)
            exponent = fields.number(1)
            if (size, exponent) in _FLOATS and not flags & 64:
                return ElementType(np.dtype(f"{order}{_FLOATS[size, exponent]}"), size)
        case 3 if size:
            return ElementType(None, size)
        case 9 if flags & 15 == 1:
            return ElementType(None, 4 + fields.file.offsets + 4, is_varying=True)
        case _:
            pass
    raise fields.file.unusual(f"elements of type {kind & 15} and {size} bytes")


def extents(fields: Fields) -> Extents:
    version, rank, flags = (fields.number(n) for n in (1, 1, 1))
    if version not in {1, 2} or rank > MOST_DIMENSIONS:
        raise fields.file.damaged(f"expected at most {MOST_DIMENSIONS} dimensions, found {rank}")
    kind = fields.number(5 if version == 1 else 1)
    if version == 2 and kind == 2:
        raise fields.file.unusual("data without elements")
    now = tuple(fields.length() for _ in range(rank))
    if not flags & 1:
        return Extents(now, now)
    unlimited = (1 << 8 * fields.file.lengths) - 1
    most = [fields.length() for _ in range(rank)]
    return Extents(now, tuple(None if extent == unlimited else extent for extent in most))


def require_fit(file: FileBytes, kind: ElementType, shape: tuple[int, ...], what: str) -> np.dtype[np.generic]:
    """The type of numbers. Raises FrontendError for text, and for an array that is larger than all may be, or would be
    if its extents of 0 were 1."""
    if kind.numpy is None:
        raise FrontendError(f"{what}: expected an array of numbers, found text")
    if prod(max(extent, 1) for extent in shape) * kind.bytes > file.room:
        raise FrontendError(f"{what}: the file has more data than a model may: an array of shape {list(shape)}")
    return kind.numpy


def numbers(file: FileBytes, data: memoryview, kind: ElementType, shape: tuple[int, ...], what: str) -> Array:
    """An array in the byte order of this machine."""
    dtype = require_fit(file, kind, shape, what)
    wanted = prod(shape) * kind.bytes
    if wanted != len(data):
        raise FrontendError(f"{what}: expected {wanted} bytes for shape {list(shape)}, found {len(data)}")
    file.take_room(wanted, what)
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def texts(file: FileBytes, data: memoryview, kind: ElementType, shape: tuple[int, ...], what: str) -> list[str]:
    """All elements as text. Raises FrontendError if they are none, or not in UTF-8."""
    if 0 in shape:  # h5py writes an empty list as numbers
        return []
    count = prod(shape)
    if kind.numpy is not None or count * kind.bytes > len(data):
        raise FrontendError(f"{what}: expected text, found data of another kind")
    parts = (data[index * kind.bytes : (index + 1) * kind.bytes] for index in range(count))
    if kind.is_varying:
        return [_text(file, _in_heap(file, part), what) for part in parts]
    return [_text(file, part, what) for part in parts]


def _text(file: FileBytes, data: memoryview, what: str) -> str:
    """A text, which may end in zeros. Others may have the same bytes, so each counts as data."""
    file.take_room(len(data) * _CHARACTER_BYTES, what)
    try:
        return bytes(data).rstrip(b"\0").decode()
    except UnicodeDecodeError:
        raise FrontendError(f"{what}: expected text in UTF-8, found other bytes") from None


def _in_heap(file: FileBytes, reference: memoryview) -> memoryview:
    """The text that a reference names: its length, the address of a heap, and its number there."""
    fields = Fields(file, reference)
    length, address, wanted = fields.number(4), fields.address(), fields.number(4)
    if length == 0:
        return memoryview(b"")
    if address not in file.heaps:
        file.heaps[address] = _heap(file, address)
    found = file.heaps[address].get(wanted)
    if found is None or length > len(found):
        raise file.damaged(f"the heap at {address} has no text {wanted} of {length} bytes")
    return found[:length]


def _heap(file: FileBytes, address: int) -> dict[int, memoryview]:
    """The objects of a global heap by their numbers."""
    size = Fields(file, file.at(address, 8 + file.lengths)).data[8:]
    heap = file.reader(address, int.from_bytes(size, "little"), b"GCOL")
    heap.take(4 + file.lengths)
    found: dict[int, memoryview] = {}
    while heap.left >= 8 + file.lengths:
        file.count_structure()
        index, _, count = heap.number(2), heap.number(6), heap.length()
        if index == 0:
            break
        found.setdefault(index, heap.take(count))
        heap.take(min(-count % 8, heap.left))
    return found
