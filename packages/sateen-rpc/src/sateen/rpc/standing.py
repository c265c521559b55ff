"""A connection that a device keeps to a tracker or a proxy: it comes back whenever it was cut off, for whatever reason,
and says what the reason was."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Event, Lock

from sateen.rpc.background import started
from sateen.rpc.dialing import Route, connected
from sateen.rpc.keys import Key
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SateenError, SessionProtocolError
from sateen.runtime.framing import Header, require_fields

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
"""The longest pause before a device tries again to reach the other side."""
MISSED = 4
"""A side that answers none of so many beats is lost."""
_LONGEST_BEAT = 60.0


def silent(_: str) -> None:
    """Tells nobody."""


class StandingConnection(ABC):
    """Stays connected until it is closed, from a thread of its own. `tell` gets what keeps it away, once as long as it
    is the same. Raises SessionRefusedError if there is no thread for it."""

    def __init__(self, route: Route, key: Key, tell: Callable[[str], object]) -> None:
        self._route, self._key = route, key
        self._tell, self._told = tell, ""
        self._is_closed = Event()
        self._channel: Channel | None = None
        self._is_known = False
        self._lock = Lock()
        self._thread = started(self._keep)

    @abstractmethod
    def talk(self, channel: Channel) -> None:
        """What is said on a new connection, until it ends; by `known` once the other side has taken the device."""

    def known(self, answer: Header, what: str) -> float:
        """The other side has taken the device: the seconds between beats that it asks for."""
        require_fields(answer, {"beat": (int, float)}, what)
        beat = float(answer["beat"])
        if not 0 < beat <= _LONGEST_BEAT:
            raise SessionProtocolError(f"expected seconds between beats, found {beat}")
        self._is_known, self._told = True, ""
        return beat

    def close(self) -> None:
        self._is_closed.set()
        with self._lock:
            if self._channel is not None:
                self._channel.close()
        self._thread.join()

    def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_closed.is_set():
            self._is_known = False
            try:
                self._stay()
            except TimeoutError:
                self._say("it is silent")
            except (SateenError, OSError) as error:
                self._say(str(error))
            pause = FIRST_PAUSE if self._is_known else min(2 * pause, LONGEST_PAUSE)
            self._is_closed.wait(pause * random.uniform(0.5, 1.5))  # so that devices don't come at once

    def _say(self, reason: str) -> None:
        """Tells why this device is not there, unless that is known."""
        if not self._is_closed.is_set() and reason != self._told:
            self._told = reason
            place = f"{self._route}: "
            self._tell(f"{place}{reason.removeprefix(place)}; this device goes there again")

    def _stay(self) -> None:
        channel = connected(self._route, self._key)
        with self._lock:
            self._channel = channel
        try:
            if not self._is_closed.is_set():
                self.talk(channel)
        finally:
            channel.close()
