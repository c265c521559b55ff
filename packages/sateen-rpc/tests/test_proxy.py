"""Devices behind a proxy: sessions as without it, and what becomes of those who don't come."""

import socket
import threading
from contextlib import ExitStack

import numpy as np
import pytest

from sateen.rpc import (
    Key,
    Proxy,
    Registration,
    RemoteSession,
    Route,
    Server,
    Tracker,
    WaitingDevice,
    accept,
    greet,
    query,
    standing_connection,
    tracked_session,
)
from sateen.rpc import proxy as proxies
from sateen.runtime import SessionLostError, SessionRefusedError

HOST = "127.0.0.1"


@pytest.fixture
def stack():
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def proxy(stack, key):
    opened = stack.enter_context(Proxy(HOST, 0, [key]))
    threading.Thread(target=opened.serve, daemon=True).start()
    return opened


@pytest.fixture
def wait(stack, key, tmp_path, eventually):
    """Opens a server that waits at a proxy, known there by `proxy_key`."""

    def open_(at, name="pi", proxy_key=None):
        server = stack.enter_context(Server(HOST, 0, [key], tmp_path / "store"))
        threading.Thread(target=server.serve, daemon=True).start()
        stack.callback(WaitingDevice(server, Route(*at.address, device=name), proxy_key or key).close)
        eventually(lambda: name in names_of(at, proxy_key or key))
        return server

    return open_


def names_of(at, key):
    return {d["name"]: d["state"] for d in query(*at.address, key)["devices"]}


def test_a_session_is_as_without(proxy, wait, key, eventually):
    server = wait(proxy)
    values = np.random.default_rng(0).standard_normal((500, 1000))
    with RemoteSession(*proxy.address, key, device="pi") as session:
        np.testing.assert_array_equal(session.array(values).numpy(), values)
        assert names_of(proxy, key) == {"pi": "connected"}
        assert repr(session).endswith("/pi, open)")
    eventually(lambda: not server.holders() and names_of(proxy, key) == {"pi": "waits"})


def test_the_key_of_the_proxy_is_not_that_of_the_device(stack, wait, key):
    other = Key.new()
    at = stack.enter_context(Proxy(HOST, 0, [other]))
    threading.Thread(target=at.serve, daemon=True).start()
    wait(at, proxy_key=other)
    with RemoteSession(*at.address, key, device="pi", proxy_key=other) as session:
        assert session.info()["processors"] >= 1
    with pytest.raises(SessionRefusedError, match="does not know this key"):
        RemoteSession(*at.address, other, device="pi")
    with pytest.raises(SessionRefusedError, match="does not know this key"):
        RemoteSession(*at.address, key, device="pi")


def test_a_tracker_sends_clients_through_the_proxy_and_neither_has_their_key(stack, wait, key):
    tracker_key, proxy_key = Key.new(), Key.new()
    proxy = stack.enter_context(Proxy(HOST, 0, [proxy_key]))
    threading.Thread(target=proxy.serve, daemon=True).start()
    server = wait(proxy, proxy_key=proxy_key)
    tracker = stack.enter_context(Tracker(HOST, 0, [tracker_key]))
    threading.Thread(target=tracker.serve, daemon=True).start()
    address = Route(*proxy.address, device="pi")
    stack.callback(Registration(server, "rpi4", tracker.address, tracker_key, address).close)
    with tracked_session(*tracker.address, key, "rpi4", tracker_key=tracker_key, proxy_key=proxy_key) as session:
        assert session.info()["processors"] >= 1
    (device,) = query(*tracker.address, tracker_key)["devices"]
    assert device["address"] == "{}:{}/pi".format(*proxy.address)


def test_names_that_nobody_waits_under_are_refused(proxy, wait, key):
    wait(proxy)
    with pytest.raises(SessionRefusedError, match="expected the name of a device that waits here, found 'phone' of pi"):
        RemoteSession(*proxy.address, key, device="phone")


def waiting(at, key, name):
    """A device of our own making."""
    channel = greet(socket.create_connection(at.address), key)
    channel.send({"op": "wait", "device": name})
    return channel, channel.receive()[0]


def test_a_name_is_that_of_one_device(proxy, key, eventually):
    first, answer = waiting(proxy, key, "pi")
    assert answer == {"beat": standing_connection.SILENCE_SECONDS / 4}
    second, answer = waiting(proxy, key, "pi")
    assert answer["message"] == "expected a name that no device waits under, found 'pi'"
    first.close()
    second.close()
    eventually(lambda: not names_of(proxy, key))


def test_a_device_that_does_not_come_is_told(monkeypatch, proxy, key):
    monkeypatch.setattr(proxies, "CONNECT_SECONDS", 0.2)
    device, _ = waiting(proxy, key, "pi")
    with pytest.raises(SessionRefusedError, match="expected the device 'pi' to come, it did not"):
        RemoteSession(*proxy.address, key, device="pi")
    assert device.receive()[0]["op"] == "come"
    device.close()


def test_a_device_that_is_silent_is_forgotten(monkeypatch, proxy, key, eventually):
    monkeypatch.setattr(standing_connection, "SILENCE_SECONDS", 0.2)
    device, _ = waiting(proxy, key, "pi")
    eventually(lambda: not names_of(proxy, key))
    device.close()


def test_tokens_are_those_of_the_proxy(proxy, key):
    channel = greet(socket.create_connection(proxy.address), key)
    channel.send({"op": "come", "token": "0" * 32})
    assert channel.receive()[0]["message"] == "expected the token of a client that waits, found another"
    channel.close()


def test_a_device_comes_back_to_a_proxy_that_restarts(stack, wait, key, eventually):
    first = stack.enter_context(Proxy(HOST, 0, [key]))
    threading.Thread(target=first.serve, daemon=True).start()
    wait(first)
    session = RemoteSession(*first.address, key, device="pi")
    first.close()
    with pytest.raises(SessionLostError):
        session.info()
    session.close()
    second = stack.enter_context(Proxy(*first.address, [key]))
    threading.Thread(target=second.serve, daemon=True).start()
    eventually(lambda: names_of(second, key) == {"pi": "waits"})
    with RemoteSession(*second.address, key, device="pi") as again:
        assert again.info()["processors"] >= 1


def test_nothing_is_left_of_sessions_through_a_proxy(proxy, wait, key, eventually):
    server = wait(proxy)

    def run():
        with RemoteSession(*proxy.address, key, device="pi") as session:
            session.info()
        eventually(lambda: not server.holders() and names_of(proxy, key) == {"pi": "waits"})

    run()  # the first one starts the thread of the server that starts processes
    before = threading.active_count()
    for _ in range(5):
        run()
    eventually(lambda: threading.active_count() <= before)


def test_ends_of_a_connection_reach_the_other_side(proxy, key):
    device, _ = waiting(proxy, key, "pi")
    client = greet(socket.create_connection(proxy.address), key)
    client.send({"op": "connect", "device": "pi"})
    token = device.receive()[0]["token"]
    come = greet(socket.create_connection(proxy.address), key)
    come.send({"op": "come", "token": token})
    assert come.receive()[0] == client.receive()[0] == {}
    client.close()
    with pytest.raises(SessionLostError, match="closed the connection within the handshake"):
        accept(come.connection, {key.id: key}.get)
    come.close()
    device.close()
