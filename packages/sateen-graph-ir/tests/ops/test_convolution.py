"""Convolution operators: inference, layouts, values; the values of all shapes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import Symbol, TensorType
from sateen.graph_ir.ops import Conv, ConvTranspose, WinogradConv
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.computations import convolution
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)
LANES = Machine.of("llvm").lanes()
BLOCKED = Layout.blocked(4, 1, LANES)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype("float32") * np.float32(0.3)


def convolved(x, weight, bias, stride, pad):
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return (np.einsum("nchwij,ocij->nohw", windows, weight) + bias.reshape(-1, 1, 1)).astype("float32")


def transposed(x, weight, stride):
    (n, _, h, w), (_, o, i, j) = x.shape, weight.shape
    y = np.zeros((n, o, (h - 1) * stride + i, (w - 1) * stride + j))
    for a, b in np.ndindex(i, j):
        part = np.einsum("nchw,co->nohw", x, weight[:, :, a, b])
        y[:, :, a : a + h * stride : stride, b : b + w * stride : stride] += part
    return y.astype("float32")


def test_integers(check_op):
    x, weight = RANDOM.integers(-255, 256, (1, 32, 5, 6), "int32"), RANDOM.integers(-255, 256, (16, 32, 3, 3), "int32")
    bias = RANDOM.integers(-999, 999, 16, "int32")
    expected = convolved(x, weight.astype("float64"), bias.astype("float64"), 1, 1)
    check_op(Conv(pads=(1, 1, 1, 1)), [x, weight, bias], [expected.astype("int32")])


def test_conv(check_op):
    x, weight, bias = normal(1, 2 * LANES, 7, 9), normal(LANES, 2 * LANES, 3, 3), normal(LANES)
    op = Conv(strides=(2, 2), pads=(1, 1, 1, 1))
    check_op(op, [x, weight, bias], [convolved(x, weight, bias, 2, 1)], BLOCKED)
    check_op(Conv(), [x, weight], [convolved(x, weight, np.zeros(1), 1, 0)], BLOCKED)


def test_conv_transpose(check_op):
    x, weight = normal(1, LANES, 4, 5), normal(LANES, 2 * LANES, 3, 2)
    check_op(ConvTranspose(strides=(2, 2)), [x, weight], [transposed(x, weight, 2)], BLOCKED)
    x, weight = normal(1, 3, 4, 5), normal(3, 2, 2, 2)
    check_op(ConvTranspose(strides=(2, 2)), [x, weight], [transposed(x, weight, 2)])


def test_winograd_conv(check_op):
    x, weight, bias = normal(1, LANES, 9, 6), normal(LANES, LANES, 3, 3), normal(LANES)
    for tile in (2, 4):
        u = convolution.winograd_weight(weight, convolution.TRANSFORMS[tile, 1])
        op = WinogradConv(tile, 1, (1, 1, 1, 1))
        check_op(op, [x, u, bias], [convolved(x, weight, bias, 1, 1)], BLOCKED)


def test_symbolic_dimensions_become_symbols():
    data = TensorType.of("float32", (Symbol("n"), 3, 32, Symbol("w")))
    (y,) = Conv(strides=(2, 2)).infer(data, TensorType.of("float32", (8, 3, 3, 3)))
    assert y.shape == (Symbol("n"), 8, 15, (Symbol("w") - 3) // 2 + 1)
    (y,) = ConvTranspose(strides=(2, 2)).infer(data, TensorType.of("float32", (3, 8, 4, 4)))
    assert y.shape == (Symbol("n"), 8, 66, Symbol("w") * 2 + 2)
    (y,) = Conv(pads=(0, 1, 0, 1)).infer(data, TensorType.of("float32", (8, 3, 3, 3)))
    assert y.shape == (Symbol("n"), 8, 30, Symbol("w"))


def test_layouts_follow_the_channels(of_lanes):
    def weights(data, weight, op=None):
        types = [TensorType.of("float32", data), TensorType.of("float32", weight)]
        op = op or Conv()
        return [str(i) for i in next(iter(op.layouts(types, op.infer(*types), of_lanes(16)))).inputs]

    assert weights((1, 64, 8, 8), (32, 64, 3, 3)) == ["aBcd16b", "ABcd16b32a"]
    assert weights((1, 3, 8, 8), (32, 3, 3, 3)) == ["None", "Abcd32a"]
    assert weights((1, 32, 8, 8), (32, 1, 3, 3), Conv(groups=32)) == ["aBcd16b", "Abcd16a"]
    assert weights((1, 64, 8, 8), (5, 64, 3, 3)) == ["None", "None"]
    assert weights((1, 64, 8, 8), (64, 32, 3, 3), ConvTranspose()) == ["aBcd16b", "BAcd16a32b"]


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (Conv(), [(1, 3, 8, 8), (4, 4, 3, 3)], "conv: data has 3 channels but weight expects 4"),
        (Conv(), [(1, 3, 8), (4, 3, 3, 3)], "conv: data has rank 3 but weight has rank 4"),
        (Conv(), [(1, 3), (4, 3)], "conv: expects data [N, C, …] of rank 3 or more, found rank 2"),
        (Conv(groups=2), [(1, 6, 8, 8), (3, 3, 3, 3)], "conv: 3 output channels can't be divided into 2 groups"),
        (Conv(), [(1, 3, 8, 8), (4, 3, 3, 3), (5,)], "conv: expects a bias float32[4], found float32[5]"),
        (Conv(strides=(1,)), [(1, 3, 8, 8), (4, 3, 3, 3)], "conv: expects 2 strides, found [1]"),
        (Conv(pads=(1, 1)), [(1, 3, 8, 8), (4, 3, 3, 3)], "conv: expects 4 pads (begin…, end…), found [1, 1]"),
        (
            Conv(dilations=(0, 1)), [(1, 3, 8, 8), (4, 3, 3, 3)],
            "conv: expects dilations of 1 to 16777216, found [0, 1]",
        ),
        (
            Conv(), [(1, 3, 2, 8), (4, 3, 3, 3)],
            "conv: a window of 3 does not fit into dimension 2 of data, which is 2 with pads 0 and 0",
        ),
        (ConvTranspose(), [(1, 3, 8, 8), (4, 3, 3, 3)], "conv_transpose: data has 3 channels but weight expects 4"),
        (
            ConvTranspose(pads=(9,) * 4), [(1, 3, 8, 8), (3, 3, 3, 3)],
            "conv_transpose: dimension 2 of the output would be -8",
        ),
        (
            ConvTranspose(output_padding=(1,)), [(1, 3, 8, 8), (3, 3, 3, 3)],
            "conv_transpose: expects 2 entries of output_padding of at least 0, found [1]",
        ),
        *(
            (
                WinogradConv(4, pool=pool), [(1, 3, 8, 8), (4, 3, 6, 6)],
                f"winograd_conv: expects a pool that divides tiles of 4 and fits into the result, found {pool}",
            )
            for pool in (0, 3, 8)
        ),
        (
            WinogradConv(3), [(1, 3, 8, 8), (4, 3, 5, 5)],
            "winograd_conv: expects tiles of 2 for stride 1, 4 for stride 1, 6 for stride 1, 2 for stride 2; found 3",
        ),
        (
            WinogradConv(4), [(1, 3, 8, 8), (4, 3, 4, 4)],
            "winograd_conv: expects a weight [O, 3, 6, 6], found float32[4, 3, 4, 4]",
        ),
        (
            Conv(), [(1, Symbol("c"), 8, 8), (4, 3, 3, 3)],
            "conv: the channels of data must be known, found ?c",
        ),
    ],
)  # fmt: skip
def test_operands_that_don_t_fit_are_refused(op, shapes, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(*(TensorType.of("float32", s) for s in shapes))


def test_other_element_types_are_refused():
    types = [TensorType.of("float32", (1, 3, 8, 8)), TensorType.of("float16", (4, 3, 3, 3))]
    words = "one floating-point type, or int32 and shorter integers, found float32 and float16"
    with pytest.raises(InferenceError, match=words):
        Conv().infer(*types)
