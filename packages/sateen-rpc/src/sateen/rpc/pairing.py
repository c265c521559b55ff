"""Pairing: two machines get a key by a code that a person reads at one and types at the other.

The code takes the place of the key in the handshake. It has 100 bits, so that nobody who listens can find it by
trying; it works once, for two minutes. Both sides derive the new key from what the handshake gave them, so it is never
sent.
"""

from __future__ import annotations

import secrets
import socket
from time import monotonic

from sateen.rpc.dialing import Route, answer_of, connected
from sateen.rpc.handshake import accept
from sateen.rpc.keys import Key, code_of
from sateen.runtime.errors import ArgumentError, SessionError, SessionTimeoutError

SECONDS = 120.0
"""How long a code works."""
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"
"""32 signs that are not taken for each other: without I, L, O and U."""
_GROUPS, _GROUP = 4, 5
_MOST_TRIES = 8
"""Who has tried so often with a wrong code ends the pairing."""


def new_code() -> str:
    """Four groups of five letters and digits."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))


def await_pair(listener: socket.socket, code: str) -> Key:
    """The new key, on the side that showed the code. Waits on a socket that listens.

    Raises SessionTimeoutError if nobody comes with the code in time, or too many come with another.
    """
    key, deadline = _key_of(code), monotonic() + SECONDS
    for _ in range(_MOST_TRIES):
        listener.settimeout(max(deadline - monotonic(), 0.001))
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            break
        with connection:
            try:
                channel, _ = accept(connection, {key.id: key}.get)
                new = _derived(channel.keys)
                channel.send({"op": "paired", "id": new.id})
                return new
            except SessionError:
                continue
    raise SessionTimeoutError("expected a client with the code, none came in time; start the pairing again")


def pair(host: str, port: int, code: str) -> Key:
    """The new key, on the side where the code was typed. Raises ArgumentError for what is no code,
    SessionRefusedError for a wrong one, SessionLostError if nobody waits there."""
    channel = connected(Route(host, port), _key_of(code))
    try:
        answer_of(channel)
        return _derived(channel.keys)
    finally:
        channel.close()


def _key_of(code: str) -> Key:
    letters = code.upper().replace("-", "").replace(" ", "")
    if len(letters) != _GROUPS * _GROUP or not set(letters) <= set(_LETTERS):
        raise ArgumentError(f"expected a code of {_GROUPS} groups of {_GROUP} letters and digits, found {code!r:.40}")
    return Key(code_of(b"sateen-rpc pairing", letters.encode()))


def _derived(keys: tuple[bytes, bytes]) -> Key:
    """The same at both ends, whose keys for sending and receiving are exchanged."""
    return Key(code_of(b"".join(sorted(keys)), b"sateen-rpc paired key"))
