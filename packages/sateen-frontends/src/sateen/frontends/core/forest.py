"""Ensembles of trees as arrays that a processor walks down: every node compares by `element <= threshold`.

The other comparisons become this one: `<` with the next smaller threshold, `>` and `>=` with the branches exchanged,
`==` as two nodes, sets as a chain of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sateen.frontends.core.forest_equality import without_equality
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")
LEQ, LT, GTE, GT, EQ, NEQ, LEAF = range(len(MODES))
"""How a node compares an element with its value; a leaf does not."""
MEMBER = len(MODES)
"""Equality with any value of a set."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of all trees, as a file has them.

    tree, true and false are positions: of the tree that a node belongs to, and of its children among all nodes.
    `tracks` says where NaN takes the branch of true; `sets` are those of nodes of mode MEMBER, by position.
    """

    tree: Array
    feature: Array
    mode: Array
    value: Array
    true: Array
    false: Array
    tracks: Array
    sets: Mapping[int, Array] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.tree)


@dataclass(frozen=True, slots=True)
class Weights:
    """What leaves give: positions of leaves, and the output and the weight of each."""

    leaf: Array
    output: Array
    weight: Array


@dataclass(frozen=True, slots=True)
class Forest:
    """The inputs of TreeEnsemble after the data, in order; `tracks` is None where NaN always fails a comparison."""

    roots: Array
    depths: Array
    targets: Array
    nodes: Array
    values: Array
    tracks: Array | None

    @property
    def arrays(self) -> Mapping[str, Array | None]:
        names = ("roots", "depths", "targets", "nodes", "values", "tracks")
        return {name: getattr(self, name) for name in names}


def positions_of(trees: Array, ids: Array, of_trees: Array, of_ids: Array, what: str) -> Array:
    """Where nodes of (tree, id) are among all. Raises FrontendError for a node that is not there, or there twice."""
    keys = _keys(trees, ids)
    order = np.argsort(keys, kind="stable")
    if len(keys) > 1 and np.any(np.diff(keys[order]) == 0):
        twice = order[1:][np.diff(keys[order]) == 0][0]
        raise FrontendError(f"expected one node {ids[twice]} in tree {trees[twice]}, found two")
    wanted = _keys(of_trees, of_ids)
    found = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
    if not len(keys) or np.any(keys[order][found] != wanted):
        first = int(np.argmax(keys[order][found] != wanted)) if len(keys) else 0
        raise FrontendError(f"{what} names node {of_ids[first]} of tree {of_trees[first]}, which does not exist")
    return order[found]


def _keys(trees: Array, ids: Array) -> Array:
    """A number per (tree, id). Raises FrontendError for numbers that no file has."""
    for name, numbers in (("trees", trees), ("nodes", ids)):
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < 1 << 31:
            raise FrontendError(
                f"expected numbers of {name} from 0 to 2^31 - 1, found {numbers.min()}, {numbers.max()}"
            )
    return trees.astype(np.int64) << 31 | ids.astype(np.int64)


def forest_of(nodes: Nodes, weights: Weights, outputs: int, dtype: Any, *, adds: bool) -> Forest:
    """The arrays of an ensemble for data of `dtype`, with `outputs` outputs.

    With `adds` a leaf may give to any outputs, otherwise to one. Raises FrontendError for nodes that are no trees, and
    UnsupportedError for leaves that can't be combined.
    """
    levels = _levels(nodes)
    is_leaf = nodes.mode == LEAF
    order = np.lexsort((levels, nodes.tree, is_leaf))  # decisions first, tree by tree, from the root down
    place = np.empty(nodes.count, np.int64)
    place[order] = np.arange(nodes.count)
    first_leaf = int(np.count_nonzero(~is_leaf))
    swapped = np.isin(nodes.mode, (GTE, GT))
    strict = np.isin(nodes.mode, (LT, GTE))
    value = nodes.value.astype(dtype)
    threshold = np.where(strict, np.nextafter(value, np.array(-np.inf, dtype)), value)
    threshold[strict & np.isneginf(value)] = np.nan  # no element is smaller
    second, first = np.where(swapped, nodes.false, nodes.true), np.where(swapped, nodes.true, nodes.false)
    children = np.stack([place[first], place[second]], axis=1)
    own = np.arange(nodes.count)[:, None]
    tracks = nodes.tracks ^ swapped
    columns = {
        "feature": np.where(is_leaf, 0, nodes.feature)[order],
        "threshold": np.where(is_leaf, 0, threshold)[order].astype(dtype),
        "children": np.where(is_leaf[order][:, None], own, children[order]),
        "tracks": (tracks & ~is_leaf)[order],
    }
    roots = place[_roots(nodes)]
    depths = np.zeros(len(roots), np.int64)
    np.maximum.at(depths, nodes.tree, levels)
    equal = np.flatnonzero(np.isin(nodes.mode, (EQ, NEQ, MEMBER))[order])
    targets, values = _values(nodes, weights, place[weights.leaf] - first_leaf, outputs, adds=adds)
    if len(equal):
        sets = [nodes.sets.get(int(node), nodes.value[node : node + 1]) for node in order[equal]]
        columns, count = without_equality(columns, equal, sets, nodes.mode[order][equal] == NEQ, first_leaf, dtype)
        roots += np.where(roots >= first_leaf, count, 0)
        decisions = len(columns["feature"])  # no way is longer, and this many fit an int32
        depths = np.minimum(depths * (1 + max(map(len, sets))), decisions)
    whole = np.int32
    return Forest(
        roots.astype(whole), depths.astype(whole), targets.astype(whole), _packed(columns), values,
        columns["tracks"].astype(whole) if columns["tracks"].any() else None,
    )  # fmt: skip


def _packed(columns: Mapping[str, Array]) -> Array:
    """A row for each node: its feature, its children, and the words of its threshold."""
    words = np.ascontiguousarray(columns["threshold"].astype(columns["threshold"].dtype.newbyteorder("<")))
    parts = [columns["feature"][:, None], columns["children"], words.view("<i4").reshape(len(words), -1)]
    return np.concatenate(parts, axis=1).astype(np.int32)


def _roots(nodes: Nodes) -> Array:
    """The root of each tree. Raises FrontendError where it is not one node."""
    inner = nodes.mode != LEAF
    is_child = np.zeros(nodes.count, bool)
    is_child[nodes.true[inner]] = is_child[nodes.false[inner]] = True
    roots = np.flatnonzero(~is_child)
    count = int(nodes.tree.max()) + 1 if nodes.count else 0
    per_tree = np.bincount(nodes.tree[roots], minlength=count)
    if np.any(per_tree != 1):
        wrong = int(np.argmax(per_tree != 1))
        raise FrontendError(f"expected one root in tree {wrong}, found {per_tree[wrong]}")
    return roots[np.argsort(nodes.tree[roots])]


def _levels(nodes: Nodes) -> Array:
    """The number of decisions above each node. Raises FrontendError for cycles, and for branches that meet."""
    levels = np.full(nodes.count, -1)
    frontier, level = _roots(nodes), 0
    while len(frontier):
        if np.any(levels[frontier] >= 0) or len(np.unique(frontier)) < len(frontier):
            raise FrontendError("expected trees, found branches that meet or lead back")
        levels[frontier] = level
        inner = frontier[nodes.mode[frontier] != LEAF]
        frontier, level = np.concatenate([nodes.true[inner], nodes.false[inner]]), level + 1
    if np.any(levels < 0):
        raise FrontendError("expected trees, found a cycle")
    return levels


def _values(nodes: Nodes, weights: Weights, leaf: Array, outputs: int, *, adds: bool) -> tuple[Array, Array]:
    """The first output of each tree, and the weights of its leaves from there on."""
    count = int(nodes.tree.max()) + 1 if nodes.count else 0
    leaves = int(np.count_nonzero(nodes.mode == LEAF))
    if np.any(nodes.mode[weights.leaf] != LEAF):
        raise FrontendError("expected weights of leaves, found those of a node that decides")
    if len(weights.output) and not 0 <= int(weights.output.min()) <= int(weights.output.max()) < outputs:
        raise FrontendError(
            f"expected outputs 0 to {outputs - 1}, found {weights.output.min()}, {weights.output.max()}"
        )
    if not adds and (outputs != 1 or np.any(np.bincount(leaf, minlength=leaves) != 1)):
        raise UnsupportedError("the least or largest of several outputs, or of leaves without weight, is not supported")
    tree = nodes.tree[weights.leaf]
    first, last = np.full(count, outputs), np.full(count, -1)
    np.minimum.at(first, tree, weights.output)
    np.maximum.at(last, tree, weights.output)
    width = max(int((last - first).max(initial=0)) + 1, 1)
    first = np.minimum(np.where(last < 0, 0, first), outputs - width)
    if leaves * width > 1 << 28:
        raise UnsupportedError(f"{leaves} leaves with {width} outputs each are not supported")
    values = np.zeros((leaves, width), np.float64)
    np.add.at(values, (leaf, weights.output - first[tree]), weights.weight)
    return first, values.astype(np.float32)


def modes_of(names: Sequence[str]) -> Array:
    """The numbers of modes. Raises FrontendError for an unknown one."""
    known = {name: number for number, name in enumerate(MODES)}
    if unknown := sorted(set(names) - known.keys()):
        raise FrontendError(f"expected modes {', '.join(MODES)}, found {unknown[0]!r}")
    return np.array([known[name] for name in names], np.int64)
