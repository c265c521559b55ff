"""Every operator says what it expected of its arguments, and what it found."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError
from sateen.topi import computations
from sateen.topi.computations import (
    adaptive_pooling,
    attention,
    boxes,
    broadcast,
    convolution,
    element_wise,
    gather_scatter,
    layout_conversion,
    multibox,
    normalization,
    ordered,
    pooling,
    products,
    quantization,
    recurrent,
    reductions,
    regions,
    resizing,
    sampling,
    shape,
    softmaxes,
    taps,
    trees,
)
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, placeholder

F2 = convolution.TRANSFORMS[2, 1]


def view(*extents: int, dtype: str = "float32") -> View:
    return placeholder(extents, dtype, "x")


def window(kernel=(3, 3), strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1)) -> Window:
    return Window(kernel, strides, pads, dilations)


X, V, IMAGE, WEIGHT, BOOLS = view(2, 3, 4), view(3), view(1, 4, 8, 8), view(6, 4, 3, 3), view(2, 3, dtype="bool")
BYTES = view(2, 3, dtype="int8")
PLACES = view(2, dtype="int64")
LAYER = recurrent.Inputs(view(5, 2, 4), view(1, 12, 4), view(1, 12, 3))
HOW = recurrent.Settings(((recurrent.Activation("Tanh"),) * 3,), (False,))
GRU = recurrent.Settings((HOW.activations[0][:2],), (False,))
RNN = recurrent.Settings((HOW.activations[0][:1],), (False,))
LINEAR = resizing.Interpolation("linear")
TAPS = np.zeros((2, 1), np.int64)
HALF = resizing.AxisResize(2, 8, 4, 0.5)

FOREST = trees.Trees(*(view(2, dtype="int32") for _ in range(3)), view(6, 4, dtype="int32"), view(4, 1))

REFUSALS: dict[Callable[..., Computation], list[tuple[Callable[[], object], str]]] = {
    quantization.dequantize: [
        (lambda: quantization.dequantize(X, view(1)), r"dequantize: expected x of integers, found float32"),
        (lambda: quantization.dequantize(BYTES, X, axis=1), r"dequantize: expected scale of shape \[\d+\], found"),
        (lambda: quantization.dequantize(BYTES, V, axis=9), "dequantize: expected axis of 0 to"),
    ],
    quantization.quantize: [
        (
            lambda: quantization.quantize(X, view(1), None, "int32"),
            "quantize: expected a type of integers of at most 16 bits, found int32",
        ),
        (
            lambda: quantization.quantize(X, X, None, "int8", 0, 5),
            "quantize: expected blocks of 5 that divide axis 0, found",
        ),
    ],
    trees.tree_ensemble: [
        (
            lambda: trees.tree_ensemble(view(3, 4), FOREST, 2, "mean"),
            "tree_ensemble: expected aggregate of 'sum', 'min', 'max', found 'mean'",
        ),
        (
            lambda: trees.tree_ensemble(view(3, 4), FOREST, 0),
            "tree_ensemble: expected values of at most 0 outputs, found",
        ),
        (lambda: trees.tree_ensemble(1, FOREST, 2), "tree_ensemble: expected data as a view, .*, found int"),
    ],
    adaptive_pooling.adaptive_average_pool: [
        (
            lambda: adaptive_pooling.adaptive_average_pool(IMAGE, (3,)),
            "expected shape as 2 integers of at least 1, found",
        ),
        (
            lambda: adaptive_pooling.adaptive_average_pool(view(1, 2, 3, dtype="int8"), (3,)),
            "expected data of float",
        ),
    ],
    adaptive_pooling.adaptive_max_pool: [
        (lambda: adaptive_pooling.adaptive_max_pool(V, (3,)), r"expected data \[N, C, …\] of 3 or more axes, found"),
        (
            lambda: adaptive_pooling.adaptive_max_pool(view(1, 2, 0), (3,)),
            "expected data with elements, found",
        ),
    ],
    regions.crop_and_resize: [
        (
            lambda: regions.crop_and_resize(IMAGE, view(2, 4), PLACES, (2, 2), "cubic", 0),
            "crop_and_resize: expected mode of 'linear', 'nearest', found 'cubic'",
        ),
        (
            lambda: regions.crop_and_resize(IMAGE, view(3, 4), PLACES, (2, 2), "linear", 0),
            r"expected batch of shape \[3\], found \[2\]",
        ),
    ],
    regions.roi_pool: [
        (
            lambda: regions.roi_pool(X, view(2, 4), PLACES, (2, 2), 1.0),
            r"expected data \[N, C, H, W\] of 4 axes, found",
        ),
        (
            lambda: regions.roi_pool(IMAGE, view(2, 4), PLACES, (0, 2), 1.0),
            "expected shape as 2 integers of at least 1",
        ),
    ],
    regions.ps_roi_pool: [
        (
            lambda: regions.ps_roi_pool(IMAGE, view(2, 4), PLACES, (2, 2), 3, 1.0),
            "ps_roi_pool: expected a multiple of 9 channels, found 4",
        ),
    ],
    taps.in_passes: [
        (
            lambda: taps.in_passes(X, [taps.Taps(3, TAPS)], "f", X.layout, X.dtype),
            "f: expected axis of 0 to 2, found",
        ),
        (lambda: taps.in_passes(1, [], "f", X.layout, X.dtype), "f: expected x as a view, .*, found int"),
    ],
    ordered.search_sorted: [
        (
            lambda: ordered.search_sorted(V, BYTES),
            "expected values of sequence's type, float32, found int8",
        ),
        (lambda: ordered.search_sorted(view(3, 4), X), r"expected sequence of shape \[2, 3, 4\], found \[3, 4\]"),
    ],
    boxes.non_max_suppression: [
        (
            lambda: boxes.non_max_suppression(view(2, 5, 4), view(2, 3, 5), 6, 0.5, None),
            "non_max_suppression: expected most of 1 to 5, found 6",
        ),
        (
            lambda: boxes.non_max_suppression(view(2, 5, 3), view(2, 3, 5), 1, 0.5, None),
            r"expected boxes of shape \[2, 5, 4\], found \[2, 5, 3\]",
        ),
        (
            lambda: boxes.non_max_suppression(view(2, 5, 4), view(2, 3, 5), 1, 0.5, None, "polar"),
            "expected form of 'corners', 'diagonal', 'center', found 'polar'",
        ),
    ],
    boxes.suppress_records: [
        (lambda: boxes.suppress_records(V, boxes.Records()), r"expected data \[B, N, W\] of 3 axes, found \[3\]"),
        (lambda: boxes.suppress_records(X, boxes.Records()), "suppress_records: expected box of 0 to 0, found 2"),
    ],
    multibox.multibox_prior: [
        (lambda: multibox.multibox_prior((3,), (1.0,), (1.0,)), "expected shape as 2 integers of at least 1, found"),
        (lambda: multibox.multibox_prior((3, 4), (1.0,), (0.0,)), r"expected ratios above 0, found \[0.0\]"),
    ],
    multibox.multibox_transform_loc: [
        (
            lambda: multibox.multibox_transform_loc(view(2, 3, 5), view(2, 20), view(1, 4, 4)),
            r"expected anchors of shape \[1, 5, 4\], found \[1, 4, 4\]",
        ),
    ],
    broadcast.combine: [
        (lambda: broadcast.combine([], min, "smaller"), "smaller: expected at least one input, found none"),
        (lambda: broadcast.combine([X, 1], min, "smaller"), "smaller: expected input1 as a view, .*, found int"),
        (lambda: broadcast.combine([X, view(5)], min, "smaller"), r"shapes \[2, 3, 4\] and \[5\] differ in dim"),
    ],
    broadcast.broadcast_to: [
        (lambda: broadcast.broadcast_to(V, (4,)), r"broadcast_to: expected x that broadcasts to \[4\], found \[3\]"),
        (lambda: broadcast.broadcast_to(V, (3.0,)), r"broadcast_to: expected shape as 1 integers .*, found \(3.0,\)"),
    ],
    element_wise.unary: [(lambda: element_wise.unary(1.0, element_wise.relu, "relu"), "relu: expected x as a view")],
    element_wise.cast: [
        (lambda: element_wise.cast("x", "int8"), "cast: expected x as a view"),
        (lambda: element_wise.cast(X, "int9"), "int9"),
    ],
    element_wise.bit_cast: [
        (lambda: element_wise.bit_cast(X, "int8"), "bit_cast: expected a type of 32 bits, as float32 has, found int8")
    ],
    convolution.conv: [
        (
            lambda: convolution.conv(X, WEIGHT, None, window()),
            r"conv: expected weight .* of 3 axes, found \[6, 4, 3, 3\]",
        ),
        (
            lambda: convolution.conv(V, V, None, window()),
            r"conv: expected data \[N, C, …\] of 3 or more axes, found \[3\]",
        ),
        (
            lambda: convolution.conv(IMAGE, view(6, 5, 3, 3), None, window()),
            "expected a weight of 4 input channels, found 5",
        ),
        (
            lambda: convolution.conv(IMAGE, view(6, 1, 3, 3), None, window(), 4),
            "a multiple of 4 output channels, found 6",
        ),
        (lambda: convolution.conv(IMAGE, WEIGHT, None, window(), 0), "conv: expected groups of at least 1, found 0"),
        (lambda: convolution.conv(IMAGE, WEIGHT, V, window()), r"conv: expected bias of shape \[6\], found \[3\]"),
        (lambda: convolution.conv(IMAGE, WEIGHT, None, (1, 1)), "conv: expected a Window, found tuple"),
        (
            lambda: convolution.conv(IMAGE, WEIGHT, None, window(strides=(0, 1))),
            "strides are given as 2 integers of at least",
        ),
        (
            lambda: convolution.conv(IMAGE, WEIGHT, None, window(pads=(1, 1))),
            r"pads are given as 4 integers .*, found \(1, 1",
        ),
        (
            lambda: convolution.conv(IMAGE, WEIGHT, None, window(dilations=(9, 9))),
            r"a window that fits into \[8, 8\], found",
        ),
        (
            lambda: convolution.conv(IMAGE, WEIGHT, None, window((3, 1))),
            r"expected a window of \[3, 3\], found \[3, 1\]",
        ),
        (
            lambda: convolution.conv(IMAGE, view(6, 4, 3, 3, dtype="float64"), None, window()),
            "of data's type, float32, found",
        ),
        (
            lambda: convolution.conv(view(1, 4, 8, 8, dtype="int8"), view(6, 4, 3, 3, dtype="int8"), None, window()),
            "conv: expected floating-point numbers or int32, found int8",
        ),
    ],
    convolution.conv_transpose: [
        (
            lambda: convolution.conv_transpose(IMAGE, view(3, 4, 3, 3), None, window(), (8, 8)),
            "conv_transpose: expected a weight of 4 input channels, found 3",
        ),
        (
            lambda: convolution.conv_transpose(IMAGE, view(4, 4, 3, 3), None, window(), (8, 8), 3),
            "conv_transpose: expected a multiple of 3 input channels, found 4",
        ),
        (
            lambda: convolution.conv_transpose(IMAGE, view(4, 4, 3, 3), None, window(), (8,)),
            r"conv_transpose: expected spatial as 2 integers of at least 1, found \(8,\)",
        ),
    ],
    products.determinant: [
        (lambda: products.determinant(X), r"determinant: expected square matrices, found \[2, 3, 4\]"),
        (lambda: products.determinant(V), r"determinant: expected data \[..., n, n\] of 2 or more axes, found \[3"),
    ],
    gather_scatter.gather: [
        (lambda: gather_scatter.gather(X, V, 0), "gather: expected indices of integers, found float32"),
        (lambda: gather_scatter.gather(X, PLACES, -1), "gather: expected axis of 0 to 2, found -1"),
    ],
    gather_scatter.gather_elements: [
        (
            lambda: gather_scatter.gather_elements(X, PLACES, 0),
            r"gather_elements: expected indices of 3 axes, found \[2\]",
        ),
        (
            lambda: gather_scatter.gather_elements(X, view(2, 9, 4, dtype="int32"), 0),
            r"gather_elements: expected indices within \[2, 3, 4\] but along axis 0, found \[2, 9, 4\]",
        ),
    ],
    gather_scatter.gather_nd: [
        (
            lambda: gather_scatter.gather_nd(X, view(4, dtype="int64")),
            "expected last axis of indices of 1 to 3, found 4",
        ),
        (lambda: gather_scatter.gather_nd(X, PLACES, 1), "gather_nd: expected batch_dims of 0 to 0, found 1"),
    ],
    gather_scatter.scatter_elements: [
        (
            lambda: gather_scatter.scatter_elements(X, view(1, 1, 1, dtype="int64"), view(1, 1, 1), 0, "subtract"),
            "scatter_elements: expected reduction of 'none', 'add', .*, found 'subtract'",
        ),
        (
            lambda: gather_scatter.scatter_elements(X, view(1, 1, 1, dtype="int64"), V, 0),
            r"scatter_elements: expected updates of shape \[1, 1, 1\], found \[3\]",
        ),
    ],
    gather_scatter.scatter_nd: [
        (lambda: gather_scatter.scatter_nd(X, PLACES, V), r"scatter_nd: expected updates of shape \[4\], found \[3\]"),
        (lambda: gather_scatter.scatter_nd(X, PLACES, view(4), "max of"), "expected reduction of .*, found 'max of'"),
    ],
    gather_scatter.tensor_scatter: [
        (
            lambda: gather_scatter.tensor_scatter(X, view(2, 5, 4), None, 1),
            "extent of update along the axis of 0 to 3, found",
        ),
        (
            lambda: gather_scatter.tensor_scatter(X, view(1, 2, 4), None, 1),
            r"expected update of shape \[2, 2, 4\], found \[1",
        ),
        (
            lambda: gather_scatter.tensor_scatter(X, X, V, 1),
            "tensor_scatter: expected starts of integers, found float32",
        ),
    ],
    layout_conversion.convert_layout: [
        (lambda: layout_conversion.convert_layout(X, "abc"), "convert_layout: expected a Layout, found str"),
        (lambda: layout_conversion.convert_layout(X, Layout.row_major(2)), "expected a layout of 3 axes, found ab"),
    ],
    products.matmul: [
        (lambda: products.matmul(X, V), r"matmul: expected operands of 2 or more axes, found \[2, 3, 4\] and \[3\]"),
        (lambda: products.matmul(X, view(5, 4)), "expected 4 rows on the right, one per column on the left, found 5"),
        (lambda: products.matmul(X, view(4, 4, dtype="int32")), "expected b of data's type, float32, found int32"),
        (lambda: products.matmul(BOOLS, view(3, 2, dtype="bool")), "matmul: expected a of numbers, found bool"),
    ],
    normalization.batch_normalization: [
        (lambda: normalization.batch_normalization(X, V, V, V, view(4), 1e-5), r"variance of shape \[3\], found \[4\]")
    ],
    normalization.layer_normalization: [
        (
            lambda: normalization.layer_normalization(X, V, None, 2, 1e-5),
            r"expected scale that broadcasts to \[2, 3, 4\], foun",
        ),
        (
            lambda: normalization.layer_normalization(X, None, None, 3, 1e-5),
            "layer_normalization: expected axis of 0 to 2, fou",
        ),
    ],
    normalization.rms_normalization: [
        (
            lambda: normalization.rms_normalization(X, V, 2, 1e-5),
            r"rms_normalization: expected scale that broadcasts to",
        ),
        (
            lambda: normalization.rms_normalization(X, None, 3, 1e-5),
            "rms_normalization: expected axis of 0 to 2, found",
        ),
    ],
    normalization.group_normalization: [
        (
            lambda: normalization.group_normalization(X, V, V, 2, 1e-5),
            "group_normalization: expected a multiple of 2 channels",
        )
    ],
    normalization.blocked_instance_normalization: [
        (
            lambda: normalization.blocked_instance_normalization(view(2, 3), V, V, 0.1),
            r"expected x \[N, C, …\] of 3 or more axe",
        )
    ],
    normalization.local_response_normalization: [
        (
            lambda: normalization.local_response_normalization(X, 0, 1.0, 1.0, 1.0),
            "expected size of at least 1, found 0",
        )
    ],
    normalization.lp_normalization: [
        (lambda: normalization.lp_normalization(X, 1, 3), "lp_normalization: expected p of 1, 2, found 3")
    ],
    ordered.cumulative: [
        (lambda: ordered.cumulative(X, "mean", 0), "cumulative: expected kind of 'sum', 'product', found 'mean'"),
        (lambda: ordered.cumulative(BOOLS, "sum", 0), "cumulative: expected x of numbers, found bool"),
    ],
    ordered.top_k: [(lambda: ordered.top_k(X, 5, 2), "top_k: expected k of 1 to 4, found 5")],
    pooling.max_pool: [
        (lambda: pooling.max_pool(IMAGE, window(pads=(3, 0, 0, 0))), r"pads smaller than the window's \[3, 3\], found"),
        (
            lambda: pooling.max_pool(IMAGE, window((3,), (1,), (0, 0), (1,))),
            r"kernel are given as 2 integers .* \(3,\)",
        ),
    ],
    pooling.max_pool_indices: [
        (lambda: pooling.max_pool_indices(X, window()), "max_pool_indices: expected a window whose")
    ],
    pooling.average_pool: [
        (
            lambda: pooling.average_pool(view(1, 4, 8, 8, dtype="int8"), window()),
            "data of floating-point numbers, found i",
        )
    ],
    pooling.global_pool: [
        (lambda: pooling.global_pool(IMAGE, "avg"), "global_pool: expected kind of 'average', 'max', found 'avg'"),
        (
            lambda: pooling.global_pool(V, "max"),
            r"global_pool: expected data \[N, C, …\] of 3 or more axes, found \[3\]",
        ),
    ],
    recurrent.lstm: [
        (
            lambda: recurrent.lstm(replace(LAYER, weight=view(1, 12, 5)), HOW),
            r"lstm: expected weight of shape \[1, 12, 4\], found \[1, 12, 5\]",
        ),
        (lambda: recurrent.lstm(LAYER, RNN), "lstm: expected 3 activations for each direction, found 1"),
        (
            lambda: recurrent.lstm(LAYER, replace(HOW, activations=((recurrent.Activation("Cosh"),) * 3,))),
            "lstm: expected activation of 'Relu', .*, found 'Cosh'",
        ),
    ],
    recurrent.gru: [(lambda: recurrent.gru(LAYER, GRU), r"gru: expected weight of shape \[1, 9, 4\], found \[1, 12")],
    recurrent.rnn: [(lambda: recurrent.rnn(None, RNN), "rnn: expected Inputs, found NoneType")],
    reductions.reduce: [
        (
            lambda: reductions.reduce(X, (1,), True, "average"),
            "reduce: expected kind of 'sum', 'mean', .*, found 'average",
        ),
        (lambda: reductions.reduce(X, (-1,), True, "sum"), "reduce: expected axis of 0 to 2, found -1"),
        (lambda: reductions.reduce(X, (1, 1), True, "sum"), r"reduce: expected each axis once, found \[1, 1\]"),
    ],
    reductions.reduce_log_sum_exp: [
        (lambda: reductions.reduce_log_sum_exp(X, (3,), True), "expected axis of 0 to 2, found 3")
    ],
    reductions.arg_extremum: [
        (lambda: reductions.arg_extremum(view(0, 3), 0, True, True), "expected extent of axis 0 of at least 1, found 0")
    ],
    resizing.resize: [
        (lambda: resizing.resize(IMAGE, [HALF], resizing.Interpolation("bilinear")), "mode of .*, found 'bilinear'"),
        (lambda: resizing.resize(X, [HALF], LINEAR), "resize: expected 4 elements before along axis 2, found 8"),
        (
            lambda: resizing.resize(view(1, 1, 8, dtype="int8"), [HALF], LINEAR),
            "x of floating-point numbers, found int8",
        ),
    ],
    sampling.grid_sample: [
        (
            lambda: sampling.grid_sample(IMAGE, view(1, 5, 5, 2), "bilinear", "zeros", False),
            "grid_sample: expected mode of 'nearest', 'linear', 'cubic', found 'bilinear'",
        ),
        (
            lambda: sampling.grid_sample(IMAGE, view(1, 5, 5, 3), "linear", "zeros", False),
            r"grid_sample: expected a grid \[1, …, 2\], found \[1, 5, 5, 3\]",
        ),
    ],
    sampling.deformable_columns: [
        (
            lambda: sampling.deformable_columns(IMAGE, view(1, 9, 8, 8), None, window(), 1),
            r"deformable_columns: expected offset of shape \[1, 18, 8, 8\], found \[1, 9, 8, 8\]",
        )
    ],
    sampling.roi_align: [
        (
            lambda: sampling.roi_align(IMAGE, view(2, 4), PLACES, (2, 2), "mean", 0, 1.0, True),
            "roi_align: expected kind of 'avg', 'max', found 'mean'",
        ),
        (
            lambda: sampling.roi_align(IMAGE, view(2, 5), PLACES, (2, 2), "avg", 0, 1.0, True),
            r"roi_align: expected rois of shape \[2, 4\], found \[2, 5\]",
        ),
    ],
    shape.reshape: [(lambda: shape.reshape(X, (5, 5)), r"reshape: expected a shape of 24 elements, found \[5, 5\]")],
    shape.transpose: [(lambda: shape.transpose(X, (0, 1, 1)), r"expected a permutation of 3 axes, found \[0, 1, 1\]")],
    shape.concatenate: [
        (lambda: shape.concatenate([], 0), "concatenate: expected at least one input, found none"),
        (lambda: shape.concatenate([X, view(2, 5, 4)], 0), r"input1 like \[2, 3, 4\] but along axis 0, found \[2, 5"),
    ],
    shape.split: [(lambda: shape.split(X, 1, (1, 1)), r"split: expected sizes that add up to 3, found \[1, 1\]")],
    shape.strided_slice: [
        (lambda: shape.strided_slice(V, (0,), (4,), (1,)), "bounds of 0 to 3 along axis 0, found start 0, end 4, step"),
        (lambda: shape.strided_slice(V, (2,), (-2,), (-1,)), "bounds of -1 to 2 along axis 0, found start 2, end -2"),
        (lambda: shape.strided_slice(V, (0,), (1,), (0,)), "expected a step other than 0"),
        (lambda: shape.strided_slice(X, (0,), (1,), (1,)), r"expected starts as 3 integers, found \(0,\)"),
    ],
    shape.pad: [
        (lambda: shape.pad(V, (1,), (1,), "mirror"), "pad: expected mode of 'constant', 'edge', .*, found 'mirror'"),
        (lambda: shape.pad(V, (-2,), (-2,)), "pad: expected pads that an axis of 3 elements has room for, found -2 an"),
    ],
    shape.tile: [(lambda: shape.tile(X, (2,)), r"tile: expected repeats as 3 integers of at least 0, found \(2,\)")],
    shape.depth_to_space: [
        (lambda: shape.depth_to_space(IMAGE, 2, "RCD"), "depth_to_space: expected mode of 'DCR', 'CRD', found 'RCD'"),
        (lambda: shape.depth_to_space(IMAGE, 3), "depth_to_space: expected a multiple of 9 channels, found 4"),
    ],
    shape.space_to_depth: [
        (lambda: shape.space_to_depth(IMAGE, 3), r"expected height and width of multiples of 3, found \[8, 8\]")
    ],
    shape.trilu: [(lambda: shape.trilu(V, True), r"trilu: expected x of 2 or more axes, found \[3\]")],
    shape.one_hot: [
        (lambda: shape.one_hot(PLACES, V, 5, 0), r"one_hot: expected values of shape \[2\], found \[3\]"),
        (lambda: shape.one_hot(PLACES, view(2), 0, 0), "one_hot: expected depth of at least 1, found 0"),
    ],
    attention.attention: [
        (
            lambda: attention.attention(X, view(2, 5, 4), V),
            r"expected stacks of matrices of one rank, found \[2, 3, 4\]",
        ),
        (lambda: attention.attention(X, X, view(2, 5, 4)), "expected queries and keys of one depth, as many values as"),
        (lambda: attention.attention(X, view(2, 0, 4), view(2, 0, 4)), "attention: expected keys, found"),
        (lambda: attention.attention(X, view(3, 5, 4), view(2, 5, 4)), "expected stacks whose extents divide those of"),
        (lambda: attention.attention(X, X, X, view(3, 4)), r"expected mask that broadcasts to \[2, 3, 3\], found"),
        (lambda: attention.attention(X, X, X, view(3, dtype="int64")), "a mask of bool or float32, found int64"),
        (lambda: attention.attention(PLACES, X, X), "expected q of floating-point numbers, found int64"),
    ],
    softmaxes.softmax: [
        (lambda: softmaxes.softmax(X, -1), "softmax: expected axis of 0 to 2, found -1"),
        (lambda: softmaxes.softmax(PLACES, 0), "softmax: expected x of floating-point numbers, found int64"),
    ],
    softmaxes.log_softmax: [(lambda: softmaxes.log_softmax(X, 3), "log_softmax: expected axis of 0 to 2, found 3")],
    products.bfloat_matmul: [
        (lambda: products.bfloat_matmul(X, view(4, 2)), "bfloat_matmul: expected a of bfloat16, found float32"),
    ],
    products.strassen_matmul: [
        (
            lambda: products.strassen_matmul(X, view(7, 3, 2)),
            r"strassen_matmul: expected weight of shape \[7, 2, 2\], found \[7, 3, 2\]",
        )
    ],
    products.sum_weight_blocks: [
        (
            lambda: products.sum_weight_blocks(view(3, 2), Layout.row_major(3)),
            r"strassen_weight: expected even extents, found \(3, 2\)",
        ),
        (
            lambda: products.sum_weight_blocks(view(4, 2, dtype="float16"), Layout.row_major(3)),
            "strassen_weight: expected float32, found float16",
        ),
    ],
    convolution.transform_weight: [
        (
            lambda: convolution.transform_weight(view(6, 4, 5, 5), F2, Layout.row_major(4)),
            r"winograd_weight: expected weight of shape \[6, 4, 3, 3\], found \[6, 4, 5, 5\]",
        ),
        (
            lambda: convolution.transform_weight(view(6, 4, 3), F2, Layout.row_major(4)),
            r"winograd_weight: expected weight \[O, C, 3, 3\]",
        ),
    ],
    convolution.winograd_conv: [
        (
            lambda: convolution.winograd_conv(IMAGE, WEIGHT, None, F2, window()),
            r"winograd_conv: expected weight of shape \[6, 4, 4, 4\], found \[6, 4, 3, 3\]",
        ),
        (
            lambda: convolution.winograd_conv(IMAGE, view(6, 4, 4, 4), None, F2, window(strides=(2, 2))),
            "winograd_conv: expected a window of 3x3 with strides 1 and no dilations",
        ),
    ],
}
"""Calls of each operator that it refuses, and what the error says."""


@pytest.mark.parametrize(
    ("call", "message"),
    [pytest.param(*case, id=f"{f.__name__}-{i}") for f, cases in REFUSALS.items() for i, case in enumerate(cases)],
)
def test_what_does_not_fit_is_told(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def functions_of_expressions():
    return [
        f
        for module in (element_wise, broadcast)
        for name, f in vars(module).items()
        if inspect.isfunction(f) and name[0] != "_" and next(iter(annotations(f)), "") == "Expr"
    ]


def annotations(function):
    return [p.annotation for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("function", functions_of_expressions(), ids=lambda f: f.__name__)
def test_functions_of_expressions_take_no_views_and_no_numbers(function):
    others = [1.0] * (len(annotations(function)) - 1)
    for value, found in ((X, "View; call it with an element, such as view"), (1.0, "float"), (None, "NoneType")):
        message = f"{function.__name__}: expected . as a scalar expression, found {found}"
        with pytest.raises(ArgumentError, match=message):
            function(value, *others)


def test_an_expression_is_checked_by_its_name_too():
    with pytest.raises(ArgumentError, match="relu: expected x as a scalar expression, found View; call it with"):
        element_wise.relu(x=X)


def test_no_operator_is_left_out():
    """Each function of a family that gives a computation has a case."""
    found = set()
    for module in pkgutil.iter_modules(computations.__path__, f"{computations.__name__}."):
        for name, function in vars(importlib.import_module(module.name)).items():
            is_own = inspect.isfunction(function) and function.__module__.startswith(module.name) and name[0] != "_"
            if is_own and inspect.signature(function).return_annotation == "Computation":
                found.add(function)
    assert found == set(REFUSALS)
