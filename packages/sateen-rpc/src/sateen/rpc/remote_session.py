"""A session on another machine."""

from __future__ import annotations

import getpass
import socket
import ssl
from contextlib import suppress
from threading import Event
from time import monotonic

from sateen.rpc.background import started
from sateen.rpc.dialing import Route, answer_of, connected, error_of
from sateen.rpc.keys import Key
from sateen.rpc.wire import Channel
from sateen.runtime import ConnectedSession
from sateen.runtime.errors import (
    ArgumentError,
    SessionError,
    SessionLostError,
    SessionProtocolError,
    SessionTimeoutError,
)
from sateen.runtime.fork_safe import ending
from sateen.runtime.framing import MOST_SECONDS, require_fields

START_SECONDS = 60.0
"""How long the process of a session may take to start."""
BEATS = 4
"""Beats in the time of a lease."""
_WORD_SECONDS = 5.0
"""How long the server may take to say why a process is gone."""


class RemoteSession(ConnectedSession):
    """A session of the server at `host` and `port`, which knows `key`; `token` is that of a tracker.

    With the name of a `device`, a proxy is at `host` and `port`, at which that device waits; `proxy_key` is the proxy's
    key, if it is another. `tls` encrypts the connections (`tls.trusting`).

    Raises SessionLostError if no server is there, SessionRefusedError if it does not know the key, has a certificate
    that is not trusted or is in use, SessionVersionError for another version.
    """

    def __init__(
        self,
        host: str,
        port: int,
        key: Key,
        *,
        seconds: float = 60.0,
        token: str = "",
        tls: ssl.SSLContext | None = None,
        device: str = "",
        proxy_key: Key | None = None,
    ) -> None:
        if not 0 < seconds <= MOST_SECONDS:
            raise ArgumentError(
                f"expected a positive limit of a session, at most {MOST_SECONDS:g} s; found seconds={seconds}"
            )
        route = Route(host, port, tls, device, proxy_key)
        place = str(route)
        self._control = connected(route, key)
        try:
            self._control.send({"op": "claim", "holder": holder_here(), "seconds": seconds, "token": token})
            granted = answer_of(self._control)
            connection = connected(route, key)
        except BaseException:
            self._control.close()
            raise
        self._end = _End()
        finish = ending(self, _close, self._control, connection, self._end)
        super().__init__(connection, place, seconds, finish)
        try:
            require_fields(granted, {"session": str, "lease": (int, float)}, "claim")
            lease = float(granted["lease"])
            if not 0 < lease <= MOST_SECONDS:
                raise SessionProtocolError(f"expected the seconds of a lease, found {lease}")
            # Neither thread holds the session: one that nobody holds any more ends.
            started(_beat, self._control, lease / BEATS, self._end)
            started(_listen, self._control, connection, lease, self._end)
            self._control.send({"op": "watch"})
            connection.send({"op": "attach", "session": granted["session"]})
            self.answer("the start", monotonic() + START_SECONDS)
        except TimeoutError:
            self.close()
            raise SessionTimeoutError(f"{place}: expected a session within {START_SECONDS:g} s, none began") from None
        except BaseException:
            self.close()
            raise

    def explain(self, what: str, error: SessionError | None) -> SessionError:
        """Why the process is gone: the server says so on the other connection, if it lives."""
        self._end.is_known.wait(_WORD_SECONDS)
        if (said := self._end.said) is not None:
            return type(said)(f"{what}: {said}")
        reason = f": {error}" if error else ""
        return SessionLostError(f"{what}: the connection to {self._place} was lost{reason}")


class _End:
    """What a client knows of the end of its session."""

    def __init__(self) -> None:
        self.said: SessionError | None = None
        self.is_known = Event()
        self.is_closed = Event()


def _beat(control: Channel, pause: float, end: _End) -> None:
    """Tells the server that this client lives, until the session has ended."""
    with suppress(SessionError, TimeoutError):  # `_listen` meets the same
        while not end.is_closed.is_set():
            control.send({"op": "beat"})
            end.is_closed.wait(pause)


def _listen(control: Channel, connection: Channel, lease: float, end: _End) -> None:
    """Hears the server's answers to the beats, and what became of the process. A server that is silent for a lease is
    lost, and with it whatever a request waits for."""
    try:
        while (message := control.receive(monotonic() + lease)) is not None:
            if "error" in message[0]:
                end.said = error_of(message[0])
                break
    except TimeoutError:
        end.said = SessionLostError(f"expected word of the server within {lease:g} s, none came")
        connection.close()
    except SessionError:
        pass  # without word from the server the session is lost, as `explain` says
    finally:
        end.is_known.set()


def _close(control: Channel, connection: Channel, end: _End) -> None:
    end.is_closed.set()
    control.close()
    connection.close()


def holder_here() -> str:
    """Who this is, for those who ask who holds a device."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return "unknown"
