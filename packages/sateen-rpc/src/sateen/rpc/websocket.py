"""The stream in messages of WebSocket (RFC 6455), by which a browser's page can be a device.

Each binary message is a piece of the stream, wherever it begins and ends. The package websockets turns bytes into
messages, without a connection of its own.

A browser sends the requests of any page to whatever it reaches, and says in `Origin` which page it is.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Sequence
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN, Event
from websockets.server import ServerProtocol

from sateen.rpc.relay import CodingError, decoded

MOST_MESSAGE_BYTES = 16 << 20
"""The most bytes of a message; a page sends a longer stream in several."""


class WebSocket:
    """The coding of a connection that begins with the request of no page, of one of the `origins`, or of one that comes
    from the address that it dials."""

    def __init__(self, origins: Collection[str] = ()) -> None:
        self._origins = origins
        self._protocol = ServerProtocol(max_size=MOST_MESSAGE_BYTES)
        self.is_ended = False

    @property
    def is_ready(self) -> bool:
        return self._protocol.state is OPEN

    def received(self, data: bytes) -> bytes:
        self._protocol.receive_data(data)
        stream = b"".join(map(self._piece, self._protocol.events_received()))
        if (error := self._protocol.parser_exc or self._protocol.handshake_exc) is not None:
            raise CodingError(f"expected a request for a WebSocket, and then its messages: {error}")
        self.is_ended = self._protocol.close_expected()
        return stream

    def _piece(self, event: Event) -> bytes:
        if isinstance(event, Request):
            self._require_origin(event)
            response = self._protocol.accept(event)
            self._protocol.send_response(response)
            if self._protocol.state is not OPEN:
                raise CodingError(f"expected a request for a WebSocket: {self._protocol.handshake_exc}")
            return b""
        assert isinstance(event, Frame)  # a server is not answered
        if event.opcode is Opcode.TEXT:
            raise CodingError("expected messages of bytes, found one of text")
        return bytes(event.data) if event.opcode in {Opcode.BINARY, Opcode.CONT} else b""

    def _require_origin(self, request: Request) -> None:
        """Raises CodingError for the request of a page from elsewhere."""
        found, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
        if not found or (len(found) == 1 and (found[0] in self._origins or _is_here(found[0], hosts))):
            return
        words = f"expected a page of an origin that is allowed here (--origin), found {', '.join(found):.200}"
        self._protocol.send_response(self._protocol.reject(HTTPStatus.FORBIDDEN, f"{words}\n"))
        raise CodingError(words)

    def send(self, stream: bytes) -> None:
        try:
            self._protocol.send_binary(stream)
        except InvalidState:
            raise CodingError("expected a WebSocket that is open, found one that closes") from None

    def end(self) -> None:
        if self._protocol.state is OPEN:
            self._protocol.send_close()

    def outgoing(self) -> bytes:
        return b"".join(self._protocol.data_to_send())


def unwrapped(connection: socket.socket, origins: Collection[str] = ()) -> socket.socket:
    """A plain connection for who called by WebSocket: no page, one of these origins, such as `https://example.org`, or
    one from the address that it dials. Raises the errors of `decoded`."""
    return decoded(connection, WebSocket(origins), is_stranger=True)


def _is_here(origin: str, hosts: Sequence[str]) -> bool:
    """Whether a page comes from the host that it dials, at whatever port. Only an address shows that: whose name a page
    is of, that one can make it the name of any address."""
    try:
        page, dialled = urlsplit(origin).hostname, [urlsplit(f"//{host}").hostname for host in hosts]
        return page is not None and dialled == [page] and (page == "localhost" or bool(ip_address(page)))
    except ValueError:
        return False
