"""The vectors of docs/wire.md are what this package says on the wire, so that others can be written from that page."""

import re
import socket
from pathlib import Path

import pytest

from sateen.rpc import Channel, Key, accept, greet, handshake

PAGE = Path(__file__).parents[3] / "docs" / "wire.md"


@pytest.fixture
def vectors():
    """The values of the page by name."""
    rows = re.findall(r"^\| ([a-z' ]+) \| `([0-9a-f` ]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: bytes.fromhex(re.sub("[` ]", "", text)) for name, text in rows}


class Recorded(socket.socket):
    """One end of a connection that keeps what it has sent."""

    def __init__(self, other):
        super().__init__(other.family, other.type, other.proto, fileno=other.detach())
        self.said = []

    def sendall(self, data):
        self.said.append(bytes(data))
        super().sendall(data)


def test_a_handshake(ends, key, vectors, monkeypatch, other_side):
    nonces = [vectors["client's nonce"], vectors["server's nonce"]]
    key = Key(vectors["key"])
    client, server = map(Recorded, ends)
    monkeypatch.setattr(handshake.secrets, "token_bytes", lambda _: nonces.pop(0))
    with client, server:
        greeted = other_side(greet, client, key)
        channel, found = accept(server, {key.id: key}.get)
        assert found == key
        assert greeted.result().keys == (vectors["client's direction"], vectors["server's direction"])
        assert channel.keys == greeted.result().keys[::-1]
        assert client.said == [vectors["client's hello"], vectors["client's proof"]]
        assert b"".join(server.said) == vectors["server's hello"] + vectors["server's proof"]


def test_frames(ends, vectors):
    sending = Channel(ends[0], vectors["client's direction"], vectors["server's direction"])
    sending.send({"op": "query"})
    sending.send({"op": "beat"}, [b"abc"])
    expected = vectors["first frame"] + vectors["second frame"]
    assert ends[1].recv(4096) == expected
