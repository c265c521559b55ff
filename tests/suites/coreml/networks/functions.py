"""Functions of numbers."""

from __future__ import annotations

import numpy as np
import torch
from arrays import t
from torch.nn import functional

from networks.case import (
    PICTURE,
    POSITIVE,
    Cases,
)

CASES = Cases("networks.functions")
layer = CASES.layer
reals = CASES.source.reals

_X = reals(2, 3, 4)
_UNIT = reals(2, 3, 4, low=-0.9, high=0.9)
for name, function, data in (
    ("sin", np.sin, _X),
    ("cos", np.cos, _X),
    ("tan", np.tan, _UNIT),
    ("asin", np.arcsin, _UNIT),
    ("acos", np.arccos, _UNIT),
    ("atan", np.arctan, _X),
    ("sinh", np.sinh, _X),
    ("cosh", np.cosh, _X),
    ("tanh", np.tanh, _X),
    ("asinh", np.arcsinh, _X),
    ("acosh", np.arccosh, reals(2, 3, low=1.1, high=4)),
    ("atanh", np.arctanh, _UNIT),
    ("exp2", np.exp2, _X),
    ("ceil", np.ceil, _X),
    ("floor", np.floor, _X),
    ("sign", np.sign, np.round(_X)),
    ("round", np.round, reals(40, low=-20, high=20)),
    ("erf", lambda x: torch.erf(t(x)).numpy(), _X),
    ("copy", lambda x: x, _X),
):
    layer(name, f"add_{name}", [data], function(data))
for mode, approximate in (("EXACT", "none"), ("TANH_APPROXIMATION", "tanh")):
    layer(f"gelu_{mode}", "add_gelu", [_X], functional.gelu(t(_X), approximate=approximate).numpy(), mode=mode)
layer("gelu_sigmoid", "add_gelu", [_X], _X / (1 + np.exp(-1.702 * _X)), mode="SIGMOID_APPROXIMATION")
layer("clip", "add_clip", [_X], np.clip(_X, -1, 0.5), min_value=-1.0, max_value=0.5)
layer(
    "clamped_relu", "add_clamped_relu", [4 * _X], np.minimum(np.where(_X < 0, 0.2, 1) * 4 * _X, 6), alpha=0.2, beta=6.0
)

_SOFTPLUS = np.log1p(np.exp(PICTURE))
_ALPHA, _BETA = reals(3, low=0.2, high=1), reals(3, low=0.2, high=1)
for name, parameters, expected in (
    ("LINEAR", [2.0, -0.5], 2 * PICTURE - 0.5),
    ("RELU", None, np.maximum(PICTURE, 0)),
    ("LEAKYRELU", [0.2], np.where(PICTURE < 0, 0.2 * PICTURE, PICTURE)),
    ("THRESHOLDEDRELU", 0.7, np.where(PICTURE >= 0.7, PICTURE, 0)),
    ("TANH", None, np.tanh(PICTURE)),
    ("SCALED_TANH", [1.5, 0.6], 1.5 * np.tanh(0.6 * PICTURE)),
    ("SIGMOID", None, 1 / (1 + np.exp(-PICTURE))),
    ("SIGMOID_HARD", [0.3, 0.4], np.clip(0.3 * PICTURE + 0.4, 0, 1)),
    ("ELU", 0.7, np.where(PICTURE < 0, 0.7 * (np.exp(PICTURE) - 1), PICTURE)),
    ("SOFTSIGN", None, PICTURE / (1 + np.abs(PICTURE))),
    ("SOFTPLUS", None, _SOFTPLUS),
    ("PRELU", _ALPHA, np.where(PICTURE < 0, _ALPHA[:, None, None] * PICTURE, PICTURE)),
    ("PRELU_one", np.array([0.3], np.float32), np.where(PICTURE < 0, 0.3 * PICTURE, PICTURE)),
    ("PARAMETRICSOFTPLUS", [_ALPHA, _BETA], _ALPHA[:, None, None] * np.log1p(np.exp(_BETA[:, None, None] * PICTURE))),
):
    layer(
        f"activation_{name}",
        "add_activation",
        [PICTURE],
        expected,
        old=True,
        non_linearity=name.removesuffix("_one"),
        params=parameters,
    )

for name, expected, parameters in (
    ("sqrt", np.sqrt(POSITIVE), {}),
    ("rsqrt", 1 / np.sqrt(POSITIVE + 1e-6), {"epsilon": 0.0}),
    ("rsqrt_epsilon", 1 / np.sqrt(POSITIVE + 0.5), {"epsilon": 0.5}),
    ("inverse", 1 / (POSITIVE + 1e-6), {"epsilon": 0.0}),
    ("power", POSITIVE**1.7, {"alpha": 1.7}),
    ("power_shifted", (2 * POSITIVE + 0.3) ** 2, {"alpha": 2.0, "shift": 0.3, "scale": 2.0}),
    ("exp", np.exp(POSITIVE), {}),
    ("log", np.log(POSITIVE), {}),
    ("abs", np.abs(0.5 * POSITIVE - 1), {"scale": 0.5, "shift": -1.0}),
    ("threshold", np.maximum(POSITIVE, 1.2), {"alpha": 1.2}),
):
    layer(f"unary_{name}", "add_unary", [POSITIVE], expected, old=True, mode=name.partition("_")[0], **parameters)
