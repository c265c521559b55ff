"""What servers and trackers have alike: an address, a thread for each connection, and a handshake before anything."""

from __future__ import annotations

import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import RLock, Semaphore, Thread
from time import monotonic, sleep
from typing import Self

from sateen.rpc.background import started
from sateen.rpc.handshake import accept
from sateen.rpc.keys import Key
from sateen.rpc.tls import encrypted
from sateen.rpc.wire import Channel
from sateen.runtime.errors import ArgumentError, SateenError, SessionError
from sateen.runtime.framing import Header

MOST_STRANGERS = 64
"""The most connections that wait for their handshake at once."""
REST_SECONDS = 0.05
"""How long no connection is taken after one that could not be."""
FIRST_SECONDS = 10.0
"""How long a connection may take to say what it wants."""

ANYWHERE = ("", "0.0.0.0", "::")  # compared, not listened at
"""The hosts of who listens at all addresses of its machine."""
Address = tuple[str, int]
Opening = Callable[[socket.socket], socket.socket]
"""What makes a plain connection of one that lies in a coding. It takes the connection over, also if it fails."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: with which key, from where."""

    key: Key
    host: str


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; of IPv6 if the host is an address of it. Raises ArgumentError for an address that can't
    be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ArgumentError(f"expected an address to listen at, found {host}:{port}: {error.strerror}") from None


class Listener(ABC):
    """Listens from its making on; `serve` answers until `close`. With `tls`, connections are encrypted.

    Raises ArgumentError for an address that can't be had, and without keys.
    """

    def __init__(self, host: str, port: int, keys: Sequence[Key], tls: ssl.SSLContext | None = None) -> None:
        if not keys:
            raise ArgumentError("expected at least one key: whoever reaches a server without one could run code there")
        self._keys = {key.id: key for key in keys}
        self._opening = _as_it_is if tls is None else partial(encrypted, context=tls)
        self._doors = [(listening(host, port), self._opening)]
        self.address: Address = self._doors[0][0].getsockname()[:2]
        self._strangers = Semaphore(MOST_STRANGERS)
        self._connections: set[socket.socket] = set()
        self._opened = RLock()  # a signal may close it while its own thread adds a connection
        self.is_closed = False

    @abstractmethod
    def take(self, channel: Channel, caller: Caller, header: Header) -> None:
        """Answers a connection whose first message is `header`, for as long as it lasts. What it raises is told."""

    def add_door(self, address: Address, opening: Opening) -> Address:
        """Listens at another address, too, where connections are opened in another way, below encryption. The address.
        Raises ArgumentError if it can't be had."""
        door = listening(*address)
        self._doors.append((door, lambda connection: opening(self._opening(connection))))
        found: Address = door.getsockname()[:2]
        return found

    def serve(self) -> None:
        """Answers until it is closed."""
        others = [Thread(target=self._serve_door, args=door) for door in self._doors[1:]]
        for other in others:
            other.start()
        self._serve_door(*self._doors[0])
        for other in others:
            other.join()

    def _serve_door(self, door: socket.socket, opening: Opening) -> None:
        while not self.is_closed:
            try:
                connection, _ = door.accept()
            except OSError:
                if door.fileno() >= 0:  # who called has gone already, or there are too many open files
                    sleep(REST_SECONDS)
                continue
            self.admit(connection, opening)

    def admit(self, connection: socket.socket, opening: Opening | None = None) -> None:
        """Answers a connection, from wherever it came; it is closed at once if too many strangers wait, or no thread
        is to be had for it."""
        if not self._strangers.acquire(blocking=False):
            connection.close()
            return
        with self._opened:
            if not self.is_closed:
                self._connections.add(connection)
                try:
                    started(self._answer, connection, opening or _as_it_is)
                    return
                except SessionError:  # who called learns it from the end of the connection
                    self._connections.discard(connection)
        self._strangers.release()
        connection.close()

    def close(self) -> None:
        """Ends it and all its connections."""
        with self._opened:
            self.is_closed = True
        for door, _ in self._doors:
            with suppress(OSError):  # it was not listening any more
                door.shutdown(socket.SHUT_RDWR)
            door.close()
        with self._opened:
            connections = [*self._connections]
        for connection in connections:
            with suppress(OSError):  # by which its thread learns it, and closes it
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, connection: socket.socket, opening: Opening) -> None:
        is_stranger = True
        plain, channel = connection, None
        try:
            host = _host_of(connection)
            plain = opening(connection)
            channel, key = accept(plain, self._keys.get)
            message = channel.receive(monotonic() + FIRST_SECONDS)
            self._strangers.release()
            is_stranger = False
            if message is not None:
                self._tell(channel, Caller(key, host), message[0])
        except (SessionError, TimeoutError, OSError):
            pass  # who it was learns it from the end of the connection; nobody else can do anything about it
        finally:
            if is_stranger:
                self._strangers.release()
            with self._opened:
                self._connections.discard(connection)
            (channel or plain).close()

    def _tell(self, channel: Channel, caller: Caller, header: Header) -> None:
        try:
            self.take(channel, caller, header)
        except SateenError as error:
            channel.send({"error": type(error).__name__, "message": str(error)})


def _as_it_is(connection: socket.socket) -> socket.socket:
    return connection


def _host_of(connection: socket.socket) -> str:
    """The address at the other end, empty for what is no network."""
    name = connection.getpeername()
    return str(name[0]) if isinstance(name, tuple) else ""
