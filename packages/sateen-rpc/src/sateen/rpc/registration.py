"""A device's word to its tracker: that it lives, whether it is free, and the sessions that it reserves."""

from __future__ import annotations

import random
from threading import Event, Lock, Thread

from sateen.rpc.keys import Key
from sateen.rpc.messages import checked
from sateen.rpc.remote_session import answer_of, connected
from sateen.rpc.server import Server
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SateenError
from sateen.runtime.framing import Header

LONGEST_PAUSE = 30.0
"""The longest pause before a device tries again to reach its tracker."""


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
        pause = 0.1
        while not self._is_closed.is_set():
            try:
                self._stay()
                pause = 0.1
            except (SateenError, OSError, TimeoutError):
                pause = min(2 * pause, LONGEST_PAUSE)
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
            beat = float(answer_of(channel)["beat"])
            sending = Lock()
            Thread(target=self._report, args=(channel, sending, beat), daemon=True).start()
            while (message := channel.receive()) is not None:
                self._reserve(channel, sending, message[0])
        finally:
            channel.close()

    def _reserve(self, channel: Channel, sending: Lock, header: Header) -> None:
        checked(header, {"op": str, "token": str, "holder": str}, "reserve")
        done = self._server.reserve(header["token"], header["holder"])
        with sending:
            channel.send({"op": "reserved", "token": header["token"], "done": done})
        self._server.changed.set()

    def _report(self, channel: Channel, sending: Lock, beat: float) -> None:
        """Tells the tracker each change, and at each beat that this device lives."""
        while True:
            self._server.changed.clear()
            holders = self._server.holders()
            try:
                with sending:
                    channel.send({"op": "state", "free": self._server.is_free(), "holders": holders})
            except (SateenError, OSError):
                return
            self._server.changed.wait(beat)
