"""Layers that give the elements of a blob another shape or order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, extents_array
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

CHANNEL_FIRST, CHANNEL_LAST = range(2)
"""Values of FlattenOrder and ReshapeOrder."""
SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE = range(3)
"""Values of ReorganizationType."""


def _flatten(node: LayerNode) -> Operand:
    images = _in_order(node, node.images())
    _, *rest = images.type.shape
    return node.as_blob(ops.Reshape((images.type.shape[0], product(rest), 1, 1)), [images], node.shape(0)[:-3])


def _in_order(node: LayerNode, images: Value) -> Value:
    """Images with the channels last, if the layer counts elements so."""
    mode = node.parameters.mode
    if mode not in (CHANNEL_FIRST, CHANNEL_LAST):
        raise FrontendError(f"expected a mode of 0 or 1, found {mode}")
    return images if mode == CHANNEL_FIRST else node.step(ops.Transpose((0, 2, 3, 1)), images)


def _reshape(node: LayerNode) -> Operand:
    """A shape of three extents keeps the sequence, one of four has its length first."""
    _require_sequence(node)
    target = tuple(node.parameters.targetShape)
    if len(target) not in (3, 4):
        raise FrontendError(f"expected a targetShape of 3 or 4 extents, found {list(target)}")
    images = node.images()
    sequence, image = (images.type.shape[0], target) if len(target) == 3 else (target[0], target[1:])
    data = _in_order(node, images)
    batch: tuple[Dim, ...] = (sequence, 1) if node.has_batch else (sequence,)
    if node.parameters.mode == CHANNEL_FIRST:
        return node.result(ops.Reshape((*batch, *image)), data)
    channels, height, width = image
    last = node.step(ops.Reshape((sequence, height, width, channels)), data)
    return node.as_blob(ops.Transpose((0, 3, 1, 2)), [last], batch)


def _require_sequence(node: LayerNode) -> None:
    """Raises FrontendError unless the input is [Seq, 1, C, H, W]."""
    shape = node.shape(0)
    if len(shape) != 4 + node.has_batch or (node.has_batch and shape[1] != 1):
        raise FrontendError(f"expected a blob [Seq, 1, C, H, W], found {node.operand_text(0)}")


def _permute(node: LayerNode) -> Operand:
    """The order of [Seq, C, H, W]; Batch stays where it is."""
    if node.rank(0) != 4 + node.has_batch:
        raise FrontendError(f"expected a blob [Seq, Batch, C, H, W], found {node.operand_text(0)}")
    order = tuple(node.parameters.axis) or (0, 1, 2, 3)
    if sorted(order) != [0, 1, 2, 3]:
        raise FrontendError(f"expected an order of four axes, found {list(order)}")
    if node.has_batch:
        axes = [0, 2, 3, 4]
        first, *rest = (axes[axis] for axis in order)
        order = (first, 1, *rest)
    return node.result(ops.Transpose(order), node.value(0))


def _transpose(node: LayerNode) -> Operand:
    axes = tuple(node.parameters.axes)
    if sorted(axes) != list(range(node.rank(0))):
        raise FrontendError(f"expected an order of {node.rank(0)} axes, found {list(axes)}")
    return node.result(ops.Transpose(axes), node.value(0))


def _reorganize(node: LayerNode) -> Operand:
    mode, block = node.parameters.mode, node.parameters.blockSize
    if not 1 < block < 1 << 16 or mode not in (SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE):
        raise FrontendError(f"expected a block of 2 or more and a mode of 0 to 2, found {block}, {mode}")
    if mode == SPACE_TO_DEPTH:
        return node.of_images(ops.SpaceToDepth(block=block), node.images())
    order = "DCR" if mode == DEPTH_TO_SPACE else "CRD"
    return node.of_images(ops.DepthToSpace(block=block, mode=order), node.images())


def _to_shape(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.Reshape(filled_shape(shape, node.shape(0))), node.value(0))


def _rank_preserving(node: LayerNode) -> Operand:
    """A 0 keeps the extent."""
    target, shape = tuple(node.parameters.targetShape), node.shape(0)
    if len(target) != len(shape):
        raise FrontendError(f"expected a targetShape of {len(shape)} extents, found {list(target)}")
    return _to_shape(node, [own if wanted == 0 else wanted for wanted, own in zip(target, shape, strict=True)])


def _expand_dims(node: LayerNode) -> Operand:
    return node.result(ops.Reshape(with_axes(node.shape(0), tuple(node.parameters.axes))), node.value(0))


def _squeeze(node: LayerNode) -> Operand:
    """Blobs have an axis: of a blob of one element one axis stays."""
    shape = node.shape(0)
    given = None if node.parameters.squeezeAll else tuple(node.parameters.axes)
    axes = squeezed_axes(shape, given, node.operand_text(0))
    return node.result(ops.Reshape(without_axes(shape, axes) or (1,)), node.value(0))


def _flatten_to_2d(node: LayerNode) -> Operand:
    """Axis -1 of a vector is its only one; the rank itself stands for the end."""
    shape, axis = node.shape(0), node.parameters.axis
    if not -len(shape) <= axis <= len(shape):
        raise FrontendError(f"expected an axis of {-len(shape)} to {len(shape)}, found {axis}")
    axis = axis + len(shape) if axis < 0 else axis
    return node.result(ops.Reshape((product(shape[:axis]), product(shape[axis:]))), node.value(0))


def _get_shape(node: LayerNode) -> Operand:
    extents = extents_array(node.shape(0))
    return extents if extents.dtype == object else extents.astype(np.float32)


SHAPE: Mapping[str, Converter] = {
    "expandDims": _expand_dims,
    "flatten": _flatten,
    "flattenTo2D": _flatten_to_2d,
    "getShape": _get_shape,
    "permute": _permute,
    "rankPreservingReshape": _rank_preserving,
    "reorganizeData": _reorganize,
    "reshape": _reshape,
    "reshapeDynamic": lambda node: _to_shape(node, node.dimensions_of(1)),
    "reshapeLike": lambda node: _to_shape(node, node.shape(1)),
    "reshapeStatic": lambda node: _to_shape(node, tuple(node.parameters.targetShape)),
    "squeeze": _squeeze,
    "transpose": _transpose,
}
