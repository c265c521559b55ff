"""A device that waits at a proxy, since nobody can dial it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Event, Semaphore

from sateen.rpc.background import started
from sateen.rpc.dialing import CONNECT_SECONDS, Route, answer_of, connected
from sateen.rpc.keys import Key
from sateen.rpc.listener import MOST_STRANGERS
from sateen.rpc.server import Server
from sateen.rpc.standing_connection import StandingConnection, silent
from sateen.runtime.errors import SateenError, SessionProtocolError, SessionRefusedError
from sateen.runtime.framing import Header, require_fields


class WaitingDevice(StandingConnection):
    """Keeps a server reachable through the proxy at `route`, under the route's name of a device, until it is closed.

    It comes back whenever it was cut off; `tell` gets the reason. `key` is that of the proxy, which had better not be
    one of the server's: those open sessions.
    """

    def __init__(self, server: Server, route: Route, key: Key, tell: Callable[[str], object] = silent) -> None:
        self._server = server
        self._room = Semaphore(MOST_STRANGERS)
        self._name = route.device
        super().__init__(replace(route, device=""), key, tell, Event())

    def greeting(self) -> Header:
        return {"op": "wait", "device": self._name}

    def word(self) -> Header:
        return {"op": "beat"}

    def hear(self, header: Header) -> None:
        require_fields(header, {"op": str, "token": str}, "come")
        self._come(header["token"])

    def _come(self, token: str) -> None:
        """Lets a client in that the proxy has, by a connection of its own."""
        if not self._room.acquire(blocking=False):
            raise SessionProtocolError(f"expected at most {MOST_STRANGERS} clients at once, found more")
        try:
            started(self._dial, token)
        except SessionRefusedError:
            self._room.release()
            raise

    def _dial(self, token: str) -> None:
        try:
            with suppress(SateenError, TimeoutError):  # the proxy tells the client that this device has not come
                channel = connected(self._route, self._key)
                try:
                    channel.send({"op": "come", "token": token})
                    answer_of(channel, CONNECT_SECONDS)
                except BaseException:
                    channel.close()
                    raise
                self._server.admit(channel.connection)
        finally:
            self._room.release()
