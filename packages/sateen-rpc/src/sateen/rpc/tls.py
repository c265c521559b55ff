"""Encryption below the frames (RFC 8446): TLS by Python's ssl, without a socket, so that a relay can carry it.

A session child and threads that send and receive at once need a plain connection: they get one, and a thread of its own
encrypts. Who a client is, the handshake above says; certificates name servers only.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from sateen.rpc.relay import READ_BYTES, CodingError, decoded
from sateen.runtime.errors import ArgumentError, SessionLostError

_ALERT = bytes((21, 3, 3, 0, 2, 2, 70))
"""The fatal alert protocol_version (RFC 8446, 6.2)."""


class Tls:
    """The coding of an encrypted connection, as a server or, with the name of one, as its client."""

    def __init__(self, context: ssl.SSLContext, server: str | None = None) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._in, self._out, server_side=server is None, server_hostname=server)
        self.is_ready = self.is_ended = False
        if server is not None:
            self._shake()

    def _shake(self) -> None:
        try:
            self._object.do_handshake()
            self.is_ready = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLCertVerificationError as error:
            raise CodingError(
                f"expected a certificate that is trusted here (--tls-ca): {error.verify_message}"
            ) from None
        except ssl.SSLError as error:
            if not self._out.pending:  # OpenSSL has no word for who does not speak TLS at all
                self._out.write(_ALERT)
            raise CodingError(
                f"expected TLS of the other side, which may have no --tls-cert, or no --tls-ca: {error.reason or error}"
            ) from None

    def received(self, data: bytes) -> bytes:
        self._in.write(data)
        if not self.is_ready:
            self._shake()
        stream = bytearray()
        while self.is_ready:
            try:
                part = self._object.read(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLError as error:
                raise CodingError(str(error.reason or error)) from None
            self.is_ended = not part
            if not part:
                break
            stream += part
        return bytes(stream)

    def send(self, stream: bytes) -> None:
        view = memoryview(stream)
        while view:
            view = view[self._object.write(view) :]

    def end(self) -> None:
        if self.is_ready:
            try:
                self._object.unwrap()
            except ssl.SSLError:  # it wants the other side's word, which need not come
                return

    def outgoing(self) -> bytes:
        return self._out.read()


def certified(certificate: Path, private_key: Path) -> ssl.SSLContext:
    """How a server encrypts, with a certificate (and those between it and its authority) and its key in PEM files.

    Raises ArgumentError if the files are not that.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, private_key)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise ArgumentError(f"{certificate}, {private_key}: expected a certificate and its key: {reason}") from None
    return context


def trusting(authority: Path) -> ssl.SSLContext:
    """How a client encrypts, which trusts the certificates in a PEM file, or those that they have signed, for the host
    that it dials. Raises ArgumentError if the file has none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise ArgumentError(f"{authority}: expected certificates to trust: {reason}") from None
    return context


def encrypted(connection: socket.socket, context: ssl.SSLContext) -> socket.socket:
    """A plain connection for a server whose client encrypts. Raises the errors of `decoded`."""
    return decoded(connection, Tls(context), is_stranger=True)


def trusted(connection: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    """A plain connection for a client of a server that encrypts, whose certificate names `host`. Raises the errors of
    `decoded`, SessionRefusedError for a certificate that is not trusted."""
    try:
        return decoded(connection, Tls(context, host))
    except SessionLostError as error:
        raise SessionLostError(f"{error}; does the server encrypt (--tls-cert)?") from None
