"""Arrays in layouts: converts between row-major data and the memory of a tensor at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sateen.topi.types.layout import Block, Layout

Array = np.ndarray[Any, Any]


def pack(data: Array, layout: Layout) -> Array:
    """Row-major data in the memory order of `layout`; the rest of a block is zero."""
    return np.ascontiguousarray(rearranged(data, layout))


def rearranged(data: Array, layout: Layout) -> Array:
    """`pack` without moving data: a view of data whose axes the blocks of `layout` divide."""
    blocks = [layout.block_of(axis) for axis in range(layout.rank)]
    over = [-extent % block for extent, block in zip(data.shape, blocks, strict=True)]
    padded = np.pad(data, [(0, n) for n in over]) if any(over) else data
    split: list[int] = []
    for axis, extent in enumerate(padded.shape):
        split += [extent // blocks[axis], *_blocks(layout, axis)]
    return padded.reshape(split).transpose(_places(layout))


def unpack(data: Array, shape: Sequence[int], layout: Layout) -> Array:
    """Row-major data of logical `shape` from data in the memory order of `layout`."""
    logical = data.transpose(np.argsort(_places(layout)))
    padded = logical.reshape([extent + -extent % layout.block_of(axis) for axis, extent in enumerate(shape)])
    return np.ascontiguousarray(padded[tuple(map(slice, shape))])


def _blocks(layout: Layout, axis: int) -> list[int]:
    return [part.size for part in layout.order if isinstance(part, Block) and part.axis == axis]


def _places(layout: Layout) -> list[int]:
    """For each physical axis its position in the logical order, in which each axis is followed by its blocks."""
    places: list[int] = []
    starts = [axis + sum(len(_blocks(layout, a)) for a in range(axis)) for axis in range(layout.rank)]
    block = [start + 1 for start in starts]
    for part in layout.order:
        if isinstance(part, Block):
            places.append(block[part.axis])
            block[part.axis] += 1
        else:
            places.append(starts[part])
    return places
