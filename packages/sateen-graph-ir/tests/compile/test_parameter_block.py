"""The block of parameters: any part of it is what the whole has there."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir.compile.parameter_block import CHUNK_BYTES, ParameterBlock

RANDOM = np.random.default_rng(0)
ARRAYS = {
    64: RANDOM.standard_normal((3, 5, 7, 2)).astype(np.float32).transpose(2, 0, 3, 1),
    1024: RANDOM.integers(0, 9, (4, 6)).astype(np.int64)[::-1, ::2],
    1216: np.float32(3.5).reshape(()),
    1280: RANDOM.standard_normal(77).astype(np.float16),
    1472: np.zeros((0, 4), np.float32),
}
SIZE = 1600


def block() -> ParameterBlock:
    return ParameterBlock(SIZE, list(reversed(ARRAYS.items())))


def expected() -> bytes:
    content = bytearray(SIZE)
    for start, array in ARRAYS.items():
        content[start : start + array.nbytes] = array.tobytes()
    return bytes(content)


@pytest.mark.parametrize("made", [False, True], ids=["in parts", "made whole before"])
def test_every_part_is_what_the_whole_has_there(made):
    content = block()
    if made:
        content.whole()
    for start in range(0, SIZE, 64):
        for end in (*range(start + 64, SIZE, 64), SIZE):
            part = bytearray(b"\xff" * (end - start))
            content.read_into(start, memoryview(part))
            assert part == expected()[start:end], (start, end)


def test_the_whole_is_made_once_and_can_not_be_written_to():
    content = block()
    assert bytes(content.whole()) == expected()
    assert content.whole() is content.whole()
    assert content.whole().readonly
    assert np.frombuffer(content.whole(), np.uint8).ctypes.data % 64 == 0
    assert bytes(content) == expected()


def test_arrays_that_span_chunks_are_packed_in_order():
    array = np.arange(3 * CHUNK_BYTES // 4 + 100, dtype=np.float32).reshape(-1, 4).T
    content = ParameterBlock(64 + array.nbytes, [(64, array)])
    assert bytes(content.whole()) == bytes(64) + array.tobytes()
