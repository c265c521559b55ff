"""Suppression of boxes that overlap better ones, as CoreML's layer, operation and model have it.

A box has the score of its best class. Where classes are kept apart, a box is of its best class, and suppresses only
boxes of that (coremltools, test_numpy_nn_layers.py, test_nms_cpu). How many boxes are left depends on the data, so
results have room for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import static_extents
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_FLOAT, _INDEX = DType.of("float32"), DType.of("int64")
_MOST_BOXES = 1 << 24
"""Positions of boxes are float32 on the way, which holds whole numbers up to this one."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """What is suppressed: boxes that overlap a better one by more than `overlap`. Scores up to `score` take no part;
    None: all do. `per_class`: only within a class. `most` boxes are selected."""

    overlap: float
    score: float | None
    per_class: bool
    most: int


def selected(node: ModelNode, boxes: Value, scores: Value, how: Suppression) -> tuple[Value, Value]:
    """The places [B, most] of the boxes that are left, best first and -1 after the last, and their numbers [B], int64.

    boxes [B, N, 4] are centres and extents; scores [B, N, C]. Raises FrontendError for other shapes.
    """
    shape = static_extents(scores.type.shape, "the scores of boxes")
    if len(shape) != 3 or boxes.type.shape != (*shape[:2], 4):
        raise FrontendError(f"expected boxes [B, N, 4] and scores [B, N, C], found {boxes.type} and {scores.type}")
    batch, count, classes = shape
    if not 0 < how.most < _MOST_BOXES or not 0 < count < _MOST_BOXES or not classes:
        raise FrontendError(f"expected 1 to {_MOST_BOXES - 1} boxes with classes, found {scores.type} and {how.most}")
    best = node.step(ops.ReduceMax(axes=(2,), keepdims=True), scores)
    most = min(how.most, count)
    if how.per_class and classes > 1:
        places, counts = _within_classes(node, boxes, scores, best, how, most)
    else:
        row = node.step(ops.Reshape((batch, 1, count)), best)
        op = ops.NonMaxSuppression(most, how.overlap, how.score, "center")
        rows, numbers = node.steps(op, boxes, row, count=2)
        places, counts = node.step(ops.Reshape((batch, most)), rows), node.step(ops.Reshape((batch,)), numbers)
    if how.most > most:
        places = node.step(ops.Pad("constant", (0, 0, 0, how.most - most), -1), places)
    return places, counts


def _within_classes(
    node: ModelNode, boxes: Value, scores: Value, best: Value, how: Suppression, most: int
) -> tuple[Value, Value]:
    """Records of class, score, box and place: their suppression keeps those of all classes in order."""
    batch, count, _ = static_extents(scores.type.shape, "the scores of boxes")
    kind = node.step(ops.Cast(_FLOAT), node.step(ops.ArgMax(axis=2, keepdims=True), scores))
    numbers = node.parameter(node.counted(count).astype(np.float32).reshape(1, count, 1), "places")
    place = node.step(ops.BroadcastTo((batch, count, 1)), numbers)
    parts = [kind, *(v if v.type.dtype == _FLOAT else node.step(ops.Cast(_FLOAT), v) for v in (best, boxes)), place]
    op = ops.SuppressRecords(
        classes=0, score=1, box=2, iou_threshold=how.overlap, form="center",
        score_threshold=-inf if how.score is None else how.score,
    )  # fmt: skip
    records, left = node.steps(op, node.step(ops.Concat(axis=2), *parts), count=2)
    column = node.step(ops.Slice((0, 0, 6), (batch, most, 7), (1, 1, 1)), records)
    places = node.step(ops.Cast(_INDEX), node.step(ops.Reshape((batch, most)), column))
    return places, node.step(ops.Minimum(), left, node.literal(most, _INDEX))


def never_none(node: ModelNode, scores: Value, places: Value, counts: Value) -> tuple[Value, Value]:
    """Places and numbers as layers and operations give them: where no box is left, the best one is."""
    batch, most = static_extents(places.type.shape, "the places of boxes")
    best = node.step(ops.ArgMax(axis=1, keepdims=True), node.step(ops.ReduceMax(axes=(2,), keepdims=False), scores))
    nothing = node.step(ops.Equal(), counts, node.literal(0, _INDEX))
    first = node.parameter((np.arange(most) == 0).reshape(1, most), "first")
    is_alone = node.step(ops.And(), node.step(ops.Reshape((batch, 1)), nothing), first)
    filled = node.step(ops.Where(), is_alone, node.step(ops.Cast(_INDEX), best), places)
    return filled, node.step(ops.Maximum(), counts, node.literal(1, _INDEX))


def at_places(node: ModelNode, data: Value, places: Value) -> Value:
    """The rows of data [B, N, K] at places [B, M]: [B, M, K], and 0 where a place is -1."""
    batch, most = static_extents(places.type.shape, "the places of boxes")
    width = data.type.shape[2]
    column = node.step(ops.Reshape((batch, most, 1)), places)
    whole = node.step(ops.BroadcastTo((batch, most, width)), column)
    none = node.literal(0, _INDEX)
    rows = node.step(ops.GatherElements(axis=1), data, node.step(ops.Maximum(), whole, none))
    is_there = node.step(ops.GreaterEqual(), column, none)
    return node.step(ops.Where(), is_there, rows, node.literal(0, data.type.dtype))
