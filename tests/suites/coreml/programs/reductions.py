"""Reductions, extrema and sums along an axis."""

from __future__ import annotations

import numpy as np
from coremltools.converters.mil import Builder

from programs.case import BLOCK, POSITIVE, Cases

CASES = Cases("programs.reductions")
case, operation = CASES.case, CASES.operation

for name, reduced in (
    ("sum", np.sum),
    ("prod", np.prod),
    ("mean", np.mean),
    ("max", np.max),
    ("min", np.min),
    ("l1_norm", lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims)),
    ("l2_norm", lambda x, axis, keepdims: np.sqrt((x**2).sum(axis, keepdims=keepdims))),
    ("sum_square", lambda x, axis, keepdims: (x**2).sum(axis, keepdims=keepdims)),
    ("log_sum", lambda x, axis, keepdims: np.log(x.sum(axis, keepdims=keepdims))),
    ("log_sum_exp", lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims))),
):
    operation(
        f"reduce_{name}", [POSITIVE], reduced(POSITIVE, axis=(0, 2), keepdims=False), axes=[0, -1], keep_dims=False
    )
    operation(
        f"reduce_{name}",
        [POSITIVE],
        reduced(POSITIVE, axis=1, keepdims=True),
        axes=[1],
        keep_dims=True,
        label=f"reduce_{name}_kept",
    )
operation("reduce_argmax", [BLOCK], BLOCK.argmax(1), axis=1)
operation("reduce_argmin", [BLOCK], BLOCK.argmin(-1)[..., None], axis=-1, keep_dims=True)
case(
    "topk",
    [BLOCK],
    lambda x: Builder.topk(x=x, k=2, axis=-1),
    -np.sort(-BLOCK, 2)[..., :2],
    np.argsort(-BLOCK, 2)[..., :2],
)
case(
    "topk_ascending",
    [BLOCK],
    lambda x: Builder.topk(x=x, k=2, axis=1, ascending=True),
    np.sort(BLOCK, 1)[:, :2],
    np.argsort(BLOCK, 1)[:, :2],
)
operation("argsort", [BLOCK], np.argsort(-BLOCK, 1), axis=1)
operation("argsort", [BLOCK], np.argsort(BLOCK, 1), axis=1, ascending=True, label="argsort_ascending")
operation("cumsum", [BLOCK], np.cumsum(BLOCK, 1), axis=1)
operation(
    "cumsum",
    [BLOCK],
    np.flip(np.cumsum(np.flip(BLOCK, 2), 2), 2) - BLOCK,
    axis=-1,
    exclusive=True,
    reverse=True,
    label="cumsum_reverse",
)
