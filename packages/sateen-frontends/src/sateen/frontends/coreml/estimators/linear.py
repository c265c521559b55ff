"""Generalised linear models (GLMRegressor.proto, GLMClassifier.proto)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.estimators.classes import of_two, probit, required_classes, with_reference
from sateen.frontends.coreml.estimators.node import Converter, EstimatorNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

REFERENCE_CLASS, ONE_VS_REST = range(2)
"""Values of ClassEncoding."""


class Link(IntEnum):
    """PostEvaluationTransform of a regressor; that of a classifier begins with LOGIT at 0."""

    NONE = 0
    LOGIT = 1
    PROBIT = 2


def _scores(node: EstimatorNode) -> Value:
    """weights · features + offset: [1, rows]."""
    data, given = node.row(), node.parameters
    rows = [list(row.value) for row in given.weights]
    if not rows or len(rows) != len(given.offset) or len({len(row) for row in rows}) > 1:
        raise FrontendError(
            f"expected rows of as many weights, and an offset for each, found {len(rows)} rows and "
            f"{len(given.offset)} offsets"
        )
    weights = node.float_parameter(np.ascontiguousarray(np.array(rows).T), "weights")
    offsets = node.float_parameter([list(given.offset)], "offsets")
    return node.step(ops.Add(), node.step(ops.MatMul(), data, weights), offsets)


def _linked(node: EstimatorNode, scores: Value, link: int) -> Value:
    match link:
        case Link.NONE:
            return scores
        case Link.LOGIT:
            return node.step(ops.Sigmoid(), scores)
        case Link.PROBIT:
            return probit(node, scores)
    raise FrontendError(f"expected a postEvaluationTransform of 0 to {Link.PROBIT}, found {link}")


def _regressor(node: EstimatorNode) -> Operand:
    return node.vector(_linked(node, _scores(node), node.parameters.postEvaluationTransform))


def _classifier(node: EstimatorNode) -> Operand:
    """Of two classes one row gives the second. With a row for each class probabilities are divided by their sum, as
    scikit-learn does (test_glm_classifier.py of coremltools); otherwise the first class is the reference."""
    classes, scores, given = required_classes(node), _scores(node), node.parameters
    rows, link = scores.type.shape[1], given.postEvaluationTransform + 1
    if (rows, classes) == (1, 2):
        return node.vector(of_two(node, _linked(node, scores, link)))
    if given.classEncoding == ONE_VS_REST and rows == classes:
        each = _linked(node, scores, link)
        return node.vector(node.step(ops.Divide(), each, node.step(ops.ReduceSum(axes=(1,), keepdims=True), each)))
    if given.classEncoding == REFERENCE_CLASS and rows == classes - 1 and link == Link.LOGIT:
        return node.vector(with_reference(node, scores))
    raise UnsupportedError(
        f"{rows} rows of weights for {classes} classes, in encoding {given.classEncoding} with transform "
        f"{given.postEvaluationTransform}, are not supported"
    )


LINEAR: Mapping[str, Converter] = {"glmClassifier": _classifier, "glmRegressor": _regressor}
