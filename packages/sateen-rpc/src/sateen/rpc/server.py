"""A server: it gives sessions on its machine to clients that know its key, one at a time unless told otherwise."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Semaphore, Thread
from time import monotonic
from typing import Self

from sateen.rpc.handshake import accept
from sateen.rpc.keys import Key
from sateen.rpc.limits import SessionLimits
from sateen.rpc.messages import checked
from sateen.rpc.served_session import ServedSession
from sateen.rpc.wire import Channel
from sateen.runtime.errors import ArgumentError, SateenError, SessionError, SessionRefusedError
from sateen.runtime.framing import Header

MOST_STRANGERS = 64
"""The most connections that wait for their handshake at once."""
FIRST_SECONDS = 10.0
"""How long a connection may take to say what it wants, and a claimed session to be attached."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Server:
    """Gives sessions. It listens from its making on; `serve` answers until `close`.

    `keys` are those of its clients. `store` keeps what clients upload, by digest. Raises ArgumentError for an address
    that can't be had, and without keys.
    """

    def __init__(
        self,
        host: str,
        port: int,
        keys: Sequence[Key],
        store: Path,
        limits: SessionLimits = SessionLimits(),  # noqa: B008  # a frozen value
        most_sessions: int = 1,
    ) -> None:
        if not keys:
            raise ArgumentError("expected at least one key: whoever reaches a server without one could run code there")
        self._keys = {key.id: key for key in keys}
        self._limits, self._most_sessions = limits, most_sessions
        self._store = store
        store.mkdir(parents=True, exist_ok=True, mode=0o700)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ArgumentError(f"expected an address to listen at, found {host}:{port}: {error.strerror}") from None
        self._strangers = Semaphore(MOST_STRANGERS)
        self._sessions: dict[str, ServedSession] = {}
        self._connections: set[socket.socket] = set()
        self._lock = Lock()
        self._is_closed = False

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()[:2]
        return host, port

    def serve(self) -> None:
        """Answers clients until the server is closed."""
        while not self._is_closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            if not self._strangers.acquire(blocking=False):
                connection.close()
                continue
            with self._lock:
                self._connections.add(connection)
            Thread(target=self._answer, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Ends the server and all its sessions."""
        self._is_closed = True
        with suppress(OSError):  # it was not listening any more
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sessions, connections = [*self._sessions.values()], [*self._connections]
            self._sessions.clear()
        for connection in connections:
            with suppress(OSError):  # by which its thread learns it, and closes it
                connection.shutdown(socket.SHUT_RDWR)
        for session in sessions:
            session.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sessions(self) -> list[tuple[str, float]]:
        """Who holds a session, and for how many seconds."""
        with self._lock:
            return [(session.holder, monotonic() - session.since) for session in self._sessions.values()]

    def _answer(self, connection: socket.socket) -> None:
        is_stranger = True
        try:
            channel, key = accept(connection, self._keys.get)
            message = channel.receive(monotonic() + FIRST_SECONDS)
            self._strangers.release()
            is_stranger = False
            if message is not None:
                self._take(channel, key, message[0])
        except (SessionError, TimeoutError, OSError):
            pass  # who it was learns it from the end of the connection; nobody else can do anything about it
        finally:
            if is_stranger:
                self._strangers.release()
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _take(self, channel: Channel, key: Key, header: Header) -> None:
        try:
            match header.get("op"):
                case "claim":
                    checked(header, {"op": str, "holder": str, "seconds": (int, float)}, "claim")
                    holder = f"{header['holder'][:100]} (key {key.id.hex()})"
                    self._hold(channel, holder, float(header["seconds"]))
                case "attach":
                    checked(header, {"op": str, "session": str}, "attach")
                    self._session(header["session"]).start(channel)
                case op:
                    raise SessionRefusedError(f"expected a request to claim or to attach, found {op!r:.80}")
        except SateenError as error:
            channel.send({"error": type(error).__name__, "message": str(error)})

    def _session(self, token: str) -> ServedSession:
        with self._lock:
            if token not in self._sessions:
                raise SessionRefusedError("expected the token of a session that waits, found another")
            return self._sessions[token]

    def _hold(self, channel: Channel, holder: str, seconds: float) -> None:
        """Holds a session for as long as its client beats."""
        token, session = self._claimed(holder, seconds)
        try:
            channel.send({"session": token, "lease": self._limits.lease_seconds})
            self._beat(channel, session)
        finally:
            with self._lock:
                self._sessions.pop(token, None)
            session.end()

    def _claimed(self, holder: str, seconds: float) -> tuple[str, ServedSession]:
        if not seconds > 0:
            raise SessionRefusedError(f"expected a positive limit of seconds for each request, found {seconds}")
        with self._lock:
            if self._is_closed or len(self._sessions) >= self._most_sessions:
                holders = [f"{s.holder} for {monotonic() - s.since:.0f} s" for s in self._sessions.values()]
                raise SessionRefusedError(f"the device is in use, held by {', '.join(holders)}")
            token, session = secrets.token_hex(16), ServedSession(holder, seconds, self._limits, self._store)
            self._sessions[token] = session
            return token, session

    def _beat(self, channel: Channel, session: ServedSession) -> None:
        """Returns when the client has closed, is lost, or has not been heard of for a lease."""
        while (message := channel.receive(monotonic() + self._limits.lease_seconds)) is not None:
            if message[0] == {"op": "watch"}:
                Thread(target=_tell_end, args=(session, channel), daemon=True).start()


def _tell_end(session: ServedSession, channel: Channel) -> None:
    with suppress(SessionError, OSError):  # the client may be gone
        channel.send(session.watch())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host in _LOOPBACK
