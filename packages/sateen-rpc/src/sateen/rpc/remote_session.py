"""A session on another machine."""

from __future__ import annotations

import getpass
import socket
from threading import Event, Thread
from time import monotonic
from weakref import finalize

from sateen.rpc.handshake import greet
from sateen.rpc.keys import Key
from sateen.rpc.wire import Channel
from sateen.runtime import ConnectedSession
from sateen.runtime.errors import (
    ArgumentError,
    SateenError,
    SessionCrashedError,
    SessionError,
    SessionLostError,
    SessionRefusedError,
    SessionTimeoutError,
)
from sateen.runtime.framing import Header

CONNECT_SECONDS = 10.0
"""How long a server may take to answer, before its session begins."""
START_SECONDS = 60.0
"""How long the process of a session may take to start."""
_BEATS = 4
"""Beats in the time of a lease."""
_TOLD = {
    error.__name__: error for error in (SessionCrashedError, SessionRefusedError, SessionTimeoutError, SessionLostError)
}


class RemoteSession(ConnectedSession):
    """A session of the server at `host` and `port`, which knows `key`; `token` is that of a tracker.

    Raises SessionLostError if no server is there, SessionRefusedError if it does not know the key or is in use,
    SessionVersionError for another version.
    """

    def __init__(self, host: str, port: int, key: Key, *, seconds: float = 60.0, token: str = "") -> None:
        if not seconds > 0:
            raise ArgumentError(f"expected a positive limit of a session, found seconds={seconds}")
        place = f"{host}:{port}"
        self._control = connected(host, port, key)
        try:
            self._control.send({"op": "claim", "holder": holder_here(), "seconds": seconds, "token": token})
            granted = answer_of(self._control)
            connection = connected(host, port, key)
        except BaseException:
            self._control.close()
            raise
        self._ended_there = Event()
        self._said: SessionError | None = None
        finish = finalize(self, _close, self._control, connection)
        super().__init__(connection, place, seconds, self._why, finish)
        try:
            connection.send({"op": "attach", "session": granted["session"]})
            self.answer("the start", monotonic() + START_SECONDS)
        except TimeoutError:
            self.close()
            raise SessionTimeoutError(f"{place}: expected a session within {START_SECONDS:g} s, none began") from None
        except BaseException:
            self.close()
            raise
        self._control.send({"op": "watch"})
        pause = float(granted["lease"]) / _BEATS
        Thread(target=_beat, args=(self._control, pause, finish), daemon=True).start()
        Thread(target=self._listen, daemon=True).start()

    def _why(self, what: str, error: SessionError | None) -> SessionError:
        """Why the process is gone: the server says so on the other connection, if it lives."""
        self._ended_there.wait(2.0)
        if self._said is not None:
            return type(self._said)(f"{what}: {self._said}")
        reason = f": {error}" if error else ""
        return SessionLostError(f"{what}: the connection to {self._place} was lost{reason}")

    def _listen(self) -> None:
        try:
            message = self._control.receive()
            if message is not None and "error" in message[0]:
                self._said = _error_of(message[0])
        except (SateenError, OSError, ValueError):
            pass  # without word from the server the session is lost, as `_why` says
        finally:
            self._ended_there.set()


def _beat(control: Channel, pause: float, finish: finalize[..., object]) -> None:
    """Tells the server that this client lives, until the session has ended."""
    waiting = Event()
    while finish.alive:
        try:
            control.send({"op": "beat"})
        except (SateenError, OSError):
            return
        waiting.wait(pause)


def connected(host: str, port: int, key: Key) -> Channel:
    """A channel to a server or tracker. Raises SessionLostError if nobody is there, and the errors of `greet`."""
    try:
        connection = socket.create_connection((host, port), CONNECT_SECONDS)
    except OSError as error:
        raise SessionLostError(f"{host}:{port}: expected a server of sateen-rpc: {error.strerror or error}") from None
    try:
        return greet(connection, key)
    except BaseException:
        connection.close()
        raise


def answer_of(channel: Channel, seconds: float = CONNECT_SECONDS) -> Header:
    """The answer to a request. Raises the error that it tells, SessionLostError if none comes."""
    try:
        message = channel.receive(monotonic() + seconds)
    except TimeoutError:
        raise SessionLostError("expected an answer of the server, none came") from None
    if message is None:
        raise SessionLostError("the server closed the connection")
    if "error" in message[0]:
        raise _error_of(message[0])
    return message[0]


def _error_of(header: Header) -> SessionError:
    return _TOLD.get(str(header["error"]), SessionError)(str(header.get("message", "")))


def _close(control: Channel, connection: Channel) -> None:
    control.close()
    connection.close()


def holder_here() -> str:
    """Who this is, for those who ask who holds a device."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return "unknown"
