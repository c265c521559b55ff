"""Maps of FlexBuffers, in which custom operators have their options, read within bounds.

Source: flatbuffers.dev, "FlatBuffers Internals", on FlexBuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from sateen.runtime.errors import FrontendError

Memory = bytes | memoryview
Entry = float | str | tuple[float, ...] | None
"""A number, text, or numbers; None stands for data of another type."""

_SIGNED, _UNSIGNED, _FLOATS = ("b", "h", "i", "q"), ("B", "H", "I", "Q"), ("", "e", "f", "d")
"""Formats of numbers by the logarithm of their width."""
_MAP, _STRING, _BOOL, _BOOLS = 9, 5, 26, 36
_NUMBERS = {1: _SIGNED, 2: _UNSIGNED, 3: _FLOATS, _BOOL: _UNSIGNED}
_INDIRECT = {6: 1, 7: 2, 8: 3}
"""Numbers elsewhere, as the type of number there."""
_VECTORS = {11: 1, 12: 2, 13: 3, _BOOLS: _BOOL}
"""Vectors of one type, as that type."""
MOST_ENTRIES = 256
"""The most entries of a map, and numbers or characters of an entry."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value: where it begins, its type, and the bytes of each number in it."""

    position: int
    type: int
    width: int


def read_map(data: Memory) -> Mapping[str, Entry]:
    """The entries of the map that data ends with. Raises FrontendError if the data is damaged, or no map."""
    if len(data) < 3:
        raise FrontendError("expected options of a custom operator as a map of FlexBuffers, found none")
    width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP or width not in (1, 2, 4, 8):
        raise FrontendError("expected options of a custom operator as a map of FlexBuffers, found other data")
    place = len(data) - 2 - width
    values, width = place - _unsigned(data, place, width), 1 << (packed & 3)
    count = _count(data, values, width)
    keys = values - 3 * width - _unsigned(data, values - 3 * width, width)
    key_width = _unsigned(data, values - 2 * width, width)
    found = {}
    for i in range(count):
        at = keys + key_width * i
        type_ = _unsigned(data, values + width * count + i, 1)
        found[_key(data, at - _unsigned(data, at, key_width))] = _entry(data, values + width * i, width, type_)
    return found


def _entry(data: Memory, position: int, width: int, packed: int) -> Entry:
    """The entry at a position of a map; `packed` is its type, and the width of what lies elsewhere."""
    type_ = packed >> 2
    if type_ in _NUMBERS:
        return _number(data, _Place(position, type_, width))
    if type_ not in {*_INDIRECT, *_VECTORS, _STRING}:
        return None
    start, inner = position - _unsigned(data, position, width), 1 << (packed & 3)
    if type_ in _INDIRECT:
        return _number(data, _Place(start, _INDIRECT[type_], inner))
    count = _count(data, start, inner)
    if type_ == _STRING:
        return _bytes(data, start, count).decode("utf-8", "backslashreplace")
    numbers = [_number(data, _Place(start + inner * i, _VECTORS[type_], inner)) for i in range(count)]
    return tuple(number for number in numbers if number is not None)


def _number(data: Memory, place: _Place) -> float | None:
    """The number at a place; None for one of floating point of a byte, which there is not."""
    code = _NUMBERS[place.type][place.width.bit_length() - 1]
    number = _unpack(data, place.position, code) if code else None
    return bool(number) if place.type == _BOOL else number


def _key(data: Memory, position: int) -> str:
    name, end, _ = bytes(data[max(position, 0) : position + MOST_ENTRIES + 1]).partition(b"\0")
    if position < 0 or not end:
        raise FrontendError("options of a custom operator are damaged: a name has no end")
    return name.decode("ascii", "backslashreplace")


def _count(data: Memory, position: int, width: int) -> int:
    """The number of elements, which stands before them."""
    count = _unsigned(data, position - width, width)
    if count > MOST_ENTRIES:
        raise FrontendError(f"expected at most {MOST_ENTRIES} options of a custom operator, found {count}")
    return count


def _unsigned(data: Memory, position: int, width: int) -> int:
    if width not in (1, 2, 4, 8):
        raise FrontendError(f"options of a custom operator are damaged: a width of {width} bytes")
    return int(_unpack(data, position, _UNSIGNED[width.bit_length() - 1]))


def _unpack(data: Memory, position: int, code: str) -> float:
    (number,) = struct.unpack(f"<{code}", _bytes(data, position, struct.calcsize(f"<{code}")))
    return number  # type: ignore[no-any-return]


def _bytes(data: Memory, position: int, size: int) -> bytes:
    if not 0 <= position <= len(data) - size:
        raise FrontendError("options of a custom operator are damaged: they refer to bytes outside")
    return bytes(data[position : position + size])
