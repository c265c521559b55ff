"""Layers that take elements by their places."""

from __future__ import annotations

import numpy as np

from networks.case import (
    BLOCK,
    TABLE,
    TABLE_BIAS,
    Cases,
)

CASES = Cases("networks.places")
layer = CASES.layer
reals, whole = CASES.source.reals, CASES.source.whole

_AT = np.array([[1, 0], [-1, 2]], np.float32)
layer("gather", "add_gather", [BLOCK, _AT], np.take(BLOCK, _AT.astype(int), 1), axis=1)
_ND = np.array([[1, 2], [0, 1], [1, 0]], np.float32)
layer("gather_nd", "add_gather_nd", [BLOCK, _ND], BLOCK[[1, 0, 1], [2, 1, 0]])
_ALONG = whole(2, 5, 4, most=3)
layer(
    "gather_along_axis",
    "add_gather_along_axis",
    [BLOCK, _ALONG],
    np.take_along_axis(BLOCK, _ALONG.astype(int), 1),
    axis=1,
)
for mode, function in (
    ("UPDATE", lambda a, b: b),
    ("ADD", np.add),
    ("SUB", np.subtract),
    ("MUL", np.multiply),
    ("DIV", np.divide),
    ("MAX", np.maximum),
    ("MIN", np.minimum),
):
    new, rows = reals(2, 2, 4, low=0.5), np.array([2, 0], np.float32)
    result = BLOCK.copy()
    result[:, [2, 0]] = function(result[:, [2, 0]], new)
    layer(f"scatter_{mode}", "add_scatter", [BLOCK, rows, new], result, axis=1, mode=mode)
    slices = reals(3, 4, low=0.5)
    result = BLOCK.copy()
    for (i, j), update in zip(_ND.astype(int), slices, strict=True):
        result[i, j] = function(result[i, j], update)
    layer(f"scatter_nd_{mode}", "add_scatter_nd", [BLOCK, _ND, slices], result, mode=mode)
_PUT = reals(2, 2, 4)
_WHERE = np.stack([np.zeros((2, 4)), np.full((2, 4), 2)], 1).astype(np.float32)
_SET = BLOCK.copy()
np.put_along_axis(_SET, _WHERE.astype(int), _PUT, 1)
layer("scatter_along_axis", "add_scatter_along_axis", [BLOCK, _WHERE, _PUT], _SET, axis=1, mode="UPDATE")
_DEEP = reals(2, 2, 2, 4)
_ADDED = BLOCK.copy()
np.add.at(_ADDED, (slice(None), np.array([[0, 2], [2, 1]])), _DEEP)
layer("scatter_deep", "add_scatter", [BLOCK, np.array([[0, 2], [2, 1]], np.float32), _DEEP], _ADDED, axis=1, mode="ADD")
_WORDS = whole(2, 3, 1, most=7)
layer(
    "embedding_nd",
    "add_embedding_nd",
    [_WORDS],
    TABLE.T[_WORDS[..., 0]] + TABLE_BIAS,
    vocab_size=7,
    embedding_size=5,
    W=TABLE,
    b=TABLE_BIAS,
)
layer(
    "one_hot",
    "add_one_hot",
    [np.array([[2, 0, -1]], np.float32)],
    np.array([[[-1, -1, 5, -1], [5, -1, -1, -1], [-1, -1, -1, -1]]]),
    one_hot_vector_size=4,
    axis=-1,
    on_value=5.0,
    off_value=-1.0,
)
_PLACES = whole(2, 3, most=4)
layer("one_hot_axis", "add_one_hot", [_PLACES], np.eye(4)[_PLACES].transpose(0, 2, 1), one_hot_vector_size=4, axis=1)
