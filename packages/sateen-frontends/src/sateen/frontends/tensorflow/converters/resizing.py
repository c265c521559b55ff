"""Resizing of pictures [N, H, W, C]: positions and weights as TensorFlow computes them, in float32.

Source: tensorflow/core/util/image_resizer_state.h and tensorflow/core/kernels/image.
"""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.converters.averaging import area_weights, averaged, kernel_weights
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

LARGEST = 1 << 15
"""The largest extent of a result."""
_FLOAT = DType.of("float32")
_TABLE = 1024
"""The number of parts of an element for which bicubic weights are tabled."""


def _sizes(node: TensorflowNode) -> tuple[int, int]:
    """Height and width of the result."""
    if node.rank(0) != 4:
        raise FrontendError(f"expected pictures [N, H, W, C], found {listed(node.shape(0))}")
    sizes = node.integers_at(1)
    if len(sizes) != 2 or not all(0 < size <= LARGEST for size in sizes):
        raise FrontendError(f"expected height and width of 1 to {LARGEST}, found {list(sizes)}")
    if node.flag("align_corners") and node.flag("half_pixel_centers"):
        raise FrontendError("expected align_corners or half_pixel_centers, found both")
    return sizes[0], sizes[1]


def _scale(before: int, after: int, align_corners: bool) -> np.float32:
    """Input elements per output element (CalculateResizeScale)."""
    if align_corners and after > 1:
        return np.float32(before - 1) / np.float32(after - 1)
    return np.float32(before) / np.float32(after)


def _transformation(node: TensorflowNode) -> str:
    if node.flag("align_corners"):
        return "align_corners"
    return "half_pixel" if node.flag("half_pixel_centers") else "asymmetric"


def _bilinear(node: TensorflowNode) -> Operand:
    """Gives float32, whatever the type of the picture."""
    height, width = _sizes(node)
    data = to_channels_first(node, node.cast(node.value(0), _FLOAT))
    op = ops.Resize(
        sizes=(*data.type.shape[:2], height, width), mode="linear", coordinate_transformation=_transformation(node)
    )
    return result_channels_last(node, node.step(op, data))


def _nearest(node: TensorflowNode) -> Operand:
    """The element whose place is rounded down, or to the nearest for aligned corners
    (resize_nearest_neighbor_op.cc)."""
    sizes = _sizes(node)
    extents = node.static_shape(0)[1:3]
    places = [_nearest_places(node, before, after) for before, after in zip(extents, sizes, strict=True)]
    even = all(
        after % before == 0 and np.array_equal(chosen, np.arange(after) // (after // before))
        for chosen, before, after in zip(places, extents, sizes, strict=True)
    )
    if even:
        data = to_channels_first(node, node.value(0))
        op = ops.Resize((*data.type.shape[:2], *sizes), "nearest", "asymmetric", "floor")
        return result_channels_last(node, node.step(op, data))
    rows = node.step(ops.Gather(axis=1), node.value(0), node.parameter(places[0], "rows"))
    return node.result(ops.Gather(axis=2), rows, node.parameter(places[1], "columns"))


def _nearest_places(node: TensorflowNode, before: int, after: int) -> Array:
    align_corners = node.flag("align_corners")
    scale = _scale(before, after, align_corners)
    out = np.arange(after, dtype=np.float32)
    if node.flag("half_pixel_centers"):
        out += np.float32(0.5)
    position = out * scale
    chosen = np.floor(position + np.float32(0.5)) if align_corners else np.floor(position)
    return np.asarray(np.clip(chosen, 0, before - 1), np.int64)


def _bicubic(node: TensorflowNode) -> Operand:
    """Four taps along each axis, whose weights are tabled for 1,024 parts of an element (resize_bicubic_op.cc)."""
    sizes = _sizes(node)
    value = node.cast(node.value(0), _FLOAT)
    for axis, after in enumerate(sizes, start=1):
        taps, weights = _bicubic_taps(node, node.static_shape(0)[axis], after)
        value = _weighted(node, value, axis, taps, weights)
    return value


def _weighted(node: TensorflowNode, value: Value, axis: int, taps: Array, weights: Array) -> Value:
    """The sum over taps of the elements of an axis at these places, times weights; both are [taps, places]."""
    total: Value | None = None
    for places, factors in zip(taps, weights, strict=True):
        if not factors.any():
            continue
        taken = node.step(ops.Gather(axis=axis), value, node.parameter(places, "places"))
        shape = (-1, *(1,) * (value.type.rank - 1 - axis))
        part = node.step(ops.Multiply(), taken, node.parameter(factors.reshape(shape), "weights"))
        total = part if total is None else node.step(ops.Add(), total, part)
    assert total is not None
    return total


def _bicubic_taps(node: TensorflowNode, before: int, after: int) -> tuple[Array, Array]:
    """The places of four taps for each output position, and their weights.

    With half_pixel_centers they follow Keys (a = -0.5), and taps outside do not count; otherwise a is -0.75, and they
    repeat the border.
    """
    centred = node.flag("half_pixel_centers")
    table = _cubic_table(-0.5 if centred else -0.75)
    scale = _scale(before, after, node.flag("align_corners"))
    out = np.arange(after, dtype=np.float32)
    position = (out + np.float32(0.5)) * scale - np.float32(0.5) if centred else out * scale
    left = np.floor(position)
    offset = np.rint((position - left) * np.float32(_TABLE)).astype(np.int64)
    taps = left.astype(np.int64) + np.arange(-1, 3)[:, None]
    weights = np.stack([table[1, offset], table[0, offset], table[0, _TABLE - offset], table[1, _TABLE - offset]])
    inside = np.clip(taps, 0, before - 1)
    if centred:
        weights = np.where(inside == taps, weights, 0)
        weights = weights / weights.sum(axis=0)
    return inside, weights.astype(np.float32)


def _cubic_table(a: float) -> Array:
    """Weights of elements up to 1 and from 1 to 2 away, by parts of the distance."""
    x = np.arange(_TABLE + 1) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    y = x + 1
    return np.stack([near, ((a * y - 5 * a) * y + 8 * a) * y - 4 * a])


def _area(node: TensorflowNode) -> Operand:
    """Averages of the elements under each output element, and of parts of elements (resize_area_op.cc)."""
    sizes = _sizes(node)
    extents = node.static_shape(0)[1:3]
    value = node.cast(node.value(0), _FLOAT)
    kernel = tuple(before // after for before, after in zip(extents, sizes, strict=True))
    if not node.flag("align_corners") and all(
        k * after == before for k, after, before in zip(kernel, sizes, extents, strict=True)
    ):
        pool = ops.AveragePool(kernel=kernel, strides=kernel)
        return result_channels_last(node, node.step(pool, to_channels_first(node, value)))
    rows, columns = (
        area_weights(before, after, _scale(before, after, node.flag("align_corners")))
        for before, after in zip(extents, sizes, strict=True)
    )
    return averaged(node, value, rows, columns)


def _scaled_and_translated(node: TensorflowNode) -> Operand:
    """Kernels around each output position, stretched where elements are many and `antialias` says so."""
    sizes = _sizes(node)
    scales, shifts = node.constant(2).ravel(), node.constant(3).ravel()
    if len(scales) != 2 or len(shifts) != 2:
        raise FrontendError(f"expected two scales and two translations, found {len(scales)} and {len(shifts)}")
    extents = node.static_shape(0)[1:3]
    rows, columns = (
        kernel_weights(node, before, after, float(scale), float(shift))
        for before, after, scale, shift in zip(extents, sizes, scales, shifts, strict=True)
    )
    return averaged(node, node.cast(node.value(0), _FLOAT), rows, columns)


RESIZING: dict[str, Converter] = {
    "ResizeArea": _area,
    "ResizeBicubic": _bicubic,
    "ResizeBilinear": _bilinear,
    "ResizeNearestNeighbor": _nearest,
    "ScaleAndTranslate": _scaled_and_translated,
}
