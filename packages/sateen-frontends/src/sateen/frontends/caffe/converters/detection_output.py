"""The last layer of the single shot detector: boxes decoded, without those that better ones of their class overlap.

Source: weiliu89/caffe, branch ssd, detection_output_layer.cpp and util/bbox_util.cpp.
"""

from __future__ import annotations

import numpy as np

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.caffe.parameters import inner_value, integer, number
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    Concat,
    Gather,
    GatherElements,
    GatherND,
    GreaterEqual,
    Less,
    Maximum,
    Minimum,
    Multiply,
    NonMaxSuppression,
    Reshape,
    Split,
    Subtract,
    TopK,
    Transpose,
    Where,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT, INDEX = DType.of("float32"), DType.of("int64")
LOWEST = -3.4028234663852886e38
"""What stands for the score of a place without a box: the lowest float32."""


def _detection_output(node: CaffeNode) -> Operand:
    """Rows image, class, score, left, top, right, bottom: [1, 1, images · keep_top_k, 7].

    Caffe gives as many rows as there are; here each image has room for all that it may keep, in the order of classes
    and scores, and rows behind its last are -1.
    """
    node.require_inputs(3, 3)
    batch = node.static_shape(1)[0]
    labels = _labels(node)
    boxes, scores = _boxes(node, labels), _scores(node, labels)
    scores, boxes = _best(node, scores, boxes)
    scores, boxes = _unsuppressed(node, scores, boxes)
    return _rows(node, scores, boxes, labels, batch)


def _labels(node: CaffeNode) -> list[int]:
    """The classes but the background, which is -1 if there is none."""
    count, background = node.integer("num_classes"), node.integer("background_label_id")
    if not 1 <= count <= 1 << 16 or not -1 <= background < count:
        raise FrontendError(
            f"expected num_classes of 1 or more and a background among them, found {count}, {background}"
        )
    return [label for label in range(count) if label != background]


def _scores(node: CaffeNode, labels: list[int]) -> Value:
    """[N, classes, boxes] of the second bottom [N, boxes · classes]."""
    count = node.integer("num_classes")
    batch, *rest = node.static_shape(1)
    boxes = _priors(node)
    if np.prod(rest) != boxes * count:
        raise FrontendError(f"expected {boxes} x {count} scores of each image, found {list(rest)}")
    by_box = node.step(Reshape((batch, boxes, count)), node.value(1))
    by_class = node.step(Transpose((0, 2, 1)), by_box)
    return node.step(Gather(1), by_class, node.parameter(np.array(labels), "labels"))


def _priors(node: CaffeNode) -> int:
    """The number of boxes: the third bottom is [1, 2, 4 · boxes]."""
    shape = node.static_shape(2)
    if len(shape) != 3 or shape[:2] != (1, 2) or shape[2] % 4 or not shape[2]:
        raise FrontendError(f"expected prior boxes [1, 2, 4 · boxes] as the third bottom, found {list(shape)}")
    return shape[2] // 4


def _boxes(node: CaffeNode, labels: list[int]) -> Value:
    """Corners [N, 1 or classes, boxes, 4]: locations relative to the prior boxes, times their variances."""
    boxes, batch = _priors(node), node.static_shape(0)[0]
    groups = 1 if node.flag("share_location") else node.integer("num_classes")
    found = int(np.prod(node.static_shape(0)[1:]))
    if found != boxes * groups * 4:
        raise FrontendError(f"expected {boxes} x {groups} x 4 locations of each image, found {found}")
    by_box = node.step(Reshape((batch, boxes, groups, 4)), node.value(0))
    locations = node.step(Transpose((0, 2, 1, 3)), by_box)
    if groups > 1:
        locations = node.step(Gather(1), locations, node.parameter(np.array(labels), "labels"))
    rows = node.step(Reshape((2, boxes, 4)), node.value(2))
    priors, variances = node.steps(Split(0, (1, 1)), rows, count=2)
    if not node.flag("variance_encoded_in_target"):
        locations = node.step(Multiply(), locations, variances)
    return _decoded(node, locations, priors)


def _decoded(node: CaffeNode, locations: Value, priors: Value) -> Value:
    kind = node.text("code_type")
    if kind == "CORNER":
        return node.step(Add(), locations, priors)
    low, high = node.steps(Split(2, (2, 2)), priors, count=2)
    size = node.step(Subtract(), high, low)
    first, second = node.steps(Split(3, (2, 2)), locations, count=2)
    if kind == "CORNER_SIZE":
        ends = [
            node.step(Add(), node.step(Multiply(), part, size), end) for part, end in ((first, low), (second, high))
        ]
        return node.step(Concat(3), *ends)
    half = node.literal(0.5, FLOAT)
    middle = node.step(Multiply(), node.step(Add(), low, high), half)
    centre = node.step(Add(), node.step(Multiply(), first, size), middle)
    reach = node.step(Multiply(), node.step(Multiply(), node.step(ops.Exp(), second), size), half)
    return node.step(Concat(3), node.step(Subtract(), centre, reach), node.step(Add(), centre, reach))


def _best(node: CaffeNode, scores: Value, boxes: Value) -> tuple[Value, Value]:
    """The `top_k` best of each class, before any is left out: scores [N, C, k] and boxes [N, C, k, 4]."""
    batch, classes, count = static_extents(scores.type.shape, "the scores")
    most = inner_value(node.attribute("nms_param"), "top_k", integer(-1))
    most = count if most < 0 else min(most, count)
    if not most:
        raise FrontendError("expected top_k other than 0, found 0")
    scores, places = node.steps(TopK(most, 2), scores, count=2)
    if boxes.type.shape[1] != classes:  # shared by all classes
        flat = node.step(Reshape((batch, count, 4)), boxes)
        return scores, node.step(GatherND(1), flat, node.step(Reshape((batch, classes, most, 1)), places))
    return scores, node.step(GatherND(2), boxes, node.step(Reshape((batch, classes, most, 1)), places))


def _unsuppressed(node: CaffeNode, scores: Value, boxes: Value) -> tuple[Value, Value]:
    """Those that no better one of their class overlaps: scores [N, C · m], LOWEST where there is none, and boxes."""
    batch, classes, count = static_extents(scores.type.shape, "the scores")
    part, keep = node.attribute("nms_param"), node.integer("keep_top_k")
    if inner_value(part, "eta", number(1.0)) != 1:
        raise UnsupportedError("a threshold that adapts, eta, is not supported", "leave eta out")
    most = count if keep < 0 else min(count, max(keep, 1))
    op = NonMaxSuppression(
        most,
        iou_threshold=inner_value(part, "nms_threshold", number(0.3)),
        score_threshold=node.attribute("confidence_threshold"),
        form="corners",
    )
    rows = batch * classes
    scores = node.step(Reshape((rows, count)), scores)
    boxes = node.step(Reshape((rows, count, 4)), boxes)
    places, _ = node.steps(op, boxes, node.step(Reshape((rows, 1, count)), scores), count=2)
    places = node.step(Reshape((rows, most)), places)
    zero = node.literal(0, INDEX)
    valid, known = node.step(GreaterEqual(), places, zero), node.step(Maximum(), places, zero)
    kept = node.step(Where(), valid, node.step(GatherElements(1), scores, known), node.literal(LOWEST, FLOAT))
    chosen = node.step(GatherND(1), boxes, node.step(Reshape((rows, most, 1)), known))
    return (
        node.step(Reshape((batch, classes * most)), kept),
        node.step(Reshape((batch, classes * most, 4)), chosen),
    )


def _rows(node: CaffeNode, scores: Value, boxes: Value, labels: list[int], batch: int) -> Value:
    """The `keep_top_k` best of all classes, in the order of their places in `scores`."""
    (_, count), keep = static_extents(scores.type.shape, "the scores"), node.integer("keep_top_k")
    most = count if keep < 0 else min(keep, count)
    if not most:
        raise FrontendError("expected keep_top_k other than 0, found 0")
    best, places = node.steps(TopK(most, 1), scores, count=2)
    end = node.literal(count, INDEX)
    missing = node.step(ops.LessEqual(), best, node.literal(LOWEST, FLOAT))
    ordered, _ = node.steps(TopK(most, 1, largest=False), node.step(Where(), missing, end, places), count=2)
    valid = node.step(Reshape((batch, most, 1)), node.step(Less(), ordered, end))
    known = node.step(Minimum(), ordered, node.literal(count - 1, INDEX))
    names = node.parameter(np.repeat(np.array(labels, np.float32), count // len(labels)), "classes")
    images = node.parameter(np.repeat(np.arange(batch, dtype=np.float32), most).reshape(batch, most, 1), "images")
    column = Reshape((batch, most, 1))
    rows = node.step(
        Concat(2),
        images,
        node.step(column, node.step(Gather(0), names, known)),
        node.step(column, node.step(GatherElements(1), scores, known)),
        node.step(GatherND(1), boxes, node.step(column, known)),
    )
    return node.result(Reshape((1, 1, batch * most, 7)), node.step(Where(), valid, rows, node.literal(-1, FLOAT)))


DETECTION_OUTPUT: dict[str, Converter] = {"DetectionOutput": _detection_output}
