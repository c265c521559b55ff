"""Frames: what is sent arrives, and nothing else does."""

import random
import socket
import struct
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import msgpack
import numpy as np
import pytest

from sateen.rpc import wire
from sateen.rpc.messages import packed, unpacked
from sateen.rpc.wire import LENGTHS, Channel
from sateen.runtime import ArgumentError, SessionLostError, SessionProtocolError
from sateen.runtime.framing import require_fields

ONE, TWO = bytes(32), bytes([1]) * 32


def frame_of(header, payload=(), number=0):
    """The bytes of a frame, as the first channel of a test sends them."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, ONE, TWO)
        channel.sent = number
        channel.send(header, payload)
        ours.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: theirs.recv(1 << 16), b""))


def received(data, most_bytes=1 << 20):
    """What the other side makes of bytes, after which the connection ends."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        return Channel(theirs, TWO, ONE).receive(monotonic() + 5, most_bytes)


def test_both_directions_carry_headers_and_payloads(channels):
    client, server = channels
    for number in range(3):
        client.send({"op": "x", "number": number}, [b"ab", memoryview(b"cd")])
        header, payload = server.receive(most_bytes=4)
        assert (header, bytes(payload)) == ({"op": "x", "number": number}, b"abcd")
        server.send({"answer": [1.5, None, b"z", {"é": True}]})
        assert client.receive() == ({"answer": [1.5, None, b"z", {"é": True}]}, memoryview(b""))
    client.close()
    assert server.receive() is None


def test_large_payloads_go_in_pieces(channels):
    client, server = channels
    data = np.random.default_rng(0).integers(0, 256, 5_000_001, np.uint8)
    sender = threading.Thread(target=client.send, args=({}, [data[:7].data, data[7:].data]))
    sender.start()
    _, payload = server.receive(most_bytes=data.size)
    sender.join()
    assert np.array_equal(np.frombuffer(payload, np.uint8), data)


def test_a_frame_that_is_repeated_left_out_or_moved_is_refused():
    first, second = frame_of({"n": 1}), frame_of({"n": 2}, number=1)
    for data in (second, first + first, second + first):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(data)
            channel = Channel(theirs, TWO, ONE)
            if data.startswith(first):
                assert channel.receive() == ({"n": 1}, memoryview(b""))
            with pytest.raises(SessionProtocolError, match="found one changed on its way"):
                channel.receive()


def test_a_frame_is_no_frame_of_the_other_direction():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours, ONE, TWO).send({"n": 1})
        with pytest.raises(SessionProtocolError, match="changed on its way"):
            Channel(theirs, ONE, TWO).receive()


def test_every_changed_byte_is_found():
    whole = frame_of({"op": "call"}, [b"payload"])
    assert received(whole)[0] == {"op": "call"}
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        with pytest.raises((SessionProtocolError, SessionLostError)):
            received(bytes(changed))


def test_every_cut_is_found():
    whole = frame_of({"op": "call"}, [b"payload"])
    assert received(b"") is None
    for length in range(1, len(whole)):
        with pytest.raises(SessionLostError, match="closed the connection within a message"):
            received(whole[:length])


@pytest.mark.parametrize(("header", "payload"), [(1 << 30, 0), (5, 1 << 40), (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)])
def test_large_lengths_take_no_memory(header, payload):
    tracemalloc.start()
    with pytest.raises(SessionProtocolError, match=r"expected a message with a (header|payload) of at most"):
        received(LENGTHS.pack(header, payload) + b"abc")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_random_bytes_are_no_frames():
    draw = random.Random(7)
    for _ in range(300):
        with pytest.raises((SessionProtocolError, SessionLostError)):
            received(draw.randbytes(draw.randrange(1, 200)))


def test_who_sends_slowly_is_let_go(monkeypatch):
    monkeypatch.setattr(wire, "GRACE_SECONDS", 0.1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(LENGTHS.pack(100, 0))
        with pytest.raises(SessionLostError, match="came too slowly"):
            Channel(theirs, TWO, ONE).receive()


def test_who_does_not_read_is_let_go(monkeypatch):
    monkeypatch.setattr(wire, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(wire, "LEAST_RATE", 1 << 30)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(SessionLostError, match="expected the other side to take a message"):
        Channel(ours, ONE, TWO).send({}, [bytes(16 << 20)])


def test_nothing_comes_before_the_deadline(channels):
    client, _ = channels
    with pytest.raises(TimeoutError):
        client.receive(monotonic() + 0.01)
    with pytest.raises(TimeoutError):
        client.receive(monotonic() - 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        msgpack.packb([1]),
        msgpack.packb({1: 2}),
        msgpack.packb({b"a": 2}),
        msgpack.packb({"a": 1}) + b"x",
        msgpack.packb({"a": msgpack.ExtType(5, b"x")}),
        msgpack.packb({"a": msgpack.Timestamp(1)}),
        b"\x81\xa1a" + b"\x91" * 100_000,
        b"\xdf\xff\xff\xff\xff",
        b"\x81\xa1a\xdb\xff\xff\xff\xff",
        b"\x82\xa1a\x01\xa1a\x02",
        b"\x81\xa1\xff\x01",
    ],
)
def test_headers_are_maps_of_plain_values(data):
    with pytest.raises(SessionProtocolError):
        unpacked(data)


def test_what_lists_announce_takes_no_memory_beyond_a_bound():
    announced = b"\xdd\x00\x0f\xff\x00"  # a list of a million items
    data = b"\x81\xa1a" + announced * 200_000
    tracemalloc.start()
    try:
        with pytest.raises(SessionProtocolError, match="lists and maps more than 8 deep in each other"):
            unpacked(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "header",
    [
        {"a": [[[[[[["deep"]]]]]]]},
        {"a": list(range(70_000)), "b": {"c": [1.5, None, True, -5, -(1 << 40)]}},
        {"a": "x" * 300, "b": b"y" * 70_000, "c": b"z", "d": "w" * 70_000, "e": {str(i): [i] for i in range(100)}},
    ],
)
def test_headers_come_back(header):
    assert unpacked(packed(header)) == header


def test_numbers_that_are_too_large_are_refused_before_they_leave():
    with pytest.raises(ArgumentError, match="expected whole numbers of at most 64 bits in a request, found a larger"):
        packed({"number": 1 << 70})


def test_fields_and_their_types_are_stated():
    schema = {"op": str, "count": int, "flag": bool, "number": (int, float)}
    header = {"op": "x", "count": 1, "flag": True, "number": 0.5}
    require_fields(header, schema, "call")
    for wrong in ({**header, "more": 1}, {"op": "x"}, {**header, "count": True}, {**header, "op": b"x"}):
        with pytest.raises(SessionProtocolError, match="call: expected"):
            require_fields(wrong, schema, "call")


def test_lengths_are_little_endian():
    assert frame_of({}, [b"ab"])[:12] == struct.pack("<IQ", 1, 2)


def test_a_channel_is_closed_only_when_nobody_waits_at_it(channels):
    client, _ = channels
    with ThreadPoolExecutor(1) as other_thread:
        waiting = other_thread.submit(client.receive)
        while client._receiving.acquire(blocking=False):  # until the other thread waits
            client._receiving.release()
        client.close()
        assert waiting.result(5) is None
    with pytest.raises(SessionLostError, match="the connection was lost: Bad file descriptor"):
        client.receive()
    with pytest.raises(SessionLostError, match="the connection was lost: Bad file descriptor"):
        client.send({})


def test_a_timeout_of_the_network_is_no_deadline(channels, monkeypatch):
    client, _ = channels

    class Broken:
        def recv(self, _):
            raise TimeoutError(110, "Connection timed out")

    monkeypatch.setattr(client, "_connection", Broken())
    with pytest.raises(SessionLostError, match="the connection was lost: Connection timed out"):
        client.receive()
