"""Layers of detectors: anchors of the single shot detector, and regions."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Cast, PsRoiPool, Reshape, RoiPool, Split
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

MOST_PRIORS = 1 << 24
"""The most boxes of a layer."""


def _prior_box(node: CaffeNode) -> Operand:
    """Boxes around each place of the first bottom, in units of the picture, the second bottom: [1, 2, 4·boxes], with
    their variances in the second row.

    They depend on shapes alone. Source: weiliu89/caffe, branch ssd, prior_box_layer.cpp.
    """
    node.require_inputs(2, 2)
    height, width = _plane(node, 0)
    picture = _picture(node)
    boxes = _boxes(node)
    if height * width * len(boxes) > MOST_PRIORS:
        raise UnsupportedError(f"{height * width * len(boxes)} boxes are too many", "use a smaller picture")
    steps = _steps(node, (height, width), picture)
    offset = node.number("offset")
    centres = np.array(
        list(product(*((np.arange(n) + offset) * s for n, s in zip((height, width), steps, strict=True))))
    )
    centres = centres.reshape(-1, 1, 2)[:, :, ::-1]  # x, y
    halves = np.array(boxes).reshape(1, -1, 2) / 2
    scale = np.array(picture[::-1], np.float64)
    corners = np.concatenate([(centres - halves) / scale, (centres + halves) / scale], 2).reshape(-1, 4)
    if node.flag("clip"):
        corners = corners.clip(0, 1)
    variances = np.tile(_variances(node), (len(corners), 1))
    return node.evaluated(np.stack([corners.ravel(), variances.ravel()])[None].astype(np.float32))


def _plane(node: CaffeNode, index: int) -> tuple[int, int]:
    shape = node.static_shape(index)
    if len(shape) != 4:
        raise FrontendError(f"expected bottoms of four axes, found {list(shape)}")
    return shape[2], shape[3]


def _picture(node: CaffeNode) -> tuple[float, float]:
    """Height and width of the picture."""
    given = [node.attribute(name) or node.attribute("img_size") for name in ("img_h", "img_w")]
    if given != [None, None]:
        if None in given or min(given) < 1:
            raise FrontendError(f"expected img_size, or img_h and img_w, of 1 or more, found {given}")
        return given[0], given[1]
    return _plane(node, 1)


def _steps(node: CaffeNode, plane: tuple[int, int], picture: tuple[float, float]) -> tuple[float, float]:
    """The distance of places; of the picture divided evenly, if it is not given."""
    steps = [node.attribute(name) or node.attribute("step") for name in ("step_h", "step_w")]
    if None in steps:
        return picture[0] / plane[0], picture[1] / plane[1]
    if min(steps) <= 0:
        raise FrontendError(f"expected steps above 0, found {steps}")
    return steps[0], steps[1]


def _boxes(node: CaffeNode) -> list[tuple[float, float]]:
    """Width and height of the boxes of a place: for each least size a square, one for the largest, and the ratios."""
    least, most = node.attribute("min_size"), node.attribute("max_size")
    if not least or min(least) <= 0 or (most and len(most) != len(least)):
        raise FrontendError(f"expected min_size above 0, and as many max_size or none, found {least} and {most}")
    if any(large <= small for small, large in zip(least, most, strict=False)):
        raise FrontendError(f"expected each max_size above its min_size, found {most} and {least}")
    found: list[tuple[float, float]] = []
    for index, size in enumerate(least):
        found.append((size, size))
        if most:
            found.append((sqrt(size * most[index]),) * 2)
        found += [(size * sqrt(ratio), size / sqrt(ratio)) for ratio in _ratios(node)]
    return found


def _ratios(node: CaffeNode) -> list[float]:
    """The ratios of width to height other than 1, each once, with their inverses if `flip` says so."""
    ratios = [1.0]
    for ratio in node.attribute("aspect_ratio"):
        if not ratio > 0:
            raise FrontendError(f"expected an aspect_ratio above 0, found {ratio}")
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio, 1 / ratio] if node.flag("flip") else [ratio]
    return ratios[1:]


def _variances(node: CaffeNode) -> Array:
    given = node.attribute("variance") or (0.1,)
    if len(given) not in {1, 4} or min(given) <= 0:
        raise FrontendError(f"expected 1 or 4 variances above 0, found {list(given)}")
    return np.array(given * 4 if len(given) == 1 else given)


def _roi_pooling(node: CaffeNode) -> Operand:
    """Maxima of parts of regions. Source: rbgirshick/caffe-fast-rcnn, roi_pooling_layer.cpp."""
    corners, images = _regions(node)
    op = RoiPool((node.integer("pooled_h"), node.integer("pooled_w")), node.number("spatial_scale"))
    return node.result(op, node.value(0), corners, images)


def _position_sensitive_pooling(node: CaffeNode) -> Operand:
    """Averages of parts of regions, each of channels of its own. Source: daijifeng001/caffe-rfcn,
    psroi_pooling_layer.cu."""
    groups, channels = node.integer("group_size"), node.integer("output_dim")
    corners, images = _regions(node)
    if groups < 1 or node.shape(0)[1:2] != (channels * groups**2,):
        raise FrontendError(f"expected {channels} channels for each of {groups}² parts, found {node.value(0).type}")
    op = PsRoiPool((groups, groups), groups, node.number("spatial_scale"))
    return node.result(op, node.value(0), corners, images)


def _regions(node: CaffeNode) -> tuple[Value, Value]:
    """The corners of the regions, and their images: rows of the second bottom have the image and two corners."""
    node.require_inputs(2, 2)
    rows = node.value(1)
    if rows.type.rank < 2 or any(extent != 1 for extent in rows.type.shape[2:]) or rows.type.shape[1] != 5:
        raise FrontendError(f"expected regions of 5 numbers, found {rows.type}")
    count = rows.type.shape[0]
    rows = rows if rows.type.rank == 2 else node.step(Reshape((count, 5)), rows)
    image, corners = node.steps(Split(1, (1, 4)), rows, count=2)
    return corners, node.step(Cast(DType.of("int64")), node.step(Reshape((count,)), image))


DETECTION: dict[str, Converter] = {
    "PSROIPooling": _position_sensitive_pooling,
    "PriorBox": _prior_box,
    "ROIPooling": _roi_pooling,
}
