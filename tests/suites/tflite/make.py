"""Makes TensorFlow Lite models of one operator each, and what LiteRT's kernels compute.

    python make.py FOLDER

Most models come from TensorFlow's converter, float or quantised after the fact. Operators and options that it does not
write are written as tables of the format (`written.py`). The judge of quantised models are the reference kernels.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tensorflow.lite.python.convert_phase import ConverterError
from written import WRITTEN, Input

Array = np.ndarray
PICTURE = Input((2, 7, 9, 4))
ROWS = Input((3, 6))
VOLUME = Input((1, 5, 6, 7, 2))
WIDE = Input((1, 7, 9, 64))


@dataclass(frozen=True)
class Case:
    """A function of TensorFlow and its inputs; `quantised` says how the converter makes integers of it. Those are
    judged by the reference kernels, unless `by_reference` is false."""

    function: Callable
    inputs: Sequence[Input] = (PICTURE,)
    quantised: str = ""
    judged: dict = field(default_factory=dict)
    by_reference: bool = True


def weights(*shape: int, low: float = -1.0, high: float = 1.0) -> Array:
    draw = np.random.default_rng(sum(shape) + 7)
    return draw.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 5, dtype: str = "int32") -> Input:
    return Input(shape, dtype, low, high)


def conv(kernel: tuple[int, ...], stride=1, padding="SAME", dilation=1, act=None, bias=True, **more) -> Case:
    def function(x):
        y = tf.nn.conv2d(x, weights(*kernel), stride, padding, dilations=dilation)
        y = y + weights(kernel[-1]) if bias else y
        return act(y) if act else y

    return Case(function, **more)


def depthwise(
    kernel: tuple[int, ...], stride=1, padding="SAME", dilation=1, act=None, data: Input = PICTURE, **more
) -> Case:
    def function(x):
        y = tf.nn.depthwise_conv2d(x, weights(*kernel), (1, stride, stride, 1), padding, dilations=(dilation, dilation))
        y = y + weights(kernel[2] * kernel[3])
        return act(y) if act else y

    return Case(function, (data,), **more)


def transposed(kernel, shape, stride, padding="SAME", data=(1, 4, 5, 3), **more) -> Case:
    return Case(lambda x: tf.nn.conv2d_transpose(x, weights(*kernel), shape, stride, padding), (Input(data),), **more)


def dense(units: int, act=None, data: Input = ROWS, **more) -> Case:
    def function(x):
        y = tf.matmul(x, weights(data.shape[-1], units)) + weights(units)
        return act(y) if act else y

    return Case(function, (data,), **more)


def resized(size, method, align=False, half=False, data=(1, 4, 5, 3), **more) -> Case:
    op = {"bilinear": tf.raw_ops.ResizeBilinear, "nearest": tf.raw_ops.ResizeNearestNeighbor}[method]
    return Case(
        lambda x: op(images=x, size=list(size), align_corners=align, half_pixel_centers=half), (Input(data),), **more
    )


def unary(function, low=-2.0, high=2.0, shape=(3, 17), **more) -> Case:
    return Case(function, (Input(shape, "float32", low, high),), **more)


def binary(function, a=(2, 3, 4), b=(2, 3, 4), dtype="float32", low=-3.0, high=3.0, **more) -> Case:
    return Case(function, (Input(a, dtype, low, high), Input(b, dtype, low, high)), **more)


BINARY = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "squared_difference": tf.math.squared_difference,
}
COMPARISONS = {
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
}
UNARY = {
    "abs": (tf.abs, -2, 2),
    "ceil": (tf.math.ceil, -3, 3),
    "cos": (tf.cos, -4, 4),
    "elu": (tf.nn.elu, -3, 3),
    "exp": (tf.exp, -3, 3),
    "floor": (tf.floor, -3, 3),
    "gelu": (lambda x: tf.nn.gelu(x, approximate=False), -3, 3),
    "gelu_tanh": (lambda x: tf.nn.gelu(x, approximate=True), -3, 3),
    "hard_swish": (lambda x: x * tf.nn.relu6(x + 3) / 6, -5, 5),
    "leaky_relu": (lambda x: tf.nn.leaky_relu(x, 0.3), -3, 3),
    "log": (tf.math.log, 0.1, 3),
    "logistic": (tf.sigmoid, -5, 5),
    "neg": (tf.negative, -3, 3),
    "prelu": (lambda x: tf.maximum(x, 0) + weights(17) * tf.minimum(x, 0), -3, 3),
    "relu": (tf.nn.relu, -3, 3),
    "relu6": (tf.nn.relu6, -9, 9),
    "relu_n1_to_1": (lambda x: tf.minimum(tf.maximum(x, -1.0), 1.0), -3, 3),
    "relu_0_to_1": (lambda x: tf.minimum(tf.maximum(x, 0.0), 1.0), -3, 3),
    "round": (tf.round, -3, 3),
    "rsqrt": (tf.math.rsqrt, 0.1, 4),
    "sign": (tf.sign, -1, 1),
    "sin": (tf.sin, -4, 4),
    "sqrt": (tf.sqrt, 0, 4),
    "square": (tf.square, -3, 3),
    "tanh": (tf.tanh, -4, 4),
    "softplus": (tf.nn.softplus, -4, 4),
    "zeros_like": (tf.zeros_like, -3, 3),
}
REDUCTIONS = {
    "mean": tf.reduce_mean,
    "sum": tf.reduce_sum,
    "prod": tf.reduce_prod,
    "max": tf.reduce_max,
    "min": tf.reduce_min,
}


def recurrent(layer: tf.keras.layers.Layer, width=4, **more) -> Case:
    """A layer of Keras with random weights."""
    layer.build((1, 6, width))
    draw = np.random.default_rng(width)
    layer.set_weights([draw.uniform(-0.6, 0.6, array.shape) for array in layer.get_weights()])
    return Case(layer, (Input((1, 6, width)),), **more)


def loop(x):
    return tf.while_loop(lambda i, y: tf.reduce_sum(y) < 100.0, lambda i, y: (i + 1, y * 1.5 + 1.0), (0, x))


def loop_of_products(x):
    matrix = weights(x.shape[-1], x.shape[-1], low=-0.2, high=0.2)
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, matrix)) + x), (0, x))[1]


CASES: dict[str, Case] = {
    **{f"unary_{name}": unary(function, low, high) for name, (function, low, high) in UNARY.items()},
    **{f"binary_{name}": binary(function) for name, function in BINARY.items()},
    **{f"binary_{name}_int32": binary(f, dtype="int32", low=-9, high=9) for name, f in BINARY.items()},
    **{f"binary_{name}_broadcast": binary(f, (2, 1, 4), (3, 1)) for name, f in BINARY.items()},
    **{f"compare_{name}": binary(f, dtype="int32", low=0, high=3) for name, f in COMPARISONS.items()},
    **{f"compare_{name}_float": binary(f) for name, f in COMPARISONS.items()},
    "add_relu": binary(lambda a, b: tf.nn.relu(a + b)),
    "add_relu6": binary(lambda a, b: tf.nn.relu6(a + b)),
    "mul_relu_n1": binary(lambda a, b: tf.minimum(tf.maximum(a * b, -1.0), 1.0)),
    "sub_int64": binary(tf.subtract, dtype="int64", low=-9, high=9),
    "div": binary(tf.divide, low=0.5),
    "div_int32": binary(lambda a, b: tf.raw_ops.Div(x=a, y=b), dtype="int32", low=1, high=9),
    "floor_div": binary(tf.math.floordiv, low=0.5),
    "floor_div_int32": binary(lambda a, b: tf.math.floordiv(a - 5, b), dtype="int32", low=1, high=9),
    "floor_mod": binary(tf.math.floormod, low=0.5),
    "floor_mod_int32": binary(lambda a, b: tf.math.floormod(a - 5, b), dtype="int32", low=1, high=9),
    "floor_mod_negative": binary(lambda a, b: tf.math.floormod(a, -b - 4.0)),
    "pow": binary(tf.pow, low=0.2),
    "pow_int32": binary(tf.pow, dtype="int32", low=0, high=5),
    "atan2": binary(tf.atan2),
    "logical_and": binary(lambda a, b: tf.logical_and(a > 0, b > 0)),
    "logical_or": binary(lambda a, b: tf.logical_or(a > 0, b > 0)),
    "logical_not": unary(lambda x: tf.logical_not(x > 0)),
    "bitwise_xor": binary(tf.bitwise.bitwise_xor, dtype="int32", low=0, high=99),
    "select": Case(lambda c, a, b: tf.where(c > 0, a, b), (Input((2, 3)),) * 3),
    "select_broadcast": Case(lambda c, a, b: tf.where(c > 0, a, b), (Input((3,)), Input((2, 3)), Input((1, 1)))),
    "add_n": Case(lambda a, b, c: tf.add_n([a, b, c]), (Input((2, 3)),) * 3),
    "cast_to_int": unary(lambda x: tf.cast(x * 3, tf.int32)),
    "cast_to_bool": Case(lambda x: tf.cast(x, tf.bool), (whole(3, 4, high=2),)),
    "cast_from_int": Case(lambda x: tf.cast(x, tf.float32) / 3, (whole(3, 4),)),
    "cast_to_int64": Case(lambda x: tf.cast(x, tf.int64), (whole(3, 4),)),
    "conv_same": conv((3, 3, 4, 5)),
    "conv_valid": conv((3, 3, 4, 5), padding="VALID"),
    "conv_stride_2": conv((3, 3, 4, 5), 2),
    "conv_even_kernel": conv((2, 4, 4, 5), 1),
    "conv_even_stride_2": conv((4, 2, 4, 5), 2),
    "conv_stride_beyond_kernel": conv((1, 1, 4, 5), 3),
    "conv_1x1_relu": conv((1, 1, 4, 5), act=tf.nn.relu),
    "conv_relu6": conv((3, 3, 4, 5), act=tf.nn.relu6),
    "conv_dilated": conv((3, 3, 4, 5), dilation=2, padding="VALID"),
    "conv_dilated_same": conv((3, 3, 4, 5), dilation=2),
    "conv_no_bias": conv((3, 3, 4, 5), bias=False),
    "conv_grouped": conv((3, 3, 2, 6)),
    "depthwise_same": depthwise((3, 3, 4, 1)),
    "depthwise_multiplier": depthwise((3, 3, 4, 3)),
    "depthwise_stride_2": depthwise((3, 3, 4, 1), 2, act=tf.nn.relu6),
    "depthwise_valid": depthwise((3, 2, 4, 1), padding="VALID"),
    "depthwise_dilated": depthwise((3, 3, 4, 1), dilation=2),
    "transpose_conv_same": transposed((3, 3, 2, 3), (1, 8, 10, 2), 2),
    "transpose_conv_odd": transposed((3, 3, 2, 3), (1, 7, 9, 2), 2),
    "transpose_conv_valid": transposed((3, 3, 2, 3), (1, 9, 11, 2), 2, "VALID"),
    "transpose_conv_valid_larger": transposed((3, 3, 2, 3), (1, 10, 12, 2), 2, "VALID"),
    "transpose_conv_stride_1": transposed((4, 4, 2, 3), (1, 4, 5, 2), 1),
    "transpose_conv_stride_3": transposed((2, 2, 2, 3), (1, 12, 15, 2), 3),
    "conv_3d": Case(lambda x: tf.nn.conv3d(x, weights(2, 3, 3, 2, 4), (1, 1, 2, 2, 1), "SAME"), (VOLUME,)),
    "conv_3d_valid": Case(lambda x: tf.nn.conv3d(x, weights(2, 3, 3, 2, 4), (1, 1, 1, 1, 1), "VALID"), (VOLUME,)),
    "conv_3d_transpose": Case(
        lambda x: tf.nn.conv3d_transpose(x, weights(2, 3, 3, 3, 2), (1, 10, 12, 14, 3), 2, "SAME"), (VOLUME,)
    ),
    "max_pool": Case(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID")),
    "max_pool_same": Case(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME")),
    "max_pool_overlapping": Case(lambda x: tf.nn.max_pool2d(x, (2, 3), 1, "SAME")),
    "average_pool": Case(lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID")),
    "average_pool_same": Case(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME")),
    "average_pool_relu": Case(lambda x: tf.nn.relu(tf.nn.avg_pool2d(x, 2, 1, "SAME"))),
    "dense": dense(5),
    "dense_relu": dense(5, tf.nn.relu),
    "dense_3d": dense(5, data=Input((2, 3, 4))),
    "matmul_batched": Case(tf.matmul, (Input((2, 3, 4)), Input((2, 4, 5)))),
    "matmul_broadcast": Case(tf.matmul, (Input((2, 1, 3, 4)), Input((3, 4, 5)))),
    "matmul_adjoint_x": Case(lambda a, b: tf.matmul(a, b, transpose_a=True), (Input((2, 4, 3)), Input((2, 4, 5)))),
    "matmul_adjoint_y": Case(lambda a, b: tf.matmul(a, b, transpose_b=True), (Input((2, 3, 4)), Input((2, 5, 4)))),
    "embedding": Case(lambda i: tf.gather(weights(10, 4), i), (whole(2, 3, high=10),)),
    "softmax": unary(tf.nn.softmax),
    "softmax_4d": Case(tf.nn.softmax),
    "softmax_axis_1": Case(lambda x: tf.nn.softmax(x, 1)),
    "log_softmax": unary(tf.nn.log_softmax),
    "l2_norm": unary(lambda x: tf.nn.l2_normalize(x, -1)),
    "lrn": Case(lambda x: tf.nn.local_response_normalization(x, 2, 1.5, 0.3, 0.6)),
    "batch_norm": Case(
        lambda x: tf.nn.batch_normalization(x, weights(4), weights(4) ** 2 + 0.1, weights(4), weights(4), 1e-3)
    ),
    "instance_norm": Case(lambda x: (x - tf.reduce_mean(x, (1, 2), keepdims=True)) * 3.0),
    "layer_norm": unary(
        lambda x: (x - tf.reduce_mean(x, -1, True)) * tf.math.rsqrt(tf.math.reduce_variance(x, -1, True) + 1e-3)
    ),
    "reshape": Case(lambda x: tf.reshape(x, (2, -1))),
    "reshape_flat": Case(lambda x: tf.reshape(x, (-1,)) * 2.0),
    "squeeze": Case(lambda x: tf.squeeze(x, (1,)), (Input((2, 1, 3, 1)),)),
    "squeeze_all": Case(tf.squeeze, (Input((2, 1, 3, 1)),)),
    "expand_dims": Case(lambda x: tf.expand_dims(x, -2), (ROWS,)),
    "transpose": Case(lambda x: tf.transpose(x, (0, 3, 1, 2))),
    "transpose_3d": Case(lambda x: tf.transpose(x, (2, 0, 1)), (Input((2, 3, 4)),)),
    "concat": Case(lambda a, b: tf.concat([a, b], -1), (Input((2, 3, 4)), Input((2, 3, 2)))),
    "concat_first": Case(lambda a, b: tf.concat([a, b], 0), (Input((2, 4)), Input((1, 4)))),
    "split": Case(lambda x: tf.split(x, 3, 1), (ROWS,)),
    "split_v": Case(lambda x: tf.split(x, [1, 3, 2], 1), (ROWS,)),
    "pack": Case(lambda a, b: tf.stack([a, b], 1), (ROWS, ROWS)),
    "unpack": Case(lambda x: tf.unstack(x, axis=0), (ROWS,)),
    "slice": Case(lambda x: tf.slice(x, (1, 2), (-1, 3)), (ROWS,)),
    "strided_slice": Case(lambda x: x[:, 1:6:2, ::-1, :2]),
    "strided_slice_negative": Case(lambda x: x[-1:, -3:, 1:-1]),
    "strided_slice_index": Case(lambda x: x[0, :, 2]),
    "strided_slice_new_axis": Case(lambda x: x[:, tf.newaxis, 1:3], (ROWS,)),
    "strided_slice_ellipsis": Case(lambda x: x[..., 1:3]),
    "strided_slice_empty_ends": Case(lambda x: x[5:2:-1], (Input((6,)),)),
    "pad": Case(lambda x: tf.pad(x, ((0, 0), (1, 2), (3, 0), (0, 1)))),
    "pad_v2": Case(lambda x: tf.pad(x, ((1, 0), (0, 2)), constant_values=1.5), (ROWS,)),
    "mirror_pad_reflect": Case(lambda x: tf.pad(x, ((1, 2), (3, 2)), "REFLECT"), (Input((4, 6)),)),
    "mirror_pad_symmetric": Case(lambda x: tf.pad(x, ((1, 3), (3, 2)), "SYMMETRIC"), (Input((4, 6)),)),
    "tile": Case(lambda x: tf.tile(x, (2, 3)), (ROWS,)),
    "broadcast_to": Case(lambda x: tf.broadcast_to(x, (2, 3, 6)), (ROWS,)),
    "fill": Case(lambda x: tf.fill((2, 3), x[0]) + 1.0, (Input((1,)),)),
    "reverse": Case(lambda x: tf.reverse(x, (1, 2))),
    "reverse_sequence": Case(
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0), (Input((3, 5, 2)), whole(3, high=6))
    ),
    "reverse_sequence_axis_0": Case(
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=2),
        (Input((3, 5, 2)), whole(2, high=4, dtype="int64")),
    ),
    "space_to_depth": Case(lambda x: tf.nn.space_to_depth(x, 2), (Input((1, 4, 6, 3)),)),
    "depth_to_space": Case(lambda x: tf.nn.depth_to_space(x, 2), (Input((1, 4, 6, 8)),)),
    "space_to_batch": Case(lambda x: tf.space_to_batch(x, (2, 3), ((1, 0), (1, 2))), (Input((2, 5, 6, 3)),)),
    "batch_to_space": Case(lambda x: tf.batch_to_space(x, (2, 2), ((1, 0), (0, 1))), (Input((8, 3, 2, 3)),)),
    "matrix_diag": Case(tf.linalg.diag, (ROWS,)),
    "matrix_set_diag": Case(tf.linalg.set_diag, (Input((2, 3, 4)), Input((2, 3)))),
    "matrix_set_diag_tall": Case(tf.linalg.set_diag, (Input((2, 4, 3)), Input((2, 3)))),
    "shape": Case(lambda x: tf.reshape(x, (tf.shape(x)[0], -1)) + 1.0),
    "range": Case(lambda x: tf.range(6.0) * x, (Input((1,)),)),
    "gather": Case(lambda x, i: tf.gather(x, i, axis=1), (ROWS, whole(2, 2, high=6))),
    "gather_batch": Case(lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), (ROWS, whole(3, 2, high=6))),
    "gather_batch_inner": Case(
        lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), (Input((2, 3, 4, 5)), whole(2, 3, high=4))
    ),
    "gather_nd": Case(tf.gather_nd, (Input((3, 4, 2)), whole(5, 2, high=3))),
    "scatter_nd": Case(lambda i, u: tf.scatter_nd(i, u, (5, 3)), (whole(4, 1, high=5), Input((4, 3)))),
    "one_hot": Case(lambda i: tf.one_hot(i, 4), (whole(2, 3, low=-1, high=6),)),
    "one_hot_axis": Case(lambda i: tf.one_hot(i, 4, 2.0, -1.0, axis=0), (whole(2, 3, high=4),)),
    "top_k": Case(lambda x: tf.math.top_k(x, 3), (ROWS,)),
    "arg_max": Case(lambda x: tf.argmax(x, -1), (ROWS,)),
    "arg_max_int32": Case(lambda x: tf.argmax(x, 1, tf.int32)),
    "arg_min": Case(lambda x: tf.argmin(x, 0), (whole(5, 4, high=3),)),
    "cumsum": Case(lambda x: tf.cumsum(x, 1), (ROWS,)),
    "cumsum_exclusive": Case(lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), (ROWS,)),
    **{f"reduce_{name}": Case(lambda x, f=f: f(x, (1, 2))) for name, f in REDUCTIONS.items()},
    **{f"reduce_{name}_keep": Case(lambda x, f=f: f(x, -1, keepdims=True)) for name, f in REDUCTIONS.items()},
    "reduce_all": Case(lambda x: tf.reduce_all(x > -0.5, 1), (ROWS,)),
    "reduce_any": Case(lambda x: tf.reduce_any(x > 0.5, 1), (ROWS,)),
    "reduce_sum_int32": Case(lambda x: tf.reduce_sum(x, 1), (whole(3, 4),)),
    "dynamic_update_slice": Case(
        lambda x, u, i: (
            tf.raw_ops.XlaDynamicUpdateSlice(input=x, update=u, indices=i)
            if hasattr(tf.raw_ops, "XlaDynamicUpdateSlice")
            else tf.tensor_scatter_nd_update(x, [[1, 1]], tf.reshape(u, (-1,))[:1])
        ),
        (Input((4, 5)), Input((2, 3)), whole(2, high=2)),
    ),
    "bilinear": resized((7, 11), "bilinear"),
    "bilinear_align": resized((7, 11), "bilinear", align=True),
    "bilinear_half": resized((7, 11), "bilinear", half=True),
    "bilinear_smaller": resized((3, 2), "bilinear", half=True, data=(1, 8, 9, 3)),
    "bilinear_one": resized((1, 1), "bilinear", align=True),
    "nearest": resized((7, 11), "nearest"),
    "nearest_align": resized((7, 11), "nearest", align=True),
    "nearest_half": resized((7, 11), "nearest", half=True),
    "nearest_smaller": resized((3, 2), "nearest", half=True, data=(1, 8, 9, 3)),
    "nearest_odd": resized((29, 31), "nearest", data=(1, 10, 12, 1)),
    "fake_quant": unary(lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.3, 1.7)),
    "lstm": recurrent(tf.keras.layers.LSTM(5, return_sequences=True)),
    "lstm_backwards": recurrent(tf.keras.layers.LSTM(5, go_backwards=True)),
    "gru": recurrent(tf.keras.layers.GRU(4, return_sequences=True)),
    "simple_rnn": recurrent(tf.keras.layers.SimpleRNN(4)),
    "while": Case(loop, (Input((2, 3), low=0.5),)),
    "while_counted": Case(
        lambda x: tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.tanh(y) + x), (0, x))[1], (ROWS,)
    ),
    "if": Case(lambda c, x: tf.cond(c[0] > 0, lambda: x * 2.0, lambda: x - 1.0), (Input((1,)), ROWS)),
    "dynamic_batch": Case(
        lambda x: tf.nn.relu(tf.reshape(x, (tf.shape(x)[0], -1)) @ weights(12, 5)),
        (Input((3, 3, 4), open_batch=True),),
    ),
    "dynamic_batch_conv": Case(
        lambda x: tf.reduce_mean(tf.nn.conv2d(x, weights(3, 3, 4, 5), 1, "SAME"), (1, 2)),
        (Input((2, 6, 6, 4), open_batch=True),),
    ),
    "float16_weights": conv((3, 3, 4, 5), quantised="float16"),
    "float16_dense": dense(5, quantised="float16"),
    "float16_depthwise": depthwise((3, 3, 4, 2), quantised="float16"),
    "float16_transpose_conv": transposed((3, 3, 2, 3), (1, 8, 10, 2), 2, quantised="float16"),
    "float16_embedding": Case(lambda i: tf.gather(weights(10, 4), i), (whole(2, 3, high=10),), quantised="float16"),
    "float16_lstm": recurrent(tf.keras.layers.LSTM(5, return_sequences=True), quantised="float16"),
    "float16_while": Case(loop_of_products, (ROWS,), quantised="float16"),
    "hybrid_depthwise": depthwise((5, 5, 64, 1), quantised="dynamic", judged={"tolerance": 2e-2}, data=WIDE),
    "hybrid_batch_matmul": Case(
        lambda x: tf.matmul(x, weights(2, 64, 32)), (Input((2, 3, 64)),), "dynamic", {"tolerance": 2e-2}
    ),
    "hybrid_lstm": recurrent(
        tf.keras.layers.LSTM(32, return_sequences=True), 32, quantised="dynamic", judged={"tolerance": 3e-2}
    ),
    "hybrid_while": Case(loop_of_products, (Input((3, 64)),), "dynamic", {"tolerance": 3e-2}),
    "hybrid_dense": dense(64, data=Input((3, 64)), quantised="dynamic", judged={"tolerance": 2e-2}),
    "hybrid_conv": conv((3, 3, 4, 64), quantised="dynamic", judged={"tolerance": 2e-2}),
}


class Trained(tf.Module):
    """A layer that is trained on the device: `train` assigns its variables, `infer` reads them."""

    judged: ClassVar = {}
    by_reference = False
    inputs = (Input((2, 4)),)

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = tf.Variable(weights(4, 3)), tf.Variable(weights(3))

    @tf.function(input_signature=[tf.TensorSpec((2, 4), name="x")])
    def infer(self, x):
        return {"y": tf.nn.relu(x @ self.weight + self.bias)}

    @tf.function(input_signature=[tf.TensorSpec((2, 4), name="x"), tf.TensorSpec((2, 3), name="wanted")])
    def train(self, x, wanted):
        error = x @ self.weight + self.bias - wanted
        self.weight.assign_sub(0.1 * tf.matmul(x, error, transpose_a=True))
        self.bias.assign_sub(0.1 * tf.reduce_sum(error, 0))
        return {"error": tf.reduce_sum(error)}

    def versions(self) -> Iterable[bytes]:
        with TemporaryDirectory() as folder:
            signatures = {"infer": self.infer, "train": self.train}
            tf.saved_model.save(self, folder, {name: f.get_concrete_function() for name, f in signatures.items()})
            converter = tf.lite.TFLiteConverter.from_saved_model(folder)
            converter.experimental_enable_resource_variables = True
            return [converter.convert()]


QUANTISED: dict[str, Case] = {
    "conv": conv((3, 3, 4, 5)),
    "conv_stride": conv((3, 3, 4, 5), 2, "VALID"),
    "conv_relu": conv((3, 3, 4, 5), act=tf.nn.relu),
    "conv_relu6": conv((1, 1, 4, 5), act=tf.nn.relu6),
    "depthwise": depthwise((3, 3, 4, 1)),
    "depthwise_multiplier": depthwise((3, 3, 4, 2), act=tf.nn.relu6),
    "transpose_conv": transposed((3, 3, 2, 3), (1, 8, 10, 2), 2),
    "dense": dense(5),
    "dense_relu": dense(5, tf.nn.relu),
    "batch_matmul": Case(tf.matmul, (Input((2, 3, 4)), Input((2, 4, 5)))),
    "add": binary(tf.add),
    "add_relu": binary(lambda a, b: tf.nn.relu(a + b)),
    "sub": binary(tf.subtract),
    "mul": binary(tf.multiply),
    "maximum": binary(tf.maximum),
    "squared_difference": binary(tf.math.squared_difference),
    "greater": binary(tf.greater),
    "average_pool": Case(lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID")),
    "max_pool": Case(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME")),
    "mean": Case(lambda x: tf.reduce_mean(x, (1, 2))),
    "sum": Case(lambda x: tf.reduce_sum(x, 1), (ROWS,), by_reference=False),  # whose sum of bytes overflows
    "reduce_max": Case(lambda x: tf.reduce_max(x, 1), (ROWS,)),
    "softmax": unary(tf.nn.softmax),
    "log_softmax": unary(tf.nn.log_softmax),
    "logistic": unary(tf.sigmoid, -5, 5),
    "tanh": unary(tf.tanh),
    "hard_swish": unary(lambda x: x * tf.nn.relu6(x + 3) / 6, -5, 5),
    "leaky_relu": unary(lambda x: tf.nn.leaky_relu(x, 0.3)),
    "prelu": unary(UNARY["prelu"][0]),
    "relu6": unary(tf.nn.relu6, -9, 9),
    "elu": unary(tf.nn.elu, by_reference=False),  # it lacks this one
    "gelu": unary(UNARY["gelu"][0]),
    "exp": unary(tf.exp),
    "rsqrt": unary(tf.math.rsqrt, 0.2, 4),
    "abs": unary(tf.abs),
    "l2_norm": unary(lambda x: tf.nn.l2_normalize(x, -1)),
    "concat": Case(lambda a, b: tf.concat([a, b * 3.0], -1), (Input((2, 3)), Input((2, 2)))),
    "pad": Case(lambda x: tf.pad(x, ((0, 0), (1, 2), (3, 0), (0, 1)))),
    "pad_v2": Case(lambda x: tf.pad(x, ((1, 0), (0, 2)), constant_values=0.7), (ROWS,)),
    "mirror_pad": Case(lambda x: tf.pad(x, ((1, 2), (3, 2)), "REFLECT"), (Input((4, 6)),)),
    "reshape": Case(lambda x: tf.reshape(x, (2, -1))),
    "transpose": Case(lambda x: tf.transpose(x, (0, 3, 1, 2))),
    "strided_slice": Case(lambda x: x[:, 1:6:2, ::-1, :2]),
    "split": Case(lambda x: tf.split(x, 3, 1), (ROWS,)),
    "gather": Case(lambda x: tf.gather(x, (0, 2, 1), axis=1), (ROWS,)),
    "bilinear": resized((7, 11), "bilinear"),
    "bilinear_half": resized((7, 11), "bilinear", half=True),
    "bilinear_align": resized((7, 11), "bilinear", align=True),
    "bilinear_large": resized((149, 150), "bilinear", half=True, data=(1, 9, 8, 3)),
    "bilinear_large_align": resized((149, 150), "bilinear", align=True, data=(1, 9, 8, 3)),
    "nearest": resized((7, 11), "nearest"),
    "top_k": Case(lambda x: tf.math.top_k(x, 3), (ROWS,)),
    "arg_max": Case(lambda x: tf.argmax(x, -1), (ROWS,)),
    "space_to_depth": Case(lambda x: tf.nn.space_to_depth(x, 2), (Input((1, 4, 6, 3)),)),
    "if": Case(lambda x: tf.cond(x[0, 0] > 0, lambda: tf.tanh(x), lambda: tf.sigmoid(x)), (ROWS,)),
}
SIXTEEN = (
    "conv", "conv_stride", "conv_relu6", "depthwise", "depthwise_multiplier", "transpose_conv", "dense", "dense_relu",
    "batch_matmul", "add", "add_relu", "sub", "mul", "maximum", "max_pool", "average_pool",
    "mean", "softmax", "logistic", "tanh", "leaky_relu", "prelu", "concat", "reshape", "transpose", "strided_slice",
    "split", "gather", "pad", "mirror_pad", "bilinear", "bilinear_large", "bilinear_large_align", "nearest",
)  # fmt: skip
"""Those that are also made with data of int16."""
BY_TABLE = ("logistic", "tanh")
"""Those whose kernels of int16 take values from a table, two steps away."""
OF_BYTES = ("conv", "dense", "max_pool", "softmax")
"""Those that are also made with uint8 as input and output, around int8."""


def data_of(name: str, inputs: Sequence[Input]) -> list[Array]:
    """The inputs of a case, by its name."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    return [given.draw(draw) for given in inputs]


def converted(name: str, case: Case) -> bytes:
    """The model that TensorFlow's converter makes."""
    tf.random.set_seed(5)
    function = tf.function(
        case.function,
        input_signature=[
            tf.TensorSpec((None, *given.shape[1:]) if given.open_batch else given.shape, given.dtype)
            for given in case.inputs
        ],
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], function)
    if case.quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if case.quantised == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if case.quantised in ("int8", "uint8", "int16"):
        drawn = [data_of(f"{name}{i}", case.inputs) for i in range(8)]
        converter.representative_dataset = lambda: drawn
        kind = "TFLITE_BUILTINS_INT8"
        if case.quantised == "int16":
            kind = "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
        converter.target_spec.supported_ops = [tf.lite.OpsSet[kind]]
        converter.inference_input_type = tf.dtypes.as_dtype(case.quantised)
        converter.inference_output_type = tf.dtypes.as_dtype(case.quantised)
    return converter.convert()


def integers(numbers: Array, detail: dict) -> Array:
    """Numbers as the integers of a quantised input."""
    scale, zero_point = detail["quantization"]
    limits = np.iinfo(detail["dtype"])
    return np.clip(np.round(numbers / scale) + zero_point, limits.min, limits.max).astype(detail["dtype"])


def save(folder: Path, model: bytes, data: Sequence[Array], case: dict, by_reference: bool) -> None:
    """The model, its data, and what LiteRT computes."""
    kernels = OpResolverType.BUILTIN_REF if by_reference else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=kernels, num_threads=1)
    details = interpreter.get_input_details()
    for detail, array in zip(details, data, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    arrays, shapes = {}, {}
    for detail, array in zip(details, data, strict=True):
        quantised = array.dtype == np.float32 and np.issubdtype(detail["dtype"], np.integer)
        given = integers(array, detail) if quantised else array.astype(detail["dtype"])
        interpreter.set_tensor(detail["index"], given)
        arrays[f"in/{detail['name']}"] = given
        shapes[detail["name"]] = list(given.shape)
    interpreter.invoke()
    for detail in interpreter.get_output_details():
        arrays[f"out/{detail['name']}"] = interpreter.get_tensor(detail["index"])
    folder.mkdir(parents=True)
    (folder / "model.tflite").write_bytes(model)
    np.savez(folder / "io.npz", **arrays)
    (folder / "case.json").write_text(json.dumps({"model": "model.tflite", "options": {"shapes": shapes}, **case}))


def main() -> None:
    folder = Path(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    cases = dict(CASES)
    for kind, names in {"int8": QUANTISED, "uint8": OF_BYTES, "int16": SIXTEEN}.items():
        for name in names:
            steps = 2 if name in BY_TABLE and kind == "int16" else 1
            cases[f"{kind}_{name}"] = replace(QUANTISED[name], quantised=kind, judged={"steps": steps})
    failed = []
    for name, case in [*cases.items(), *WRITTEN.items(), ("variables_that_are_read", Trained())]:
        if only not in name:
            continue
        try:
            models = [converted(name, case)] if isinstance(case, Case) else case.versions()
            by_reference = case.by_reference and "steps" in case.judged  # it lacks some operators of floats
            save_first(folder / name, models, data_of(name, case.inputs), case.judged, by_reference)
        except (RuntimeError, ValueError, tf.errors.OpError, ConverterError) as error:
            failed.append(f"{name}: {str(error).splitlines()[0]}")
    if failed:
        sys.exit("these can't be made:\n" + "\n".join(failed))


def save_first(folder: Path, models: Iterable[bytes], *others) -> None:
    """Saves the first model that LiteRT takes."""
    error = None
    for model in models:
        try:
            save(folder, model, *others)
        except ValueError as reason:
            error = error or reason
        else:
            return
    raise error


if __name__ == "__main__":
    main()
