"""Headers of frames: maps in msgpack, of plain values, whose keys and types each operation states."""

from __future__ import annotations

from typing import Any

import msgpack

from sateen.runtime.errors import ArgumentError, SessionProtocolError
from sateen.runtime.framing import Header

MOST_DEPTH = 8
"""How deep lists and maps in a header may be within each other."""
_LENGTH_OF_ITEMS = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_LENGTH_OF_TEXT = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""The bytes of the length behind the first byte of a list or map, and of bytes or text."""
_NUMBER_BYTES = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}


def packed(header: Header) -> bytes:
    """A header as msgpack. Raises ArgumentError for whole numbers of more than 64 bits."""
    try:
        data: bytes = msgpack.packb(header)
    except OverflowError:
        raise ArgumentError("expected whole numbers of at most 64 bits in a request, found a larger one") from None
    return data


def unpacked(data: bytes | bytearray | memoryview) -> Header:
    """The header that msgpack stands for. Lengths within it can't exceed the bytes that are there. Raises
    SessionProtocolError for anything but a map with text as keys, of numbers, texts, bytes, lists and maps that are at
    most `MOST_DEPTH` deep."""
    try:
        _require_shallow(data)
        header = msgpack.unpackb(
            data, strict_map_key=True, object_pairs_hook=_map, list_hook=_list, ext_hook=_no_extension
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise SessionProtocolError(f"expected a header of msgpack: {error or type(error).__name__}") from None
    if not isinstance(header, dict) or not all(isinstance(key, str) for key in header):
        raise SessionProtocolError(f"expected a map with names as the header, found {type(header).__name__}")
    return header


def _require_shallow(data: bytes | bytearray | memoryview) -> None:
    """Raises ValueError for lists and maps that are too deep in each other. msgpack takes memory for all items that a
    list announces before it reads them: for each of a thousand lists within each other as for a whole header. What is
    no msgpack it finds by itself."""
    place, left = 0, [1]  # the items that are still to come of each list or map around the place
    while place < len(data):
        kind = data[place]
        place += 1
        while left and not left[-1]:
            left.pop()
        if not left:
            return
        left[-1] -= 1
        if 0x80 <= kind < 0xA0 or kind in _LENGTH_OF_ITEMS:
            length = _LENGTH_OF_ITEMS.get(kind, 0)
            count = int.from_bytes(data[place : place + length], "big") if length else kind & 0xF
            left.append(2 * count if kind < 0x90 or kind >= 0xDE else count)
            if len(left) > MOST_DEPTH + 1:
                raise ValueError(f"found lists and maps more than {MOST_DEPTH} deep in each other")
            place += length
        elif 0xA0 <= kind < 0xC0:
            place += kind & 0x1F
        elif kind in _LENGTH_OF_TEXT:
            length = _LENGTH_OF_TEXT[kind]
            place += length + int.from_bytes(data[place : place + length], "big")
        else:
            place += _NUMBER_BYTES.get(kind, 0)


def _map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("found a name twice in one map")
    _list(list(found.values()))
    return found


def _list(values: list[Any]) -> list[Any]:
    if any(isinstance(value, msgpack.Timestamp) for value in values):
        raise ValueError("found a time stamp")
    return values


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"found an extension, of type {code} and {len(data)} bytes")
