"""The stream in messages of WebSocket (RFC 6455), by which a browser's page can be a device.

Each binary message is a piece of the stream, wherever it begins and ends. The package websockets turns bytes into
messages, without a connection of its own.
"""

from __future__ import annotations

import socket

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN, Event
from websockets.server import ServerProtocol

from sateen.rpc.relay import CodingError, decoded

MOST_MESSAGE_BYTES = 16 << 20
"""The most bytes of a message; a page sends a longer stream in several."""


class WebSocket:
    """The coding of a connection that begins with a page's request."""

    def __init__(self) -> None:
        self._protocol = ServerProtocol(max_size=MOST_MESSAGE_BYTES)
        self.is_ended = False

    @property
    def is_ready(self) -> bool:
        return self._protocol.state is OPEN

    def received(self, data: bytes) -> bytes:
        self._protocol.receive_data(data)
        stream = b"".join(map(self._piece, self._protocol.events_received()))
        if (error := self._protocol.parser_exc) is not None:
            raise CodingError(f"expected messages of WebSocket: {error}")
        self.is_ended = self._protocol.close_expected()
        return stream

    def _piece(self, event: Event) -> bytes:
        if isinstance(event, Request):
            response = self._protocol.accept(event)
            self._protocol.send_response(response)
            if self._protocol.state is not OPEN:
                raise CodingError(f"expected a request for a WebSocket: {self._protocol.handshake_exc}")
            return b""
        assert isinstance(event, Frame)  # a server is not answered
        if event.opcode is Opcode.TEXT:
            raise CodingError("expected messages of bytes, found one of text")
        return bytes(event.data) if event.opcode in {Opcode.BINARY, Opcode.CONT} else b""

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


def unwrapped(connection: socket.socket) -> socket.socket:
    """A plain connection for who called by WebSocket. Raises the errors of `decoded`."""
    return decoded(connection, WebSocket())
