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
import select
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil
from threading import RLock
from time import monotonic
from typing import Any

import numpy as np

from sateen.rpc.messages import packed, unpacked
from sateen.runtime.errors import SessionLostError, SessionProtocolError
from sateen.runtime.framing import MOST_SECONDS, Header, lost

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
    """One end of an authenticated connection. Threads may send, receive and close at once.

    `sent` and `received` are how many frames have gone each way. With them and the keys another process can go on.
    """

    def __init__(
        self, connection: socket.socket, send_key: bytes, receive_key: bytes, sent: int = 0, received: int = 0
    ) -> None:
        self._connection = connection
        self._send_key, self._receive_key = send_key, receive_key
        self.sent, self.received = sent, received
        self._sending, self._receiving = RLock(), RLock()
        connection.setblocking(False)  # threads that send and receive have deadlines of their own
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(connection, select.POLLIN)
        self._writable.register(connection, select.POLLOUT)
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def connection(self) -> socket.socket:
        return self._connection

    @property
    def keys(self) -> tuple[bytes, bytes]:
        """Those for sending and for receiving."""
        return self._send_key, self._receive_key

    @property
    def state(self) -> dict[str, str | int]:
        """What another process needs to go on with this end, besides its socket. It is secret."""
        keys = {"send_key": self._send_key.hex(), "receive_key": self._receive_key.hex()}
        return {**keys, "sent": self.sent, "received": self.received}

    @staticmethod
    def resumed(connection: socket.socket, state: Mapping[str, Any]) -> Channel:
        """The end that another process had in this state."""
        keys = bytes.fromhex(state["send_key"]), bytes.fromhex(state["receive_key"])
        return Channel(connection, *keys, state["sent"], state["received"])

    def send(self, header: Header, payload: Sequence[bytes | memoryview] = (), deadline: float | None = None) -> None:
        """Sends a frame. Raises TimeoutError if that takes until `deadline`, a time of `monotonic`; SessionLostError if
        the other side is gone, or takes less than `LEAST_RATE`."""
        text = packed(header)
        if len(text) > MOST_HEADER_BYTES:
            raise SessionProtocolError(f"expected a header of at most {MOST_HEADER_BYTES} bytes, found {len(text)}")
        with self._sending:
            self._send(text, [memoryview(part).cast("B") for part in payload], deadline)

    def _send(self, text: bytes, parts: Sequence[memoryview], deadline: float | None) -> None:
        pending = LENGTHS.pack(len(text), sum(map(len, parts))) + text
        code = hmac.new(self._send_key, _NUMBER.pack(self.sent) + pending, hashlib.sha256)
        self.sent += 1
        latest = monotonic() + _seconds_for(len(pending) + sum(map(len, parts)))
        ours = latest if deadline is None else min(deadline, latest)
        try:
            for chunk in (part[i : i + CHUNK_BYTES] for part in parts for i in range(0, len(part), CHUNK_BYTES)):
                code.update(chunk)
                self._write(pending, ours)
                pending = b""
                self._write(chunk, ours)
            self._write(pending + code.digest()[:CODE_BYTES], ours)
        except TimeoutError:
            if ours == deadline:
                raise
            raise SessionLostError("expected the other side to take a message, it does not read") from None

    def receive(self, deadline: float | None = None, most_bytes: int = 0) -> tuple[Header, memoryview] | None:
        """The next frame, whose payload has at most `most_bytes`; None if the other side has closed between frames.

        Raises TimeoutError if nothing comes before `deadline`, a time of `monotonic`; SessionProtocolError for a frame
        that is too large, which is known before memory is taken for it, damaged or out of order; SessionLostError if
        the connection ends within a frame, or stands still in it.
        """
        with self._receiving:
            start = self._first_bytes(deadline)
            if not start:
                return None
            try:
                return self._rest(start, most_bytes)
            except TimeoutError:
                raise SessionLostError("expected the rest of a message, which came too slowly") from None

    def close(self) -> None:
        """Ends the connection, also for a thread that waits for it."""
        with suppress(OSError):  # it has ended already
            self._connection.shutdown(socket.SHUT_RDWR)
        with self._sending, self._receiving:  # whose threads wake by that; a descriptor that they poll is not yet free
            self._connection.close()

    def _first_bytes(self, deadline: float | None) -> bytes:
        while True:
            try:
                return self._connection.recv(LENGTHS.size)
            except BlockingIOError:
                _wait(self._readable, deadline)
            except OSError as error:
                raise lost(error) from None

    def _rest(self, start: bytes, most_bytes: int) -> tuple[Header, memoryview]:
        begun = monotonic()
        lengths = start + bytes(self._read(LENGTHS.size - len(start), begun + GRACE_SECONDS))
        header_bytes, payload_bytes = LENGTHS.unpack(lengths)
        for what, found, most in (("header", header_bytes, MOST_HEADER_BYTES), ("payload", payload_bytes, most_bytes)):
            if found > most:
                raise SessionProtocolError(f"expected a message with a {what} of at most {most} bytes, found {found}")
        deadline = begun + _seconds_for(header_bytes + payload_bytes)
        expected = hmac.new(self._receive_key, _NUMBER.pack(self.received) + lengths, hashlib.sha256)
        text = self._read(header_bytes, deadline)
        expected.update(text)
        payload = np.empty(payload_bytes, np.uint8).data  # which takes memory when it is written to, and not before
        for place in range(0, payload_bytes, CHUNK_BYTES):
            chunk = payload[place : place + CHUNK_BYTES]
            self._read_into(chunk, deadline)
            expected.update(chunk)
        if not hmac.compare_digest(expected.digest()[:CODE_BYTES], bytes(self._read(CODE_BYTES, deadline))):
            raise SessionProtocolError("expected the next message of the other side, found one changed on its way")
        self.received += 1
        return unpacked(text), payload

    def _read(self, count: int, deadline: float) -> bytearray:
        data = bytearray(count)
        self._read_into(memoryview(data), deadline)
        return data

    def _read_into(self, view: memoryview, deadline: float) -> None:
        while view:
            try:
                received = self._connection.recv_into(view)
            except BlockingIOError:
                _wait(self._readable, deadline)
                continue
            except OSError as error:
                raise lost(error) from None
            if not received:
                raise SessionLostError("the other side closed the connection within a message")
            view = view[received:]
            if monotonic() > deadline:
                raise TimeoutError

    def _write(self, data: bytes | memoryview, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._connection.send(view) :]
            except BlockingIOError:
                _wait(self._writable, deadline)
            except OSError as error:
                raise lost(error) from None


def _wait(ready: select.poll, deadline: float | None) -> None:
    """Waits until a connection can be read or written, or has ended; sometimes less. Raises TimeoutError after the
    deadline."""
    if deadline is None:
        ready.poll()
        return
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    ready.poll(ceil(min(left, MOST_SECONDS) * 1000))


def _seconds_for(count: int) -> float:
    return GRACE_SECONDS + count / LEAST_RATE
