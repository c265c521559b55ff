"""The classes of a classifier, and how scores become probabilities."""

from __future__ import annotations

from math import sqrt

from sateen.frontends.coreml.estimators.node import FLOAT, EstimatorNode
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def classes_of(parameters: Message) -> tuple[str, ...]:
    """The names of classes, in their order; () if there are none."""
    kind = parameters.WhichOneof("ClassLabels") if "ClassLabels" in parameters.DESCRIPTOR.oneofs_by_name else None
    return tuple(map(str, getattr(parameters, kind).vector)) if kind else ()


def required_classes(node: EstimatorNode) -> int:
    """How many classes there are. Raises FrontendError for fewer than two."""
    count = len(classes_of(node.parameters))
    if count < 2:
        raise FrontendError(f"expected the labels of two or more classes, found {count}")
    return count


def probit(node: EstimatorNode, scores: Value) -> Value:
    """The cumulative normal distribution: (1 + erf(x / √2)) / 2."""
    inner = node.step(ops.Erf(), node.step(ops.Multiply(), scores, node.literal(1 / sqrt(2), FLOAT)))
    shifted = node.step(ops.Add(), inner, node.literal(1, FLOAT))
    return node.step(ops.Multiply(), shifted, node.literal(0.5, FLOAT))


def of_two(node: EstimatorNode, second: Value) -> Value:
    """Probabilities [1, 2] of the classes, given that of the second."""
    return node.step(ops.Concat(axis=1), node.step(ops.Subtract(), node.literal(1, FLOAT), second), second)


def with_reference(node: EstimatorNode, scores: Value) -> Value:
    """Probabilities of all classes: those of scores [1, C - 1], and of a first class with the score 0."""
    zero = node.literal(0, FLOAT, (1, 1))
    return node.step(ops.Softmax(axis=1), node.step(ops.Concat(axis=1), zero, scores))
