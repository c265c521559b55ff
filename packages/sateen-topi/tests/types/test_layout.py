"""Where parts of a tensor lie in its memory, and arrays that are rearranged by layouts."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from sateen.topi.types import Layout, pack, rearranged

SHAPE = (2, 4, 3)


@pytest.mark.parametrize("text", ["abc", "acb", "bca", "aBc2b", "Abc2a", "aBc4b"])
def test_a_box_has_an_offset_where_its_memory_is_in_one_piece(text: str) -> None:
    """Over all boxes: the offset is that of the first element if and only if no other elements lie between."""
    layout = Layout.parse(text)
    numbers = pack(np.arange(prod(SHAPE)).reshape(SHAPE), layout).ravel()
    place = np.argsort(numbers).reshape(SHAPE)
    ranges = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in SHAPE]
    for box in product(*ranges):
        starts, extents = [a for a, _ in box], [b - a for a, b in box]
        inside = place[tuple(slice(a, b) for a, b in box)].ravel()
        whole = all(a % layout.block_of(d) == 0 == (b - a) % layout.block_of(d) for d, (a, b) in enumerate(box))
        in_one_piece = inside.max() - inside.min() + 1 == inside.size
        expected = int(inside.min()) if whole and in_one_piece else None
        assert layout.offset_of(SHAPE, starts, extents) == expected, box


def test_a_padded_axis_is_in_one_piece_as_a_whole() -> None:
    layout = Layout.parse("aBc4b")
    assert layout.offset_of((2, 3, 5), (1, 0, 0), (1, 3, 5)) == 20
    assert layout.offset_of((2, 3, 5), (0, 1, 0), (1, 2, 5)) is None


def test_rearranging_moves_nothing_where_blocks_divide() -> None:
    data = np.arange(24.0).reshape(2, 12)
    assert np.shares_memory(rearranged(data, Layout.parse("bA2a")), data)
    padded = rearranged(data[:, :3], Layout.parse("aB2b"))
    assert padded.tolist() == [[[0, 1], [2, 0]], [[12, 13], [14, 0]]]
