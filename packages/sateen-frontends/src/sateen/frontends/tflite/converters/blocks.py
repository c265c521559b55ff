"""Blocks of pixels as channels or as batches, and back; of quantised tensors their integers."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import divided, listed, product


def _space_to_depth(node: TfliteNode) -> Operand:
    """[N, H, W, C] to [N, H / block, W / block, block²·C]."""
    batch, height, width, channels = _picture(node)
    block = node.integer("block_size")
    if block < 1 or height % block != 0 or width % block != 0:
        raise FrontendError(f"expected height and width in blocks of {block}, found {height} and {width}")
    parts = node.step(ops.Reshape((batch, height // block, block, width // block, block, channels)), node.value(0))
    moved = node.step(ops.Transpose((0, 1, 3, 2, 4, 5)), parts)
    return node.result(ops.Reshape((batch, height // block, width // block, block * block * channels)), moved)


def _depth_to_space(node: TfliteNode) -> Operand:
    batch, height, width, channels = _picture(node)
    block = node.integer("block_size")
    if block < 1 or channels % (block * block) != 0:
        raise FrontendError(f"expected channels in {block} x {block}, found {channels}")
    depth = channels // (block * block)
    parts = node.step(ops.Reshape((batch, height, width, block, block, depth)), node.value(0))
    moved = node.step(ops.Transpose((0, 1, 3, 2, 4, 5)), parts)
    return node.result(ops.Reshape((batch, height * block, width * block, depth)), moved)


def _picture(node: TfliteNode) -> tuple[Dim, ...]:
    if node.rank(0) != 4:
        raise FrontendError(f"expected data of 4 dimensions, found {node.rank(0)}")
    return node.shape(0)


def _blocks(node: TfliteNode) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The blocks of spatial axes, and the pads or crops before and after each."""
    blocks = node.integers_at(1)
    if len(blocks) >= node.rank(0) or min(blocks, default=1) < 1:
        raise FrontendError(f"expected blocks of 1 or more along at most {node.rank(0) - 1} axes, found {list(blocks)}")
    return blocks, node.pairs_at(2, len(blocks))


def _space_to_batch(node: TfliteNode) -> Operand:
    """Each place in a block becomes a batch of its own, the batches of one place beside each other."""
    blocks, pads = _blocks(node)
    count, rank = len(blocks), node.rank(0)
    scaling = node.scaling(0)
    befores = (0, *(before for before, _ in pads), *[0] * (rank - count - 1))
    afters = (0, *(after for _, after in pads), *[0] * (rank - count - 1))
    zero = 0 if scaling is None else int(scaling.zero_points[0])
    padded = node.step(ops.Pad("constant", (*befores, *afters), zero), node.value(0))
    batch, *others = padded.type.shape
    spatial, rest = others[:count], others[count:]
    if any(extent % block != 0 for extent, block in zip(spatial, blocks, strict=True)):
        raise FrontendError(f"expected extents in blocks of {list(blocks)}, found {listed(spatial)}")
    halves = [part for extent, block in zip(spatial, blocks, strict=True) for part in (extent // block, block)]
    parts = node.step(ops.Reshape((batch, *halves, *rest)), padded)
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    order = (*inner, 0, *outer, *range(2 * count + 1, parts.type.rank))
    moved = node.step(ops.Transpose(order), parts)
    shape = (product((*blocks, batch)), *halves[::2], *rest)
    return node.result(ops.Reshape(shape), moved)


def _batch_to_space(node: TfliteNode) -> Operand:
    blocks, crops = _blocks(node)
    count = len(blocks)
    batch, *others = node.shape(0)
    spatial, rest = others[:count], others[count:]
    images = divided(batch, product(blocks))
    if images is None:
        raise FrontendError(f"expected a batch in blocks of {list(blocks)}, found {batch}")
    parts = node.step(ops.Reshape((*blocks, images, *spatial, *rest)), node.value(0))
    order = [count, *(axis for i in range(count) for axis in (count + 1 + i, i))]
    moved = node.step(ops.Transpose((*order, *range(2 * count + 1, parts.type.rank))), parts)
    whole = [extent * block for extent, block in zip(spatial, blocks, strict=True)]
    joined = node.step(ops.Reshape((images, *whole, *rest)), moved)
    starts = (0, *(before for before, _ in crops), *[0] * len(rest))
    ends = (images, *(extent - after for extent, (_, after) in zip(whole, crops, strict=True)), *rest)
    return node.result(ops.Slice(starts, ends, (1,) * joined.type.rank), joined)


BLOCKS: dict[str, Converter] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPACE_TO_DEPTH": _space_to_depth,
}
