"""What servers and trackers have alike: an address, a thread for each connection, and a handshake before anything."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from threading import RLock, Semaphore, Thread
from time import monotonic, sleep
from typing import Self

from sateen.rpc.handshake import accept
from sateen.rpc.keys import Key
from sateen.rpc.wire import Channel
from sateen.runtime.errors import ArgumentError, SateenError, SessionError
from sateen.runtime.framing import Header

MOST_STRANGERS = 64
"""The most connections that wait for their handshake at once."""
REST_SECONDS = 0.05
"""How long no connection is taken after one that could not be."""
FIRST_SECONDS = 10.0
"""How long a connection may take to say what it wants."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; of IPv6 if the host is an address of it. Raises ArgumentError for an address that can't
    be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ArgumentError(f"expected an address to listen at, found {host}:{port}: {error.strerror}") from None


class Listener(ABC):
    """Listens from its making on; `serve` answers until `close`.

    Raises ArgumentError for an address that can't be had, and without keys.
    """

    def __init__(self, host: str, port: int, keys: Sequence[Key]) -> None:
        if not keys:
            raise ArgumentError("expected at least one key: whoever reaches a server without one could run code there")
        self._keys = {key.id: key for key in keys}
        self._listener = listening(host, port)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._strangers = Semaphore(MOST_STRANGERS)
        self._connections: set[socket.socket] = set()
        self._opened = RLock()  # a signal may close it while its own thread adds a connection
        self.is_closed = False

    @abstractmethod
    def take(self, channel: Channel, key: Key, header: Header) -> None:
        """Answers a connection whose first message is `header`, for as long as it lasts. What it raises is told."""

    def serve(self) -> None:
        """Answers until it is closed."""
        while not self.is_closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._listener.fileno() >= 0:  # who called has gone already, or there are too many open files
                    sleep(REST_SECONDS)
                continue
            if not self._strangers.acquire(blocking=False):
                connection.close()
                continue
            with self._opened:
                if not self.is_closed:
                    self._connections.add(connection)
                    Thread(target=self._answer, args=(connection,), daemon=True).start()
                    continue
            connection.close()

    def close(self) -> None:
        """Ends it and all its connections."""
        with self._opened:
            self.is_closed = True
        with suppress(OSError):  # it was not listening any more
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._opened:
            connections = [*self._connections]
        for connection in connections:
            with suppress(OSError):  # by which its thread learns it, and closes it
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, connection: socket.socket) -> None:
        is_stranger = True
        channel: Channel | None = None
        try:
            channel, key = accept(connection, self._keys.get)
            message = channel.receive(monotonic() + FIRST_SECONDS)
            self._strangers.release()
            is_stranger = False
            if message is not None:
                self._tell(channel, key, message[0])
        except (SessionError, TimeoutError, OSError):
            pass  # who it was learns it from the end of the connection; nobody else can do anything about it
        finally:
            if is_stranger:
                self._strangers.release()
            with self._opened:
                self._connections.discard(connection)
            (channel or connection).close()

    def _tell(self, channel: Channel, key: Key, header: Header) -> None:
        try:
            self.take(channel, key, header)
        except SateenError as error:
            channel.send({"error": type(error).__name__, "message": str(error)})
