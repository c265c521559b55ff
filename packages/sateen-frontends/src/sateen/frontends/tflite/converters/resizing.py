"""Pictures in another size, at the positions that the kernels compute: in float32, or with integers of 8 and 16 bits in
steps of 1/1024."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.channels import to_channels_first
from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir.ir import Array, Dim, Value
from sateen.graph_ir.ops import Add, Cast, Divide, Gather, Greater, Multiply, Resize, Transpose, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_LAST = Transpose((0, 2, 3, 1))
_OF_INTEGERS = frozenset({DType.of("int8"), DType.of("int16")})
"""The types with kernels of integers; data of uint8 are interpolated in floating point."""
_STEPS = 1 << 10
"""The positions between two pixels, of integers."""


def _resized(node: TfliteNode, data: Value, mode: str, centred: str, nearest: str) -> Value:
    """Data with channels first; `centred` is the transformation for half_pixel_centers."""
    transformation = "asymmetric"
    size = _size(node, data.type.shape)
    if node.flag("align_corners"):
        transformation, nearest = "align_corners", "round_prefer_ceil"
    elif node.flag("half_pixel_centers"):
        transformation = centred
    op = Resize((*data.type.shape[:2], *size), mode, transformation, nearest_mode=nearest, float32_positions=True)
    return node.step(op, data)


def _size(node: TfliteNode, shape: tuple[Dim, ...]) -> tuple[int, int]:
    if len(shape) != 4:
        raise FrontendError(f"expected data of 4 dimensions, found {len(shape)}")
    size = node.integers_at(1)
    if len(size) != 2:
        raise FrontendError(f"expected a height and a width, found {list(size)}")
    if node.flag("align_corners") and node.flag("half_pixel_centers"):
        raise FrontendError("expected either align_corners or half_pixel_centers, found both")
    return size[0], size[1]


def _bilinear(node: TfliteNode) -> Operand:
    if node.dtype(0) in _OF_INTEGERS:
        return _bilinear_of_integers(node)
    data = to_channels_first(node, node.real(0))
    return node.finish(_LAST, _resized(node, data, "linear", "half_pixel", "floor"))


def _bilinear_of_integers(node: TfliteNode) -> Operand:
    """Sums of the integers, exact, rounded once, halves away from 0 (reference/resize_bilinear.h,
    ResizeBilinearInteger). The scales of data and result are not looked at."""
    data = node.value(0)
    size = _size(node, data.type.shape)
    kind = DType.of("int32" if data.type.dtype.bits == 8 else "int64")
    value = node.step(Cast(kind), data)
    for axis, extent, count in zip((1, 2), static_extents(data.type.shape[1:3], node.described(0)), size, strict=True):
        parts = [
            node.step(
                Multiply(),
                node.step(Gather(axis), value, node.parameter(node.evaluated(pixels), "pixels")),
                node.parameter(node.evaluated(parts.astype(kind.numpy).reshape(-1, *[1] * (3 - axis))), "parts"),
            )
            for pixels, parts in _neighbours(node, extent, count)
        ]
        value = node.step(Add(), *parts)
    half = node.literal(_STEPS**2 // 2, kind)
    away = node.step(
        Where(), node.step(Greater(), value, node.literal(0, kind)), half, node.literal(-(_STEPS**2 // 2), kind)
    )
    rounded = node.step(Divide(), node.step(Add(), value, away), node.literal(_STEPS**2, kind))
    return node.result(Cast(data.type.dtype), rounded)


def _neighbours(node: TfliteNode, extent: int, count: int) -> list[tuple[Array, Array]]:
    """The pixel before each position and the one behind it, each with its part in 1/1024
    (ComputeInterpolationValuesInteger). Kernels read other memory where rounding of the scale leads beyond the last
    pixel; here it is the last."""
    require_few(count)
    if count < 1 or extent < 1 or extent > 1 << 20:
        raise FrontendError(f"expected extents of 1 to {1 << 20}, found {extent} and {count}")
    scale = (_STEPS * extent + count // 2) // count
    if node.flag("align_corners") and count > 1:
        scale = (_STEPS * (extent - 1) + (count - 1) // 2) // (count - 1)
    positions = np.arange(count, dtype=np.int64) * scale
    if node.flag("half_pixel_centers"):
        positions += scale // 2 - _STEPS // 2
    before = np.clip(positions // _STEPS, 0, extent - 1)
    behind = np.clip(-(-positions // _STEPS), 0, extent - 1)
    parts = positions - _STEPS * before
    return [(before, _STEPS - parts), (behind, parts)]


def _nearest(node: TfliteNode) -> Operand:
    """The position rounded down, also of pixels' centres (reference_ops.h, GetNearestNeighbor); the corners' is rounded
    to the nearest."""
    data = to_channels_first(node, node.value(0))
    return node.result(_LAST, _resized(node, data, "nearest", "tf_half_pixel_for_nn", "floor"))


RESIZING: dict[str, Converter] = {"RESIZE_BILINEAR": _bilinear, "RESIZE_NEAREST_NEIGHBOR": _nearest}
