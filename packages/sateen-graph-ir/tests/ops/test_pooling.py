"""Pools; the values of all shapes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import AveragePool, GlobalAveragePool, GlobalMaxPool, MaxPool, MaxPoolIndices
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

X = np.random.default_rng(0).standard_normal((1, 24, 9, 8)).astype("float32")
BLOCKED = Layout.blocked(4, 1, 16)


def windows(x, pad, fill):
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]


def test_windows(check_op):
    attributes = {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    check_op(MaxPool(**attributes), [X], [windows(X, 1, -np.inf).max((4, 5))], BLOCKED)
    check_op(AveragePool(**attributes), [X], [np.nanmean(windows(X, 1, np.nan), (4, 5))], BLOCKED)
    check_op(AveragePool(**attributes, count_include_pad=True), [X], [windows(X, 1, 0).mean((4, 5))], BLOCKED)


def test_maxima_and_their_places(check_op):
    attributes = {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    values = windows(X, 1, -np.inf).max((4, 5))
    places = np.searchsorted(np.sort(X.reshape(-1)), values)
    rows = np.argsort(X.reshape(-1))[places]
    check_op(MaxPoolIndices(**attributes), [X], [values, rows])
    image = X.shape[2] * X.shape[3]
    down, across = rows % image // X.shape[3], rows % X.shape[3]
    columns = rows - rows % image + across * X.shape[2] + down
    check_op(MaxPoolIndices(**attributes, column_major=True), [X], [values, columns])


def test_of_equal_elements_the_first_is_the_maximum_and_nan_is_larger_than_all(check_op):
    x = np.array([[[2, 2, np.nan, 1, np.nan, 3]]], "float32")
    values, places = np.array([[[2, np.nan, np.nan]]], "float32"), np.array([[[0, 2, 4]]])
    check_op(MaxPoolIndices((2,), (2,)), [x], [values, places])


def test_a_last_window_may_stick_out():
    (y,) = MaxPool((2, 2), (2, 2), ceil_mode=True).infer(TensorType.of("float32", (1, 3, 9, 8)))
    assert y.shape == (1, 3, 5, 4)
    (y,) = MaxPool((2, 2), (2, 2)).infer(TensorType.of("float32", (1, 3, 9, 8)))
    assert y.shape == (1, 3, 4, 4)


def test_whole_channels(check_op):
    check_op(GlobalAveragePool(), [X], [X.mean((2, 3), keepdims=True)], BLOCKED)
    check_op(GlobalMaxPool(), [X], [X.max((2, 3), keepdims=True)], BLOCKED)


@pytest.mark.parametrize(
    ("op", "dtype", "shape", "message"),
    [
        (MaxPool((3, 3)), "float32", (1, 3, 9), "max_pool: expects data with 2 spatial dimensions, found 1"),
        (
            MaxPool((2, 2), pads=(2, 0, 0, 0)), "float32", (1, 3, 9, 9),
            "max_pool: expects pads smaller than the window, found pads [2, 0, 0, 0] and a window of [2, 2]",
        ),
        (AveragePool((2,)), "int32", (1, 3, 9), "average_pool: expects floating-point data, found int32"),
        (GlobalMaxPool(), "int32", (1, 3, 9), "global_max_pool: expects floating-point data, found int32"),
        (MaxPool((2,)), "bool", (1, 3, 9), "max_pool: data expects numbers, found bool"),
        (MaxPool((3,)), "float32", (1, 3, 2), "does not fit into dimension 2 of data"),
    ],
)  # fmt: skip
def test_data_that_does_not_fit_is_refused(op, dtype, shape, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(TensorType.of(dtype, shape))
