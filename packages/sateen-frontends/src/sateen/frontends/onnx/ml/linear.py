"""Linear models and support vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.onnx.ml.coupling import coupled
from sateen.frontends.onnx.ml.scores import (
    FLOAT,
    as_float,
    best_label,
    both_classes,
    label_above,
    labels_of,
    transform_of,
    transformed_scores,
)
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Clip,
    Exp,
    Greater,
    MatMul,
    Multiply,
    Negative,
    Power,
    ReduceSumSquare,
    Reshape,
    Sigmoid,
    Subtract,
    Tanh,
    Where,
)
from sateen.runtime.errors import FrontendError

LEAST = 1e-7
"""The least probability of a class of two."""


def _rows(node: OnnxNode) -> Value:
    """Data [N, F] in float32; a vector is a row."""
    data = as_float(node, node.value(0))
    return data if data.type.rank == 2 else node.step(Reshape((1, *data.type.shape)), data)


def _floats(node: OnnxNode, name: str) -> Array:
    return np.array(node.attribute(name) or (), np.float32)


def _linear(node: OnnxNode, data: Value, count: int) -> Value:
    """data · coefficientsᵀ + intercepts, `count` columns."""
    coefficients, intercepts = _floats(node, "coefficients"), _floats(node, "intercepts")
    features = data.type.shape[1]
    if not isinstance(features, int) or coefficients.size != count * features or intercepts.size not in (0, count):
        found = f"{coefficients.size} and {intercepts.size}"
        raise FrontendError(f"expected {count} x {features} coefficients and {count} intercepts, found {found}")
    weight = np.ascontiguousarray(coefficients.reshape(count, features).T)
    product = node.step(MatMul(), data, node.parameter(weight, "coefficients"))
    return node.step(Add(), product, node.parameter(intercepts, "intercepts")) if intercepts.size else product


def _regressor(node: OnnxNode) -> Operand:
    scores = _linear(node, _rows(node), node.integer("targets"))
    return transformed_scores(node, scores, transform_of(node))


def _classifier(node: OnnxNode) -> Sequence[Operand]:
    """With one row of coefficients for two classes, its sign decides."""
    labels, transform = labels_of(node, "classlabels_ints"), transform_of(node)
    count = len(_floats(node, "intercepts")) or len(labels)
    scores = _linear(node, _rows(node), count)
    if count == 1 and len(labels) == 2:
        label = label_above(node, node.step(Reshape((scores.type.shape[0],)), scores), 0.0, labels)
        both = both_classes(node, node.step(Negative(), scores), scores)
        return label, transformed_scores(node, both, transform, output=1)
    if count != len(labels):
        raise FrontendError(f"expected {count} labels, one per intercept, found {len(labels)}")
    return best_label(node, scores, labels), transformed_scores(node, scores, transform, output=1)


def _support_vectors(node: OnnxNode) -> Operand:
    """The sum of coefficients times kernels of data with the support vectors, + rho; for one class the sign of that."""
    data, coefficients, rho = _rows(node), _floats(node, "coefficients"), _floats(node, "rho")
    features, count = node.static_shape(0)[-1], node.integer("n_supports")
    vectors = _floats(node, "support_vectors").reshape(-1, features) if count else np.ones((1, features), np.float32)
    if len(rho) != 1 or (count and (len(vectors) != count or len(coefficients) != count)):
        raise FrontendError(
            f"expected {count} support vectors and coefficients, and one rho, found {len(vectors)}, "
            f"{len(coefficients)}, {len(rho)}"
        )
    if not count:
        vectors, coefficients = coefficients.reshape(1, -1), np.ones(1, np.float32)
    kernels = _kernel(node, data, vectors)
    total = node.step(MatMul(), kernels, node.parameter(coefficients[:, None].copy(), "coefficients"))
    score = node.step(Add(), total, node.literal(float(rho[0]), FLOAT))
    if not node.flag("one_class"):
        return transformed_scores(node, score, transform_of(node))
    is_inside = node.step(Greater(), score, node.literal(0, FLOAT))
    return node.result(Where(), is_inside, node.literal(1, FLOAT), node.literal(-1, FLOAT))


def _kernel(node: OnnxNode, data: Value, vectors: Array) -> Value:
    """The kernel of each row with each vector [N, vectors]; gamma, coef0 and degree are kernel_params."""
    gamma, offset, degree = ([*map(float, node.attribute("kernel_params") or ()), 0.0, 0.0, 0.0])[:3]
    kind = node.text("kernel_type")
    turned = node.parameter(np.ascontiguousarray(vectors.T), "support_vectors")
    if kind == "LINEAR":
        return node.step(MatMul(), data, turned)
    if kind == "RBF":
        rows, features = data.type.shape
        apart = node.step(
            Subtract(), node.step(Reshape((rows, 1, features)), data), node.parameter(vectors[None].copy(), "vectors")
        )
        distances = node.step(ReduceSumSquare(axes=(2,), keepdims=False), apart)
        return node.step(Exp(), node.step(Multiply(), distances, node.literal(-gamma, FLOAT)))
    if kind not in {"POLY", "SIGMOID"}:
        raise FrontendError(f"expected kernel_type LINEAR, POLY, RBF or SIGMOID, found {kind!r}")
    scaled = node.step(Multiply(), node.step(MatMul(), data, turned), node.literal(gamma, FLOAT))
    shifted = node.step(Add(), scaled, node.literal(offset, FLOAT))
    return node.step(Tanh(), shifted) if kind == "SIGMOID" else node.step(Power(), shifted, node.literal(degree, FLOAT))


def _support_vector_classifier(node: OnnxNode) -> Sequence[Operand]:
    """A score for each pair of classes, the sign of which is a vote; the label has most votes, of equal ones the first.

    The scores of two classes are -s and s, those of more the pairs (onnxruntime, svmclassifier.cc).
    """
    labels, data = labels_of(node, "classlabels_ints"), _rows(node)
    counts = np.array(node.attribute("vectors_per_class") or (), np.int64)
    classes, features = len(counts), node.static_shape(0)[-1]
    vectors = _floats(node, "support_vectors")
    coefficients, rho = _floats(node, "coefficients"), _floats(node, "rho")
    total, pairs = int(counts.sum()), [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    fits = classes == len(labels) > 1 and counts.min() >= 0 and vectors.size == total * features
    if not fits or coefficients.size != (classes - 1) * total or len(rho) != len(pairs):
        raise FrontendError(
            f"expected support vectors, coefficients and rho of {len(labels)} classes for {features} features, found "
            f"{vectors.size}, {coefficients.size} and {len(rho)} numbers for {counts.tolist()} vectors"
        )
    weight, ends = np.zeros((total, len(pairs)), np.float32), np.cumsum(counts)
    of = coefficients.reshape(classes - 1, total)
    for pair, (i, j) in enumerate(pairs):
        for mine, row in ((i, j - 1), (j, i)):
            vectors_of = slice(ends[mine] - counts[mine], ends[mine])
            weight[vectors_of, pair] = of[row, vectors_of]
    kernels = _kernel(node, data, vectors.reshape(total, features))
    products = node.step(MatMul(), kernels, node.parameter(weight, "coefficients"))
    scores = node.step(Add(), products, node.parameter(rho, "rho"))
    probabilities = _probabilities(node, scores, classes)
    if classes == 2:
        both = probabilities
        if both is None:
            both = both_classes(node, node.step(Negative(), scores), scores)
        label = label_above(node, node.step(Reshape((scores.type.shape[0],)), scores), 0.0, labels[::-1])
        return label, transformed_scores(node, both, transform_of(node), output=1)
    first, second = (np.eye(classes, dtype=np.float32)[[pair[side] for pair in pairs]] for side in (0, 1))
    wins = node.step(Cast(FLOAT), node.step(Greater(), scores, node.literal(0, FLOAT)))
    turned = node.step(MatMul(), wins, node.parameter(first - second, "votes"))
    votes = node.step(Add(), turned, node.parameter(second.sum(axis=0), "other_votes"))
    return best_label(node, votes, labels), transformed_scores(
        node, probabilities or scores, transform_of(node), output=1
    )


def _probabilities(node: OnnxNode, scores: Value, classes: int) -> Value | None:
    """The probabilities of classes, of those of pairs by Platt's sigmoids; None if the model has no coefficients of
    these. onnxruntime keeps them off 0 and 1 (svmclassifier.cc)."""
    slope, offset, pairs = _floats(node, "prob_a"), _floats(node, "prob_b"), scores.type.shape[1]
    if not slope.size and not offset.size:
        return None
    if not slope.size == offset.size == pairs:
        raise FrontendError(f"expected {pairs} numbers prob_a and prob_b, found {slope.size} and {offset.size}")
    scaled = node.step(Multiply(), scores, node.parameter(slope, "prob_a"))
    other = node.step(Sigmoid(), node.step(Add(), scaled, node.parameter(offset, "prob_b")))
    of_pairs = node.step(Subtract(), node.literal(1, FLOAT), other)
    return coupled(node, node.step(Clip(LEAST, 1 - LEAST), of_pairs), classes)


LINEAR: dict[str, Converter] = {
    "LinearClassifier": _classifier,
    "LinearRegressor": _regressor,
    "SVMClassifier": _support_vector_classifier,
    "SVMRegressor": _support_vectors,
}
