"""Boxes of detectors against loops in Python, and against the examples of their standards."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType
from sateen.runtime.errors import InferenceError

RANDOM = np.random.default_rng(0)


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0), dtype="float32")
    areas = [np.prod(np.maximum(x[2:] - x[:2], 0), dtype="float32") for x in (a, b)]
    return shared / (areas[0] + areas[1] - shared) if shared > 0 else np.float32(0)


def corners(box, form):
    if form == "center":
        return np.concatenate([box[:2] - box[2:] / 2, box[:2] + box[2:] / 2])
    return np.concatenate([np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])]) if form == "diagonal" else box


def kept(boxes, scores, least, iou_threshold, most, form="corners"):
    """The indices of boxes that remain, best first."""
    chosen = []
    for i in sorted((i for i in range(len(scores)) if scores[i] > least), key=lambda i: (-scores[i], i)):
        one = corners(boxes[i], form)
        if len(chosen) < most and all(overlap(one, corners(boxes[j], form)) <= iou_threshold for j in chosen):
            chosen.append(i)
    return chosen


def boxes_of(*extents):
    """Low and high corners; some boxes are equal, and one is empty."""
    low = RANDOM.random((*extents, 2)) * 3
    boxes = np.concatenate([low, low + RANDOM.random((*extents, 2)) + 0.3], -1).astype("float32")
    boxes[..., 3, :], boxes[..., 5, 2] = boxes[..., 2, :], boxes[..., 5, 0]
    return boxes


@pytest.mark.parametrize("form", ["corners", "diagonal", "center"])
@pytest.mark.parametrize(("most", "least"), [(40, None), (7, 0.4), (1, 2.0)])
def test_the_best_boxes_of_each_class(check_op, form, most, least):
    boxes = boxes_of(2, 40)
    if form == "diagonal":
        boxes[:, ::2] = boxes[:, ::2][..., [2, 1, 0, 3]]
    scores = np.round(RANDOM.random((2, 3, 40)), 1).astype("float32")
    expected, counts = np.full((2, 3, most), -1), np.zeros((2, 3), "int64")
    for b, c in np.ndindex(2, 3):
        found = kept(boxes[b], scores[b, c], -1 if least is None else least, 0.2, most, form)
        expected[b, c, : len(found)], counts[b, c] = found, len(found)
    op = ops.NonMaxSuppression(most, 0.2, least, form)
    check_op(op, [boxes, scores], [expected, counts])


def test_scores_that_are_no_numbers_take_no_part(check_op):
    boxes, scores = np.array([[[0, 0, 1, 1], [5, 5, 6, 6]]], "float32"), np.array([[[np.nan, 1]]], "float32")
    for least in (None, 0.0):
        op = ops.NonMaxSuppression(2, 0.5, least)
        check_op(op, [boxes, scores], [np.array([[[1, -1]]]), np.array([[1]])])


def test_many_boxes_are_suppressed_in_parallel(check_op):
    boxes, scores = boxes_of(1, 3000) * np.float32(9), RANDOM.random((1, 4, 3000)).astype("float32")
    found = [kept(boxes[0], scores[0, c], 0.9, 0.3, 20) for c in range(4)]
    counts = [len(f) for f in found]
    expected = np.array([f + [-1] * (20 - len(f)) for f in found])
    check_op(ops.NonMaxSuppression(20, 0.3, 0.9), [boxes, scores], [expected[None], np.array([counts])])


RECORDS = np.array(
    [
        [0, 0.5, 0.1, 0.1, 0.2, 0.2], [1, 0.4, 0.1, 0.1, 0.2, 0.2], [0, 0.3, 0.1, 0.1, 0.14, 0.14],
        [2, 0.6, 0.5, 0.5, 0.7, 0.8],
    ], "float32",
)  # fmt: skip
NONE = np.full(6, -1, "float32")


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"across": True}, [3, 0]),
        ({}, [3, 0, 1]),
        ({"background": 2}, [0, 1]),
        ({"score_threshold": 0.4}, [3, 0]),
        ({"most": 1}, [3]),
        ({"iou_threshold": 0.99}, [3, 0, 1, 2]),
    ],
    ids=str,
)
def test_records_of_boxes(check_op, options, rows):
    """The first is the example of MXNet's box_nms."""
    op = ops.SuppressRecords(**{"classes": 0, "iou_threshold": 0.1} | options)
    expected = np.array([*RECORDS[rows], *[NONE] * (4 - len(rows))])
    check_op(op, [RECORDS[None]], [expected[None], np.array([len(rows)])])


def test_suppressed_records_that_stay_lose_their_class(check_op):
    expected = RECORDS[[3, 0, 1, 2]].copy()
    expected[3, 0] = -1
    op = ops.SuppressRecords(classes=0, iou_threshold=0.1, keeps_suppressed=True)
    check_op(op, [RECORDS[None]], [expected[None], np.array([3])])
    of_two = np.array([RECORDS[3], RECORDS[0], RECORDS[2], RECORDS[3]])
    of_two[2:, 0] = -1
    op = ops.SuppressRecords(classes=0, iou_threshold=0.1, keeps_suppressed=True, most=2)
    check_op(op, [RECORDS[None]], [of_two[None], np.array([2])])


def test_records_at_random(check_op):
    data = np.concatenate([boxes_of(3, 50), RANDOM.random((3, 50, 1)), RANDOM.integers(0, 3, (3, 50, 1))], -1)
    data = data.astype("float32")
    expected, counts = np.full_like(data, -1), []
    for b, rows in enumerate(data):
        found = []
        for c in range(3):
            own = np.flatnonzero(rows[:, 5] == c)
            found += own[kept(rows[own, :4], rows[own, 4], 0.2, 0.1, 50)].tolist()
        found.sort(key=lambda i: -rows[i, 4])
        expected[b, : len(found)] = rows[found]
        counts.append(len(found))
    op = ops.SuppressRecords(0, 4, 5, iou_threshold=0.1, score_threshold=0.2)
    check_op(op, [data], [expected, np.array(counts)])


@pytest.mark.parametrize(("steps", "clip"), [((-1.0, -1.0), False), ((0.2, 0.4), True)])
def test_anchors(check_op, steps, clip):
    height, width, sizes, ratios = 3, 5, (0.4, 0.9), (1.0, 2.0, 0.5)
    expected = []
    for y, x in np.ndindex(height, width):
        cy, cx = (
            (p + o) * (s if s > 0 else 1 / n) for p, o, s, n in zip((y, x), (0.5, 0.3), steps, (3, 5), strict=True)
        )
        for size, ratio in [(0.4, 1), (0.9, 1), (0.4, 2), (0.4, 0.5)]:
            w, h = size * height / width * ratio**0.5 / 2, size / ratio**0.5 / 2
            expected.append((cx - w, cy - h, cx + w, cy + h))
    wanted = np.array([expected], "float32")
    op = ops.MultiBoxPrior((height, width), sizes, ratios, steps, (0.5, 0.3), clip)
    check_op(op, [], [np.clip(wanted, 0, 1) if clip else wanted])


@pytest.mark.parametrize("clip", [False, True])
def test_anchors_moved_by_predictions(check_op, clip):
    probabilities, offsets = RANDOM.random((2, 4, 9)).astype("float32"), RANDOM.normal(size=(2, 36)).astype("float32")
    probabilities[0, 1:, 4] = 0.8
    anchors = boxes_of(1, 9)
    expected, counts = np.full((2, 9, 6), -1, "float32"), np.zeros(2, "int64")
    for b, i in np.ndindex(2, 9):
        chosen = probabilities[b, 1:, i].argmax()
        score = probabilities[b, 1:, i].max()
        if score >= 0.7:
            (low, high), o = anchors[0, i].reshape(2, 2), offsets[b].reshape(9, 4)[i] * (0.1, 0.1, 0.2, 0.2)
            middle, half = (low + high) / 2 + o[:2] * (high - low), np.exp(o[2:]) * (high - low) / 2
            box = np.concatenate([middle - half, middle + half])
            expected[b, counts[b]] = [chosen, score, *(np.clip(box, 0, 1) if clip else box)]
            counts[b] += 1
    op = ops.MultiBoxTransformLoc(threshold=0.7, clip=clip)
    check_op(op, [probabilities, offsets, anchors], [expected, counts])


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (ops.NonMaxSuppression(9), [(1, 4, 4), (1, 2, 4)], "most expects 1 to 4, the number of boxes, found 9"),
        (ops.NonMaxSuppression(1), [(1, 5, 4), (1, 2, 4)], "expects boxes [1, 4, 4] for scores"),
        (ops.NonMaxSuppression(1, form="polar"), [(1, 4, 4), (1, 2, 4)], "expects form of corners, diagonal, center,"),
        (ops.SuppressRecords(box=3), [(1, 4, 6)], "box expects 0 to 2 for records of 6, found 3"),
        (ops.SuppressRecords(keeps_suppressed=True), [(1, 4, 6)], "classes expects 0 to 5 for records of 6, found -1"),
        (ops.SuppressRecords(most=-1), [(1, 4, 6)], "most expects 0 or more, found -1"),
        (ops.MultiBoxPrior((3,)), [], "shape expects two values, (y, x), found [3]"),
        (ops.MultiBoxPrior((3, 4), ratios=(0.0,)), [], "ratios expects numbers above 0, found [0.0]"),
        (ops.MultiBoxTransformLoc(), [(1, 2, 3), (1, 12), (1, 4, 4)], "expects anchors [1, 3, 4] for probabilities"),
        (ops.MultiBoxTransformLoc(variances=(1.0,)), [(1, 2, 3), (1, 12), (1, 3, 4)], "expects 4 variances, found"),
    ],
)
def test_what_does_not_fit_is_refused(op, shapes, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(*(TensorType.of("float32", shape) for shape in shapes))
