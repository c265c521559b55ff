"""Bytes between two connections: all of them, in order, at the pace of who takes them, and codings that are wrong."""

import socket
import threading

import pytest

from sateen.rpc import relay as relays
from sateen.rpc.relay import CodingError, Plain, decoded, relay
from sateen.runtime import SessionLostError, SessionRefusedError


@pytest.fixture
def relayed():
    """The outer ends of two connections that a relay joins, and its thread."""
    (one, its_end), (other, its_other_end) = socket.socketpair(), socket.socketpair()
    thread = threading.Thread(target=relay, args=(its_end, its_other_end))
    thread.start()
    with one, other:
        yield one, other, thread
    thread.join(10)
    assert not thread.is_alive()


def all_of(connection):
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_bytes_go_both_ways_and_each_way_ends_by_itself(relayed):
    one, other, thread = relayed
    many = bytes(range(256)) * (1 << 14)
    sender = threading.Thread(target=lambda: (one.sendall(many), one.shutdown(socket.SHUT_WR)))
    sender.start()
    assert all_of(other) == many
    sender.join()
    other.sendall(b"back")
    other.shutdown(socket.SHUT_WR)
    assert all_of(one) == b"back"
    thread.join(10)
    assert not thread.is_alive()


def test_who_does_not_read_stops_the_other_side(relayed):
    one, _, _ = relayed
    one.settimeout(0.5)
    with pytest.raises(TimeoutError):
        one.sendall(bytes(4 * relays.MOST_WAITING_BYTES))


def test_who_does_not_read_for_long_is_let_go(monkeypatch, relayed):
    monkeypatch.setattr(relays, "STILL_SECONDS", 0.2)
    one, _, thread = relayed
    one.settimeout(5)
    with pytest.raises(BrokenPipeError):
        one.sendall(bytes(4 * relays.MOST_WAITING_BYTES))
    thread.join(10)
    assert not thread.is_alive()


def test_a_side_that_is_gone_ends_the_other(relayed):
    one, other, _ = relayed
    one.close()
    other.settimeout(5)
    assert other.recv(1) == b""


class Never(Plain):
    """A coding whose other side never begins, or begins wrongly."""

    is_ready = False

    def received(self, data):
        raise CodingError(f"expected something else, found {data}")


def test_a_coding_that_does_not_begin_is_refused(monkeypatch, ends):
    monkeypatch.setattr(relays, "READY_SECONDS", 0.1)
    with pytest.raises(SessionLostError, match=r"expected the connection to begin within 0\.1 s"):
        decoded(ends[0], Never())
    assert ends[1].recv(1) == b""


def test_a_coding_that_begins_wrongly_is_refused(ends):
    ends[1].send(b"?")
    with pytest.raises(SessionRefusedError, match="expected something else"):
        decoded(ends[0], Never())


def test_a_connection_that_ends_before_it_begins_is_lost(ends):
    ends[1].close()
    with pytest.raises(SessionLostError, match="closed the connection before it began"):
        decoded(ends[0], Never())
