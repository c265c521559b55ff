"""Pools; the values of all shapes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import (
    AdaptiveAveragePool,
    AdaptiveMaxPool,
    AveragePool,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    MaxPoolIndices,
)
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)
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


def windows_of(before, after):
    return [slice(i * before // after, -(-(i + 1) * before // after)) for i in range(after)]


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (7, 9), (5, 2), (11, 3), (2, 18)], ids=str)
@pytest.mark.parametrize(("op", "function"), [(AdaptiveAveragePool, np.mean), (AdaptiveMaxPool, np.max)])
def test_windows_that_follow_from_the_number_of_places(check_op, op, function, shape):
    x = RANDOM.normal(size=(2, 20, 7, 9)).astype("float32")
    rows = [[function(x[:, :, a, b], axis=(2, 3)) for b in windows_of(9, shape[1])] for a in windows_of(7, shape[0])]
    expected = np.moveaxis(np.array(rows, "float32"), (0, 1), (2, 3))
    check_op(op(shape), [x], [expected], Layout.blocked(4, 1, 16))


def test_adaptive_pools_of_other_types_and_ranks(check_op):
    x = RANDOM.integers(-9, 9, (1, 2, 7)).astype("int8")
    expected = np.array([x[..., a].max(-1) for a in windows_of(7, 3)]).transpose(1, 2, 0)
    check_op(AdaptiveMaxPool((3,)), [x], [expected])
    half = RANDOM.normal(size=(1, 2, 2, 4, 3)).astype("float16")
    check_op(
        AdaptiveAveragePool((2, 1, 3)),
        [half],
        [half.mean(axis=3, keepdims=True, dtype="float32").astype("float16")],
    )
    with pytest.raises(InferenceError, match="adaptive_average_pool: expects floating-point data, found int8"):
        AdaptiveAveragePool((3,)).infer(TensorType.of("int8", x.shape))
    with pytest.raises(InferenceError, match=r"expects shape and data with places, found \[0\] and"):
        AdaptiveMaxPool((0,)).infer(TensorType.of("int8", x.shape))
