"""A tracker: it knows devices by name, and sends clients to them, one after the other.

A device decides by itself whether it is free; the tracker asks it to reserve a session for a client and tells the
client where to go. So a tracker that restarts, or is cut off, costs nobody a session.
"""

from __future__ import annotations

import secrets
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from threading import Event, Lock
from time import monotonic

from sateen.rpc.dialing import MOST_PORT, Route
from sateen.rpc.keys import Key
from sateen.rpc.listener import ANYWHERE, Caller, Listener
from sateen.rpc.standing_connection import attend
from sateen.rpc.wire import Channel
from sateen.runtime.errors import SessionError, SessionRefusedError
from sateen.runtime.framing import MOST_SECONDS, Header, require_fields

MOST_WAITING = 1000
"""The most clients that wait at once."""
ANSWER_SECONDS = 3.0
"""How long a device may take to answer whether it reserves a session."""
_LOOK_SECONDS = 0.2
"""How often the tracker looks whether a client that waits is still there."""
_REGISTER: dict[str, type | tuple[type, ...]] = {"op": str, "name": str, "host": str, "port": int, "device": str}
_ASK: dict[str, type | tuple[type, ...]] = {
    "op": str,
    "name": str,
    "priority": int,
    "holder": str,
    "wait": (int, float),
}


@dataclass(slots=True)
class _Device:
    name: str
    host: str
    port: int
    device: str
    """Its name at the proxy that `host` and `port` are those of, if it waits at one."""
    channel: Channel
    is_free: bool = False
    holders: list[str] = field(default_factory=list)
    since: float = field(default_factory=monotonic)
    """When its holders were last others."""
    heard: float = field(default_factory=monotonic)
    asked: dict[str, _Client] = field(default_factory=dict)
    """The clients for which it was asked to reserve a session, by token, until it answers or time is up."""


@dataclass(slots=True)
class _Client:
    name: str
    holder: str
    order: tuple[int, int]
    since: float = field(default_factory=monotonic)
    answer_by: float = inf
    """Until when a device may answer that is asked to reserve a session for it."""
    granted: Header | None = None
    is_gone: bool = False
    ready: Event = field(default_factory=Event)


class Tracker(Listener):
    """Brings clients and devices together. `keys` are those of both."""

    def __init__(self, host: str, port: int, keys: Sequence[Key], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(host, port, keys, tls)
        self._devices: list[_Device] = []
        self._waiting: list[_Client] = []
        self._numbers = count()
        self._state = Lock()

    def take(self, channel: Channel, caller: Caller, header: Header) -> None:
        match header.get("op"):
            case "register":
                require_fields(header, _REGISTER, "register")
                # A device that listens at all its addresses is reached at the one from which it called.
                host = caller.host if header["host"] in ANYWHERE else header["host"]
                if not 0 < header["port"] <= MOST_PORT:
                    raise SessionRefusedError(f"expected a port of 1 to {MOST_PORT}, found {header['port']}")
                self._keep(_Device(header["name"][:100], host, header["port"], header["device"], channel))
            case "ask":
                require_fields(header, _ASK, "ask")
                holder = f"{header['holder'][:100]} (key {caller.key.id.hex()})"
                client = _Client(header["name"], holder, (-header["priority"], next(self._numbers)))
                if not 0 <= header["wait"] <= MOST_SECONDS:
                    most = f"at most {MOST_SECONDS:g}"
                    raise SessionRefusedError(f"expected seconds to wait, {most}; found {header['wait']}")
                self._serve(client, channel, float(header["wait"]))
            case "query":
                require_fields(header, {"op": str}, "query")
                channel.send(self._told())
            case op:
                raise SessionRefusedError(
                    f"a tracker is here: expected a request to register, to ask or to query, found {op!r:.80}"
                )

    def _keep(self, device: _Device) -> None:
        """Listens to a device until it is silent or gone."""
        with self._state:
            self._devices.append(device)
        try:
            attend(device.channel, partial(self._hear, device))
        finally:
            with self._state:
                self._devices.remove(device)
                for client in device.asked.values():
                    self._wait_again(client)
            self._match()

    def _hear(self, device: _Device, header: Header) -> None:
        with self._state:
            device.heard = monotonic()
            match header.get("op"):
                case "state":
                    require_fields(header, {"op": str, "free": bool, "holders": list}, "state")
                    if header["holders"] != device.holders:
                        device.since = monotonic()
                    device.is_free, device.holders = header["free"], [str(h)[:200] for h in header["holders"][:100]]
                case "reserved":
                    require_fields(header, {"op": str, "token": str, "done": bool}, "reserved")
                    client = device.asked.pop(header["token"], None)
                    if client is not None and header["done"]:
                        client.granted = {
                            "host": device.host,
                            "port": device.port,
                            "device": device.device,
                            "token": header["token"],
                        }
                        client.ready.set()
                    elif client is not None:
                        device.is_free = False
                        self._wait_again(client)
                case op:
                    raise SessionRefusedError(f"expected the state of a device, found {op!r:.80}")
        self._match()

    def _wait_again(self, client: _Client) -> None:
        """Back into the queue, while the lock is held, unless it has left meanwhile."""
        client.answer_by = inf
        if not client.is_gone:
            self._waiting.append(client)

    def _serve(self, client: _Client, channel: Channel, seconds: float) -> None:
        """Waits with a client, and tells it where to go."""
        with self._state:
            if len(self._waiting) >= MOST_WAITING:
                raise SessionRefusedError(f"expected at most {MOST_WAITING} waiting clients, found more")
            self._waiting.append(client)
        self._match()
        try:
            end = monotonic() + seconds
            while not client.ready.wait(min(max(end - monotonic(), 0), _LOOK_SECONDS)):
                if not _is_there(channel.connection):
                    return
                if monotonic() >= end:
                    raise SessionRefusedError(self._reason(client, seconds))
                if monotonic() > client.answer_by:
                    self._withdraw(client)
            assert client.granted is not None
            channel.send(client.granted)
        finally:
            with self._state:
                client.is_gone = True
                self._waiting = [other for other in self._waiting if other is not client]

    def _withdraw(self, client: _Client) -> None:
        """Has another device asked for a client, if the one that was asked does not answer. That one is free when it
        next says so; what it still answers is not heard, and it gives up the reservation by itself."""
        with self._state:
            for device in self._devices:
                tokens = [token for token, other in device.asked.items() if other is client]
                for token in tokens:
                    del device.asked[token]
                    device.is_free = False
                    self._wait_again(client)
        self._match()

    def _match(self) -> None:
        """Ask free devices to reserve a session for who waits longest, by priority."""
        requests: list[tuple[_Device, Header]] = []
        with self._state:
            for client in sorted(self._waiting, key=lambda waiting: waiting.order):
                free = (d for d in self._devices if d.name == client.name and d.is_free and not d.asked)
                if (device := next(free, None)) is not None:
                    token = secrets.token_hex(16)
                    device.asked[token] = client
                    client.answer_by = monotonic() + ANSWER_SECONDS
                    self._waiting.remove(client)
                    requests.append((device, {"op": "reserve", "token": token, "holder": client.holder}))
        for device, request in requests:
            try:
                device.channel.send(request)
            except SessionError:
                device.channel.close()  # by which its own thread learns it

    def _told(self) -> Header:
        now = monotonic()
        with self._state:
            devices = [
                {
                    "name": d.name,
                    "address": str(Route(d.host, d.port, device=d.device)),
                    "state": "free" if d.is_free else "held",
                    "holders": d.holders,
                    "seconds": now - d.since,
                    "silent": now - d.heard,
                }
                for d in self._devices
            ]
            waiting = [
                {"name": c.name, "holder": c.holder, "priority": -c.order[0], "seconds": now - c.since}
                for c in sorted(self._waiting, key=lambda client: client.order)
            ]
        return {"devices": devices, "waiting": waiting}

    def _reason(self, client: _Client, seconds: float) -> str:
        with self._state:
            named = [d for d in self._devices if d.name == client.name]
            names = sorted({d.name for d in self._devices})
        if not named:
            return f"expected a device {client.name!r} within {seconds:g} s, found {', '.join(names) or 'none'}"
        holders = ", ".join(holder for d in named for holder in d.holders)
        return f"expected a free device {client.name!r} within {seconds:g} s, all {len(named)} are held: {holders}"


def _is_there(connection: socket.socket) -> bool:
    """Whether the other side of a connection, which should say nothing now, has not closed it."""
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
