"""What classifiers and regressors do with the scores of a row (ONNX ML, attribute post_transform)."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    Abs,
    ArgMax,
    Cast,
    Concat,
    Divide,
    Exp,
    Gather,
    Greater,
    Multiply,
    Negative,
    ReduceMax,
    ReduceSum,
    Sigmoid,
    Softmax,
    Subtract,
    Where,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The names of transforms; TreeEnsemble has their positions."""
_NEARLY_ZERO = 1e-7
"""What SOFTMAX_ZERO takes for 0 (onnxruntime, ml_common.h, ComputeSoftmaxZero)."""


def transform_of(node: OnnxNode) -> str:
    """The name of the transform. Raises UnsupportedError for PROBIT."""
    name = node.text("post_transform")
    if name not in TRANSFORMS:
        raise FrontendError(f"expected post_transform {', '.join(TRANSFORMS)}, found {name!r}")
    if name == "PROBIT":
        raise UnsupportedError("post_transform PROBIT is not supported", "export with raw scores")
    return name


def transformed_scores(node: OnnxNode, scores: Value, transform: str, output: int = 0) -> Value:
    """Scores [N, classes], transformed, as an output of the node."""
    if transform == "LOGISTIC":
        return node.result(Sigmoid(), scores, output=output)
    if transform == "SOFTMAX":
        return node.result(Softmax(axis=1), scores, output=output)
    if transform == "SOFTMAX_ZERO":
        largest = node.step(ReduceMax(axes=(1,)), scores)
        powers = node.step(Exp(), node.step(Subtract(), scores, largest))
        tiny = node.step(Multiply(), scores, node.step(Exp(), node.step(Negative(), largest)))
        is_score = node.step(Greater(), node.step(Abs(), scores), node.literal(_NEARLY_ZERO, scores.type.dtype))
        terms = node.step(Where(), is_score, powers, tiny)
        return node.result(Divide(), terms, node.step(ReduceSum(axes=(1,)), terms), output=output)
    return node.result(Multiply(), scores, node.literal(1, scores.type.dtype), output=output)


def labels_of(node: OnnxNode, integers: str) -> Array:
    """The labels of classes, which scores get; for names their positions."""
    numbers, names = node.attribute(integers), node.attribute("classlabels_strings")
    if bool(numbers) == bool(names):
        raise FrontendError(f"expected labels as {integers} or as classlabels_strings, found both or none")
    node.label(map(str, numbers or names), output=1)
    if names:
        node.give_strings(tuple(names))
    return np.array(numbers, np.int64) if numbers else np.arange(len(names), dtype=np.int64)


def best_label(node: OnnxNode, scores: Value, labels: Array) -> Value:
    """The label of the largest score of each row, of equal ones the first."""
    best = node.step(ArgMax(axis=1, keepdims=False), scores)
    if np.array_equal(labels, np.arange(len(labels))):
        return node.result(Cast(DType.of("int64")), best)
    return node.result(Gather(axis=0), node.parameter(labels, "labels"), best)


def label_above(node: OnnxNode, score: Value, limit: float, labels: Array) -> Value:
    """The second label where a score [N] exceeds a limit, otherwise the first."""
    is_above = node.step(Greater(), score, node.literal(limit, score.type.dtype))
    second, first = (node.literal(int(labels[i]), DType.of("int64")) for i in (1, 0))
    return node.result(Where(), is_above, second, first)


def both_classes(node: OnnxNode, other: Value, score: Value) -> Value:
    """Columns [N, 2] of two scores [N, 1]."""
    return node.step(Concat(axis=1), other, score)


def as_float(node: OnnxNode, value: Value) -> Value:
    return value if value.type.dtype == FLOAT else node.step(Cast(FLOAT), value)
