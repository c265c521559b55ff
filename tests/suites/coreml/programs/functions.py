"""Operations element by element."""

from __future__ import annotations

import numpy as np
import torch
from arrays import t
from coremltools.converters.mil import Builder
from torch.nn import functional

from programs.case import BLOCK, PICTURES, POSITIVE, Cases

CASES = Cases("programs.functions")
case, operation = CASES.case, CASES.operation
reals, whole = CASES.source.reals, CASES.source.whole

_UNIT = reals(2, 3, 4, low=-0.9, high=0.9)
for name, function, data in (
    ("abs", np.abs, BLOCK),
    ("acos", np.arccos, _UNIT),
    ("asin", np.arcsin, _UNIT),
    ("atan", np.arctan, BLOCK),
    ("atanh", np.arctanh, _UNIT),
    ("ceil", np.ceil, BLOCK),
    ("cos", np.cos, BLOCK),
    ("cosh", np.cosh, BLOCK),
    ("erf", lambda x: torch.erf(t(x)).numpy(), BLOCK),
    ("exp", np.exp, BLOCK),
    ("exp2", np.exp2, BLOCK),
    ("floor", np.floor, BLOCK),
    ("round", np.round, 10 * BLOCK),
    ("sign", np.sign, np.round(BLOCK)),
    ("sin", np.sin, BLOCK),
    ("sinh", np.sinh, BLOCK),
    ("sqrt", np.sqrt, POSITIVE),
    ("square", np.square, BLOCK),
    ("tan", np.tan, _UNIT),
    ("tanh", np.tanh, BLOCK),
    ("relu", lambda x: np.maximum(x, 0), BLOCK),
    ("relu6", lambda x: np.clip(x, 0, 6), 5 * BLOCK),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), BLOCK),
    ("silu", lambda x: x / (1 + np.exp(-x)), BLOCK),
    ("softplus", lambda x: np.log1p(np.exp(x)), BLOCK),
    ("softsign", lambda x: x / (1 + np.abs(x)), BLOCK),
    ("identity", lambda x: x, BLOCK),
):
    operation(name, [data], function(data))
operation("log", [POSITIVE], np.log(POSITIVE), epsilon=1e-45)
operation("log", [POSITIVE], np.log(POSITIVE + 0.5), epsilon=0.5, label="log_epsilon")
operation("rsqrt", [POSITIVE], 1 / np.sqrt(POSITIVE + 0.1), epsilon=0.1)
operation("inverse", [POSITIVE], 1 / (POSITIVE + 1e-4))
operation("clip", [BLOCK], np.clip(BLOCK, -1, 0.5), alpha=-1.0, beta=0.5)
operation("threshold", [BLOCK], np.maximum(BLOCK, 0.3), alpha=0.3)
operation("thresholded_relu", [BLOCK], np.where(BLOCK >= 0.3, BLOCK, 0), alpha=0.3)
operation("leaky_relu", [BLOCK], np.where(BLOCK < 0, 0.2 * BLOCK, BLOCK), alpha=0.2)
operation("elu", [BLOCK], np.where(BLOCK < 0, 0.7 * np.expm1(BLOCK), BLOCK), alpha=0.7)
operation("clamped_relu", [4 * BLOCK], np.minimum(np.where(BLOCK < 0, 0.2, 1) * 4 * BLOCK, 6), alpha=0.2, beta=6.0)
operation("scaled_tanh", [BLOCK], 1.5 * np.tanh(0.6 * BLOCK), alpha=1.5, beta=0.6)
operation("linear_activation", [BLOCK], 1.5 * BLOCK + 0.6, alpha=1.5, beta=0.6)
operation("sigmoid_hard", [BLOCK], np.clip(0.3 * BLOCK + 0.4, 0, 1), alpha=0.3, beta=0.4)
_S3, _S4 = reals(3, low=0.1), reals(3, low=0.1)
operation("prelu", [PICTURES], np.where(PICTURES < 0, _S3[:, None, None] * PICTURES, PICTURES), alpha=_S3)
operation(
    "softplus_parametric",
    [PICTURES],
    _S3[:, None, None] * np.log1p(np.exp(_S4[:, None, None] * PICTURES)),
    alpha=_S3,
    beta=_S4,
)
for mode, approximate in (("EXACT", "none"), ("TANH_APPROXIMATION", "tanh")):
    operation(
        "gelu", [BLOCK], functional.gelu(t(BLOCK), approximate=approximate).numpy(), mode=mode, label=f"gelu_{mode}"
    )
operation("gelu", [BLOCK], BLOCK / (1 + np.exp(-1.702 * BLOCK)), mode="SIGMOID_APPROXIMATION", label="gelu_SIGMOID")
for dtype, expected in (
    ("int32", BLOCK.astype(np.int32)),
    ("bool", BLOCK.astype(bool)),
    ("fp16", BLOCK.astype(np.float16)),
):
    operation("cast", [BLOCK], expected, dtype=dtype, label=f"cast_{dtype}")

_Y, _I, _J = reals(3, 1), whole(2, 3, 4, most=5), whole(3, 1, most=5) + 1
for name, function in (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("real_div", np.divide),
    ("floor_div", np.floor_divide),
    ("mod", np.mod),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
    ("equal", np.equal),
    ("not_equal", np.not_equal),
    ("less", np.less),
    ("less_equal", np.less_equal),
    ("greater", np.greater),
    ("greater_equal", np.greater_equal),
):
    operation(name, [BLOCK, _Y], function(BLOCK, _Y), label=f"{name}_floats")
    if name != "real_div":
        operation(name, [_I, _J], function(_I, _J), label=f"{name}_integers")
operation("pow", [POSITIVE, _Y], POSITIVE**_Y)
_T, _N = _I > 2, _J > 2
for name, function in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)):
    case(
        name,
        [_I, _J],
        lambda x, y, f=name: getattr(Builder, f)(x=Builder.greater(x=x, y=2), y=Builder.greater(x=y, y=2)),
        function(_T, _N),
    )
case("logical_not", [_I], lambda x: Builder.logical_not(x=Builder.greater(x=x, y=2)), ~_T)
case(
    "select",
    [_I, BLOCK, POSITIVE],
    lambda x, y, z: Builder.select(cond=Builder.greater(x=x, y=2), a=y, b=z),
    np.where(_T, BLOCK, POSITIVE),
)
