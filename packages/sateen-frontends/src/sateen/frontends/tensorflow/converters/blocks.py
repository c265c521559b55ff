"""Blocks of pictures as depth or as batch."""

from __future__ import annotations

from math import prod

from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.converters.window import channels_first, in_format_of
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed


def _depth_to_space(node: TensorflowNode) -> Operand:
    return in_format_of(node, ops.DepthToSpace(block=node.integer("block_size")), channels_first(node, 0))


def _space_to_depth(node: TensorflowNode) -> Operand:
    return in_format_of(node, ops.SpaceToDepth(block=node.integer("block_size")), channels_first(node, 0))


def _block_and_ends(node: TensorflowNode) -> tuple[tuple[int, ...], Array]:
    """The block's extents along the axes after the batch, and what is padded or cut at both ends of these axes."""
    if node.operator.endswith("ND"):
        block, ends = node.integers_at(1), node.constant(2)
    else:
        block, ends = (node.integer("block_size"),) * 2, node.constant(1)
    if (
        min(block, default=1) < 1
        or ends.shape != (len(block), 2)
        or ends.min(initial=0) < 0
        or node.rank(0) <= len(block)
    ):
        raise FrontendError(f"expected blocks of 1 or more and two ends for each, found {list(block)}, {ends.tolist()}")
    return block, ends


def _space_to_batch(node: TensorflowNode) -> Operand:
    """Padded data in blocks: [b0, b1, …, N] become the batch (spacetobatch_op.cc)."""
    block, ends = _block_and_ends(node)
    count, inner = len(block), (0,) * (node.rank(0) - 1 - len(block))
    pads = (0, *ends[:, 0].tolist(), *inner, 0, *ends[:, 1].tolist(), *inner)
    data: Value = node.step(ops.Pad(pads=pads), node.value(0)) if any(pads) else node.value(0)
    batch, *rest = data.type.shape
    spatial, others = rest[:count], rest[count:]
    if any(extent % size for extent, size in zip(spatial, block, strict=True)):
        raise FrontendError(f"expected padded extents that {list(block)} divides, found {listed(spatial)}")
    parts = [part for extent, size in zip(spatial, block, strict=True) for part in (extent // size, size)]
    apart = node.step(ops.Reshape(shape=(batch, *parts, *others)), data)
    last = range(1 + 2 * count, apart.type.rank)
    order = (*range(2, 2 + 2 * count, 2), 0, *range(1, 1 + 2 * count, 2), *last)
    moved = node.step(ops.Transpose(permutation=order), apart)
    return node.result(ops.Reshape(shape=(batch * prod(block), *parts[::2], *others)), moved)


def _batch_to_space(node: TensorflowNode) -> Operand:
    """The inverse: the batch [b0, b1, …, N] in blocks, whose ends are cut (batchtospace_op.cc)."""
    block, ends = _block_and_ends(node)
    count = len(block)
    batch, *rest = node.shape(0)
    spatial, others = rest[:count], rest[count:]
    if batch % prod(block):
        raise FrontendError(f"expected a batch that {prod(block)} divides, found {batch}")
    images = batch // prod(block)
    apart = node.step(ops.Reshape(shape=(*block, images, *spatial, *others)), node.value(0))
    order = [
        count,
        *(axis for d in range(count) for axis in (count + 1 + d, d)),
        *range(2 * count + 1, apart.type.rank),
    ]
    moved = node.step(ops.Transpose(permutation=tuple(order)), apart)
    whole = [extent * size for extent, size in zip(spatial, block, strict=True)]
    joined = ops.Reshape(shape=(images, *whole, *others))
    if not ends.any():
        return node.result(joined, moved)
    zeros = (0,) * len(others)
    starts = (0, *ends[:, 0].tolist(), *zeros)
    stops = (images, *(extent - int(cut) for extent, cut in zip(whole, ends[:, 1], strict=True)), *others)
    op = ops.Slice(starts=starts, ends=stops, steps=(1,) * len(starts))
    return node.result(op, node.step(joined, moved))


BLOCKS: dict[str, Converter] = {
    "BatchToSpace": _batch_to_space,
    "BatchToSpaceND": _batch_to_space,
    "DepthToSpace": _depth_to_space,
    "SpaceToBatch": _space_to_batch,
    "SpaceToBatchND": _space_to_batch,
    "SpaceToDepth": _space_to_depth,
}
