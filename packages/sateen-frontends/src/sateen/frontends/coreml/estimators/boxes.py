"""Suppression of the boxes of a detector, as a model of its own (NonMaximumSuppression.proto)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.estimators.node import Converter, EstimatorNode
from sateen.frontends.coreml.suppression import Suppression, at_places, selected
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _suppression(node: EstimatorNode) -> Sequence[Operand]:
    """Confidences [N, C] and coordinates [N, 4] of the boxes that are left, best first; the rest is 0.

    Boxes with confidences below the threshold take no part. The thresholds are the model's own: features that would
    give others are left out.
    """
    given = node.parameters
    scores = _matrix(node, given.confidenceInputFeatureName)
    boxes = _matrix(node, given.coordinatesInputFeatureName)
    count = scores.type.shape[1]
    if not isinstance(count, int):
        raise FrontendError(f"expected a known number of boxes, found {scores.type}")
    limit = np.float32(given.confidenceThreshold)
    if limit >= given.confidenceThreshold:  # a confidence that equals the threshold is not below it
        limit = np.nextafter(limit, np.float32(-np.inf))
    how = Suppression(given.iouThreshold, float(limit), given.pickTop.perClass, count)
    places, _ = selected(node, boxes, scores, how)
    by_name = {given.confidenceOutputFeatureName: scores, given.coordinatesOutputFeatureName: boxes}
    results = []
    for output, name in enumerate(node.call.heading.outputs):
        if name not in by_name:
            raise FrontendError(f"expected outputs {', '.join(map(repr, by_name))}, found {name!r}")
        rows = at_places(node, by_name[name], places)
        results.append(node.result(ops.Reshape(rows.type.shape[1:]), rows, output=output))
    return results


def _matrix(node: EstimatorNode, name: str) -> Value:
    """A feature [N, K], or with axes of 1 before, as [1, N, K]."""
    data = node.numbers(node.at(name))
    shape = data.type.shape
    if len(shape) < 2 or any(extent != 1 for extent in shape[:-2]):
        raise FrontendError(f"expected a matrix as {name!r}, found {data.type}")
    return node.step(ops.Reshape((1, *shape[-2:])), data)


BOXES: Mapping[str, Converter] = {"nonMaximumSuppression": _suppression}
