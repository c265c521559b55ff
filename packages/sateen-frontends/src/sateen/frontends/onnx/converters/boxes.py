"""Suppression of boxes, where the number of those that remain is known."""

from __future__ import annotations

from math import inf

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ops import Concat, NonMaxSuppression, Reshape


def _non_max_suppression(node: OnnxNode) -> Operand:
    """[selected, 3]: image, class and box. All boxes are selected, or the first, if no score is too low and either
    nothing overlaps by more than the threshold or one box per class is enough."""
    batch, count, _ = node.static_shape(0)
    classes = node.static_shape(1)[1]
    most = min(int(node.scalar(2)) if node.has(2) else 0, count)
    iou_threshold = float(node.scalar(3)) if node.has(3) else 0.0
    score_threshold = float(node.scalar(4)) if node.has(4) else -inf
    if most <= 0 or 0 in (batch, classes):
        return np.zeros((0, 3), np.int64)
    if score_threshold != -inf or (most > 1 and iou_threshold < 1):
        raise UnsupportedError(
            "how many boxes it selects depends on the values of its inputs, while sateen compiles for known shapes",
            f"end the model at {node.described(0)} and {node.described(1)} (outputs=), and add "
            "graph_ir.ops.NonMaxSuppression, which pads its indices and counts them (docs/graph.md)",
        )
    op = NonMaxSuppression(most, iou_threshold, form="center" if node.flag("center_point_box") else "diagonal")
    boxes, _ = node.steps(op, node.value(0), node.value(1), count=2)
    places = np.indices((batch, classes, most, 1))[:2, ..., 0]
    owners = node.parameter(np.ascontiguousarray(np.moveaxis(places, 0, -1)), "owners")
    boxes = node.step(Reshape(shape=(batch, classes, most, 1)), boxes)
    return node.result(Reshape(shape=(batch * classes * most, 3)), node.step(Concat(axis=3), owners, boxes))


BOXES: dict[str, Converter] = {"NonMaxSuppression": _non_max_suppression}
