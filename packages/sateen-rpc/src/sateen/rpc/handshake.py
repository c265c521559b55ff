"""How two machines show each other that they know the same key, before anything else is said.

    client    "sateen-rpc" version nonce key-id
    server    "sateen-rpc" version nonce proof
    client    proof

A proof is a code over all that was said, made with the key. The server shows first that it knows the key. Each
connection has keys of its own, derived from the shared one and both nonces.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from collections.abc import Callable
from time import monotonic

from sateen.rpc.keys import ID_BYTES, KEY_BYTES, Key, code_of
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SessionLostError, SessionRefusedError, SessionVersionError
from sateen.runtime.framing import lost

VERSION = 1
SECONDS = 5.0
"""How long a handshake may take."""
_NONCE_BYTES = 32
_START = struct.Struct(f"<10sH{_NONCE_BYTES}s")
_MAGIC = b"sateen-rpc"
_PROOF_BYTES = 32
GREETING_BYTES = _START.size + _PROOF_BYTES
"""All that a server says to who has not shown a key."""
_ALERT = b"\x15\x03"
"""How an alert of TLS begins (RFC 8446, 5.1)."""

Find = Callable[[bytes], Key | None]
"""The key of an id, if it is known."""


def greet(connection: socket.socket, key: Key) -> Channel:
    """The client's side. Raises SessionRefusedError if the server does not know the key, or is something else,
    SessionVersionError for another version, SessionLostError if the connection ends."""
    deadline = monotonic() + SECONDS
    hello = _START.pack(_MAGIC, VERSION, secrets.token_bytes(_NONCE_BYTES)) + key.id
    _write(connection, hello, deadline)
    start = _read(connection, _START.size, deadline, _ALERT)
    _require_version(start, "server")
    proof = _read(connection, _PROOF_BYTES, deadline)
    said = hello + start
    if not hmac.compare_digest(proof, code_of(key.secret, b"server", said)):
        raise SessionRefusedError("the server does not know this key; pair with it, or give the file of its key")
    said += proof
    _write(connection, code_of(key.secret, b"client", said), deadline)
    return _channel(connection, key, said, is_client=True)


def accept(connection: socket.socket, find: Find) -> tuple[Channel, Key]:
    """The server's side, and the key of the client. Raises SessionRefusedError for an unknown key or what is no client,
    SessionVersionError for another version, SessionLostError if the connection ends or says nothing."""
    deadline = monotonic() + SECONDS
    start = _read(connection, _START.size, deadline)
    ours = _START.pack(_MAGIC, VERSION, secrets.token_bytes(_NONCE_BYTES))
    try:
        _require_version(start, "client")
    except SessionVersionError:
        _write(connection, ours, deadline)  # by which the client learns it, too
        raise
    hello = start + _read(connection, ID_BYTES, deadline)
    key = find(hello[-ID_BYTES:])
    secret = secrets.token_bytes(KEY_BYTES) if key is None else key.secret  # an unknown key gets an answer, too
    said = hello + ours
    proof = code_of(secret, b"server", said)
    _write(connection, ours + proof, deadline)
    said += proof
    expected = code_of(secret, b"client", said)
    is_known = hmac.compare_digest(_read(connection, _PROOF_BYTES, deadline), expected)
    if key is None or not is_known:
        raise SessionRefusedError("expected a client with a key that is known here, found none")
    return _channel(connection, key, said, is_client=False), key


def _channel(connection: socket.socket, key: Key, said: bytes, *, is_client: bool) -> Channel:
    salt = code_of(b"sateen-rpc connection", said)
    upwards, downwards = key.derived(salt, b"from the client"), key.derived(salt, b"from the server")
    return Channel(connection, *((upwards, downwards) if is_client else (downwards, upwards)))


def _require_version(start: bytes, who: str) -> None:
    magic, version, _ = _START.unpack(start)
    if magic != _MAGIC:
        raise SessionRefusedError(f"expected a {who} of sateen-rpc, found something else at the other end")
    if version != VERSION:
        older = "the other side is older: renew sateen-rpc there" if version < VERSION else "renew sateen-rpc here"
        raise SessionVersionError(f"expected protocol {VERSION}, found {version}; {older}")


def _write(connection: socket.socket, data: bytes, deadline: float) -> None:
    try:
        connection.settimeout(max(deadline - monotonic(), 0.001))
        connection.sendall(data)
    except OSError as error:
        raise _lost(error) from None


def _read(connection: socket.socket, count: int, deadline: float, alert: bytes | None = None) -> bytes:
    """So many bytes. A server that ends after an `alert` of TLS wants to be greeted in TLS."""
    data = b""
    try:
        while len(data) < count:
            connection.settimeout(max(deadline - monotonic(), 0.001))
            received = connection.recv(count - len(data))
            if not received and alert is not None and data.startswith(alert):
                raise SessionRefusedError(
                    "the server encrypts its connections: give the certificate to trust (--tls-ca)"
                )
            if not received:
                raise SessionLostError("the other side closed the connection within the handshake")
            data += received
    except OSError as error:
        raise _lost(error) from None
    return data


def _lost(error: OSError) -> SessionLostError:
    if isinstance(error, TimeoutError):
        return SessionLostError(f"expected a handshake within {SECONDS:g} s, it did not come")
    return lost(error)
