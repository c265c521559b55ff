"""Blocks of pixels as channels or as batches, and back; of quantised tensors their integers."""

from __future__ import annotations

from sateen.frontends.core.blocks import batch_to_space, space_to_batch
from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError


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


def _space_to_batch(node: TfliteNode) -> Operand:
    """Quantised data are padded with what stands for 0."""
    blocks, scaling = node.integers_at(1), node.scaling(0)
    zero = 0 if scaling is None else int(scaling.zero_points[0])
    return space_to_batch(node, node.value(0), blocks, node.pairs_at(2, len(blocks)), zero)


def _batch_to_space(node: TfliteNode) -> Operand:
    blocks = node.integers_at(1)
    return batch_to_space(node, node.value(0), blocks, node.pairs_at(2, len(blocks)))


BLOCKS: dict[str, Converter] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPACE_TO_DEPTH": _space_to_depth,
}
