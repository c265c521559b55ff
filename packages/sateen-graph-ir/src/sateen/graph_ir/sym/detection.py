"""Detectors: anchors, the suppression of boxes, and the layers of YOLO."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Concat,
    Less,
    MultiBoxPrior,
    MultiBoxTransformLoc,
    Reshape,
    Sigmoid,
    Softmax,
    SpaceToDepth,
    Split,
    SuppressRecords,
    Where,
)
from sateen.graph_ir.sym.function import Function, Site
from sateen.runtime.errors import ArgumentError


@Function
def multibox_prior(
    at: Site,
    data: Value,
    *,
    sizes: tuple[float, ...] = (1.0,),
    ratios: tuple[float, ...] = (1.0,),
    steps: tuple[float, ...] = (-1.0, -1.0),
    offsets: tuple[float, ...] = (0.5, 0.5),
    clip: bool = False,
) -> Value:
    """The anchors of a feature map, whose elements don't matter."""
    height, width = data.type.shape[2:]
    return at.result(MultiBoxPrior((height, width), tuple(sizes), tuple(ratios), tuple(steps), tuple(offsets), clip))


def _multibox_transform_loc(
    at: Site,
    cls_prob: Value,
    loc_pred: Value,
    anchor: Value,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Value, ...]:
    """Records of anchors that are no background, and their counts."""
    op = MultiBoxTransformLoc(threshold, clip, tuple(variances))
    return at.results(op, cls_prob, loc_pred, anchor, count=2)


multibox_transform_loc = Function(_multibox_transform_loc, "multibox_transform_loc", lambda _: 2)


@Function
def non_max_suppression(
    at: Site,
    data: Value,
    valid_count: Value,
    *,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
) -> Value:
    """The first `valid_count` records of each image without those that a better one overlaps; the rest is -1.

    A box with an overlap of exactly `iou_threshold` goes, too, as in TOPI.
    """
    batch, count, _ = data.type.static_shape
    places = at.constant(np.arange(count).reshape(1, count, 1), "places")
    counts = at.step(Reshape((batch, 1, 1)), valid_count)
    own = at.step(Where(), at.step(Less(), places, counts), data, at.scalar(-1, data))
    below = float(np.nextafter(np.float32(iou_threshold), np.float32(-np.inf)))
    least = float(np.finfo(np.float32).min)
    op = SuppressRecords(
        coord_start, score_index, id_index, iou_threshold=below, score_threshold=least, most=max(top_k, 0),
        across=force_suppress,
    )  # fmt: skip
    return at.builder.add_all(op, own, names=(at.name,))[0]


@Function
def yolo_reorg(at: Site, data: Value, *, stride: int = 1) -> Value:
    """Blocks of pictures as channels, in the order of DarkNet's reorg layer: its data [n, c, h, w] counts as
    [n, c / stride², h·stride, w·stride]."""
    n, c, h, w = data.type.static_shape
    if stride < 1 or c % stride**2 or h % stride or w % stride:
        raise ArgumentError(f"{at.name}: expected extents that stride {stride} divides, found {[c, h, w]}")
    large = at.step(Reshape((n, c // stride**2, h * stride, w * stride)), data)
    blocks = at.step(SpaceToDepth(stride), large)
    return at.result(Reshape((n, c * stride**2, h // stride, w // stride)), blocks)


@Function
def yolo_region(
    at: Site, data: Value, *, n: int, classes: int, coords: int = 4, background: bool = False, softmax: bool = True
) -> Value:
    """DarkNet's region layer: for each of `n` anchors a sigmoid of the first two coordinates and of the objectness
    (not with `background`), and a softmax over the classes."""
    batch, _, height, width = data.type.static_shape
    whole = at.step(Reshape((batch, n, coords + 1 + classes, height, width)), data)
    sizes = (2, coords - 2, 1, classes)
    place, extent, objectness, scores = at.builder.add_all(Split(2, sizes), whole)
    parts = [at.step(Sigmoid(), place), extent, objectness if background else at.step(Sigmoid(), objectness)]
    parts.append(at.step(Softmax(2), scores) if softmax else scores)
    return at.result(Reshape(data.type.shape), at.step(Concat(2), *parts))


FUNCTIONS = (multibox_prior, multibox_transform_loc, non_max_suppression, yolo_reorg, yolo_region)
"""The functions of this file."""
