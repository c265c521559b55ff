"""Windows as axes of their own, and channels as positions."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _unfold(node: TorchNode) -> Operand:
    """Windows along an axis, as a new last axis."""
    data = node.tensor("self")
    if not data.type.rank:
        node.ignore("dimension", "step")
        return node.result(ops.Reshape(shape=(node.integer("size"),)), data)
    shape = data.type.shape
    axis, size, step = node.one_axis(len(shape), "dimension"), node.integer("size"), node.integer("step")
    (extent,) = static_extents(shape[axis : axis + 1], "an axis with windows")
    node.require_table(extent, size)
    places = np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)
    windows = node.step(ops.Gather(axis=axis), data, node.parameter(places, "places"))
    order = [d for d in range(len(shape) + 1) if d != axis + 1] + [axis + 1]
    return node.result(ops.Transpose(permutation=tuple(order)), windows)


def _strided(node: TorchNode) -> Operand:
    """as_strided: elements of a contiguous tensor by strides in its memory."""
    data = node.tensor("self")
    size, stride = node.integers("size"), node.integers("stride")
    offset = node.integer("storage_offset", 0) if node.gives("storage_offset") else 0
    (count,) = static_extents((product(data.type.shape),), "a tensor that is read by strides")
    node.require_table(*size)
    if len(size) != len(stride) or not all(0 <= n < 1 << 48 for n in (*stride, offset)):
        raise FrontendError(f"expected a size, strides and an offset of zero or more, found {size}, {stride}, {offset}")
    places = np.array(offset)
    for extent, apart in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(extent) * apart
    if places.size and places.max() >= count:
        raise UnsupportedError(f"strides {list(stride)} reach beyond the tensor")
    flat = node.reshaped(data, (count,))
    return node.result(ops.Gather(axis=0), flat, node.parameter(places, "places"))


def _pixel_shuffle(node: TorchNode) -> Operand:
    """Channels [c, r, r] to positions, over any axes in front (torch.nn.PixelShuffle)."""
    data, r = node.tensor("self"), node.integer("upscale_factor")
    *batch, channels, rows, columns = data.type.shape
    picture = node.reshaped(data, (product(batch), channels, rows, columns))
    large = node.step(ops.DepthToSpace(block=r, mode="CRD"), picture)
    return node.result(ops.Reshape(shape=(*batch, *large.type.shape[1:])), large)


def _pixel_unshuffle(node: TorchNode) -> Operand:
    data, r = node.tensor("self"), node.integer("downscale_factor")
    *batch, channels, rows, columns = data.type.shape
    blocks = node.reshaped(data, (product(batch), channels, rows // r, r, columns // r, r))
    moved = node.step(ops.Transpose(permutation=(0, 1, 3, 5, 2, 4)), blocks)
    return node.result(ops.Reshape(shape=(*batch, channels * r * r, rows // r, columns // r)), moved)


def _channel_shuffle(node: TorchNode) -> Operand:
    data, groups = node.tensor("self"), node.integer("groups")
    batch, channels, *rest = data.type.shape
    apart = node.reshaped(data, (batch, groups, channels // groups, *rest))
    moved = node.step(ops.Transpose(permutation=(0, 2, 1, *range(3, 3 + len(rest)))), apart)
    return node.result(ops.Reshape(shape=data.type.shape), moved)


def _columns(node: TorchNode) -> Operand:
    """im2col: the elements under each window, [N, C·kernel, windows]."""
    data = node.tensor("self")
    n, c, h, w = static_extents(data.type.shape, "a picture with windows")
    kernel, dilation, padding, stride = (
        node.per_axis(name, 2, default)
        for name, default in (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    )
    top, left = padding
    node.require_table(h + 2 * top, kernel[0])
    node.require_table(w + 2 * left, kernel[1])
    padded = node.step(ops.Pad(pads=(0, 0, top, left, 0, 0, top, left)), data) if any(padding) else data
    places = [
        (np.arange(0, extent + 2 * pad - d * (k - 1), s)[None] + np.arange(k)[:, None] * d)
        for extent, k, d, pad, s in zip((h, w), kernel, dilation, padding, stride, strict=True)
    ]
    rows = node.step(ops.Gather(axis=2), padded, node.parameter(places[0], "rows"))
    both = node.step(ops.Gather(axis=4), rows, node.parameter(places[1], "columns"))
    moved = node.step(ops.Transpose(permutation=(0, 1, 2, 4, 3, 5)), both)
    count = places[0].shape[1] * places[1].shape[1]
    return node.result(ops.Reshape(shape=(n, c * kernel[0] * kernel[1], count)), moved)


BLOCKS: dict[str, Converter] = {
    "as_strided": _strided,
    "as_strided_copy": _strided,
    "channel_shuffle": _channel_shuffle,
    "im2col": _columns,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "unfold": _unfold,
    "unfold_copy": _unfold,
}
