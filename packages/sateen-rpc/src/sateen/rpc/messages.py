"""Headers of frames: maps in msgpack, of plain values, whose keys and types each operation states."""

from __future__ import annotations

from typing import Any

import msgpack

from sateen.runtime.errors import SessionProtocolError
from sateen.runtime.framing import Header


def packed(header: Header) -> bytes:
    """A header as msgpack."""
    data: bytes = msgpack.packb(header)
    return data


def unpacked(data: bytes | bytearray | memoryview) -> Header:
    """The header that msgpack stands for. Lengths within it can't exceed the bytes that are there. Raises
    SessionProtocolError for anything but a map with text as keys, of numbers, texts, bytes, lists and maps."""
    try:
        header = msgpack.unpackb(
            data, strict_map_key=True, object_pairs_hook=_map, list_hook=_list, ext_hook=_no_extension
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise SessionProtocolError(f"expected a header of msgpack: {error or type(error).__name__}") from None
    if not isinstance(header, dict) or not all(isinstance(key, str) for key in header):
        raise SessionProtocolError(f"expected a map with names as the header, found {type(header).__name__}")
    return header


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
