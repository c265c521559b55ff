"""Normalisations and softmax."""

from __future__ import annotations

import numpy as np
import torch
from arrays import t
from torch.nn import functional

from programs.case import BLOCK, LARGE, PICTURES, Cases

CASES = Cases("programs.normalization")
operation = CASES.operation
reals = CASES.source.reals

_G, _H, _M, _V = reals(4), reals(4), reals(4), reals(4, low=0.5)
_V = np.abs(_V) + 0.1
operation(
    "batch_norm",
    [LARGE],
    functional.batch_norm(t(LARGE), t(_M), t(_V), t(_G), t(_H), eps=1e-3).numpy(),
    mean=_M,
    variance=_V,
    gamma=_G,
    beta=_H,
    epsilon=1e-3,
)
operation(
    "batch_norm",
    [LARGE],
    functional.batch_norm(t(LARGE), t(_M), t(_V)).numpy(),
    mean=_M,
    variance=_V,
    label="batch_norm_plain",
)
operation(
    "instance_norm",
    [LARGE],
    functional.instance_norm(t(LARGE), weight=t(_G), bias=t(_H), eps=1e-3).numpy(),
    gamma=_G,
    beta=_H,
    epsilon=1e-3,
)
_W34, _B34 = reals(3, 4), reals(3, 4)
operation(
    "layer_norm",
    [BLOCK],
    functional.layer_norm(t(BLOCK), (3, 4), t(_W34), t(_B34), 1e-4).numpy(),
    axes=[1, 2],
    gamma=_W34,
    beta=_B34,
    epsilon=1e-4,
)
operation("layer_norm", [BLOCK], functional.layer_norm(t(BLOCK), (4,)).numpy(), axes=[-1], label="layer_norm_plain")
_W3 = reals(3)
_CENTRED = BLOCK - BLOCK.mean(1, keepdims=True)
operation(
    "layer_norm",
    [BLOCK],
    _CENTRED / np.sqrt((_CENTRED**2).mean(1, keepdims=True) + 1e-4) * _W3[:, None],
    axes=[1],
    gamma=_W3,
    epsilon=1e-4,
    label="layer_norm_inner",
)
operation("l2_norm", [PICTURES], PICTURES / np.sqrt((PICTURES**2).sum((1, 2, 3), keepdims=True) + 1e-3), epsilon=1e-3)
operation(
    "local_response_norm",
    [LARGE],
    functional.local_response_norm(t(LARGE), 3, 0.5, 0.6, 1.5).numpy(),
    size=3,
    alpha=0.5,
    beta=0.6,
    k=1.5,
)
operation("softmax", [BLOCK], torch.softmax(t(BLOCK), 1).numpy(), axis=1)
