"""A device's word to its tracker: that it lives, whether it is free, and the sessions that it reserves."""

from __future__ import annotations

from collections.abc import Callable

from sateen.rpc.dialing import Route
from sateen.rpc.keys import Key
from sateen.rpc.server import Server
from sateen.rpc.standing_connection import StandingConnection, silent
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
        super().__init__(_route(tracker), key, tell, server.changed)

    def greeting(self) -> Header:
        place = self._address
        return {"op": "register", "name": self._name, "host": place.host, "port": place.port, "device": place.device}

    def word(self) -> Header:
        return {"op": "state", "free": self._server.is_free(), "holders": self._server.holders()}

    def hear(self, header: Header) -> Header:
        require_fields(header, {"op": str, "token": str, "holder": str}, "reserve")
        done = self._server.reserve(header["token"], header["holder"])
        self._server.changed.set()
        return {"op": "reserved", "token": header["token"], "done": done}


def _route(place: tuple[str, int] | Route) -> Route:
    return place if isinstance(place, Route) else Route(*place)
