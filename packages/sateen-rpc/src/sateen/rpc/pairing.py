"""Pairing: two machines get a key by a code that a person reads at one and types at the other.

The code takes the place of the key in the handshake. It has 100 bits, so that nobody who listens can find it by
trying; it works once, for two minutes. Both sides derive the new key from what the handshake gave them, so it is never
sent.
"""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from threading import Lock
from time import monotonic, sleep

from sateen.rpc.background import started
from sateen.rpc.dialing import Route, answer_of, connected
from sateen.rpc.handshake import accept
from sateen.rpc.keys import Key, code_of
from sateen.rpc.listener import MOST_STRANGERS, REST_SECONDS
from sateen.runtime.errors import ArgumentError, SessionError, SessionRefusedError, SessionTimeoutError

SECONDS = 120.0
"""How long a code works."""
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"
"""32 signs that are not taken for each other: without I, L, O and U."""
_GROUPS, _GROUP = 4, 5
_MOST_TRIES = 8
"""Who has tried so often with a wrong code ends the pairing."""
_LOOK_SECONDS = 0.1
"""How soon it is seen that somebody has the key."""


def new_code() -> str:
    """Four groups of five letters and digits."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))


def await_pair(listener: socket.socket, code: str) -> Key:
    """The new key, on the side that showed the code. Waits on a socket that listens.

    Raises SessionTimeoutError if nobody comes with the code in time, or some have tried others too often.
    """
    pairing, deadline = _Pairing(_key_of(code)), monotonic() + SECONDS
    try:
        while pairing.new is None and pairing.tries < _MOST_TRIES and (left := deadline - monotonic()) > 0:
            pairing.let_in(listener, min(left, _LOOK_SECONDS))
    finally:
        pairing.close()
    if pairing.new is None:
        raise SessionTimeoutError("expected a client with the code, none came in time; start the pairing again")
    return pairing.new


class _Pairing:
    """Greets who comes, each by a thread of its own, so that who says nothing keeps nobody waiting. The first with the
    code gets a key; who has tried with another is counted."""

    def __init__(self, key: Key) -> None:
        self.new: Key | None = None
        self.tries = 0
        self._key = key
        self._connections: set[socket.socket] = set()
        self._lock = Lock()

    def let_in(self, listener: socket.socket, seconds: float) -> None:
        """Greets the next one, if one comes within so many seconds."""
        listener.settimeout(seconds)
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        except OSError:  # who called has gone already, or there are too many open files
            sleep(REST_SECONDS)
            return
        with self._lock:
            self._connections.add(connection)
            has_room = len(self._connections) <= MOST_STRANGERS
        try:
            if not has_room:
                raise SessionRefusedError(f"expected at most {MOST_STRANGERS} who say nothing, found more")
            started(self._greet, connection)
        except SessionRefusedError:  # who called learns it from the end of the connection
            self._leave(connection)

    def close(self) -> None:
        """Lets go who is still being greeted."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # it has ended already
                    connection.shutdown(socket.SHUT_RDWR)

    def _greet(self, connection: socket.socket) -> None:
        others = []

        def find(identity: bytes) -> Key | None:
            if identity == self._key.id:
                return self._key
            others.append(identity)
            return None

        try:
            channel, _ = accept(connection, find)
            found = _derived(channel.keys)
            with self._lock:
                if self.new is not None:
                    return
                channel.send({"op": "paired", "id": found.id})
                self.new = found
        except SessionError:
            with self._lock:
                self.tries += len(others)
        finally:
            self._leave(connection)

    def _leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            connection.close()


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
