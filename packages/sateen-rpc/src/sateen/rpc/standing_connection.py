"""A connection that a device keeps to a tracker or a proxy, and the other side of it: words at every beat, both ways,
by which each learns that the other lives."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Event, Lock
from time import monotonic

from sateen.rpc.background import started
from sateen.rpc.dialing import Route, answer_of, connected
from sateen.rpc.keys import Key
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SateenError, SessionProtocolError
from sateen.runtime.framing import Header, require_fields

SILENCE_SECONDS = 20.0
"""A device that says nothing for so long is forgotten until it comes back."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
"""The longest pause before a device tries again to reach the other side."""
MISSED = 4
"""A side that answers none of so many beats is lost."""
_LONGEST_BEAT = 60.0
_HEARD: Header = {"op": "heard"}


def attend(channel: Channel, hear: Callable[[Header], object]) -> None:
    """The side of a tracker or a proxy: hears what a device says, until it is silent or gone. Raises what `hear` does,
    and the errors of a channel."""
    channel.send({"beat": SILENCE_SECONDS / MISSED})
    while (message := channel.receive(monotonic() + SILENCE_SECONDS)) is not None:
        hear(message[0])
        channel.send(_HEARD)


def silent(_: str) -> None:
    """Tells nobody."""


class StandingConnection(ABC):
    """A device's side: stays connected until it is closed, from a thread of its own, and comes back whenever it was cut
    off, for whatever reason. `tell` gets the reason, once as long as it is the same. `changed` is set when there is
    something to say before the next beat.

    Raises SessionRefusedError if there is no thread for it.
    """

    def __init__(self, route: Route, key: Key, tell: Callable[[str], object], changed: Event) -> None:
        self._route, self._key = route, key
        self._tell, self._told = tell, ""
        self._changed = changed
        self._is_closed = Event()
        self._channel: Channel | None = None
        self._is_known = False
        self._lock = Lock()
        self._thread = started(self._keep)

    @abstractmethod
    def greeting(self) -> Header:
        """What a new connection begins with."""

    @abstractmethod
    def word(self) -> Header:
        """What there is to say now."""

    @abstractmethod
    def hear(self, header: Header) -> Header | None:
        """Does what the other side asks for; the answer, if there is to be one."""

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
                self._talk(channel)
        finally:
            channel.close()

    def _talk(self, channel: Channel) -> None:
        """What is said on a new connection, until it ends."""
        channel.send(self.greeting())
        taken = answer_of(channel)
        require_fields(taken, {"beat": (int, float)}, "beat")
        beat = float(taken["beat"])
        if not 0 < beat <= _LONGEST_BEAT:
            raise SessionProtocolError(f"expected seconds between beats, found {beat}")
        self._is_known, self._told = True, ""
        speaker = started(self._speak, channel, beat)
        try:
            while (message := channel.receive(monotonic() + MISSED * beat)) is not None:
                if message[0] != _HEARD and (answer := self.hear(message[0])) is not None:
                    channel.send(answer)
        finally:
            channel.close()
            self._changed.set()  # by which the speaker learns it
            speaker.join()

    def _speak(self, channel: Channel, beat: float) -> None:
        while True:
            self._changed.clear()
            try:
                channel.send(self.word())
            except SateenError:  # who listens meets the same
                return
            self._changed.wait(beat)
