"""Boxes of detectors: anchors, decoding, suppression, and how far boxes overlap."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

_FORMS = {"corner": "corners", "center": "center"}


def _prior(node: MxnetNode) -> Operand:
    """Anchors for each place of a feature map; its data don't matter."""
    op = ops.MultiBoxPrior(
        shape=node.shape(0)[2:],
        sizes=node.numbers("sizes"),
        ratios=node.numbers("ratios"),
        steps=node.numbers("steps"),
        offsets=node.numbers("offsets"),
        clip=node.flag("clip"),
    )
    return node.result(op)


def _detection(node: MxnetNode) -> Operand:
    """Records (class, score, box) of the decoded boxes; suppressed ones stay with class -1."""
    if node.integer("background_id") != 0:
        raise UnsupportedError("a background_id other than 0 is not supported")
    decode = ops.MultiBoxTransformLoc(
        threshold=node.number("threshold"), clip=node.flag("clip"), variances=node.numbers("variances")
    )
    overlap = node.number("nms_threshold")
    if not 0 < overlap <= 1:  # no suppression then (src/operator/contrib/multibox_detection.cc)
        raise UnsupportedError(f"an nms_threshold of {overlap} is not supported", "set one of 0 to 1")
    records, _ = node.steps(decode, *node.values(), count=2)
    below = float(np.nextafter(np.float32(overlap), np.float32(0)))  # an overlap of exactly the threshold suppresses
    suppress = ops.SuppressRecords(
        classes=0,
        score_threshold=-1.0,
        iou_threshold=below,
        most=max(node.integer("nms_topk"), 0),
        across=node.flag("force_suppress"),
        keeps_suppressed=True,
    )
    return node.result(suppress, records)


def _suppression(node: MxnetNode) -> Operand:
    """Records [… , N, W] without those that a better one overlaps, best first."""
    forms = [node.choice(name, *_FORMS) for name in ("in_format", "out_format")]
    if forms[0] != forms[1]:
        raise UnsupportedError("an out_format other than the in_format is not supported", "convert boxes outside")
    *outer, count, width = node.shape(0)
    data = node.reshaped(node.value(0), (product(tuple(outer)), count, width))
    classes = node.integer("id_index")
    op = ops.SuppressRecords(
        box=node.integer("coord_start"),
        score=node.integer("score_index"),
        classes=classes,
        background=node.integer("background_id"),
        iou_threshold=node.number("overlap_thresh"),
        score_threshold=node.number("valid_thresh"),
        most=max(node.integer("topk"), 0),
        across=node.flag("force_suppress") or classes < 0,
        form=_FORMS[forms[0]],
    )
    if data.type.shape == node.shape(0):
        return node.result(op, data)
    kept, _ = node.steps(op, data, count=2)
    return node.result(ops.Reshape(shape=node.shape(0)), kept)


def _numbers_of(node: MxnetNode, boxes: Value) -> list[Value]:
    """The four numbers of boxes, each with a last axis of 1."""
    if boxes.type.shape[-1:] != (4,):
        raise FrontendError(f"expected boxes of 4 numbers, found {boxes.type}")
    return list(node.steps(ops.Split(axis=boxes.type.rank - 1, sizes=(1,) * 4), boxes, count=4))


def _half(node: MxnetNode, value: Value) -> Value:
    return node.step(ops.Multiply(), value, node.like(0.5, value))


def _corners(node: MxnetNode, boxes: Value) -> tuple[list[Value], list[Value]]:
    """The low and the high corner, x and y, of boxes in the node's format."""
    a, b, c, d = _numbers_of(node, boxes)
    if node.choice("format", *_FORMS) == "corner":
        return [a, b], [c, d]
    halves = [_half(node, value) for value in (c, d)]
    lows = [node.step(ops.Subtract(), value, half) for value, half in zip((a, b), halves, strict=True)]
    return lows, [node.step(ops.Add(), value, half) for value, half in zip((a, b), halves, strict=True)]


def _overlap(node: MxnetNode) -> Operand:
    """The intersection over union of all boxes of two lists; 0 for boxes without area (bounding_box-inl.h)."""
    first, second = node.values()
    shape = (*first.type.shape[:-1], *second.type.shape[:-1])
    left = _corners(node, node.reshaped(first, (product(first.type.shape[:-1]), 1, 4)))
    right = _corners(node, node.reshaped(second, (1, product(second.type.shape[:-1]), 4)))
    sides = []
    for low, high in zip(zip(left[0], right[0], strict=True), zip(left[1], right[1], strict=True), strict=True):
        begin, end = node.step(ops.Maximum(), *low), node.step(ops.Minimum(), *high)
        sides.append(node.step(ops.Relu(), node.step(ops.Subtract(), end, begin)))
    common = node.step(ops.Multiply(), *sides)
    union = node.step(ops.Subtract(), node.step(ops.Add(), _area(node, left), _area(node, right)), common)
    is_empty = node.step(ops.LessEqual(), union, node.like(0, union))
    divisor = node.step(ops.Where(), is_empty, node.like(1, union), union)
    ratio = node.step(ops.Where(), is_empty, node.like(0, union), node.step(ops.Divide(), common, divisor))
    return node.result(ops.Reshape(shape=shape), ratio)


def _area(node: MxnetNode, corners: tuple[list[Value], list[Value]]) -> Value:
    sides = [node.step(ops.Subtract(), high, low) for low, high in zip(*corners, strict=True)]
    return node.step(ops.Multiply(), *sides)


def _decode(node: MxnetNode) -> Operand:
    """Boxes from offsets of centres in units of the anchors, and from logarithms of extents (bounding_box-inl.h)."""
    data, anchors = node.values()
    lows, highs = _corners(node, anchors)
    extents = [node.step(ops.Subtract(), high, low) for low, high in zip(lows, highs, strict=True)]
    centers = [_half(node, node.step(ops.Add(), low, high)) for low, high in zip(lows, highs, strict=True)]
    offsets = [
        node.step(ops.Multiply(), value, node.like(node.number(f"std{i}"), value))
        for i, value in enumerate(_numbers_of(node, data))
    ]
    results: tuple[list[Value], list[Value]] = ([], [])
    for move, growth, extent, center in zip(offsets[:2], offsets[2:], extents, centers, strict=True):
        limit = node.number("clip")
        limited = node.step(ops.Clip(high=limit), growth) if limit > 0 else growth
        half = _half(node, node.step(ops.Multiply(), node.step(ops.Exp(), limited), extent))
        middle = node.step(ops.Add(), node.step(ops.Multiply(), move, extent), center)
        results[0].append(node.step(ops.Subtract(), middle, half))
        results[1].append(node.step(ops.Add(), middle, half))
    return node.result(ops.Concat(axis=data.type.rank - 1), *results[0], *results[1])


DETECTION = {
    "_contrib_MultiBoxDetection": operator(
        _detection,
        "cls_prob loc_pred anchor",
        clip=True,
        threshold=0.01,
        background_id=0,
        nms_threshold=0.5,
        force_suppress=False,
        variances=(0.1, 0.1, 0.2, 0.2),
        nms_topk=-1,
    ),
    "_contrib_MultiBoxPrior": operator(
        _prior, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)
    ),
    "_contrib_box_decode": operator(
        _decode, "data anchors", std0=1.0, std1=1.0, std2=1.0, std3=1.0, clip=-1.0, format="center"
    ),
    "_contrib_box_iou": operator(_overlap, "lhs rhs", format="corner"),
    "_contrib_box_nms": operator(
        _suppression,
        results="",
        overlap_thresh=0.5,
        valid_thresh=0.0,
        topk=-1,
        coord_start=2,
        score_index=1,
        id_index=-1,
        background_id=-1,
        force_suppress=False,
        in_format="corner",
        out_format="corner",
    ),
}
