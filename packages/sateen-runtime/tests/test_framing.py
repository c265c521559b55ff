from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from sateen.runtime import SessionProtocolError, array, framing

LENGTHS = struct.Struct("<IQ")


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_arrays_cross_with_their_types_and_shapes(ends: tuple[socket.socket, socket.socket]) -> None:
    arrays = [array(np.arange(6, dtype=np.int16).reshape(2, 3)), array(np.zeros((0, 4), np.float32)), array(2.5)]
    framing.send(ends[0], {"arrays": framing.describe(arrays)}, [framing.raw(a) for a in arrays])
    message = framing.receive(ends[1])
    assert message is not None
    rebuilt = framing.rebuild(message[0]["arrays"], message[1])
    assert [(a.dtype, a.shape) for a in rebuilt] == [(a.dtype, a.shape) for a in arrays]
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(arrays, rebuilt, strict=True))


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ((2, 4 << 40), "expected at most 68719476736 bytes after the header, found 4398046511104"),
        ((2, (1 << 64) - 1), "expected at most 68719476736 bytes after the header, found 18446744073709551615"),
        (((1 << 32) - 1, 0), "expected a header of at most 67108864 bytes, found 4294967295"),
    ],
)
def test_a_length_without_bound_is_refused_before_there_is_memory_for_it(
    ends: tuple[socket.socket, socket.socket], lengths: tuple[int, int], words: str
) -> None:
    ends[0].sendall(LENGTHS.pack(*lengths) + b"{}")
    with pytest.raises(SessionProtocolError, match=words):
        framing.receive(ends[1])


def test_an_answer_is_bounded_by_what_was_asked_for(ends: tuple[socket.socket, socket.socket]) -> None:
    framing.send(ends[0], {}, [b"123456789"])
    with pytest.raises(SessionProtocolError, match="expected at most 8 bytes after the header, found 9"):
        framing.receive(ends[1], most_bytes=8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[1]", "expected a JSON object as header, found list"),
        (b"{", "expected a header of JSON: Expecting property name"),
        (b"[" * 100_000, "expected a header of JSON: maximum recursion depth"),
    ],
)
def test_what_is_no_header_is_refused(ends: tuple[socket.socket, socket.socket], text: bytes, words: str) -> None:
    ends[0].sendall(LENGTHS.pack(len(text), 0) + text)
    with pytest.raises(SessionProtocolError, match=words):
        framing.receive(ends[1])


@pytest.mark.parametrize("shape", [[4 << 40], [1 << 40, 1 << 40], [3], [1]])
def test_shapes_that_the_bytes_do_not_fill_take_no_memory(shape: list[int]) -> None:
    described = json.loads(json.dumps([["float32", shape]]))
    with pytest.raises(SessionProtocolError, match=r"expected \d+ bytes of arrays, found 8"):
        framing.rebuild(described, memoryview(bytes(8)))
