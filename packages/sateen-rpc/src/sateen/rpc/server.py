"""A server: it gives sessions on its machine to clients that know its key, one at a time unless told otherwise."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from time import monotonic

from sateen.rpc.background import started
from sateen.rpc.keys import Key
from sateen.rpc.listener import Caller, Listener
from sateen.rpc.served_session import ServedSession
from sateen.rpc.session_limits import SessionLimits
from sateen.rpc.wire import Channel
from sateen.runtime.errors import ArgumentError, SessionError, SessionRefusedError
from sateen.runtime.framing import Header, require_fields
from sateen.runtime.scratch import remove_abandoned

RESERVED_SECONDS = 10.0
"""How long a session is kept for who was sent to it."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A session that is kept for whoever brings the token, until a time of `monotonic`."""

    holder: str
    until: float


class Server(Listener):
    """Gives sessions. It listens from its making on; `serve` answers until `close`.

    `keys` are those of its clients. `store` keeps what clients upload, by digest. Raises ArgumentError for an address
    that can't be had, a store that can't be, without keys, and for no session at all.
    """

    def __init__(
        self,
        host: str,
        port: int,
        keys: Sequence[Key],
        store: Path,
        limits: SessionLimits = SessionLimits(),  # noqa: B008  # a frozen value
        most_sessions: int = 1,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if most_sessions < 1:
            raise ArgumentError(f"expected sessions of 1 or more at once, found {most_sessions}")
        try:
            store.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ArgumentError(f"{store}: expected a folder for uploads: {error.strerror}") from None
        super().__init__(host, port, keys, tls)
        self._limits, self._most_sessions = limits, most_sessions
        self._store = store.absolute()  # a session has a folder of its own as the current one
        remove_abandoned()
        self._sessions: dict[str, ServedSession] = {}
        self._reservations: dict[str, Reservation] = {}
        self._lock = Lock()
        self._starter = ThreadPoolExecutor(1)
        """Starts all processes: Linux takes the end of the thread that started one for the end of its parent."""
        self.changed = Event()
        """Set whenever somebody gets or gives back a session."""

    def take(self, channel: Channel, caller: Caller, header: Header) -> None:
        match header.get("op"):
            case "claim":
                require_fields(header, {"op": str, "holder": str, "seconds": (int, float), "token": str}, "claim")
                holder = f"{header['holder'][:100]} (key {caller.key.id.hex()})"
                self._hold(channel, holder, float(header["seconds"]), header["token"])
            case "attach":
                require_fields(header, {"op": str, "session": str}, "attach")
                with self._lock:
                    session = self._session(header["session"])
                    self._start(session, channel)
            case op:
                raise SessionRefusedError(
                    f"a server of sessions is here: expected a request to claim or to attach, found {op!r:.80}"
                )

    def close(self) -> None:
        """Ends the server and all its sessions."""
        super().close()
        with self._lock:
            sessions = [*self._sessions.values()]
            self._sessions.clear()
        for session in sessions:
            session.end()
        self._starter.shutdown()
        self.changed.set()

    def holders(self) -> list[str]:
        """Who has a session, or is on the way to one."""
        with self._lock:
            self._free()
            kept = [reservation.holder for reservation in self._reservations.values()]
            return [*(session.holder for session in self._sessions.values()), *kept]

    def reserve(self, token: str, holder: str) -> bool:
        """Keeps a session for who brings the token, for a while; false if none is free."""
        with self._lock:
            if self._free() <= 0:
                return False
            self._reservations[token] = Reservation(holder, monotonic() + RESERVED_SECONDS)
            return True

    def is_free(self) -> bool:
        """Whether somebody could get a session now."""
        with self._lock:
            return self._free() > 0

    def _free(self) -> int:
        """How many more sessions may be given, while the lock is held."""
        now = monotonic()
        self._reservations = {token: kept for token, kept in self._reservations.items() if kept.until > now}
        return 0 if self.is_closed else self._most_sessions - len(self._sessions) - len(self._reservations)

    def _session(self, token: str) -> ServedSession:
        """The session of a token, while the lock is held."""
        if token not in self._sessions:
            raise SessionRefusedError("expected the token of a session that waits, found another")
        return self._sessions[token]

    def _start(self, session: ServedSession, channel: Channel) -> None:
        try:
            starting = self._starter.submit(session.start, channel)
        except RuntimeError as error:
            raise SessionRefusedError(f"the server can't start a process: {error}") from None
        starting.result()

    def _hold(self, channel: Channel, holder: str, seconds: float, reserved: str) -> None:
        """Holds a session for as long as its client beats."""
        token, session = self._claimed(holder, seconds, reserved)
        try:
            channel.send({"session": token, "lease": self._limits.lease_seconds})
            self._beat(channel, session)
        finally:
            with self._lock:
                self._sessions.pop(token, None)
            session.end()
            self.changed.set()

    def _claimed(self, holder: str, seconds: float, reserved: str) -> tuple[str, ServedSession]:
        if not seconds > 0:
            raise SessionRefusedError(f"expected a positive limit of seconds for each request, found {seconds}")
        with self._lock:
            free = self._free()
            if reserved and self._reservations.pop(reserved, None) is None:
                raise SessionRefusedError("expected the token of a reservation, found one that is unknown or too old")
            if not reserved and free <= 0:
                holders = [f"{s.holder} for {monotonic() - s.since:.0f} s" for s in self._sessions.values()]
                holders += [f"{kept.holder}, who is on the way" for kept in self._reservations.values()]
                raise SessionRefusedError(f"the device is in use, held by {', '.join(holders) or 'nobody: it closes'}")
            token, session = secrets.token_hex(16), ServedSession(holder, seconds, self._limits, self._store)
            self._sessions[token] = session
        self.changed.set()
        return token, session

    def _beat(self, channel: Channel, session: ServedSession) -> None:
        """Returns when the client has closed, is lost, or has not been heard of for a lease."""
        while (message := channel.receive(monotonic() + self._limits.lease_seconds)) is not None:
            match message[0].get("op"):
                case "watch":
                    session.require_unwatched()
                    started(_tell_end, session, channel)
                case "beat":
                    channel.send({"op": "beat"})  # by which the client knows that this server lives
                case op:
                    raise SessionRefusedError(f"expected a beat, or to watch the session, found {op!r:.80}")


def _tell_end(session: ServedSession, channel: Channel) -> None:
    with suppress(SessionError):  # the client may be gone
        if (found := session.watch()) is not None:
            channel.send(found)
