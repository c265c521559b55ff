"""Operators that multiply bfloat16 in float32: what they refuse."""

import re

import pytest

from sateen.graph_ir.ir import Symbol, TensorType
from sateen.graph_ir.ops import BfloatConv, BfloatMatMul
from sateen.runtime import InferenceError

SHORT, FULL = "bfloat16", "float32"


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        (((SHORT, (4, 6)), (SHORT, (5, 3))), "the inner dimensions differ: 6 columns on the left, 5 rows on the right"),
        (((SHORT, (4, 6)), (SHORT, (2, 6, 3))), "expects a [..., k] and a matrix [k, n], found"),
        (((FULL, (4, 6)), (SHORT, (6, 3))), "expects data and weight of bfloat16, found float32 and bfloat16"),
        (((SHORT, (Symbol("n"), 6)), (SHORT, (6, 3))), "expects known dimensions, found"),
    ],
)
def test_operands_of_products_that_don_t_fit_are_refused(operands, message):
    with pytest.raises(InferenceError, match=re.escape(f"bfloat_mat_mul: {message}")):
        BfloatMatMul().infer(*(TensorType.of(dtype, shape) for dtype, shape in operands))


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        (((SHORT, (1, 4, 5, 5)), (SHORT, (8, 4, 3))), "data has rank 4 but weight has rank 3"),
        (((SHORT, (1, 4, 5, 5)), (SHORT, (8, 2, 3, 3))), "data has 4 channels but weight expects 2"),
        (((SHORT, (1, 4, 5, 5)), (FULL, (8, 4, 3, 3))), "expects data and weight of bfloat16, found bfloat16 and"),
        (
            ((SHORT, (1, 4, 5, 5)), (SHORT, (8, 4, 3, 3)), (SHORT, (8,))),
            "expects a bias float32[8], found bfloat16[8]",
        ),
    ],
)
def test_operands_of_convolutions_that_don_t_fit_are_refused(operands, message):
    with pytest.raises(InferenceError, match=re.escape(f"bfloat_conv: {message}")):
        BfloatConv().infer(*(TensorType.of(dtype, shape) for dtype, shape in operands))
