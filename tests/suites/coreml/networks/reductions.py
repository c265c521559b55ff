"""Reductions, extrema and sums along an axis."""

from __future__ import annotations

import numpy as np

from networks.case import (
    BLOCK,
    POSITIVE,
    POSITIVE_BLOCK,
    Cases,
)

CASES = Cases("networks.reductions")
layer = CASES.layer

_REDUCED = {
    "sum": np.sum,
    "avg": np.mean,
    "prod": np.prod,
    "logsum": lambda x, axis, keepdims: np.log(x + 1e-6).sum(axis, keepdims=keepdims),
    "sumsquare": lambda x, axis, keepdims: (x**2).sum(axis, keepdims=keepdims),
    "L1": lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
    "L2": lambda x, axis, keepdims: np.sqrt((x**2).sum(axis, keepdims=keepdims)),
    "max": np.max,
    "min": np.min,
}
for index, (mode, reduced) in enumerate(_REDUCED.items()):
    axis = ("CHW", "HW", "C", "H", "W")[index % 5]
    axes = {"CHW": (0, 1, 2), "HW": (1, 2), "C": 0, "H": 1, "W": 2}[axis]
    layer(
        f"reduce_{mode}_{axis}",
        "add_reduce",
        [POSITIVE],
        reduced(POSITIVE, axis=axes, keepdims=True),
        old=True,
        axis=axis,
        mode=mode,
    )
layer("reduce_argmax", "add_reduce", [POSITIVE], POSITIVE.argmax(0)[None], old=True, axis="C", mode="argmax")
for name, reduced in (
    ("sum", np.sum),
    ("prod", np.prod),
    ("mean", np.mean),
    ("max", np.max),
    ("min", np.min),
    ("l1", lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims)),
    ("l2", lambda x, axis, keepdims: np.sqrt((x**2).sum(axis, keepdims=keepdims))),
    ("sumsquare", lambda x, axis, keepdims: (x**2).sum(axis, keepdims=keepdims)),
    ("logsum", lambda x, axis, keepdims: np.log(x.sum(axis, keepdims=keepdims))),
    ("logsumexp", lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims))),
):
    layer(
        f"reduce_{name}",
        f"add_reduce_{name}",
        [POSITIVE_BLOCK],
        reduced(POSITIVE_BLOCK, axis=(0, 2), keepdims=False),
        axes=[0, -1],
        keepdims=False,
    )
    layer(
        f"reduce_{name}_kept",
        f"add_reduce_{name}",
        [POSITIVE_BLOCK],
        reduced(POSITIVE_BLOCK, axis=1, keepdims=True),
        axes=[1],
        keepdims=True,
    )
layer("reduce_all", "add_reduce_sum", [POSITIVE_BLOCK], [POSITIVE_BLOCK.sum()], keepdims=False, reduce_all=True)
for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
    layer(name, f"add_{name}", [BLOCK], function(BLOCK, 1)[:, None], axis=1)
    layer(f"{name}_removed", f"add_{name}", [BLOCK], function(BLOCK, -1), axis=-1, keepdims=False)
_ORDER = np.argsort(BLOCK, 1)
layer("topk", "add_topk", [BLOCK], -np.sort(-BLOCK, 2)[:, :, :2], np.argsort(-BLOCK, 2)[:, :, :2], k=2, axis=-1)
layer("bottomk", "add_topk", [BLOCK], np.sort(BLOCK, 1)[:, :2], _ORDER[:, :2], k=2, axis=1, use_bottom_k=True)
layer("argsort", "add_argsort", [BLOCK], _ORDER, axis=1)
layer("argsort_descending", "add_argsort", [BLOCK], np.argsort(-BLOCK, 1), axis=1, descending=True)
layer("cumsum", "add_cumsum", [BLOCK], np.cumsum(BLOCK, 1), axis=1)
layer("cumsum_exclusive", "add_cumsum", [BLOCK], np.cumsum(BLOCK, 1) - BLOCK, axis=1, exclusive=True)
layer("cumsum_reverse", "add_cumsum", [BLOCK], np.flip(np.cumsum(np.flip(BLOCK, 1), 1), 1), axis=-2, reverse=True)
