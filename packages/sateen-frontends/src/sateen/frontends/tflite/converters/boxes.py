"""The best boxes of a detector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.flexbuffers import Entry, read_map
from sateen.frontends.tflite.node import FLOAT, Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_INDEX = DType.of("int64")


def _suppress(node: TfliteNode) -> Sequence[Operand]:
    """Inputs: boxes [N, 4] by two corners, scores [N], the most boxes, thresholds of overlap and of scores, and in
    version 5 sigma. Zeros follow the last box (non_max_suppression.cc)."""
    scored = node.operator == "NON_MAX_SUPPRESSION_V5"
    if scored and node.scalar(5) != 0:
        raise UnsupportedError(f"scores that decay with overlap (sigma {node.scalar(5)}) are not supported")
    boxes, scores = node.value(0), node.value(1)
    (count,) = static_extents(scores.type.shape, node.described(1))
    wanted = node.integer_at(2)
    if wanted < 1 or not count:
        raise UnsupportedError(f"expected boxes and a number of them to give, found {count} and {wanted}")
    most = min(wanted, count)
    op = ops.NonMaxSuppression(most, float(node.scalar(3)), float(node.scalar(4)), "diagonal")
    batched = node.step(ops.Reshape((1, count, 4)), boxes), node.step(ops.Reshape((1, 1, count)), scores)
    indices, counts = node.steps(op, *batched, count=2)
    flat = node.step(ops.Reshape((most,)), indices)
    is_box = node.step(ops.GreaterEqual(), flat, node.literal(0, _INDEX))
    places = node.step(ops.Maximum(), flat, node.literal(0, _INDEX))
    pad = ops.Pad("constant", (0, wanted - most))
    number = node.step(ops.Reshape(()), counts)
    last = len(node.outputs) - 1
    results: list[Operand] = [node.result(pad, node.step(ops.Cast(node.output_dtype()), places))]
    if scored:
        chosen = node.step(ops.Gather(0), scores, places)
        zero = node.literal(0, chosen.type.dtype)
        results.append(node.result(pad, node.step(ops.Where(), is_box, chosen, zero), output=1))
    return [*results, node.result(ops.Cast(node.output_dtype(last)), number, output=last)]


@dataclass(frozen=True, slots=True)
class _Detector:
    """The options of TFLite_Detection_PostProcess."""

    most: int
    per_box: int
    per_class: int
    regular: bool
    score: float
    overlap: float
    classes: int
    scales: tuple[float, ...]

    @staticmethod
    def of(options: Mapping[str, Entry]) -> _Detector:
        def number(name: str, default: float | None = None) -> float:
            found = options.get(name, default)
            if not isinstance(found, int | float):
                raise FrontendError(f"expected a number as option {name!r}, found {found!r}")
            return found

        detector = _Detector(
            int(number("max_detections")),
            int(number("max_classes_per_detection")),
            int(number("detections_per_class", 100)),
            bool(number("use_regular_nms", False)),
            number("nms_score_threshold"),
            number("nms_iou_threshold"),
            int(number("num_classes")),
            tuple(number(f"{name}_scale") for name in "yxhw"),
        )
        if min(detector.most, detector.per_box, detector.per_class, detector.classes) < 1 or 0 in detector.scales:
            raise FrontendError(f"expected numbers of 1 or more and scales other than 0, found {dict(options)}")
        return detector


def _detect(node: TfliteNode) -> Sequence[Operand]:
    """Boxes, classes, scores and how many there are; zeros after the last (detection_postprocess.cc).

    Inputs: encoded boxes [1, N, 4 or more] (centre, extents; y first), scores [1, N, classes, perhaps with a background
    first], anchors [N, 4].
    """
    detector = _Detector.of(read_map(b"" if node.operation.custom is None else node.operation.custom))
    encoded, predicted, anchors = node.reals()
    shapes = [static_extents(value.type.shape, "what a detector gives") for value in (encoded, predicted, anchors)]
    (batch, count, width), (_, _, columns) = shapes[0], shapes[1]
    background = columns - detector.classes
    if batch != 1 or width < 4 or shapes[1][:2] != (1, count) or shapes[2] != (count, 4) or background not in (0, 1):
        raise FrontendError(
            f"expected boxes [1, N, 4], scores [1, N, {detector.classes} or 1 more] and anchors [N, 4], "
            f"found {', '.join(str(list(shape)) for shape in shapes)}"
        )
    if detector.per_box > detector.classes:
        raise UnsupportedError(f"{detector.per_box} classes of each box, of {detector.classes}, are not supported")
    boxes = _decoded(node, encoded, anchors, detector.scales)
    scores = node.step(ops.Slice((0, 0, background), (1, count, columns), (1, 1, 1)), predicted)
    scores = node.step(ops.Reshape((count, detector.classes)), scores)
    choose = _regular if detector.regular else _fast
    places, classes, values, number = choose(node, detector, boxes, scores)
    total = detector.most * (1 if detector.regular else detector.per_box)
    (found,) = static_extents(places.type.shape, "the detections")
    pad = total - found
    is_box = node.step(ops.Less(), node.parameter(node.counted(found, _INDEX), "places"), number)
    zero = node.literal(0, FLOAT)
    rows = node.step(
        ops.Where(), node.step(ops.Reshape((found, 1)), is_box), node.step(ops.Gather(0), boxes, places), zero
    )
    outputs = [
        (rows, (0, 0, 0, 0, pad, 0), (1, found, 4)),
        (node.step(ops.Where(), is_box, node.step(ops.Cast(FLOAT), classes), zero), (0, 0, 0, pad), (1, found)),
        (node.step(ops.Where(), is_box, values, zero), (0, 0, 0, pad), (1, found)),
    ]
    results = [
        node.result(ops.Pad("constant", pads), node.step(ops.Reshape(shape), value), output=i)
        for i, (value, pads, shape) in enumerate(outputs)
    ]
    return [*results, node.result(ops.Reshape((1,)), node.step(ops.Cast(FLOAT), number), output=3)]


def _decoded(node: TfliteNode, encoded: Value, anchors: Value, scales: tuple[float, ...]) -> Value:
    """Corners [N, 4], low ones first, y before x."""
    _, count, _ = static_extents(encoded.type.shape, "boxes")
    cut = node.step(ops.Slice((0, 0, 0), (1, count, 4), (1, 1, 1)), encoded)
    scaled = node.step(
        ops.Divide(), node.step(ops.Reshape((count, 4)), cut), node.parameter(np.array(scales, np.float32), "scales")
    )
    moved, grown = node.steps(ops.Split(1, (2, 2)), scaled, count=2)
    centre, extent = node.steps(ops.Split(1, (2, 2)), anchors, count=2)
    middle = node.step(ops.Add(), node.step(ops.Multiply(), moved, extent), centre)
    half = node.step(ops.Multiply(), node.literal(0.5, FLOAT), node.step(ops.Exp(), grown))
    half = node.step(ops.Multiply(), half, extent)
    return node.step(ops.Concat(1), node.step(ops.Subtract(), middle, half), node.step(ops.Add(), middle, half))


def _kept(node: TfliteNode, detector: _Detector, boxes: Value, scores: Value, most: int) -> tuple[Value, Value]:
    """Indices of boxes [classes, most], -1 after the last, and their counts, for scores [classes, N] at or above the
    threshold."""
    classes, count = static_extents(scores.type.shape, "scores")
    threshold = float(np.nextafter(np.float32(detector.score), np.float32(-np.inf)))
    op = ops.NonMaxSuppression(most, detector.overlap, threshold, "corners")
    batched = node.step(ops.Reshape((1, count, 4)), boxes), node.step(ops.Reshape((1, classes, count)), scores)
    indices, counts = node.steps(op, *batched, count=2)
    return node.step(ops.Reshape((classes, most)), indices), node.step(ops.Reshape((classes,)), counts)


def _fast(node: TfliteNode, detector: _Detector, boxes: Value, scores: Value) -> tuple[Value, Value, Value, Value]:
    """Boxes suppress each other whatever their class, by their best score; each gives its best classes."""
    count, _ = static_extents(scores.type.shape, "scores")
    most, each = min(detector.most, count), detector.per_box
    best, classes = node.steps(ops.TopK(each, 1), scores, count=2)
    highest = node.step(ops.Reshape((1, count)), node.step(ops.Slice((0, 0), (count, 1), (1, 1)), best))
    indices, counts = _kept(node, detector, boxes, highest, most)
    places = node.step(ops.Maximum(), node.step(ops.Reshape((most,)), indices), node.literal(0, _INDEX))
    flat = [
        node.step(ops.Reshape((most * each,)), node.step(ops.Gather(0), value, places)) for value in (classes, best)
    ]
    rows = node.step(ops.BroadcastTo((most, each)), node.step(ops.Reshape((most, 1)), places))
    number = node.step(ops.Multiply(), node.step(ops.Reshape(()), counts), node.literal(each, _INDEX))
    return node.step(ops.Reshape((most * each,)), rows), flat[0], flat[1], number


def _regular(node: TfliteNode, detector: _Detector, boxes: Value, scores: Value) -> tuple[Value, Value, Value, Value]:
    """Boxes suppress each other within a class; the best of all classes remain."""
    count, classes = static_extents(scores.type.shape, "scores")
    each = min(detector.per_class, count)
    by_class = node.step(ops.Transpose((1, 0)), scores)
    indices, counts = _kept(node, detector, boxes, by_class, each)
    is_box = node.step(ops.GreaterEqual(), indices, node.literal(0, _INDEX))
    places = node.step(ops.Maximum(), indices, node.literal(0, _INDEX))
    chosen = node.step(ops.GatherElements(1), by_class, places)
    ranked = node.step(ops.Where(), is_box, chosen, node.literal(-np.inf, FLOAT))
    most = min(detector.most, classes * each)
    values, order = node.steps(ops.TopK(most, 0), node.step(ops.Reshape((classes * each,)), ranked), count=2)
    flat = node.step(ops.Reshape((classes * each,)), places)
    number = node.step(ops.Minimum(), node.step(ops.ReduceSum((0,), False), counts), node.literal(most, _INDEX))
    kinds = node.step(ops.FloorDivide(), order, node.literal(each, _INDEX))
    return node.step(ops.Gather(0), flat, order), kinds, values, number


BOXES: dict[str, Converter] = {"NON_MAX_SUPPRESSION_V4": _suppress, "NON_MAX_SUPPRESSION_V5": _suppress}
DETECTORS: dict[str, Converter] = {"TFLite_Detection_PostProcess": _detect}
