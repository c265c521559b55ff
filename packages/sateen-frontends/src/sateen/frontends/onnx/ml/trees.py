"""Tree ensembles of all versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.forest import LEAF, MEMBER, Forest, Nodes, Weights, forest_of, modes_of, positions_of
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.ml.scores import (
    FLOAT,
    TRANSFORMS,
    best_label,
    label_above,
    labels_of,
    transform_of,
    transformed_scores,
)
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Add, Cast, Concat, Multiply, Negative, Reshape, Sigmoid, Slice, Subtract, TreeEnsemble
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_AGGREGATES = {"SUM": "sum", "AVERAGE": "sum", "MIN": "min", "MAX": "max"}
_BRANCH_MEMBER = 6
"""The number of this mode in version 5, which is that of LEAF here."""
_WIDE = DType.of("float64")
_NAMES = tuple(_AGGREGATES)
"""The names of aggregates; TreeEnsemble has positions, of which the first is AVERAGE."""


def _integers(node: OnnxNode, name: str) -> Array:
    return np.array(node.attribute(name) or (), np.int64)


def _numbers(node: OnnxNode, name: str) -> Array:
    """Numbers as floats, or as the tensor that replaces them as of version 3."""
    if node.knows(f"{name}_as_tensor") and node.attribute(f"{name}_as_tensor") is not None:
        found = node.tensor(f"{name}_as_tensor")
        assert found is not None
        return found.reshape(-1)
    return np.array(node.attribute(name) or (), np.float32)


def _data(node: OnnxNode) -> Value:
    """Data [N, F]; a vector is a row. Integers become float32, as in onnxruntime."""
    data = node.value(0)
    if data.type.rank == 1:
        data = node.step(Reshape((1, *data.type.shape)), data)
    return data if data.type.dtype in (FLOAT, _WIDE) else node.step(Cast(FLOAT), data)


def _forest(node: OnnxNode, data: Value, kind: str, outputs: int, *, adds: bool = True) -> Forest:
    """The ensemble of the attributes nodes_* and, with the prefix `kind`, of the weights of leaves."""
    trees, ids = _integers(node, "nodes_treeids"), _integers(node, "nodes_nodeids")
    columns = {
        "nodes_nodeids": ids,
        "nodes_featureids": _integers(node, "nodes_featureids"),
        "nodes_modes": modes_of(node.attribute("nodes_modes") or ()),
        "nodes_values": _numbers(node, "nodes_values"),
        "nodes_truenodeids": _integers(node, "nodes_truenodeids"),
        "nodes_falsenodeids": _integers(node, "nodes_falsenodeids"),
    }
    _require_lengths(columns, len(trees), "nodes_treeids")
    tracks = _integers(node, "nodes_missing_value_tracks_true")
    if len(tracks) not in (0, len(trees)):
        raise FrontendError(f"expected {len(trees)} nodes_missing_value_tracks_true, found {len(tracks)}")
    mode = columns["nodes_modes"]
    inner = mode != LEAF
    children = []
    for name in ("nodes_truenodeids", "nodes_falsenodeids"):
        child = np.zeros(len(trees), np.int64)
        child[inner] = positions_of(trees, ids, trees[inner], columns[name][inner], name)
        children.append(child)
    numbered = np.unique(trees, return_inverse=True)[1]
    nodes = Nodes(
        numbered, _features(columns["nodes_featureids"], inner, data), mode, columns["nodes_values"], children[0],
        children[1], tracks.astype(bool) if len(tracks) else np.zeros(len(trees), bool),
    )  # fmt: skip
    given = {
        f"{kind}_nodeids": _integers(node, f"{kind}_nodeids"),
        f"{kind}_ids": _integers(node, f"{kind}_ids"),
        f"{kind}_weights": _numbers(node, f"{kind}_weights"),
    }
    of_trees = _integers(node, f"{kind}_treeids")
    _require_lengths(given, len(of_trees), f"{kind}_treeids")
    leaf = positions_of(trees, ids, of_trees, given[f"{kind}_nodeids"], f"{kind}_nodeids")
    weights = Weights(leaf, given[f"{kind}_ids"], given[f"{kind}_weights"])
    return forest_of(nodes, weights, outputs, data.type.dtype.numpy, adds=adds)


def _require_lengths(columns: dict[str, Array], count: int, of: str) -> None:
    wrong = [name for name, values in columns.items() if len(values) != count]
    if wrong or not count:
        found = f"{len(columns[wrong[0]])} of {wrong[0]}" if wrong else "none"
        raise FrontendError(f"expected {count or 'some'} numbers, as many as {of}, found {found}")


def _features(features: Array, inner: Array, data: Value) -> Array:
    width = data.type.shape[1]
    used = features[inner]
    if len(used) and (used.min() < 0 or (isinstance(width, int) and used.max() >= width)):
        raise FrontendError(f"expected features 0 to {width} - 1 of data {data.type}, found {used.min()}, {used.max()}")
    return features


def _scores(node: OnnxNode, data: Value, forest: Forest, outputs: int, aggregate: str) -> Value:
    """What the trees give together, without base values."""
    inputs = [None if a is None else node.parameter(a, name) for name, a in forest.arrays.items()]
    scores = node.step(TreeEnsemble(outputs, _AGGREGATES[aggregate]), data, *inputs)
    if aggregate != "AVERAGE":
        return scores
    return node.step(Multiply(), scores, node.literal(1 / len(forest.roots), FLOAT))


def _based(node: OnnxNode, scores: Value, base: Array, outputs: int) -> Value:
    if not len(base):
        return scores
    if len(base) != outputs:
        raise FrontendError(f"expected {outputs} base_values, found {len(base)}")
    return node.step(Add(), scores, node.parameter(base.astype(np.float32)[None], "base_values"))


def _regressor(node: OnnxNode) -> Operand:
    outputs, aggregate = node.integer("n_targets"), node.text("aggregate_function")
    if aggregate not in _AGGREGATES or outputs < 1:
        raise FrontendError(f"expected n_targets of 1 or more and {', '.join(_NAMES)}, found {outputs}, {aggregate!r}")
    transform, data = transform_of(node), _data(node)
    forest = _forest(node, data, "target", outputs, adds=aggregate in {"SUM", "AVERAGE"})
    scores = _based(node, _scores(node, data, forest, outputs, aggregate), _numbers(node, "base_values"), outputs)
    return transformed_scores(node, scores, transform)


def _classifier(node: OnnxNode) -> Sequence[Operand]:
    """The label, and the scores of all classes.

    Where all leaves give to one of two classes, its score decides: above 0.5 if no weight is negative, else above 0. If
    that class is the first, the other one gets 1 - score, or -score, and of the transforms only LOGISTIC is applied
    (onnxruntime, tree_ensemble_aggregator.h, TreeAggregatorClassifier, and ml_common.h, write_scores).
    """
    labels, transform, data = labels_of(node, "classlabels_int64s"), transform_of(node), _data(node)
    classes = len(labels)
    weights, base = _numbers(node, "class_weights"), _numbers(node, "base_values")
    if classes == 2 and len(set(_integers(node, "class_ids").tolist())) == 1:
        return _one_of_two(node, data, labels, transform, base, is_positive=bool(np.all(weights >= 0)))
    if classes == 2 and len(base) == 1:
        raise UnsupportedError("one base value for scores of two classes is not supported")
    scores = _scores(node, data, _forest(node, data, "class", classes), classes, "SUM")
    scores = _based(node, scores, base, classes)
    if classes == 2:
        second = node.step(Reshape((scores.type.shape[0],)), _column(node, scores, 1))
        label = label_above(node, second, 0.0, labels)
    else:
        label = best_label(node, scores, labels)
    return label, transformed_scores(node, scores, transform, output=1)


def _column(node: OnnxNode, scores: Value, index: int) -> Value:
    rows = scores.type.shape[0]
    return node.step(Slice((0, index), (rows, index + 1), (1, 1)), scores)


def _one_of_two(
    node: OnnxNode, data: Value, labels: Array, transform: str, base: Array, *, is_positive: bool
) -> Sequence[Operand]:
    (only,) = set(_integers(node, "class_ids").tolist())
    if not 0 <= only <= 1 or len(base) > (2 if only == 0 else 0):
        raise UnsupportedError(f"scores of class {only} alone with {len(base)} base_values are not supported")
    scores = _scores(node, data, _forest(node, data, "class", 2), 2, "SUM")
    score = _column(node, scores, only)
    if len(base):
        score = node.step(Add(), score, node.literal(float(base[-1]), FLOAT))
    flat = node.step(Reshape((score.type.shape[0],)), score)
    label = label_above(node, flat, 0.5 if is_positive else 0.0, labels)
    if only == 1:  # the score of class 0 is there, and 0
        return label, transformed_scores(node, scores, transform, output=1)
    if transform == "LOGISTIC":
        score, other = node.step(Sigmoid(), score), node.step(Sigmoid(), node.step(Negative(), score))
    elif is_positive:
        other = node.step(Subtract(), node.literal(1, FLOAT), score)
    else:
        other = node.step(Negative(), score)
    return label, node.result(Concat(axis=1), other, score, output=1)


def _ensemble(node: OnnxNode) -> Operand:
    """TreeEnsemble of version 5: nodes that decide and leaves apart; modes, splits and sets as tensors."""
    outputs = node.integer("n_targets") if node.attribute("n_targets") is not None else 1
    aggregates = ("AVERAGE", "SUM", "MIN", "MAX")
    aggregate, transform = node.integer("aggregate_function"), node.integer("post_transform")
    if not 0 <= aggregate < len(aggregates) or not 0 <= transform < len(TRANSFORMS):
        raise FrontendError(
            f"expected aggregate_function 0 to 3 and post_transform 0 to 4, found {aggregate}, {transform}"
        )
    if TRANSFORMS[transform] == "PROBIT":
        raise UnsupportedError("post_transform PROBIT is not supported", "export with raw scores")
    data = _data(node)
    nodes, weights = _separate(node, data)
    kind = aggregates[aggregate]
    forest = forest_of(nodes, weights, outputs, data.type.dtype.numpy, adds=kind in {"SUM", "AVERAGE"})
    return transformed_scores(node, _scores(node, data, forest, outputs, kind), TRANSFORMS[transform])


def _tensor(node: OnnxNode, name: str) -> Array:
    found = node.tensor(name)
    if found is None:
        raise FrontendError(f"expected attribute {name!r}, found none")
    return found.reshape(-1)


def _separate(node: OnnxNode, data: Value) -> tuple[Nodes, Weights]:
    """The nodes of version 5: those that decide, then a node for each leaf."""
    mode, value = _tensor(node, "nodes_modes").astype(np.int64), _tensor(node, "nodes_splits")
    weight, output = _tensor(node, "leaf_weights"), _integers(node, "leaf_targetids")
    names = ("nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs")
    columns = {name: _integers(node, name) for name in names}
    count, leaves = len(mode), len(weight)
    _require_lengths({**columns, "nodes_splits": value}, count, "nodes_modes")
    _require_lengths({"leaf_targetids": output}, leaves, "leaf_weights")
    if np.any((mode < 0) | (mode > _BRANCH_MEMBER)):
        raise FrontendError("expected nodes_modes of 0 to 6")
    sets = _sets(node, mode)
    mode = np.where(mode == _BRANCH_MEMBER, MEMBER, mode)
    children = []
    for side in ("true", "false"):
        child, is_leaf = columns[f"nodes_{side}nodeids"], columns[f"nodes_{side}leafs"] != 0
        if np.any((child < 0) | (child >= np.where(is_leaf, leaves, count))):
            raise FrontendError(f"nodes_{side}nodeids names a node or leaf that does not exist")
        children.append(np.concatenate([child + np.where(is_leaf, count, 0), np.zeros(leaves, np.int64)]))
    modes = np.concatenate([mode, np.full(leaves, LEAF)])
    tracks = _integers(node, "nodes_missing_value_tracks_true")
    if len(tracks) not in (0, count):
        raise FrontendError(f"expected {count} nodes_missing_value_tracks_true, found {len(tracks)}")
    tree = _trees(_integers(node, "tree_roots"), modes, children)
    features = np.concatenate([columns["nodes_featureids"], np.zeros(leaves, np.int64)])
    kept = np.flatnonzero(tree >= 0)
    renumbered = np.cumsum(tree >= 0) - 1
    pad: Any = np.zeros(leaves)
    nodes = Nodes(
        tree[kept], _features(features, modes != LEAF, data)[kept], modes[kept], np.concatenate([value, pad])[kept],
        renumbered[children[0]][kept], renumbered[children[1]][kept],
        np.concatenate([tracks if len(tracks) else np.zeros(count), pad]).astype(bool)[kept],
        {int(renumbered[place]): members for place, members in sets.items()},
    )  # fmt: skip
    used = np.flatnonzero(tree[count:] >= 0)
    return nodes, Weights(renumbered[count + used], output[used], weight[used])


def _sets(node: OnnxNode, modes: Array) -> dict[int, Array]:
    """The members of each node of mode BRANCH_MEMBER: membership_values has those of one after the other, each ended by
    NaN."""
    places = np.flatnonzero(modes == _BRANCH_MEMBER)
    if not len(places):
        return {}
    members = _tensor(node, "membership_values")
    ends = np.flatnonzero(np.isnan(members))
    if len(ends) == len(places) - 1:  # the last set may lack its end
        ends = np.append(ends, len(members))
    if len(ends) != len(places):
        raise FrontendError(f"expected membership_values of {len(places)} nodes, found {len(ends)} sets")
    starts = np.concatenate([[0], ends[:-1] + 1])
    return {int(p): members[start:end] for p, start, end in zip(places, starts, ends, strict=True)}


def _trees(roots: Array, modes: Array, children: Sequence[Array]) -> Array:
    """The tree of each node, -1 where none leads to it. Raises FrontendError where two trees share a node."""
    tree = np.full(len(modes), -1)
    if not len(roots) or np.any((roots < 0) | (roots >= len(modes))) or len(np.unique(roots)) < len(roots):
        raise FrontendError("expected tree_roots to name different nodes")
    frontier, of = roots, np.arange(len(roots))
    while len(frontier):
        if np.any(tree[frontier] >= 0) or len(np.unique(frontier)) < len(frontier):
            raise FrontendError("expected trees, found branches that meet or lead back")
        tree[frontier] = of
        inner = modes[frontier] != LEAF
        of = np.concatenate([of[inner]] * 2)
        frontier = np.concatenate([side[frontier[inner]] for side in children])
    return tree


TREES: dict[str, Converter] = {
    "TreeEnsemble": _ensemble,
    "TreeEnsembleClassifier": _classifier,
    "TreeEnsembleRegressor": _regressor,
}
