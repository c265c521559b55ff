"""Operations that move blocks of height and width to channels or images, and back."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.coreml.program.node import Converter, OperationNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError


def _blocks(node: OperationNode, name: str) -> int:
    block = node.integer(name)
    if not 0 < block < 1 << 16:
        raise FrontendError(f"expected {name} of 1 or more, found {block}")
    return block


def _pixel_unshuffle(node: OperationNode) -> Operand:
    """The inverse of pixel_shuffle: the channels of a block follow each other."""
    x, block = node.take_of_rank("x", 4), _blocks(node, "downscale_factor")
    batch, channels, height, width = static_extents(x.type.shape, "x")
    if height % block or width % block:
        raise FrontendError(f"expected extents that {block} divides, found {x.type}")
    cells = node.step(ops.Reshape((batch, channels, height // block, block, width // block, block)), x)
    turned = node.step(ops.Transpose((0, 1, 3, 5, 2, 4)), cells)
    return node.result(ops.Reshape((batch, channels * block * block, height // block, width // block)), turned)


def _space_to_batch(node: OperationNode) -> Operand:
    """Blocks of height and width become images: those of one place in the block follow each other."""
    x, (rows, columns) = node.take_of_rank("x", 4), node.integers_of("block_shape", 2, 1)
    pads = node.integers_of("paddings", 4, 0)
    wide = node.step(ops.Pad("constant", (0, 0, pads[0], pads[2], 0, 0, pads[1], pads[3])), x)
    batch, channels, height, width = static_extents(wide.type.shape, "x")
    if height % rows or width % columns:
        raise FrontendError(f"expected padded extents that {rows} and {columns} divide, found {wide.type}")
    cells = node.step(ops.Reshape((batch, channels, height // rows, rows, width // columns, columns)), wide)
    turned = node.step(ops.Transpose((3, 5, 0, 1, 2, 4)), cells)
    return node.result(ops.Reshape((batch * rows * columns, channels, height // rows, width // columns)), turned)


def _batch_to_space(node: OperationNode) -> Operand:
    """The inverse of space_to_batch; the paddings are cropped."""
    x, (rows, columns) = node.take_of_rank("x", 4), node.integers_of("block_shape", 2, 1)
    crops = node.integers_of("crops", 4, 0)
    batch, channels, height, width = static_extents(x.type.shape, "x")
    if batch % (rows * columns):
        raise FrontendError(f"expected a batch that {rows * columns} divides, found {x.type}")
    cells = node.step(ops.Reshape((rows, columns, batch // (rows * columns), channels, height, width)), x)
    turned = node.step(ops.Transpose((2, 3, 4, 0, 5, 1)), cells)
    whole = node.step(ops.Reshape((batch // (rows * columns), channels, height * rows, width * columns)), turned)
    top, bottom, left, right = crops
    ends = (*whole.type.shape[:2], height * rows - bottom, width * columns - right)
    return node.result(ops.Slice((0, 0, top, left), ends, (1, 1, 1, 1)), whole)


BLOCKS: Mapping[str, Converter] = {
    "batch_to_space": _batch_to_space,
    "depth_to_space": lambda node: node.result(ops.DepthToSpace(_blocks(node, "block_size"), "DCR"), node.take("x")),
    "pixel_shuffle": lambda node: node.result(ops.DepthToSpace(_blocks(node, "upscale_factor"), "CRD"), node.take("x")),
    "pixel_unshuffle": _pixel_unshuffle,
    "space_to_batch": _space_to_batch,
    "space_to_depth": lambda node: node.result(ops.SpaceToDepth(_blocks(node, "block_size")), node.take("x")),
}
