"""A proxy: devices that can't be dialled wait at it, and it copies bytes between them and their clients.

It has a key as a server has, which says who may wait and who may be connected. The handshake between client and device
comes after that, and is theirs alone.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Semaphore
from time import monotonic

from sateen.rpc.dialing import CONNECT_SECONDS
from sateen.rpc.keys import Key
from sateen.rpc.listener import Caller, Listener
from sateen.rpc.relay import relay
from sateen.rpc.standing_connection import attend
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SessionError, SessionRefusedError
from sateen.runtime.framing import Header, require_fields

MOST_CONNECTED = 256
"""The most clients that are connected at once."""


@dataclass(slots=True)
class _Waiting:
    """A device that waits for clients."""

    name: str
    host: str
    channel: Channel
    since: float = field(default_factory=monotonic)
    heard: float = field(default_factory=monotonic)
    clients: int = 0

    def hear(self, header: Header) -> None:
        if header != {"op": "beat"}:
            raise SessionRefusedError(f"expected a beat of a device, found {header.get('op')!r:.80}")
        self.heard = monotonic()


@dataclass(slots=True)
class _Call:
    """A client that waits for the connection of a device."""

    device: _Waiting
    answered: Event = field(default_factory=Event)
    channel: Channel | None = None
    over: Event = field(default_factory=Event)


class Proxy(Listener):
    """Connects clients and devices that wait at it. `keys` are those of both.

    `add_door(address, websocket.unwrapped)` lets them come by WebSocket, too.
    """

    def __init__(self, host: str, port: int, keys: Sequence[Key], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(host, port, keys, tls)
        self._devices: dict[str, _Waiting] = {}
        self._calls: dict[str, _Call] = {}
        self._state = Lock()
        self._room = Semaphore(MOST_CONNECTED)

    def take(self, channel: Channel, caller: Caller, header: Header) -> None:
        match header.get("op"):
            case "wait":
                require_fields(header, {"op": str, "device": str}, "wait")
                self._keep(_Waiting(header["device"][:100], caller.host, channel))
            case "connect":
                require_fields(header, {"op": str, "device": str}, "connect")
                self._connect(channel, header["device"])
            case "come":
                require_fields(header, {"op": str, "token": str}, "come")
                self._come(channel, header["token"])
            case "query":
                require_fields(header, {"op": str}, "query")
                channel.send(self._told())
            case op:
                raise SessionRefusedError(
                    f"a proxy is here: expected a request to wait, to connect, to come or to query, found {op!r:.80}"
                )

    def _keep(self, device: _Waiting) -> None:
        """Listens to a device until it is silent or gone."""
        with self._state:
            if device.name in self._devices:
                raise SessionRefusedError(f"expected a name that no device waits under, found {device.name!r}")
            self._devices[device.name] = device
        try:
            attend(device.channel, device.hear)
        finally:
            with self._state:
                del self._devices[device.name]

    def _connect(self, channel: Channel, name: str) -> None:
        """Asks a device to come, and copies bytes between it and a client until both have ended."""
        if not self._room.acquire(blocking=False):
            raise SessionRefusedError(f"expected at most {MOST_CONNECTED} connections at this proxy, found more")
        token = secrets.token_hex(16)
        try:
            with self._state:
                if (device := self._devices.get(name)) is None:
                    names = ", ".join(sorted(self._devices)) or "none"
                    raise SessionRefusedError(f"expected the name of a device that waits here, found {name!r:.100} "
                                              f"of {names}")  # fmt: skip
                call = self._calls[token] = _Call(device)
                device.clients += 1
            try:
                self._join(channel, call, token)
            finally:
                with self._state:
                    self._calls.pop(token, None)
                    device.clients -= 1
                call.over.set()
        finally:
            self._room.release()

    def _join(self, channel: Channel, call: _Call, token: str) -> None:
        refused = SessionRefusedError(f"expected the device {call.device.name!r} to come, it did not")
        try:
            call.device.channel.send({"op": "come", "token": token})
        except SessionError:
            raise refused from None
        if not call.answered.wait(CONNECT_SECONDS):
            raise refused
        assert call.channel is not None
        call.channel.send({})
        channel.send({})
        relay(channel.connection, call.channel.connection)

    def _come(self, channel: Channel, token: str) -> None:
        """The connection of a device, for the client that waits for it, whose thread copies the bytes."""
        with self._state:
            call = self._calls.pop(token, None)
        if call is None:
            raise SessionRefusedError("expected the token of a client that waits, found another")
        call.channel = channel
        call.answered.set()
        call.over.wait()

    def _told(self) -> Header:
        now = monotonic()
        with self._state:
            devices: list[Header] = [
                {
                    "name": d.name,
                    "address": d.host,
                    "state": "connected" if d.clients else "waits",
                    "holders": [],
                    "seconds": now - d.since,
                    "silent": now - d.heard,
                }
                for d in self._devices.values()
            ]
        return {"devices": devices, "waiting": []}
