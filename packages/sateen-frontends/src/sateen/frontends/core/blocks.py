"""Blocks of the axes behind the batch as batches of their own, and back."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Pad, Reshape, Slice, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import divided, listed, product

Ends = Sequence[tuple[int, int]]
"""What is added or cut before and after each axis of a block."""


def space_to_batch(node: ModelNode, data: Value, blocks: Sequence[int], pads: Ends, number: float = 0) -> Value:
    """The node's result: data [N, …], padded with a number, in blocks of the axes after the batch. Each place in a
    block becomes a batch, those of one place beside each other."""
    count = len(blocks)
    _require_blocks(data, blocks)
    rest = (0,) * (data.type.rank - count - 1)
    margins = (0, *(before for before, _ in pads), *rest, 0, *(after for _, after in pads), *rest)
    padded = node.step(Pad("constant", margins, number), data) if any(margins) else data
    batch, *extents = padded.type.shape
    spatial, others = extents[:count], extents[count:]
    if any(extent % block != 0 for extent, block in zip(spatial, blocks, strict=True)):
        raise FrontendError(f"expected padded extents in blocks of {list(blocks)}, found {listed(spatial)}")
    parts = [part for extent, block in zip(spatial, blocks, strict=True) for part in (extent // block, block)]
    apart = node.step(Reshape((batch, *parts, *others)), padded)
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    moved = node.step(Transpose((*inner, 0, *outer, *range(2 * count + 1, apart.type.rank))), apart)
    return node.result(Reshape((product((*blocks, batch)), *parts[::2], *others)), moved)


def batch_to_space(node: ModelNode, data: Value, blocks: Sequence[int], crops: Ends) -> Value:
    """The node's result: the inverse, of which the ends are cut."""
    count = len(blocks)
    _require_blocks(data, blocks)
    batch, *extents = data.type.shape
    spatial, others = extents[:count], extents[count:]
    images = divided(batch, product(blocks))
    if images is None:
        raise FrontendError(f"expected a batch in blocks of {list(blocks)}, found {batch}")
    apart = node.step(Reshape((*blocks, images, *spatial, *others)), data)
    order = [count, *(axis for i in range(count) for axis in (count + 1 + i, i))]
    moved = node.step(Transpose((*order, *range(2 * count + 1, apart.type.rank))), apart)
    whole = [extent * block for extent, block in zip(spatial, blocks, strict=True)]
    joined = Reshape((images, *whole, *others))
    if not any(cut for ends in crops for cut in ends):
        return node.result(joined, moved)
    starts = (0, *(before for before, _ in crops), *[0] * len(others))
    stops = (images, *(extent - after for extent, (_, after) in zip(whole, crops, strict=True)), *others)
    return node.result(Slice(starts, stops, (1,) * len(starts)), node.step(joined, moved))


def _require_blocks(data: Value, blocks: Sequence[int]) -> None:
    if len(blocks) >= data.type.rank or min(blocks, default=1) < 1:
        raise FrontendError(f"expected blocks of 1 or more along axes behind the batch, found {list(blocks)}")
