"""Messages between a process and its child: a JSON header and the bytes of arrays, with their lengths."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from math import prod
from time import monotonic
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, SessionLostError, SessionProtocolError
from sateen.runtime.ndarray import NDArray, array, empty

_LENGTHS = struct.Struct("<IQ")
_MOST_HEADER_BYTES = 1 << 26
_MOST_PAYLOAD_BYTES = 1 << 36

MOST_EXTENT = 1 << 62
"""What extents of arrays in messages stay below."""

MOST_SECONDS = 1e6
"""The longest time that anybody may be told to wait, 11 days; systems count it in milliseconds, of 31 bits."""

Header = dict[str, Any]


def send(connection: socket.socket, header: Header, payload: Sequence[bytes | memoryview] = ()) -> None:
    """Sends one message.

    Raises TimeoutError if the connection's own timeout ends first, OSError if the connection is closed,
    SessionProtocolError for a header that is too large, of which nothing is sent.
    """
    text = json.dumps(header).encode()
    if len(text) > _MOST_HEADER_BYTES:
        raise SessionProtocolError(f"expected a header of at most {_MOST_HEADER_BYTES} bytes, found {len(text)}")
    connection.sendall(_LENGTHS.pack(len(text), sum(len(part) for part in payload)) + text)
    for part in payload:
        connection.sendall(part)


def receive(
    connection: socket.socket, deadline: float | None = None, most_bytes: int = _MOST_PAYLOAD_BYTES
) -> tuple[Header, memoryview] | None:
    """The next message; None if the other side has closed.

    Raises TimeoutError after `deadline`, a time of `monotonic`. Raises SessionProtocolError for an invalid message, or
    one of more than `most_bytes` besides its header, before memory is allocated for them.
    """
    lengths = _read(connection, _LENGTHS.size, deadline)
    if lengths is None:
        return None
    header_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    if header_bytes > _MOST_HEADER_BYTES:
        raise SessionProtocolError(f"expected a header of at most {_MOST_HEADER_BYTES} bytes, found {header_bytes}")
    if payload_bytes > most_bytes:
        raise SessionProtocolError(f"expected at most {most_bytes} bytes after the header, found {payload_bytes}")
    text, payload = _read(connection, header_bytes, deadline), _read(connection, payload_bytes, deadline)
    if text is None or payload is None:
        return None
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise SessionProtocolError(f"expected a header of JSON: {error}") from None
    if not isinstance(header, dict):
        raise SessionProtocolError(f"expected a JSON object as header, found {type(header).__name__}")
    return header, payload


class JsonConnection:
    """The messages of this module on a socket, as a `Connection` of a session."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, header: Header, payload: Sequence[bytes | memoryview] = (), deadline: float | None = None) -> None:
        self._connection.settimeout(None if deadline is None else max(deadline - monotonic(), 1e-3))
        try:
            send(self._connection, header, payload)
        except TimeoutError:
            raise
        except OSError as error:
            raise lost(error) from None

    def receive(self, deadline: float | None = None, most_bytes: int = 0) -> tuple[Header, memoryview] | None:
        self._connection.settimeout(None)
        try:
            return receive(self._connection, deadline, most_bytes)
        except TimeoutError:
            raise
        except OSError as error:
            raise lost(error) from None

    def close(self) -> None:
        self._connection.close()


def lost(error: OSError) -> SessionLostError:
    return SessionLostError(f"the connection was lost: {error.strerror or error}")


def require_fields(header: Header, schema: Mapping[str, type | tuple[type, ...]], what: str) -> None:
    """Raises SessionProtocolError unless a header has exactly these keys, each with a value of the type."""
    if header.keys() != schema.keys():
        expected, found = ", ".join(sorted(schema)), ", ".join(sorted(header))
        raise SessionProtocolError(f"{what}: expected the fields {expected}, found {found}")
    for name, kind in schema.items():
        value = header[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise SessionProtocolError(f"{what}: expected another type as {name!r}, found {type(value).__name__}")


def describe(arrays: Sequence[NDArray]) -> list[list[Any]]:
    """The element types and shapes of arrays, for a header."""
    return [[str(value.dtype), list(value.shape)] for value in arrays]


def raw(value: NDArray) -> memoryview:
    """The bytes of an array in row-major order, shared if it is compact."""
    return (value if value.is_compact else array(value)).numpy().reshape(-1).view(np.uint8).data


def rebuild(described: Sequence[Sequence[Any]], payload: memoryview) -> list[NDArray]:
    """New arrays from the result of `describe` and the consecutive bytes of all arrays.

    Raises SessionProtocolError for what describes no arrays, and if the number of bytes does not fit the shapes.
    """
    types = [_type_of(item) for item in described]
    expected = sum(prod(shape) * dtype.bytes for dtype, shape in types)
    if expected != len(payload):
        raise SessionProtocolError(f"expected {expected} bytes of arrays, found {len(payload)}")
    arrays, start = [], 0
    for dtype, shape in types:
        value = empty(shape, dtype)
        raw(value)[:] = payload[start : start + value.nbytes]
        start += value.nbytes
        arrays.append(value)
    return arrays


def _type_of(described: object) -> tuple[DType, tuple[int, ...]]:
    match described:
        case [str() as dtype, list() as shape] if all(type(n) is int and 0 <= n < MOST_EXTENT for n in shape):
            try:
                return DType.of(dtype), tuple(shape)
            except ArgumentError as error:
                raise SessionProtocolError(str(error)) from None
    raise SessionProtocolError(f"expected an element type and a shape, found {described!r:.80}")


def _read(connection: socket.socket, count: int, deadline: float | None) -> memoryview | None:
    buffer = np.empty(count, np.uint8).data  # which takes memory when it is written to, and not before
    position = 0
    while position < count:
        if deadline is not None:
            left = deadline - monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        received = connection.recv_into(buffer[position:])
        if received == 0:
            return None
        position += received
    return buffer
