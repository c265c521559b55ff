"""Frames of an authenticated connection (docs/design/remote.md).

    4 bytes    length of the header
    8 bytes    length of the payload
               header: msgpack
               payload: bytes of arrays and files
    16 bytes   code: the first half of HMAC-SHA256 over the frame's number, the lengths, header and payload

Each direction has a key and a count of its own. The numbers of frames are not sent, so a frame that is repeated, left
out or moved has a wrong code.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
from collections.abc import Sequence
from time import monotonic

import numpy as np

from sateen.rpc.messages import packed, unpacked
from sateen.runtime.errors import SessionLostError, SessionProtocolError
from sateen.runtime.framing import Header

LENGTHS = struct.Struct("<IQ")
CODE_BYTES = 16
MOST_HEADER_BYTES = 1 << 20
CHUNK_BYTES = 1 << 20
"""The bytes that are coded and sent at a time, while the other side takes those before."""
LEAST_RATE = 64 << 10
"""The fewest bytes per second that a sender must reach."""
GRACE_SECONDS = 10.0
"""The seconds that each frame has besides those for its bytes."""
_NUMBER = struct.Struct("<Q")


class Channel:
    """One end of an authenticated connection. One thread may send while another receives."""

    def __init__(self, connection: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        self._connection = connection
        self._send_key, self._receive_key = send_key, receive_key
        self._sent = self._received = 0
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def socket(self) -> socket.socket:
        return self._connection

    def send(self, header: Header, payload: Sequence[bytes | memoryview] = ()) -> None:
        """Sends a frame. Raises SessionLostError if the other side is gone, or takes less than `LEAST_RATE`."""
        text = packed(header)
        if len(text) > MOST_HEADER_BYTES:
            raise SessionProtocolError(f"expected a header of at most {MOST_HEADER_BYTES} bytes, found {len(text)}")
        parts = [memoryview(part).cast("B") for part in payload]
        lengths = LENGTHS.pack(len(text), sum(map(len, parts)))
        code = hmac.new(self._send_key, _NUMBER.pack(self._sent), hashlib.sha256)
        self._sent += 1
        first = lengths + text
        code.update(first)
        deadline = monotonic() + _seconds_for(len(first) + sum(map(len, parts)))
        try:
            for part in parts:
                for start in range(0, len(part), CHUNK_BYTES):
                    chunk = part[start : start + CHUNK_BYTES]
                    code.update(chunk)
                    if first:
                        self._write(first, deadline)
                        first = b""
                    self._write(chunk, deadline)
            self._write(first + code.digest()[:CODE_BYTES], deadline)
        except TimeoutError:
            raise SessionLostError("expected the other side to take a message, it does not read") from None
        except OSError as error:
            raise SessionLostError(f"the connection was lost: {error.strerror or error}") from None

    def receive(self, deadline: float | None = None, most_bytes: int = 0) -> tuple[Header, memoryview] | None:
        """The next frame, whose payload has at most `most_bytes`; None if the other side has closed between frames.

        Raises TimeoutError if nothing comes before `deadline`, a time of `monotonic`; SessionProtocolError for a frame
        that is too large, which is known before memory is taken for it, damaged or out of order; SessionLostError if
        the connection ends within a frame, or stands still in it.
        """
        try:
            start = self._first_bytes(deadline)
        except ConnectionError as error:
            raise SessionLostError(f"the connection was lost: {error.strerror or error}") from None
        if not start:
            return None
        try:
            return self._rest(start, most_bytes)
        except TimeoutError:
            raise SessionLostError("expected the rest of a message, which came too slowly") from None
        except OSError as error:
            raise SessionLostError(f"the connection was lost: {error.strerror or error}") from None

    def close(self) -> None:
        self._connection.close()

    def _first_bytes(self, deadline: float | None) -> bytes:
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv(LENGTHS.size)

    def _rest(self, start: bytes, most_bytes: int) -> tuple[Header, memoryview]:
        begun = monotonic()
        lengths = start + bytes(self._read(LENGTHS.size - len(start), begun + GRACE_SECONDS))
        header_bytes, payload_bytes = LENGTHS.unpack(lengths)
        for what, found, most in (("header", header_bytes, MOST_HEADER_BYTES), ("payload", payload_bytes, most_bytes)):
            if found > most:
                raise SessionProtocolError(f"expected a message with a {what} of at most {most} bytes, found {found}")
        deadline = begun + _seconds_for(header_bytes + payload_bytes)
        expected = hmac.new(self._receive_key, _NUMBER.pack(self._received) + lengths, hashlib.sha256)
        text = self._read(header_bytes, deadline)
        expected.update(text)
        payload = np.empty(payload_bytes, np.uint8).data  # which takes memory when it is written to, and not before
        for place in range(0, payload_bytes, CHUNK_BYTES):
            chunk = payload[place : place + CHUNK_BYTES]
            self._read_into(chunk, deadline)
            expected.update(chunk)
        if not hmac.compare_digest(expected.digest()[:CODE_BYTES], bytes(self._read(CODE_BYTES, deadline))):
            raise SessionProtocolError("expected the next message of the other side, found one changed on its way")
        self._received += 1
        return unpacked(text), payload

    def _read(self, count: int, deadline: float) -> bytearray:
        data = bytearray(count)
        self._read_into(memoryview(data), deadline)
        return data

    def _read_into(self, view: memoryview, deadline: float) -> None:
        position = 0
        while position < len(view):
            self._connection.settimeout(_left(deadline))
            received = self._connection.recv_into(view[position:])
            if not received:
                raise SessionLostError("the other side closed the connection within a message")
            position += received

    def _write(self, data: bytes | memoryview, deadline: float) -> None:
        self._connection.settimeout(_left(deadline))
        self._connection.sendall(data)


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _seconds_for(count: int) -> float:
    return GRACE_SECONDS + count / LEAST_RATE
