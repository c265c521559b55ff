"""Bytes from one connection to another and back, as they are on one side, coded on the other: TLS, WebSocket.

One thread serves a pair. A side that does not take its bytes stops the other from sending, and ends both if it stands
still for long.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Protocol

from sateen.runtime.errors import SessionLostError, SessionRefusedError

CHUNK_BYTES = 256 << 10
MOST_WAITING_BYTES = 1 << 20
"""The bytes that wait for a side before the other one is not read any more."""
STILL_SECONDS = 60.0
"""How long a side may leave bytes waiting."""
READY_SECONDS = 5.0
"""How long a coding may take to begin."""


class CodingError(Exception):
    """What arrived is not in the coding of the connection."""


class Coding(Protocol):
    """How a stream of bytes lies on a connection. It neither reads nor writes: it turns bytes into bytes."""

    @property
    def is_ready(self) -> bool:
        """Whether both sides have begun, so that the stream can follow."""

    @property
    def is_ended(self) -> bool:
        """Whether the other side has said that no more follows."""

    def received(self, data: bytes) -> bytes:
        """The part of the stream in what arrived. Raises CodingError."""

    def send(self, stream: bytes) -> None:
        """Takes a part of the stream, once it is ready."""

    def end(self) -> None:
        """No more of the stream follows."""

    def outgoing(self) -> bytes:
        """What is to be written to the connection now."""


class Plain:
    """The stream itself."""

    is_ready = True
    is_ended = False

    def __init__(self) -> None:
        self._waiting = b""

    def received(self, data: bytes) -> bytes:
        return data

    def send(self, stream: bytes) -> None:
        self._waiting += stream

    def end(self) -> None:
        pass

    def outgoing(self) -> bytes:
        data, self._waiting = self._waiting, b""
        return data


def relay(first: socket.socket, second: socket.socket) -> None:
    """Copies bytes both ways until both sides have ended, or one is lost; then both are closed."""
    _relay(_End(first, Plain()), _End(second, Plain()))


def decoded(connection: socket.socket, coding: Coding) -> socket.socket:
    """A connection with the stream itself, whose bytes lie on `connection` in a coding, by a thread between them.

    Takes the connection over, also if it fails. Raises SessionRefusedError if the other side uses another coding,
    SessionLostError if it goes or says nothing.
    """
    coded = _End(connection, coding)
    try:
        early = coded.begin(monotonic() + READY_SECONDS)
        ours, theirs = socket.socketpair()
    except BaseException:
        connection.close()
        raise
    plain = _End(theirs, Plain())
    plain.take(early)
    Thread(target=_relay, args=(coded, plain), daemon=True).start()
    return ours


class _End:
    """One side of a relay: a connection, its coding, and the bytes that wait for it."""

    def __init__(self, connection: socket.socket, coding: Coding) -> None:
        self.connection, self.coding = connection, coding
        self.waiting = bytearray()
        self.moved = monotonic()
        """When bytes were last taken, or began to wait."""
        self.is_read_to_its_end = self.is_to_end = False
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self, deadline: float) -> bytes:
        """Waits until the coding is ready; the first bytes of the stream."""
        early = b""
        try:
            self.collect()
            while True:
                self.write()
                if self.coding.is_ready and not self.waiting:
                    return early
                self._wait(deadline)
                if (data := self._receive()) is not None:
                    if not data:
                        raise SessionLostError("the other side closed the connection before it began")
                    early += self.coding.received(data)
                    self.collect()
        except CodingError as error:
            with suppress(OSError):  # what tells the other side is sent if it can be
                self.collect()
                self.write()
            raise SessionRefusedError(str(error)) from None
        except OSError as error:
            raise SessionLostError(f"the connection was lost: {error.strerror or error}") from None

    def _wait(self, deadline: float) -> None:
        ready = select.poll()
        ready.register(self.connection, select.POLLIN if not self.waiting else select.POLLIN | select.POLLOUT)
        if not ready.poll(max(deadline - monotonic(), 0) * 1000):
            raise SessionLostError(f"expected the connection to begin within {READY_SECONDS:g} s, it did not")

    def _receive(self) -> bytes | None:
        """What has arrived; None for nothing, no bytes for the end."""
        try:
            return self.connection.recv(CHUNK_BYTES)
        except BlockingIOError:
            return None

    def read(self) -> bytes:
        """The next part of the stream from this side."""
        data = self._receive()
        if data is None:
            return b""
        stream = self.coding.received(data) if data else b""
        self.is_read_to_its_end = not data or self.coding.is_ended
        self.collect()
        return stream

    def take(self, stream: bytes) -> None:
        """A part of the stream for this side."""
        self.coding.send(stream)
        self.collect()

    def finish(self) -> None:
        """No more follows for this side."""
        self.coding.end()
        self.collect()
        self.is_to_end = True

    def collect(self) -> None:
        if not self.waiting:
            self.moved = monotonic()
        self.waiting += self.coding.outgoing()

    def write(self) -> None:
        """Writes as much as this side takes now."""
        try:
            while self.waiting:
                with memoryview(self.waiting) as view:
                    count = self.connection.send(view[:CHUNK_BYTES])
                del self.waiting[:count]
                self.moved = monotonic()
        except BlockingIOError:
            return
        if self.is_to_end:
            self.is_to_end = False
            self.connection.shutdown(socket.SHUT_WR)

    def events(self, other: _End) -> int:
        """What to wait for."""
        reads = not self.is_read_to_its_end and len(other.waiting) < MOST_WAITING_BYTES
        return (select.POLLIN if reads else 0) | (select.POLLOUT if self.waiting else 0)


def _relay(first: _End, second: _End) -> None:
    ends = {first.connection.fileno(): (first, second), second.connection.fileno(): (second, first)}
    try:
        with suppress(OSError, CodingError):  # each side learns it from the end of its connection
            first.write()
            second.write()
            while not (first.is_read_to_its_end and second.is_read_to_its_end and not first.waiting + second.waiting):
                ready = select.poll()
                for descriptor, (end, other) in ends.items():
                    if events := end.events(other):
                        ready.register(descriptor, events)
                found = ready.poll(STILL_SECONDS * 1000)
                for descriptor, _ in found:
                    _move(*ends[descriptor])
                if any(end.waiting and monotonic() - end.moved > STILL_SECONDS for end in (first, second)):
                    return
    finally:
        first.connection.close()
        second.connection.close()


def _move(end: _End, other: _End) -> None:
    """What a side is ready for: its bytes to the other, and those that wait to it."""
    if not end.is_read_to_its_end and len(other.waiting) < MOST_WAITING_BYTES:
        if stream := end.read():
            other.take(stream)
        if end.is_read_to_its_end:
            other.finish()
        other.write()
    end.write()
