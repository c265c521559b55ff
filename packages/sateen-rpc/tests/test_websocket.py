"""Connections by WebSocket: a device whose stream comes in messages, and what is no such stream."""

import socket
import threading
from contextlib import ExitStack

import pytest

from sateen.rpc import Proxy, RemoteSession, Server, accept, greet, relay
from sateen.runtime import SessionRefusedError

client = pytest.importorskip("websockets.sync.client", reason="the package websockets is not installed")
ConnectionClosed = pytest.importorskip("websockets.exceptions").ConnectionClosed
unwrapped = pytest.importorskip("sateen.rpc.websocket").unwrapped


@pytest.fixture
def place(key):
    """A proxy, and where it takes WebSockets."""
    with Proxy("127.0.0.1", 0, [key]) as proxy:
        found = proxy.add_door(("127.0.0.1", 0), unwrapped)
        threading.Thread(target=proxy.serve, daemon=True).start()
        yield proxy, found


@pytest.fixture
def dial(place):
    """Makes plain connections that go by WebSocket, as a page would: in messages of one byte first, then larger."""
    opened = ExitStack()

    def open_():
        ours, theirs = map(opened.enter_context, socket.socketpair())
        web = opened.enter_context(client.connect("ws://{}:{}/".format(*place[1])))

        def send():
            size = 1
            while data := theirs.recv(size):
                web.send(data)
                size = min(2 * size, 1 << 16)
            web.close()

        def receive():
            for message in web:
                theirs.sendall(message)
            theirs.shutdown(socket.SHUT_WR)

        for direction in (send, receive):
            thread = threading.Thread(target=direction)
            thread.start()
            opened.callback(thread.join)
        opened.callback(ours.close)
        return ours

    with opened:
        yield open_


def test_a_device_comes_by_websocket(place, dial, key, tmp_path):
    proxy, _ = place
    channel = greet(dial(), key)
    channel.send({"op": "wait", "device": "page"})
    assert channel.receive()[0]["beat"] > 0

    def come():
        while (message := channel.receive()) is not None:
            called = greet(dial(), key)
            called.send({"op": "come", "token": message[0]["token"]})
            assert called.receive()[0] == {}
            server.admit(called.connection)

    with Server("127.0.0.1", 0, [key], tmp_path / "store") as server:
        threading.Thread(target=come, daemon=True).start()
        with RemoteSession(*proxy.address, key, device="page") as session:
            session.files.put("a", bytes(1 << 20))
            assert session.files.get("a") == bytes(1 << 20)
    channel.close()


def test_requests_of_pages_are_no_websockets(place):
    _, web = place
    with socket.create_connection(web) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 426 ")


@pytest.mark.parametrize(
    "sent", [b"\x00" * 200 + b"\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 1000, b"\x16\x03\x01" * 100 + b"\n"]
)
def test_what_is_no_request_ends_the_connection(place, sent, monkeypatch):
    monkeypatch.setattr(relay, "READY_SECONDS", 600.0)
    _, web = place
    with socket.create_connection(web) as connection:
        connection.sendall(sent)
        connection.settimeout(60)
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass


def test_messages_of_text_are_refused(place):
    _, web = place
    with client.connect("ws://{}:{}/".format(*web)) as connection:
        connection.send("text")
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)


def test_a_stream_that_is_no_greeting_is_refused(ends, key):
    ends[0].send(b"?" * 200)
    with pytest.raises(SessionRefusedError):
        accept(ends[1], {key.id: key}.get)
