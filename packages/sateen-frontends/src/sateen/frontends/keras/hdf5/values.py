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
_FLOATS = {(2, 5): "e", (4, 8): "f", (8, 11): "d"}
"""The types of floating point by their bytes and the bits of their exponents."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """The type of an element: of NumPy, or None for text, with its bytes. Varying text is in a heap."""

    numpy: np.dtype[np.generic] | None
    bytes: int
    is_varying: bool = False


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


def extents(fields: Fields) -> tuple[int, ...]:
    version, rank, _ = (fields.number(n) for n in (1, 1, 1))
    if version not in {1, 2} or rank > MOST_DIMENSIONS:
        raise fields.file.damaged(f"expected at most {MOST_DIMENSIONS} dimensions, found {rank}")
    kind = fields.number(5 if version == 1 else 1)
    if version == 2 and kind == 2:
        raise fields.file.unusual("data without elements")
    return tuple(fields.length() for _ in range(rank))


def numbers(file: FileBytes, data: memoryview, kind: ElementType, shape: tuple[int, ...], what: str) -> Array:
    """An array in the byte order of this machine."""
    if kind.numpy is None:
        raise FrontendError(f"{what}: expected an array of numbers, found text")
    wanted = prod(shape) * kind.bytes
    if wanted != len(data):
        raise FrontendError(f"{what}: expected {wanted} bytes for shape {list(shape)}, found {len(data)}")
    file.room -= wanted
    if file.room < 0:
        raise FrontendError(f"{what}: the file has more data than a model may")
    return np.frombuffer(data, kind.numpy).reshape(shape).astype(kind.numpy.newbyteorder("="))


def texts(file: FileBytes, data: memoryview, kind: ElementType, shape: tuple[int, ...], what: str) -> list[str]:
    """All elements as text. Raises FrontendError if they are none, or not in UTF-8."""
    count = prod(shape)
    if kind.numpy is not None or count * kind.bytes > len(data):
        raise FrontendError(f"{what}: expected text, found data of another kind")
    parts = [data[index * kind.bytes : (index + 1) * kind.bytes] for index in range(count)]
    try:
        if kind.is_varying:
            return [bytes(_in_heap(file, part)).decode() for part in parts]
        return [bytes(part).rstrip(b"\0").decode() for part in parts]
    except UnicodeDecodeError:
        raise FrontendError(f"{what}: expected text in UTF-8, found other bytes") from None


def _in_heap(file: FileBytes, reference: memoryview) -> memoryview:
    """The text that a reference names: its length, the address of a heap, and its number there."""
    fields = Fields(file, reference)
    length, address, wanted = fields.number(4), fields.address(), fields.number(4)
    if length == 0:
        return memoryview(b"")
    size = Fields(file, file.at(address, 8 + file.lengths)).data[8:]
    heap = file.reader(address, int.from_bytes(size, "little"), b"GCOL")
    heap.take(4 + file.lengths)
    while heap.left >= 8 + file.lengths:
        index, _, count = heap.number(2), heap.number(6), heap.length()
        if index == 0:
            break
        found = heap.take(count)
        if index == wanted and length <= count:
            return found[:length]
        heap.take(min(-count % 8, heap.left))
    raise file.damaged(f"the heap at {address} has no text {wanted} of {length} bytes")
