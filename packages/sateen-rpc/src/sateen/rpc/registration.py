"""A device's word to its tracker: that it lives, whether it is free, and the sessions that it reserves."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from sateen.rpc.background import started
from sateen.rpc.dialing import Route, answer_of
from sateen.rpc.keys import Key
from sateen.rpc.server import Server
from sateen.rpc.standing import MISSED, StandingConnection, silent
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SateenError
from sateen.runtime.framing import Header, require_fields


class Registration(StandingConnection):
    """Keeps a server known to a tracker under a name, until it is closed. It comes back whenever it was cut off;
    `tell` gets the reason.

    `tracker` is the tracker's address, or the way there; `key` is the tracker's, which had better not be one of the
    server's: those open sessions. `address` is where clients reach the server: by default its own address; a Route with
    the name of a device if that waits at a proxy.
    """

    def __init__(
        self,
        server: Server,
        name: str,
        tracker: tuple[str, int] | Route,
        key: Key,
        address: tuple[str, int] | Route | None = None,
        tell: Callable[[str], object] = silent,
    ) -> None:
        self._server, self._name = server, name
        self._address = _route(address or server.address)
        super().__init__(_route(tracker), key, tell)

    def talk(self, channel: Channel) -> None:
        place = self._address
        channel.send(
            {"op": "register", "name": self._name, "host": place.host, "port": place.port, "device": place.device}
        )
        beat = self.known(answer_of(channel), "register")
        reporter = started(self._report, channel, beat)
        try:
            while (message := channel.receive(monotonic() + MISSED * beat)) is not None:
                if message[0] != {"op": "heard"}:
                    self._reserve(channel, message[0])
        finally:
            channel.close()
            self._server.changed.set()  # by which the reporter learns it
            reporter.join()

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


def _route(place: tuple[str, int] | Route) -> Route:
    return place if isinstance(place, Route) else Route(*place)
