"""Regions of images that are cropped and resized, as CoreML's layer and operation have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import require_few, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_FLOAT, _INDEX = DType.of("float32"), DType.of("int64")
BOX_FORMS = ("CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST")
"""How four numbers are a box, by the values of BoxCoordinatesMode."""


@dataclass(frozen=True, slots=True)
class Cropping:
    """How regions become images of `size`. Coordinates are in pixels, or `normalized` to 0 at the first and 1 at the
    last pixel, and are multiplied by `scale`. `mode` names the sampling as sampling.py does; `outside` is what lies
    beyond the image."""

    size: tuple[int, int]
    form: str
    mode: str
    normalized: bool
    scale: float
    outside: float = 0.0


def cropped(node: ModelNode, images: Value, boxes: Value, owners: Value, how: Cropping) -> Value:
    """Regions [R, C, *size] of images [N, C, H, W]: boxes [R, 4], and the image of each.

    From start to end of a region, N positions are (NeuralNetwork.proto, CropResizeLayerParams):

        STRICT_ALIGN_CORNERS  linspace(start, end, N), the start if N is 1
        ALIGN_CORNERS         the same, but the centre if N is 1
        ROI_ALIGN             start + (i + 0.5) s, where s is max(1, end - start) / N

    Raises UnsupportedError for other modes, which the format defines for whole images only.
    """
    if how.form not in BOX_FORMS:
        raise FrontendError(f"expected boxes as {', '.join(BOX_FORMS)}, found {how.form!r}")
    if images.type.rank != 4 or boxes.type.rank != 2 or boxes.type.shape[1] != 4:
        raise FrontendError(f"expected images [N, C, H, W] and boxes [R, 4], found {images.type} and {boxes.type}")
    if how.mode not in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "ROI_ALIGN"):
        raise UnsupportedError(
            f"the format does not say where sampling mode {how.mode} puts the positions of a region",
            "convert the model with ALIGN_CORNERS",
        )
    extents = static_extents(images.type.shape[2:], "the height and width of images")
    data = boxes if boxes.type.dtype == _FLOAT else node.step(ops.Cast(_FLOAT), boxes)
    ends = []
    for axis, (low, high) in enumerate(_edges(node, data, how.form)):
        factor = how.scale * (extents[axis] - 1 if how.normalized else 1)
        start, end = (_times(node, v, factor) for v in (low, high))
        ends.append(_sampled(node, start, end, how.size[axis], how.mode))
    return _resized(node, images, ends, owners, how, extents)


def of_each_image(node: ModelNode, images: Value, regions: Value, how: Cropping) -> Value:
    """Regions [N, 4] of each of B images, or [N, 5] with the place of the image in front: [N, B, C, *size], with 1 in
    place of B then."""
    count, width = static_extents(regions.type.shape, "the regions")
    batch, channels = images.type.shape[:2]
    if width == 5:
        place, boxes = node.steps(ops.Split(axis=1, sizes=(1, 4)), regions, count=2)
        owners = node.step(ops.Cast(_INDEX), node.step(ops.Reshape((count,)), place))
        return node.step(ops.Reshape((count, 1, channels, *how.size)), cropped(node, images, boxes, owners, how))
    if width != 4:
        raise FrontendError(f"expected regions of 4 or 5 numbers, found {regions.type}")
    (pictures,) = static_extents((batch,), "the number of images")
    repeated = node.step(ops.BroadcastTo((count, pictures, 4)), node.step(ops.Reshape((count, 1, 4)), regions))
    boxes = node.step(ops.Reshape((count * pictures, 4)), repeated)
    require_few(count, pictures)
    owners = node.parameter(np.tile(node.counted(pictures), count), "owners")
    return node.step(ops.Reshape((count, pictures, channels, *how.size)), cropped(node, images, boxes, owners, how))


def _edges(node: ModelNode, boxes: Value, form: str) -> Sequence[tuple[Value, Value]]:
    """The low and high edge [R, 1] of each box, along the height and along the width."""
    count = boxes.type.shape[0]
    first, second, third, fourth = node.steps(ops.Split(axis=1, sizes=(1, 1, 1, 1)), boxes, count=4)
    assert first.type.shape == (count, 1)
    if form.startswith("CENTER"):
        halves = [_times(node, extent, 0.5) for extent in (third, fourth)]
        centres = (first, second)
        low = [node.step(ops.Subtract(), c, h) for c, h in zip(centres, halves, strict=True)]
        high = [node.step(ops.Add(), c, h) for c, h in zip(centres, halves, strict=True)]
        pairs = list(zip(low, high, strict=True))
    else:
        pairs = [(first, third), (second, fourth)]
    return pairs if form.endswith("HEIGHT_FIRST") else pairs[::-1]


def _times(node: ModelNode, value: Value, factor: float) -> Value:
    return value if factor == 1 else node.step(ops.Multiply(), value, node.literal(factor, _FLOAT))


def _sampled(node: ModelNode, start: Value, end: Value, count: int, mode: str) -> tuple[Value, Value]:
    """The first and the last position of `count`; of one position, both."""
    if mode == "ROI_ALIGN":
        size = node.step(ops.Maximum(), node.step(ops.Subtract(), end, start), node.literal(1, _FLOAT))
        return (
            node.step(ops.Add(), start, _times(node, size, 0.5 / count)),
            node.step(ops.Add(), start, _times(node, size, (count - 0.5) / count)),
        )
    if count > 1:
        return start, end
    if mode == "STRICT_ALIGN_CORNERS":
        return start, start
    middle = _times(node, node.step(ops.Add(), start, end), 0.5)
    return middle, middle


def _resized(
    node: ModelNode,
    images: Value,
    ends: Sequence[tuple[Value, Value]],
    owners: Value,
    how: Cropping,
    extents: Sequence[int],
) -> Value:
    """Images get a border of one pixel, in which positions of the last pixel stay that the processor rounds up.

    Which positions are outside is decided by a sum that is exact at the first and the last.
    """
    wide = node.step(ops.Pad("edge", (0, 0, 1, 1, 0, 0, 1, 1)), images)
    corners: list[Value] = []
    is_inside: Value | None = None
    for axis, (start, end) in enumerate(ends):
        count, extent = how.size[axis], extents[axis]
        shares = (np.arange(count) / max(count - 1, 1)).astype(np.float32).reshape(1, count)
        late = node.step(ops.Multiply(), end, node.parameter(shares, "shares"))
        early = node.step(ops.Multiply(), start, node.parameter((1 - shares).astype(np.float32), "shares"))
        at = node.step(ops.Add(), early, late)
        low = node.step(ops.GreaterEqual(), at, node.literal(0, _FLOAT))
        fits = node.step(ops.And(), low, node.step(ops.LessEqual(), at, node.literal(extent - 1, _FLOAT)))
        placed = node.step(ops.Reshape((fits.type.shape[0], 1, *((count, 1) if axis == 0 else (1, count)))), fits)
        is_inside = placed if is_inside is None else node.step(ops.And(), is_inside, placed)
        moved = (node.step(ops.Add(), v, node.literal(1, _FLOAT)) for v in (start, end))
        corners += [_times(node, v, 1 / (extent + 1)) for v in moved]
    assert is_inside is not None
    top, bottom, left, right = corners
    boxes = node.step(ops.Concat(axis=1), top, left, bottom, right)
    parts = node.step(ops.CropAndResize(how.size), wide, boxes, owners)
    return node.step(ops.Where(), is_inside, parts, node.literal(how.outside, images.type.dtype))
