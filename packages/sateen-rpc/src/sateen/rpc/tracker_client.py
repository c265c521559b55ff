"""The client's side of a tracker: sessions by the names of devices, and who holds what."""

from __future__ import annotations

import ssl

from sateen.rpc.dialing import CONNECT_SECONDS, Route, answer_of, connected
from sateen.rpc.keys import Key
from sateen.rpc.remote_session import RemoteSession, holder_here
from sateen.runtime.errors import ArgumentError
from sateen.runtime.framing import MOST_SECONDS, Header, require_fields


def tracked_session(
    host: str,
    port: int,
    key: Key,
    name: str,
    *,
    priority: int = 0,
    wait: float = 600.0,
    seconds: float = 60.0,
    tls: ssl.SSLContext | None = None,
    tracker_key: Key | None = None,
    proxy_key: Key | None = None,
) -> RemoteSession:
    """A session of a device of that name, which the tracker at `host` and `port` knows.

    Waits for at most `wait` seconds for a free one; of those who wait, who has the highest `priority`, and then who
    asked first, is next. `tls` encrypts the connections to the tracker and to the device. `key` is the device's;
    `tracker_key` and `proxy_key` are those of the tracker, and of the proxy at which the device waits, if they are
    others.

    Raises SessionRefusedError if none becomes free, and the errors of `RemoteSession`.
    """
    if not 0 <= wait <= MOST_SECONDS:
        raise ArgumentError(f"expected seconds to wait, at most {MOST_SECONDS:g}; found {wait}")
    tracker = connected(Route(host, port, tls), tracker_key or key)
    try:
        asked = {"op": "ask", "name": name, "priority": priority, "holder": holder_here(), "wait": wait}
        tracker.send(asked)
        granted = answer_of(tracker, wait + CONNECT_SECONDS)
    finally:
        tracker.close()
    require_fields(granted, {"host": str, "port": int, "device": str, "token": str}, "ask")
    return RemoteSession(
        granted["host"],
        granted["port"],
        key,
        seconds=seconds,
        token=granted["token"],
        tls=tls,
        device=granted["device"],
        proxy_key=proxy_key,
    )


def query(host: str, port: int, key: Key, tls: ssl.SSLContext | None = None) -> Header:
    """What a tracker or a proxy knows: `devices` with name, address, state, holders, for how many `seconds`, and how
    long they were `silent`; `waiting` clients with name, holder, priority and seconds, the next one first."""
    tracker = connected(Route(host, port, tls), key)
    try:
        tracker.send({"op": "query"})
        return answer_of(tracker)
    finally:
        tracker.close()
