"""Normalisations and softmaxes."""

from __future__ import annotations

import numpy as np
import torch
from arrays import t
from torch.nn import functional

from networks.case import (
    BLOCK,
    LARGE,
    Cases,
    images,
)

CASES = Cases("networks.normalization")
layer = CASES.layer
reals = CASES.source.reals

_S = [reals(4), reals(4), reals(4), reals(4, low=0.5, high=2)]
layer(
    "batchnorm",
    "add_batchnorm",
    [LARGE],
    images(lambda x: functional.batch_norm(x, t(_S[2]), t(_S[3]), t(_S[0]), t(_S[1]), eps=1e-3), LARGE),
    old=True,
    channels=4,
    gamma=_S[0],
    beta=_S[1],
    mean=_S[2],
    variance=_S[3],
    epsilon=1e-3,
)
layer(
    "batchnorm_of_instances",
    "add_batchnorm",
    [LARGE],
    images(lambda x: functional.instance_norm(x, weight=t(_S[0]), bias=t(_S[1]), eps=1e-3), LARGE),
    old=True,
    channels=4,
    gamma=_S[0],
    beta=_S[1],
    compute_mean_var=True,
    instance_normalization=True,
    epsilon=1e-3,
)
for across in (True, False):
    axes = (0, 1, 2) if across else (1, 2)
    centred = LARGE - LARGE.mean(axes, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)
    for normalizes in (True, False):
        layer(
            f"mvn_{across}_{normalizes}",
            "add_mvn",
            [LARGE],
            centred / deviation if normalizes else centred,
            old=True,
            across_channels=across,
            normalize_variance=normalizes,
        )
layer("l2_normalize", "add_l2_normalize", [LARGE], LARGE / np.sqrt((LARGE**2).sum() + 1e-5), old=True)
layer(
    "lrn",
    "add_lrn",
    [LARGE],
    images(lambda x: functional.local_response_norm(x, 3, 0.5, 0.6, 1.5), LARGE),
    old=True,
    alpha=0.5,
    beta=0.6,
    local_size=3,
    k=1.5,
)
layer("softmax", "add_softmax", [LARGE], torch.softmax(t(LARGE), 0).numpy(), old=True)
layer("softmax_nd", "add_softmax_nd", [BLOCK], torch.softmax(t(BLOCK), 1).numpy(), axis=-2)
_G, _H = reals(3, 4), reals(3, 4)
layer(
    "layer_normalization",
    "add_layer_normalization",
    [BLOCK],
    functional.layer_norm(t(BLOCK), (3, 4), t(_G), t(_H), 1e-4).numpy(),
    normalized_shape=(3, 4),
    gamma=_G,
    beta=_H,
    eps=1e-4,
)
