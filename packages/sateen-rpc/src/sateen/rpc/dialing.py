"""The way to a server, and the first words there."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from sateen.rpc.handshake import greet
from sateen.rpc.keys import Key
from sateen.rpc.tls import trusted
from sateen.rpc.wire import Channel
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
MOST_PORT = 65535
_TOLD = {
    error.__name__: error for error in (SessionCrashedError, SessionRefusedError, SessionTimeoutError, SessionLostError)
}


@dataclass(frozen=True, slots=True)
class Route:
    """A server at `host` and `port`; or, with the name of a `device`, a proxy there at which that device waits.

    `tls` is how to encrypt the connection to `host`, None for not at all. `proxy_key` is the proxy's key, None for the
    one of the device. Raises ArgumentError for what is no port.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    device: str = ""
    proxy_key: Key | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MOST_PORT:
            raise ArgumentError(f"expected a port of at most {MOST_PORT}, found {self.port}")

    def __str__(self) -> str:
        place = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        return f"{place}/{self.device}" if self.device else place

    def connection(self, key: Key) -> socket.socket:
        """A connection to the server, or through the proxy to the device. Raises SessionLostError if nobody is there,
        ArgumentError for what can't be a host, SessionRefusedError for a certificate that is not trusted, and what the
        proxy says."""
        found = self._direct()
        if not self.device:
            return found
        try:
            channel = greet(found, self.proxy_key or key)
            channel.send({"op": "connect", "device": self.device})
            answer_of(channel, 2 * CONNECT_SECONDS)
        except BaseException:
            found.close()
            raise
        return found

    def _direct(self) -> socket.socket:
        try:
            connection = socket.create_connection((self.host, self.port), CONNECT_SECONDS)
        except UnicodeError:
            raise ArgumentError(f"expected the name or address of a host, found {self.host!r:.100}") from None
        except OSError as error:
            reason = error.strerror or error
            raise SessionLostError(f"{self}: expected a server of sateen-rpc: {reason}") from None
        if self.tls is None:
            return connection
        with _at(self):
            return trusted(connection, self.tls, self.host)


def connected(route: Route, key: Key) -> Channel:
    """A channel to a server, tracker or proxy. Raises the errors of `Route.connection` and of `greet`,
    ArgumentError for what is no key, such as the name of its file."""
    for given in (key, route.proxy_key or key):
        if not isinstance(given, Key):
            raise ArgumentError(f"expected a Key, as `read_key` gives, found {type(given).__name__}")
    connection = route.connection(key)
    try:
        with _at(route):
            return greet(connection, key)
    except BaseException:
        connection.close()
        raise


@contextmanager
def _at(place: object) -> Iterator[None]:
    """Says at which of the places that a client dials, one after the other, an error was met."""
    try:
        yield
    except SateenError as error:
        error.add_note(f"at {place}")
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
        raise error_of(message[0])
    return message[0]


def error_of(header: Header) -> SessionError:
    """The error that a server tells."""
    return _TOLD.get(str(header["error"]), SessionError)(str(header.get("message", "")))
