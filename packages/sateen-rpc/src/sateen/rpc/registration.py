"""A device's word to its tracker: that it lives, whether it is free, and the sessions that it reserves."""

from __future__ import annotations

import random
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic

from sateen.rpc.keys import Key
from sateen.rpc.remote_session import answer_of, connected
from sateen.rpc.server import Server
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SateenError, SessionProtocolError
from sateen.runtime.framing import Header, require_fields

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
"""The longest pause before a device tries again to reach its tracker."""
_LONGEST_BEAT = 60.0
_MISSED = 4
"""A tracker that answers none of so many beats is lost."""


class Registration:
    """Keeps a server known to a tracker under a name, until it is closed. It comes back whenever it was cut off.

    `address` is where clients reach the server.
    """

    def __init__(
        self, server: Server, name: str, tracker: tuple[str, int], key: Key, address: tuple[str, int] | None = None
    ) -> None:
        self._server, self._name, self._tracker, self._key = server, name, tracker, key
        self._address = address or server.address
        self._is_closed = Event()
        self._channel: Channel | None = None
        self._is_known = False
        self._lock = Lock()
        self._thread = Thread(target=self._keep, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_closed.set()
        self._server.changed.set()
        with self._lock:
            if self._channel is not None:
                self._channel.close()
        self._thread.join()

    def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_closed.is_set():
            self._is_known = False
            with suppress(SateenError, TimeoutError):  # it goes to the tracker again
                self._stay()
            pause = FIRST_PAUSE if self._is_known else min(2 * pause, LONGEST_PAUSE)
            self._is_closed.wait(pause * random.uniform(0.5, 1.5))  # so that devices don't come at once

    def _stay(self) -> None:
        """Registers, and talks to the tracker until the connection ends."""
        channel = connected(*self._tracker, self._key)
        with self._lock:
            if self._is_closed.is_set():
                channel.close()
                return
            self._channel = channel
        try:
            host, port = self._address
            channel.send({"op": "register", "name": self._name, "host": host, "port": port})
            answer = answer_of(channel)
            require_fields(answer, {"beat": (int, float)}, "register")
            beat = answer["beat"]
            if not 0 < beat <= _LONGEST_BEAT:
                raise SessionProtocolError(f"expected seconds between beats, found {beat}")
            self._is_known = True
            reporter = Thread(target=self._report, args=(channel, beat), daemon=True)
            reporter.start()
            try:
                while (message := channel.receive(monotonic() + _MISSED * beat)) is not None:
                    if message[0] != {"op": "heard"}:
                        self._reserve(channel, message[0])
            finally:
                channel.close()
                self._server.changed.set()  # by which the reporter learns it
                reporter.join()
        finally:
            channel.close()

    def _reserve(self, channel: Channel, header: Header) -> None:
        require_fields(header, {"op": str, "token": str, "holder": str}, "reserve")
        done = self._server.reserve(header["token"], header["holder"])
        channel.send({"op": "reserved", "token": header["token"], "done": done})
        self._server.changed.set()

    def _report(self, channel: Channel, beat: float) -> None:
        """Tells the tracker each change, and at each beat that this device lives."""
        while True:
            self._server.changed.clear()
            holders = self._server.holders()
            try:
                channel.send({"op": "state", "free": self._server.is_free(), "holders": holders})
            except SateenError:
                return
            self._server.changed.wait(beat)
