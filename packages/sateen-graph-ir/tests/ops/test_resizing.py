"""Resize; the values of all modes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import Resize
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

X = np.random.default_rng(0).standard_normal((1, 24, 4, 6)).astype("float32")


def test_nearest(check_op):
    op = Resize((1, 24, 8, 12), coordinate_transformation="asymmetric", nearest_mode="floor")
    check_op(op, [X], [X.repeat(2, 2).repeat(2, 3)], Layout.blocked(4, 1, 16))
    integers = (X * 9).astype("int8")
    check_op(op, [integers], [integers.repeat(2, 2).repeat(2, 3)])


def test_linear(check_op):
    op = Resize((1, 24, 4, 11), "linear", "align_corners")
    expected = np.empty((1, 24, 4, 11), "float32")
    expected[..., ::2] = X
    expected[..., 1::2] = (X[..., 1:] + X[..., :-1]) / 2
    check_op(op, [X], [expected], Layout.blocked(4, 1, 16))


def test_given_scales_decide_the_positions(check_op):
    scales = (1.0, 1.0, 1.0, 1.6)
    op = Resize((1, 24, 4, 9), coordinate_transformation="asymmetric", nearest_mode="floor", scales=scales)
    check_op(op, [X], [X[..., np.floor(np.arange(9) / 1.6).astype(int)]])


@pytest.mark.parametrize(("before", "after"), [(2, 82), (2, 41), (7, 29), (10, 21)])
def test_positions_in_float32_decide_which_element_is_nearest(check_op, before, after):
    """The pairs are such that exact positions give other elements, but for the last."""
    x, one = np.arange(before, dtype="float32").reshape(1, 1, before), np.float32
    place, step = np.arange(after, dtype="float32"), one(before) / one(after)
    aligned = np.floor(np.float64(place * (one(before - 1) / one(after - 1))) + 0.5)
    for transformation, mode, found in (
        ("asymmetric", "floor", np.floor(place * step)),
        ("tf_half_pixel_for_nn", "floor", np.floor((place + one(0.5)) * step)),
        ("align_corners", "round_prefer_ceil", aligned),
    ):
        op = Resize((1, 1, after), "nearest", transformation, mode, float32_positions=True)
        check_op(op, [x], [np.minimum(found, before - 1).reshape(1, 1, after).astype("float32")])


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        (Resize((1, 24)), "float32", "resize: expects 4 sizes, found [1, 24]"),
        (Resize((1, 24, 0, 6)), "float32", "resize: expects sizes of 1 to 32768, found [1, 24, 0, 6]"),
        (Resize((1, 24, 8, 6), "bilinear"), "float32", "expects mode of nearest, linear, cubic, found 'bilinear'"),
        (Resize((1, 24, 8, 6), "linear"), "int8", "resize: mode linear expects floating-point data, found int8"),
        (
            Resize((1, 24, 8, 6), coordinate_transformation="half_pixel_symmetric", float32_positions=True), "float32",
            "expects coordinate_transformation of half_pixel, align_corners, asymmetric, tf_half_pixel_for_nn, found",
        ),
        (Resize((1, 24, 8, 6), scales=(2.0,)), "float32", "resize: expects 4 scales, found [2.0]"),
        (
            Resize((1, 24, 8, 6), coordinate_transformation="tf_crop_and_resize"), "float32",
            "resize: expects 8 values of roi, found []",
        ),
    ],
)  # fmt: skip
def test_attributes_that_don_t_fit_are_refused(op, dtype, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(TensorType.of(dtype, X.shape))
