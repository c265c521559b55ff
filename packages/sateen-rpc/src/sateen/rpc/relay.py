"""Bytes from one connection to another and back, as they are on one side, coded on the other: TLS, WebSocket.

One thread serves a pair. A side that does not take its bytes stops the other from sending, and ends both if it stands
still for long. When a side is gone, the other gets what was on its way, and both end.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Protocol

from sateen.rpc.background import started
from sateen.rpc.handshake import GREETING_BYTES
from sateen.runtime.errors import SessionLostError, SessionRefusedError
from sateen.runtime.framing import lost

READ_BYTES = 256 << 10
"""The most bytes that are read, or written, at once."""
MOST_WAITING_BYTES = 1 << 20
"""The bytes that wait for a side before the other one is not read any more."""
STILL_SECONDS = 60.0
"""How long a side may leave bytes waiting."""
LEAVING_SECONDS = 10.0
"""How long nothing may move between two sides of which one has ended."""
READY_SECONDS = 5.0
"""How long a coding may take to begin."""
MOST_STRANGER_BYTES = 16 << 10
"""The most bytes of who has not shown a key: of the coding's own beginning, and of a handshake."""
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""After a minute without any sign the other machine is taken for lost; where the system can't be told, later."""


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
    _relay(_Side(first, Plain()), _Side(second, Plain()))


def decoded(connection: socket.socket, coding: Coding, *, is_stranger: bool = False) -> socket.socket:
    """A connection with the stream itself, whose bytes lie on `connection` in a coding, by a thread between them.

    A stranger may send `MOST_STRANGER_BYTES` until a handshake on the stream has let it in. Takes the connection over,
    also if it fails. Raises SessionRefusedError if the other side uses another coding, or there is no thread,
    SessionLostError if it goes or says nothing.
    """
    with ExitStack() as opened:
        opened.enter_context(connection)
        try:
            coded = _Side(connection, coding, is_stranger=is_stranger)
            early = coded.begin(monotonic() + READY_SECONDS)
            ours, theirs = map(opened.enter_context, socket.socketpair())
        except OSError as error:
            raise lost(error) from None
        plain = _Side(theirs, Plain())
        plain.take(early)
        started(_relay, coded, plain)
        opened.pop_all()
    return ours


class _Side:
    """One side of a relay: a connection, its coding, and the bytes that wait for it."""

    def __init__(self, connection: socket.socket, coding: Coding, *, is_stranger: bool = False) -> None:
        self.connection, self.coding = connection, coding
        self.waiting = bytearray()
        self.moved = monotonic()
        """When bytes were last taken, or began to wait."""
        self.is_read_to_its_end = self.is_to_end = self.is_gone = False
        self._is_stranger = is_stranger
        self._received = self._told = 0
        """The bytes from this side, and those of the stream to it."""
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for name, value in _KEEP_ALIVE:
                if hasattr(socket, name):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

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

    def _wait(self, deadline: float) -> None:
        ready = select.poll()
        ready.register(self.connection, select.POLLIN if not self.waiting else select.POLLIN | select.POLLOUT)
        if not ready.poll(max(deadline - monotonic(), 0) * 1000):
            raise SessionLostError(f"expected the connection to begin within {READY_SECONDS:g} s, it did not")

    def _receive(self) -> bytes | None:
        """What has arrived; None for nothing, no bytes for the end."""
        left = MOST_STRANGER_BYTES - self._received if self._is_stranger else READ_BYTES
        try:
            data = self.connection.recv(min(left + 1, READ_BYTES))
        except BlockingIOError:
            return None
        except OSError:
            if not self.is_gone:
                raise
            return b""
        if len(data) > left:
            raise CodingError(f"expected at most {MOST_STRANGER_BYTES} bytes of who has shown no key, found more")
        self._received += len(data)
        return data

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
        self._told += len(stream)
        if self._told > GREETING_BYTES:  # which nobody is told who has shown no key
            self._is_stranger = False

    def finish(self) -> None:
        """No more follows for this side."""
        self.coding.end()
        self.collect()
        self.is_to_end = True

    def leave(self) -> None:
        """This side takes nothing more. What it has sent can still be read."""
        self.is_gone = True
        self.waiting.clear()

    def collect(self) -> None:
        if not self.waiting:
            self.moved = monotonic()
        self.waiting += self.coding.outgoing()

    def write(self) -> None:
        """Writes as much as this side takes now."""
        if self.is_gone:
            self.waiting.clear()
            return
        try:
            while self.waiting:
                with memoryview(self.waiting) as view:
                    count = self.connection.send(view[:READ_BYTES])
                del self.waiting[:count]
                self.moved = monotonic()
        except BlockingIOError:
            return
        if self.is_to_end:
            self.is_to_end = False
            self.connection.shutdown(socket.SHUT_WR)

    def events(self, other: _Side) -> int:
        """What to wait for, besides the end of the connection, which is always told."""
        return (select.POLLIN if self.is_read(other) else 0) | (select.POLLOUT if self.waiting else 0)

    def is_read(self, other: _Side) -> bool:
        """Whether more of this side is read now. Twice the bound of what waits for it is there only if its coding
        answers what it sends by itself, as WebSocket does pings."""
        is_answered = len(self.waiting) < 2 * MOST_WAITING_BYTES
        return not self.is_read_to_its_end and is_answered and len(other.waiting) < MOST_WAITING_BYTES


def _relay(first: _Side, second: _Side) -> None:
    sides = {first.connection.fileno(): (first, second), second.connection.fileno(): (second, first)}
    try:
        with suppress(OSError, CodingError):  # each side learns it from the end of its connection
            first.write()
            second.write()
            while not (first.is_read_to_its_end and second.is_read_to_its_end and not first.waiting + second.waiting):
                is_leaving = first.is_read_to_its_end or second.is_read_to_its_end
                found = _ready(sides, LEAVING_SECONDS if is_leaving else STILL_SECONDS)
                if not found and is_leaving:
                    return
                for descriptor, events in found:
                    _move(*sides[descriptor], events)
                if any(side.waiting and monotonic() - side.moved > STILL_SECONDS for side in (first, second)):
                    return
    finally:
        first.connection.close()
        second.connection.close()


def _ready(sides: Mapping[int, tuple[_Side, _Side]], seconds: float) -> list[tuple[int, int]]:
    """The sides of which something happened within a time. One that is gone would say so for ever."""
    ready = select.poll()
    for descriptor, (side, other) in sides.items():
        if (events := side.events(other)) or not side.is_gone:
            ready.register(descriptor, events)
    return ready.poll(seconds * 1000)


def _move(side: _Side, other: _Side, events: int) -> None:
    """What a side is ready for: its bytes to the other, and those that wait to it."""
    if events & (select.POLLHUP | select.POLLERR) and not side.is_gone:
        side.leave()
        other.is_read_to_its_end = True  # nobody would get more of it
    if side.is_read(other):
        if stream := side.read():
            other.take(stream)
        if side.is_read_to_its_end:
            other.finish()
        other.write()
    side.write()
