"""Ensembles of trees (TreeEnsemble.proto): the sum of what all trees give, and a transform of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

import numpy as np

from sateen.frontends.core.forest import EQ, GTE, LEAF, LT, NEQ, Forest, Nodes, Weights, forest_of, positions_of
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.estimators.classes import of_two, required_classes, with_reference
from sateen.frontends.coreml.estimators.node import Converter, EstimatorNode
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError

_MOST_OUTPUTS = 1 << 16


class Transform(IntEnum):
    """TreeEnsemblePostEvaluationTransform."""

    NONE = 0
    SOFTMAX = 1
    LOGISTIC = 2
    SOFTMAX_WITH_REFERENCE = 3


def _scores(node: EstimatorNode) -> Value:
    """What the trees give together [1, outputs], with the base values."""
    ensemble, data = node.parameters.treeEnsemble, node.row()
    outputs, base = ensemble.numPredictionDimensions, ensemble.basePredictionValue
    if not 0 < outputs <= _MOST_OUTPUTS or len(base) not in (0, outputs) or not ensemble.nodes:
        raise FrontendError(
            f"expected trees, 1 to {_MOST_OUTPUTS} outputs and a base value for each, found {len(ensemble.nodes)} "
            f"nodes, {outputs} outputs and {len(base)} base values"
        )
    (width,) = static_extents(data.type.shape[1:], "the features")
    forest = _forest(ensemble.nodes, outputs, width)
    arrays = [None if a is None else node.parameter(a, name) for name, a in forest.arrays.items()]
    scores = node.step(ops.TreeEnsemble(outputs, "sum"), data, *arrays)
    return node.step(ops.Add(), scores, node.float_parameter([list(base)], "base")) if base else scores


def _forest(nodes: Message, outputs: int, width: int) -> Forest:
    trees, ids = _whole(nodes, "treeId"), _whole(nodes, "nodeId")
    mode, feature = _whole(nodes, "nodeBehavior"), _whole(nodes, "branchFeatureIndex")
    if np.any((mode < 0) | (mode > LEAF)):
        raise FrontendError(f"expected nodeBehavior of 0 to {LEAF}, found {mode.min()}, {mode.max()}")
    inner = mode != LEAF
    if np.any(feature[inner] >= width):
        raise FrontendError(f"expected features 0 to {width - 1}, found {feature[inner].max()}")
    children = []
    for name in ("trueChildNodeId", "falseChildNodeId"):
        child = np.zeros(len(trees), np.int64)
        child[inner] = positions_of(trees, ids, trees[inner], _whole(nodes, name)[inner], name)
        children.append(child)
    tracks = np.array([node.missingValueTracksTrueChild for node in nodes])
    values = _thresholds(np.array([node.branchFeatureValue for node in nodes]), mode)
    numbered = np.unique(trees, return_inverse=True)[1]
    leaves = [(place, value) for place, node in enumerate(nodes) for value in node.evaluationInfo]
    weights = Weights(
        np.array([place for place, _ in leaves], np.int64),
        _bounded(value.evaluationIndex for _, value in leaves),
        np.array([value.evaluationValue for _, value in leaves], np.float64),
    )
    made = Nodes(numbered, feature, mode, values, children[0], children[1], tracks)
    return forest_of(made, weights, outputs, np.float32, adds=True)


def _whole(nodes: Message, name: str) -> Array:
    return _bounded(getattr(node, name) for node in nodes)


def _bounded(numbers: Iterable[int]) -> Array:
    """Numbers of 64 bits without a sign; those that no file has become one that is refused."""
    return np.array([min(number, 1 << 40) for number in numbers], np.int64)


def _thresholds(values: Array, mode: Array) -> Array:
    """Doubles as float32 with which a float32 compares alike: the next one above for < and >=, below for the others.

    No float32 equals a double that lies between two of them.
    """
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    least, most = np.array(-np.inf, np.float32), np.array(np.inf, np.float32)
    below = np.where(near > values, np.nextafter(near, least), near)
    above = np.where(near < values, np.nextafter(near, most), near)
    found = np.where(np.isin(mode, (LT, GTE)), above, below)
    found[np.isin(mode, (EQ, NEQ)) & (near != values)] = np.nan
    return found


def _regressor(node: EstimatorNode) -> Operand:
    scores, transform = _scores(node), node.parameters.postEvaluationTransform
    if transform == Transform.LOGISTIC:
        scores = node.step(ops.Sigmoid(), scores)
    elif transform != Transform.NONE:
        raise UnsupportedError(f"a transform of classes ({transform}) in a regressor is not supported")
    return node.vector(scores)


def _classifier(node: EstimatorNode) -> Operand:
    """Of two classes, one score is that of the second: a probability, or what LOGISTIC makes one (coremltools,
    converters/sklearn/_tree_ensemble.py, which does not divide the sums of several classes by the number of trees)."""
    classes, scores = required_classes(node), _scores(node)
    outputs, transform = scores.type.shape[1], node.parameters.postEvaluationTransform
    match transform:
        case Transform.NONE if outputs == classes:
            return node.vector(scores)
        case Transform.NONE if (outputs, classes) == (1, 2):
            return node.vector(of_two(node, scores))
        case Transform.SOFTMAX if outputs == classes:
            return node.vector(node.step(ops.Softmax(axis=1), scores))
        case Transform.LOGISTIC if (outputs, classes) == (1, 2):
            return node.vector(of_two(node, node.step(ops.Sigmoid(), scores)))
        case Transform.SOFTMAX_WITH_REFERENCE if outputs == classes - 1:
            return node.vector(with_reference(node, scores))
    raise UnsupportedError(f"{outputs} scores with transform {transform} for {classes} classes are not supported")


TREES: Mapping[str, Converter] = {"treeEnsembleClassifier": _classifier, "treeEnsembleRegressor": _regressor}
