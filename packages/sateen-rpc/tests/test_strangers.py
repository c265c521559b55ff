"""Who comes without a key, by whatever coding: what it may send and hold, and how soon nothing of it is left."""

import os
import socket
import ssl
import threading
from contextlib import suppress
from functools import partial

import pytest
import trustme

from sateen.rpc import Proxy, RemoteSession, Server, background, certified, handshake, listener, relay

HOST = "127.0.0.1"
COUNT = 10
UPGRADE = (
    "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{more}\r\n"
)
PART_OF_A_MESSAGE = b"\x82\xff" + (15 << 20).to_bytes(8, "big") + bytes(4)
"""The beginning of one of 15 MB."""


def by_tls(place):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(place))


def by_websocket(place, more=""):
    """A connection by WebSocket, and the answer to its request in `answer`."""
    connection = socket.create_connection(place)
    connection.sendall(UPGRADE.format(host="{}:{}".format(*place), more=more).encode())
    return connection


def answer_of(connection):
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(1)
    return answer.split(b"\r\n")[0].decode()


def threads_of_strangers():
    return [thread for thread in threading.enumerate() if thread.name.endswith(("(_answer)", "(_relay)"))]


@pytest.fixture
def certificate(tmp_path):
    issued = trustme.CA().issue_cert(HOST)
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    return certified(tmp_path / "certificate.pem", tmp_path / "key.pem")


@pytest.fixture(params=["tls", "websocket"])
def dial(request, tmp_path, key, certificate):
    """Dials a server by a coding."""
    with Server(HOST, 0, [key], tmp_path / "store", tls=certificate if request.param == "tls" else None) as server:
        if request.param == "tls":
            place, dialled = server.address, by_tls
        else:
            unwrapped = pytest.importorskip("sateen.rpc.websocket", reason="websockets is not installed").unwrapped
            place, dialled = server.add_door((HOST, 0), unwrapped), by_websocket
        threading.Thread(target=server.serve, daemon=True).start()
        yield partial(dialled, place)


def test_who_says_nothing_leaves_no_thread_and_no_connection(dial, monkeypatch, eventually):
    monkeypatch.setattr(handshake, "SECONDS", 0.5)
    monkeypatch.setattr(relay, "LEAVING_SECONDS", 600.0)
    strangers = [dial() for _ in range(COUNT)]
    eventually(lambda: not threads_of_strangers())
    for stranger in strangers:
        stranger.settimeout(10)
        while stranger.recv(1 << 16):
            pass
        stranger.close()


@pytest.fixture
def web(key):
    """Where a proxy takes WebSockets, of pages of example.org, too."""
    unwrapped = pytest.importorskip("sateen.rpc.websocket", reason="websockets is not installed").unwrapped
    with Proxy(HOST, 0, [key]) as proxy:
        place = proxy.add_door((HOST, 0), partial(unwrapped, origins=["https://example.org"]))
        threading.Thread(target=proxy.serve, daemon=True).start()
        yield place


def test_a_message_is_small_until_a_key_is_shown(web, monkeypatch):
    monkeypatch.setattr(handshake, "SECONDS", 600.0)
    with by_websocket(web) as stranger:
        assert answer_of(stranger).startswith("HTTP/1.1 101 ")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            stranger.sendall(PART_OF_A_MESSAGE + bytes(15 << 20))


def test_a_request_is_small(web, monkeypatch):
    monkeypatch.setattr(relay, "READY_SECONDS", 600.0)
    with by_websocket(web, more="a: b\r\n" * 5 + f"c: {'d' * 8000}\r\n" * 3) as stranger:
        stranger.settimeout(60)
        with suppress(ConnectionResetError):  # what it sent too much is not read
            assert not stranger.recv(1 << 16).startswith(b"HTTP/1.1 101")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, "101 Switching Protocols"),
        ("https://example.org", "101 Switching Protocols"),
        ("http://127.0.0.1:8000", "101 Switching Protocols"),
        ("https://evil.example", "403 Forbidden"),
        ("http://localhost", "403 Forbidden"),
        ("null", "403 Forbidden"),
        ("http://[", "403 Forbidden"),
    ],
)
def test_pages_from_elsewhere_are_refused(web, origin, status):
    with by_websocket(web, more="" if origin is None else f"Origin: {origin}\r\n") as page:
        assert answer_of(page) == f"HTTP/1.1 {status}"


def test_a_page_is_not_here_by_a_name_that_it_may_have_made(web):
    with socket.create_connection(web) as page:
        page.sendall(UPGRADE.format(host="evil.example:1", more="Origin: http://evil.example:1\r\n").encode())
        assert answer_of(page) == "HTTP/1.1 403 Forbidden"


class Exhausted(threading.Thread):
    """A thread that the system does not start, as often as it says so."""

    refusals = iter(())

    def start(self):
        if next(self.refusals, False):
            raise RuntimeError("can't start new thread")
        super().start()


@pytest.fixture
def exhaust(monkeypatch):
    """Makes the next threads fail for which it gives True."""
    monkeypatch.setattr(background, "Thread", Exhausted)
    yield lambda *refusals: setattr(Exhausted, "refusals", iter(refusals))
    Exhausted.refusals = iter(())


def test_a_server_goes_on_when_there_is_no_thread_for_a_connection(tmp_path, key, monkeypatch, exhaust):
    monkeypatch.setattr(listener, "MOST_STRANGERS", 2)
    with Server(HOST, 0, [key], tmp_path / "store") as server:
        threading.Thread(target=server.serve, daemon=True).start()
        exhaust(True, True, True)
        for _ in range(3):
            with socket.create_connection(server.address) as stranger:
                stranger.settimeout(10)
                assert stranger.recv(1) == b""
        with RemoteSession(*server.address, key) as session:
            session.info()


def test_nothing_is_left_of_a_connection_that_there_is_no_thread_to_encrypt(dial, exhaust, eventually):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    exhaust(False, True)
    with dial() as stranger:
        stranger.settimeout(10)
        while stranger.recv(1 << 16):
            pass
    eventually(lambda: before is None or len(os.listdir("/proc/self/fd")) <= before)
