"""Nodes of trees that test equality, with a value or any value of a set, as chains of `element <= threshold`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array


def without_equality(
    columns: Mapping[str, Array], equal: Array, sets: Sequence[Array], is_not: Array, first_leaf: int, dtype: Any
) -> tuple[dict[str, Array], int]:
    """The columns of nodes with chains instead of the nodes at `equal`, and the number of new nodes, which are before
    the leaves.

    A chain goes through the values v of the node's set, smallest first: an element <= v is equal to it unless it is <=
    the next smaller number, and larger elements go on to the next value. `is_not` exchanges the outcomes.
    """
    values = [np.unique(of.astype(dtype)) if len(of) else np.full(1, np.nan, dtype) for of in sets]  # no x <= NaN
    sizes = np.array([len(of) for of in values])
    owner, value = np.repeat(np.arange(len(equal)), sizes), np.concatenate(values)
    is_first = np.concatenate([[True], owner[1:] != owner[:-1]])
    is_last = np.concatenate([is_first[1:], [True]])
    heads, count = len(value) - len(equal), 2 * len(value) - len(equal)
    head = np.where(is_first, equal[owner], first_leaf - 1 + np.cumsum(~is_first))
    test = first_leaf + heads + np.arange(len(value))
    moved = columns["children"] + np.where(columns["children"] >= first_leaf, count, 0)
    branches = np.where(is_not[:, None], moved[equal], moved[equal][:, ::-1])  # where it is one of them, where not
    same, apart = branches[owner].T
    following = np.where(is_last, apart, np.append(head[1:], 0))
    tracks = columns["tracks"].copy()
    if np.any(tracks[equal] & ~is_not):
        raise UnsupportedError("NaN that is equal to a value is not supported")
    tracks[equal] = False
    chain = np.stack([following, test], axis=1)
    moved[equal] = chain[is_first]
    threshold = columns["threshold"].copy()
    threshold[equal] = value[is_first]
    features, less = columns["feature"][equal][owner], np.nextafter(value, np.array(-np.inf, dtype))

    def joined(present: Array, of_heads: Array, of_tests: Array) -> Array:
        return np.concatenate([present[:first_leaf], of_heads[~is_first], of_tests, present[first_leaf:]])

    never = np.zeros(len(value), bool)
    return {
        "feature": joined(columns["feature"], features, features),
        "threshold": joined(threshold, value, less),
        "children": joined(moved, chain, np.stack([same, apart], axis=1)),
        "tracks": joined(tracks, never, never),
    }, count
