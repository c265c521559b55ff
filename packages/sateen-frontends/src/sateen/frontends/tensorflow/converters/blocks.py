"""Blocks of pictures as depth or as batch."""

from __future__ import annotations

from sateen.frontends.core.blocks import batch_to_space, space_to_batch
from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.converters.windows import channels_first, in_format_of
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops


def _depth_to_space(node: TensorflowNode) -> Operand:
    return in_format_of(node, ops.DepthToSpace(block=node.integer("block_size")), channels_first(node, 0))


def _space_to_depth(node: TensorflowNode) -> Operand:
    return in_format_of(node, ops.SpaceToDepth(block=node.integer("block_size")), channels_first(node, 0))


def _block_and_ends(node: TensorflowNode) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The block's extents along the axes after the batch, and what is padded or cut at both ends of these axes."""
    if node.operator.endswith("ND"):
        block, ends = node.integers_at(1), 2
    else:
        block, ends = (node.integer("block_size"),) * 2, 1
    return block, node.pairs_at(ends, len(block))


def _space_to_batch(node: TensorflowNode) -> Operand:
    """Padded data in blocks (spacetobatch_op.cc)."""
    return space_to_batch(node, node.value(0), *_block_and_ends(node))


def _batch_to_space(node: TensorflowNode) -> Operand:
    """The inverse (batchtospace_op.cc)."""
    return batch_to_space(node, node.value(0), *_block_and_ends(node))


BLOCKS: dict[str, Converter] = {
    "BatchToSpace": _batch_to_space,
    "BatchToSpaceND": _batch_to_space,
    "DepthToSpace": _depth_to_space,
    "SpaceToBatch": _space_to_batch,
    "SpaceToBatchND": _space_to_batch,
    "SpaceToDepth": _space_to_depth,
}
