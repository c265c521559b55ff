"""Layers of several blobs."""

from __future__ import annotations

import numpy as np

from networks.case import (
    BLOCK,
    COLUMN,
    OTHER,
    PICTURE,
    POSITIVE,
    Cases,
)

CASES = Cases("networks.blobs")
case, layer = CASES.case, CASES.layer
reals, whole = CASES.source.reals, CASES.source.whole

for mode, expected in (
    ("ADD", PICTURE + OTHER),
    ("MULTIPLY", PICTURE * OTHER),
    ("MAX", np.maximum(PICTURE, OTHER)),
    ("MIN", np.minimum(PICTURE, OTHER)),
    ("AVE", (PICTURE + OTHER) / 2),
    ("CONCAT", np.concatenate([PICTURE, OTHER])),
):
    layer(f"elementwise_{mode}", "add_elementwise", [PICTURE, OTHER], expected, old=True, mode=mode)
layer(
    "elementwise_three", "add_elementwise", [PICTURE, OTHER, POSITIVE], PICTURE + OTHER + POSITIVE, old=True, mode="ADD"
)
_K1 = reals(3, 1, 1)
layer("elementwise_broadcast", "add_elementwise", [PICTURE, _K1], PICTURE + _K1, old=True, mode="ADD")
layer("add_number", "add_elementwise", [PICTURE], PICTURE + 1.5, old=True, mode="ADD", alpha=1.5)
layer("multiply_number", "add_elementwise", [PICTURE], PICTURE * 1.5, old=True, mode="MULTIPLY", alpha=1.5)
_U, _V = reals(5), reals(5)
case("dot", [_U, _V], lambda b: b.add_elementwise("l", ["x", "y"], "out", "DOT"), [_U @ _V], old=True)
case(
    "cosine",
    [_U, _V],
    lambda b: b.add_elementwise("l", ["x", "y"], "out", "COS"),
    [_U @ _V / np.linalg.norm(_U) / np.linalg.norm(_V)],
    old=True,
)

for name, function in (
    ("add_broadcastable", np.add),
    ("subtract_broadcastable", np.subtract),
    ("multiply_broadcastable", np.multiply),
    ("divide_broadcastable", np.divide),
    ("max_broadcastable", np.maximum),
    ("min_broadcastable", np.minimum),
    ("mod_broadcastable", np.mod),
    ("floor_div_broadcastable", np.floor_divide),
):
    layer(name, f"add_{name}", [BLOCK, COLUMN], function(BLOCK, COLUMN))
layer("pow_broadcastable", "add_pow_broadcastable", [POSITIVE, OTHER], POSITIVE**OTHER)
_I, _J = whole(2, 3, 4, most=3), whole(3, 1, most=3)
for name, function in (
    ("equal", np.equal),
    ("not_equal", np.not_equal),
    ("less_than", np.less),
    ("greater_than", np.greater),
):
    layer(name, f"add_{name}", [_I, _J], function(_I, _J))
    layer(f"{name}_number", f"add_{name}", [_I], function(_I, 1), alpha=1.0)
layer("less_equal", "add_less_than", [_I, _J], _I <= _J, use_less_than_equal=True)
layer("greater_equal", "add_greater_than", [_I, _J], _I >= _J, use_greater_than_equal=True)
for mode, function in (("AND", np.logical_and), ("OR", np.logical_or), ("XOR", np.logical_xor)):
    layer(f"logical_{mode}", "add_logical", [_I, _J], function(_I, _J), mode=mode)
layer("logical_NOT", "add_logical", [_I], np.logical_not(_I), mode="NOT")
layer("where", "add_where_broadcastable", [_I, BLOCK, COLUMN], np.where(_I, BLOCK, COLUMN))

for name, shape in (("one", (1,)), ("channels", (3,)), ("image", (1, 4, 5)), ("all", (3, 4, 5))):
    w, b = reals(*shape), reals(*shape)
    at = (-1, 1, 1) if len(shape) == 1 else shape
    layer(
        f"scale_{name}",
        "add_scale",
        [PICTURE],
        PICTURE * w.reshape(at) + b.reshape(at),
        old=True,
        W=w,
        b=b,
        has_bias=True,
        shape_scale=shape,
        shape_bias=shape,
    )
    layer(f"bias_{name}", "add_bias", [PICTURE], PICTURE + b.reshape(at), old=True, b=b, shape_bias=shape)
