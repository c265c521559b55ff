"""Products with matrices."""

from __future__ import annotations

import numpy as np

from networks.case import (
    BLOCK,
    PICTURE,
    Cases,
)

CASES = Cases("networks.products")
layer = CASES.layer
reals = CASES.source.reals

_W, _WB = reals(6, 60), reals(6)
layer(
    "inner_product",
    "add_inner_product",
    [PICTURE],
    (_W @ PICTURE.reshape(-1) + _WB).reshape(6, 1, 1),
    old=True,
    W=_W,
    b=_WB,
    input_channels=60,
    output_channels=6,
    has_bias=True,
)
_W4 = reals(6, 4)
for rank in (1, 2, 3):
    data = reals(*(2, 3, 4)[3 - rank :])
    layer(
        f"inner_product_{rank}",
        "add_inner_product",
        [data],
        data @ _W4.T,
        W=_W4,
        b=None,
        input_channels=4,
        output_channels=6,
        has_bias=False,
    )
_RIGHT = reals(2, 4, 5)
layer("batched_matmul", "add_batched_mat_mul", [BLOCK, _RIGHT], BLOCK @ _RIGHT)
_TURNED, _MATRIX = reals(2, 4, 3), reals(5, 4)
layer(
    "batched_matmul_transposed",
    "add_batched_mat_mul",
    [_TURNED, _MATRIX],
    _TURNED.transpose(0, 2, 1) @ _MATRIX.T,
    transpose_a=True,
    transpose_b=True,
)
layer(
    "batched_matmul_weight",
    "add_batched_mat_mul",
    [BLOCK],
    BLOCK @ _W4.T + _WB,
    weight_matrix_rows=4,
    weight_matrix_columns=6,
    W=np.ascontiguousarray(_W4.T),
    bias=_WB,
)
