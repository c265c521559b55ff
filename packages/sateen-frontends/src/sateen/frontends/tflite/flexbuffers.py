"""Maps of FlexBuffers, in which custom operators have their options, read within bounds.

Source: flatbuffers.dev, "FlatBuffers Internals", on FlexBuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sateen.runtime.errors import FrontendError

_SIGNED, _UNSIGNED, _FLOATS = ("b", "h", "i", "q"), ("B", "H", "I", "Q"), ("", "e", "f", "d")
"""Formats of numbers by the logarithm of their width."""
_INT, _UINT, _FLOAT, _MAP, _BOOL = 1, 2, 3, 9, 26
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
Memory = bytes | memoryview
MOST_ENTRIES = 256
"""The most entries of a map."""
LONGEST_NAME = 256
"""The most characters of a name in a map."""


def read_map(data: Memory) -> Mapping[str, float]:
    """The numbers in the map that data ends with; entries of other types are left out. Raises FrontendError if the data
    is damaged, or no map."""
    if len(data) < 3:
        raise FrontendError("expected options of a custom operator as a map of FlexBuffers, found none")
    width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP or width not in (1, 2, 4, 8):
        raise FrontendError("expected options of a custom operator as a map of FlexBuffers, found other data")
    place = len(data) - 2 - width
    values, width = place - _unsigned(data, place, width), 1 << (packed & 3)
    count = _unsigned(data, values - width, width)
    if count > MOST_ENTRIES:
        raise FrontendError(f"expected at most {MOST_ENTRIES} options, found {count}")
    keys = values - 3 * width - _unsigned(data, values - 3 * width, width)
    key_width = _unsigned(data, values - 2 * width, width)
    found = {}
    for i in range(count):
        at = keys + key_width * i
        kind = _byte(data, values + width * count + i)
        number = _number(data, values + width * i, width, kind)
        if number is not None:
            found[_key(data, at - _unsigned(data, at, key_width))] = number
    return found


def _number(data: Memory, place: int, width: int, packed: int) -> float | None:
    """The number at a place; None if it is no number."""
    kind, size = packed >> 2, width.bit_length() - 1
    if kind in _INDIRECT:
        place, kind, size = place - _unsigned(data, place, width), _INDIRECT[kind], packed & 3
    if kind == _BOOL:
        return bool(_unpack(data, place, _UNSIGNED[size]))
    formats = {_INT: _SIGNED, _UINT: _UNSIGNED, _FLOAT: _FLOATS}.get(kind)
    return None if formats is None or not formats[size] else _unpack(data, place, formats[size])


def _key(data: Memory, place: int) -> str:
    name, end, _ = bytes(data[max(place, 0) : place + LONGEST_NAME + 1]).partition(b"\0")
    if place < 0 or not end:
        raise FrontendError("options of a custom operator are damaged: a name has no end")
    return name.decode("ascii", "backslashreplace")


def _unsigned(data: Memory, place: int, width: int) -> int:
    if width not in (1, 2, 4, 8):
        raise FrontendError(f"options of a custom operator are damaged: a width of {width} bytes")
    return int(_unpack(data, place, _UNSIGNED[width.bit_length() - 1]))


def _byte(data: Memory, place: int) -> int:
    return int(_unpack(data, place, "B"))


def _unpack(data: Memory, place: int, code: str) -> float:
    if not 0 <= place <= len(data) - struct.calcsize(f"<{code}"):
        raise FrontendError("options of a custom operator are damaged: they refer to bytes outside")
    (number,) = struct.unpack_from(f"<{code}", data, place)
    return number  # type: ignore[no-any-return]
