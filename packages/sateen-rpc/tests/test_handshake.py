"""The handshake: who knows the key gets a channel, nobody else gets anything."""

import random
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from sateen.rpc import Key, accept, greet, handshake
from sateen.runtime import SessionError, SessionLostError, SessionRefusedError, SessionVersionError


@pytest.fixture
def thread():
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def more_ends():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def served(thread, connection, *keys):
    """What the server's side of a handshake gives."""
    return thread.submit(accept, connection, {key.id: key for key in keys}.get)


def test_a_wrong_key_is_refused_on_both_sides(thread, ends, key):
    client, server = ends
    found = served(thread, server, Key.new())
    with pytest.raises(SessionRefusedError, match="the server does not know this key; pair with it"):
        greet(client, key)
    client.close()
    with pytest.raises(SessionLostError, match="closed the connection within the handshake"):
        found.result()


def test_a_server_without_the_key_learns_nothing(thread, ends, key):
    """It sees a nonce and the key's id, and no proof, since it must prove itself first."""
    client, server = ends
    refused = thread.submit(greet, client, key)
    seen = server.recv(1000)
    server.sendall(b"sateen-rpc" + (1).to_bytes(2, "little") + bytes(64))
    with pytest.raises(SessionRefusedError):
        refused.result()
    client.close()
    assert len(seen) == 52
    assert server.recv(1000) == b""


def test_a_client_that_repeats_another_s_proof_is_refused(thread, ends, more_ends, key):
    """The nonces of a new connection make an old proof worthless."""
    ours, theirs = ends
    recorded = []

    class Recorder(socket.socket):
        def sendall(self, data):
            recorded.append(bytes(data))
            super().sendall(data)

    found = served(thread, theirs, key)
    with Recorder(fileno=ours.detach()) as recorder:
        greet(recorder, key)
    found.result()
    again, server = more_ends
    found = served(thread, server, key)
    for data in recorded:
        again.sendall(data)
    with pytest.raises(SessionRefusedError, match="expected a client with a key that is known here"):
        found.result()


@pytest.mark.parametrize(("version", "advice"), [(0, "older: renew sateen-rpc there"), (7, "renew sateen-rpc here")])
def test_another_version_is_told_with_the_side_that_is_older(thread, ends, more_ends, key, version, advice):
    client, server = ends
    hello = b"sateen-rpc" + version.to_bytes(2, "little") + bytes(40)
    client.sendall(hello)
    found = served(thread, server, key)
    with pytest.raises(SessionVersionError, match=f"expected protocol 1, found {version}; .*{advice}"):
        found.result()
    answer = client.recv(1000)
    assert answer[:12] == b"sateen-rpc" + (1).to_bytes(2, "little")
    ours, theirs = more_ends
    theirs.sendall(b"sateen-rpc" + version.to_bytes(2, "little") + bytes(64))
    with pytest.raises(SessionVersionError, match=advice):
        greet(ours, key)


def test_something_else_at_the_other_end_is_told(ends, key):
    client, server = ends
    server.sendall(b"HTTP/1.1 400 Bad Request\r\n" + bytes(100))
    with pytest.raises(SessionRefusedError, match="expected a server of sateen-rpc, found something else"):
        greet(client, key)


def test_who_says_nothing_is_let_go(ends, key, monkeypatch):
    monkeypatch.setattr(handshake, "SECONDS", 0.1)
    client, server = ends
    for side in (lambda: accept(server, {key.id: key}.get), lambda: greet(client, key)):
        with pytest.raises(SessionLostError, match="expected a handshake within"):
            side()


def test_hostile_clients_end_in_errors(key):
    draw = random.Random(3)
    for _ in range(300):
        client, server = socket.socketpair()
        data = draw.randbytes(draw.randrange(200))
        if draw.random() < 0.5:
            data = b"sateen-rpc" + (1).to_bytes(2, "little") + data
        with client, server:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            with pytest.raises(SessionError):
                accept(server, {key.id: key}.get)


def test_many_handshakes_go_on_at_once(key):
    pairs = [socket.socketpair() for _ in range(20)]
    with ThreadPoolExecutor(20) as threads:
        accepted = [threads.submit(accept, server, {key.id: key}.get) for _, server in pairs]
        greeted = [greet(client, key) for client, _ in pairs]
        for client, found in zip(greeted, accepted, strict=True):
            client.send({"op": "hello"})
            assert found.result()[0].receive() == ({"op": "hello"}, memoryview(b""))
    for one, other in pairs:
        one.close()
        other.close()
