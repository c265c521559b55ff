"""Products with matrices, and attention."""

from __future__ import annotations

import coremltools as ct
import numpy as np
from arrays import t
from coremltools.converters.mil import Builder
from torch.nn import functional

from programs.case import BLOCK, Cases

CASES = Cases("programs.products")
case, operation = CASES.case, CASES.operation
reals = CASES.source.reals

_W, _WB = reals(6, 4), reals(6)
operation("linear", [BLOCK], BLOCK @ _W.T + _WB, weight=_W, bias=_WB)
operation("linear", [BLOCK[0]], BLOCK[0] @ _W.T, weight=_W, label="linear_2d")
_L, _R = reals(2, 3, 4), reals(2, 4, 5)
operation("matmul", [_L, _R], _L @ _R)
operation(
    "matmul",
    [_L.transpose(0, 2, 1).copy(), _R.transpose(0, 2, 1).copy()],
    _L @ _R,
    transpose_x=True,
    transpose_y=True,
    label="matmul_transposed",
)
operation("matmul", [_L], _L @ _W.T, y=_W, transpose_y=True, label="matmul_weight")
_E1, _E2 = reals(2, 3, 4, 5), reals(2, 5, 4, 6)
case(
    "einsum",
    [_E1, _E2],
    lambda x, y: Builder.einsum(values=(x, y), equation="nchw,nwhu->nchu"),
    np.einsum("nchw,nwhu->nchu", _E1, _E2),
)
_Q, _KEY, _VAL, _MASK = reals(2, 3, 5, 8), reals(2, 3, 7, 8), reals(2, 3, 7, 6), reals(5, 7)
case(
    "attention",
    [_Q, _KEY, _VAL],
    lambda x, y, z: Builder.scaled_dot_product_attention(query=x, key=y, value=z),
    functional.scaled_dot_product_attention(t(_Q), t(_KEY), t(_VAL)).numpy(),
    target=ct.target.iOS18,
)
case(
    "attention_mask",
    [_Q, _KEY, _VAL, _MASK],
    lambda x, y, z, u: Builder.scaled_dot_product_attention(query=x, key=y, value=z, attn_mask=u),
    functional.scaled_dot_product_attention(t(_Q), t(_KEY), t(_VAL), t(_MASK)).numpy(),
    target=ct.target.iOS18,
)
