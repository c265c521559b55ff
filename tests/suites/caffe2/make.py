"""Makes Caffe2 models of one operator each, and what they compute, by PyTorch or NumPy.

    python make.py FOLDER

Caffe2 itself can't be installed any more. The definitions follow the files of caffe2/operators that the converters
name; PyTorch, which took its kernels over, computes most of them.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as nn

Array = np.ndarray
PICTURE = (2, 4, 7, 9)
Argument = int | float | str | Sequence[int]


@dataclass(frozen=True)
class Case:
    """An operator with arguments, the shapes of its inputs and weights, and its definition on tensors."""

    type: str
    definition: Callable[..., object]
    arguments: dict[str, Argument] = field(default_factory=dict)
    inputs: Sequence[tuple[int, ...]] = (PICTURE,)
    weights: Sequence[tuple[int, ...]] = ()
    outputs: int = 1
    low: float = -1.0
    positive: Sequence[int] = ()
    whole: bool = False
    given: dict[int, Array] = field(default_factory=dict)
    compared: int = 0


def one(type_: str, definition: Callable[..., object], **more) -> Case:
    return Case(type_, definition, **more)


def last(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 3, 1)


def first(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 3, 1, 2)


def conv(weights: Sequence[tuple[int, ...]], definition: Callable[..., object], **arguments: Argument) -> Case:
    return Case("Conv", definition, arguments, weights=weights)


def pool(type_: str, definition: Callable[..., object], **arguments: Argument) -> Case:
    return Case(type_, definition, arguments)


def resized(x: torch.Tensor, rows: float, columns: float) -> torch.Tensor:
    places = []
    for extent, scale in zip(x.shape[2:], (np.float32(rows), np.float32(columns)), strict=True):
        size = int(np.float32(extent) * scale)
        places.append([min(int(np.float32(i) / scale), extent - 1) for i in range(size)])
    return x[:, :, places[0]][:, :, :, places[1]]


def caffe_pool(x: torch.Tensor) -> torch.Tensor:
    """3x3 by 2 with padding 1, rounded up, without a window that begins behind the data."""
    return nn.max_pool2d(x, 3, 2, 1, ceil_mode=True)


def channels(v: torch.Tensor, rank: int = 4) -> torch.Tensor:
    return v.reshape(1, -1, *(1,) * (rank - 2))


def shuffled(x: torch.Tensor, groups: int) -> torch.Tensor:
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(x.shape)


C = (4,)
REGIONS = np.float32([[0, 0, 0, 12, 9], [1, 3, 5, 16.5, 13], [1, 8, 8, 8.4, 8], [0, 1, 2.5, 15, 6]])


def roi_aligned(x: torch.Tensor, regions: torch.Tensor, samples: int = 0, aligned: bool = False) -> torch.Tensor:
    """Averages of points in parts of 3x2 of regions at half their size (roi_align_op.cc)."""
    y = torch.zeros((len(regions), x.shape[1], 3, 2))
    for row, region in zip(y, regions.tolist(), strict=True):
        image, corners = (int(region[0]), region[1:]) if len(region) == 5 else (0, region)
        left, top, right, bottom = (c * 0.5 - 0.5 * aligned for c in corners)
        size = [bottom - top, right - left]
        size = size if aligned else [max(n, 1.0) for n in size]
        steps = [n / parts for n, parts in zip(size, (3, 2), strict=True)]
        counts = [samples or int(np.ceil(step)) for step in steps]
        for i, j in np.ndindex(3, 2):
            points = [
                point(
                    x[image],
                    top + (i + (a + 0.5) / counts[0]) * steps[0],
                    left + (j + (b + 0.5) / counts[1]) * steps[1],
                )
                for a, b in np.ndindex(*counts)
            ]
            row[:, i, j] = sum(points) / max(len(points), 1)
    return y


def point(x: torch.Tensor, row: float, column: float) -> torch.Tensor:
    """The picture between its elements; 0 beyond one element outside."""
    _, height, width = x.shape
    if not (-1 <= row <= height and -1 <= column <= width):
        return torch.zeros(len(x))
    row, column = min(max(row, 0.0), height - 1.0), min(max(column, 0.0), width - 1.0)
    i, j = int(row), int(column)
    a, b = row - i, column - j
    k, m = min(i + 1, height - 1), min(j + 1, width - 1)
    return (x[:, i, j] * (1 - b) + x[:, i, m] * b) * (1 - a) + (x[:, k, j] * (1 - b) + x[:, k, m] * b) * a


def roi_pooled(x: torch.Tensor, regions: torch.Tensor) -> torch.Tensor:
    """Maxima of parts of 3x2 of regions at half their size (roi_pool_op.cc)."""
    y = torch.zeros((len(regions), x.shape[1], 3, 2))
    for row, (image, *corners) in zip(y, regions.tolist(), strict=True):
        x0, y0, x1, y1 = (int(np.floor(c * 0.5 + 0.5)) for c in corners)
        sizes = [max(y1 - y0 + 1, 1) / 3, max(x1 - x0 + 1, 1) / 2]
        for i, j in np.ndindex(3, 2):
            starts = [int(np.floor(n * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
            ends = [int(np.ceil((n + 1) * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
            part = x[int(image), :, max(starts[0], 0) : ends[0], max(starts[1], 0) : ends[1]]
            row[:, i, j] = part.amax((1, 2)) if part.numel() else 0
    return y


ROI = {"spatial_scale": 0.5, "pooled_h": 3, "pooled_w": 2}
CASES: dict[str, Case] = {
    "abs": one("Abs", torch.abs),
    "add": Case("Add", torch.add, inputs=[PICTURE, PICTURE]),
    "add_broadcast_axis": Case("Add", lambda x, b: x + channels(b), {"broadcast": 1, "axis": 1}, weights=[C]),
    "add_broadcast_end": Case("Add", torch.add, {"broadcast": 1}, weights=[(9,)]),
    "affine_channel": Case("AffineChannel", lambda x, s, b: x * channels(s) + channels(b), weights=[C, C]),
    "affine_channel_nhwc": Case("AffineChannel", lambda x, s, b: x * s + b, {"order": "NHWC"}, weights=[(9,), (9,)]),
    "argmax": Case("ArgMax", lambda x: x.argmax(-1, keepdim=True), {"axis": -1}),
    "argmax_dropped": Case("ArgMax", lambda x: x.argmax(1), {"axis": 1, "keepdims": 0}),
    "average_pool": pool("AveragePool", lambda x: nn.avg_pool2d(x, 3, 2), kernel=3, stride=2),
    "average_pool_counting": pool(
        "AveragePool", lambda x: nn.avg_pool2d(x, 3, 2, 1), kernel=3, stride=2, pad=1, count_include_pad=1
    ),
    "average_pool_global": pool("AveragePool", lambda x: x.mean((2, 3), keepdim=True), global_pooling=1),
    "average_pool_pad": pool(
        "AveragePool", lambda x: nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False), kernel=3, stride=2, pad=1
    ),
    "batch_mat_mul": Case(
        "BatchMatMul", lambda a, b: a @ b.transpose(1, 2), {"trans_b": 1}, [(3, 4, 5), (3, 6, 5)]
    ),
    "cast": Case("Cast", lambda x: x.to(torch.int32), {"to": 2}, low=-9.0),
    "channel_shuffle": Case("ChannelShuffle", lambda x: shuffled(x, 2), {"group": 2}),
    "clip": Case("Clip", lambda x: x.clamp(-0.3, 0.4), {"min": -0.3, "max": 0.4}),
    "concat": Case("Concat", lambda x, y: torch.cat([x, y], 1), inputs=[PICTURE, (2, 3, 7, 9)], outputs=2),
    "concat_add_axis": Case(
        "Concat", lambda x, y: torch.stack([x, y], 1), {"axis": 1, "add_axis": 1}, [PICTURE, PICTURE], outputs=2
    ),
    "concat_axis": Case("Concat", lambda x, y: torch.cat([x, y], 3), {"axis": 3}, [PICTURE, PICTURE], outputs=2),
    "concat_nhwc": Case(
        "Concat", lambda x, y: torch.cat([x, y], 3), {"order": "NHWC"}, [PICTURE, PICTURE], outputs=2
    ),
    "concat_sizes": Case(
        "Concat", lambda x, y: np.int32([4, 3]), inputs=[PICTURE, (2, 3, 7, 9)], outputs=2, compared=1
    ),
    "conv": conv([(6, 4, 3, 3), (6,)], nn.conv2d, kernel=3),
    "conv_dilation": conv(
        [(6, 4, 3, 3), (6,)], lambda *a: nn.conv2d(*a, padding=2, dilation=2), kernel=3, pad=2, dilation=2
    ),
    "conv_group": conv([(6, 2, 3, 3), (6,)], lambda *a: nn.conv2d(*a, groups=2), kernel=3, group=2),
    "conv_legacy_same": conv(
        [(6, 4, 4, 4), (6,)],
        lambda x, w, b: nn.conv2d(nn.pad(x, (1, 2, 1, 2)), w, b, stride=(1, 1)),
        kernel=4, legacy_pad=2,
    ),
    "conv_nhwc": Case(
        "Conv",
        lambda x, w, b: last(nn.conv2d(first(x), first(w), b, stride=2, padding=1)),
        {"kernel": 3, "stride": 2, "pad": 1, "order": "NHWC"},
        weights=[(6, 3, 3, 9), (6,)],
    ),
    "conv_pads": conv(
        [(6, 4, 3, 2)],
        lambda x, w: nn.conv2d(nn.pad(x, (0, 1, 2, 1)), w, stride=(2, 1)),
        kernel_h=3, kernel_w=2, pad_t=2, pad_l=0, pad_b=1, pad_r=1, stride_h=2, stride_w=1,
    ),
    "conv_lists": conv(
        [(6, 4, 3, 2), (6,)],
        lambda x, w, b: nn.conv2d(nn.pad(x, (0, 1, 2, 1)), w, b, stride=(2, 1)),
        kernels=[3, 2], pads=[2, 0, 1, 1], strides=[2, 1],
    ),
    "conv_1d": Case(
        "Conv", lambda *a: nn.conv1d(*a, padding=1), {"kernels": [3], "pads": [1, 1]}, [(2, 4, 9)], [(6, 4, 3), (6,)]
    ),
    "conv_transpose": Case(
        "ConvTranspose", lambda *a: nn.conv_transpose2d(*a, stride=2, padding=1, output_padding=1),
        {"kernel": 3, "stride": 2, "pad": 1, "adj": 1}, weights=[(4, 5, 3, 3), (5,)],
    ),
    "copy": Case("Copy", lambda x: x),
    "cos": one("Cos", torch.cos),
    "cube": one("Cube", lambda x: x**3),
    "div": Case("Div", torch.div, inputs=[PICTURE, PICTURE], low=0.2),
    "dropout": Case("Dropout", lambda x: x, {"is_test": 1, "ratio": 0.5}),
    "elu": Case("Elu", lambda x: nn.elu(x, 0.7), {"alpha": 0.7}),
    "exp": one("Exp", torch.exp),
    "expand_dims": Case("ExpandDims", lambda x: x[None, :, None], {"dims": [0, 2]}, [(3, 4)]),
    "fc": Case("FC", lambda x, w, b: x.flatten(1) @ w.T + b, weights=[(5, 252), (5,)]),
    "fc_axis": Case("FC", lambda x, w, b: x.flatten(2) @ w.T + b, {"axis": 2}, weights=[(5, 63), (5,)]),
    "fc_transposed": Case("FCTransposed", lambda x, w, b: x.flatten(1) @ w + b, weights=[(252, 5), (5,)]),
    "flatten": Case("Flatten", lambda x: x.flatten(1)),
    "flatten_axis": Case("Flatten", lambda x: x.reshape(8, 63), {"axis": 2}),
    "flatten_to_vector": Case("FlattenToVec", lambda x: x.reshape(-1)),
    "greater": Case("GT", torch.gt, inputs=[PICTURE, PICTURE]),
    "hard_sigmoid": Case("HardSigmoid", lambda x: (0.2 * x + 0.5).clamp(0, 1), low=-4.0),
    "instance_norm": Case(
        "InstanceNorm", lambda x, s, b: nn.instance_norm(x, weight=s, bias=b, eps=1e-3),
        {"epsilon": 1e-3}, weights=[C, C],
    ),
    "layer_norm": Case("LayerNorm", lambda x: nn.layer_norm(x, x.shape[1:], eps=1e-3), outputs=3),
    "layer_norm_affine": Case(
        "LayerNorm", lambda x, s, b: nn.layer_norm(x, x.shape[3:], s, b, 1e-5),
        {"axis": 3, "epsilon": 1e-5, "elementwise_affine": 1}, weights=[(9,), (9,)], outputs=3,
    ),
    "leaky_relu": Case("LeakyRelu", lambda x: nn.leaky_relu(x, 0.2), {"alpha": 0.2}),
    "log": Case("Log", torch.log, low=0.1),
    "log_softmax": Case("LogSoftmax", lambda x: x.flatten(1).log_softmax(1).reshape(x.shape)),
    "lrn": Case(
        "LRN", lambda x: nn.local_response_norm(x, 3, 0.5, 0.75, 2.0),
        {"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 2.0}, outputs=2,
    ),
    "mat_mul": Case("MatMul", lambda a, b: a.T @ b, {"trans_a": 1}, [(5, 4), (5, 6)]),
    "max": Case("Max", lambda *x: torch.stack(x).amax(0), inputs=[PICTURE] * 3),
    "max_pool": pool("MaxPool", lambda x: nn.max_pool2d(x, 3, 2), kernel=3, stride=2),
    "max_pool_caffe": pool("MaxPool", caffe_pool, kernel=3, stride=2, pad=1, legacy_pad=3),
    "max_pool_caffe_without_pad": pool(
        "MaxPool", lambda x: nn.max_pool2d(x, 2, 2, ceil_mode=True), kernel=2, stride=2, legacy_pad=3
    ),
    "max_pool_global": pool("MaxPool", lambda x: x.amax((2, 3), keepdim=True), global_pooling=1),
    "max_pool_nhwc": pool("MaxPool", lambda x: last(nn.max_pool2d(first(x), 2, 2)), kernel=2, stride=2, order="NHWC"),
    "mean": Case("Mean", lambda *x: torch.stack(x).mean(0), inputs=[PICTURE] * 3),
    "min": Case("Min", torch.minimum, inputs=[PICTURE] * 2),
    "mul": Case("Mul", torch.mul, inputs=[PICTURE] * 2),
    "negative": one("Negative", torch.neg),
    "nchw_to_nhwc": one("NCHW2NHWC", last),
    "nhwc_to_nchw": one("NHWC2NCHW", first),
    "normalize": Case("Normalize", lambda x: nn.normalize(x, dim=1), {"axis": 1}),
    "normalize_planar_yuv": Case(
        "NormalizePlanarYUV", lambda x, m, s: (x - channels(m)) / channels(s), weights=[(1, 4), (1, 4)], positive=[1]
    ),
    "pad_image_constant": Case(
        "PadImage", lambda x: nn.pad(x, (2, 2, 2, 2), value=0.5), {"pad": 2, "value": 0.5}
    ),
    "pad_image_edge": Case(
        "PadImage", lambda x: nn.pad(x, (1, 3, 2, 0), "replicate"),
        {"pad_t": 2, "pad_l": 1, "pad_b": 0, "pad_r": 3, "mode": "edge"},
    ),
    "pad_image_reflect": Case("PadImage", lambda x: nn.pad(x, (2, 2, 2, 2), "reflect"), {"pad": 2, "mode": "reflect"}),
    "pow": Case("Pow", lambda x: x**1.5, {"exponent": 1.5}, low=0.1),
    "prelu": Case("PRelu", nn.prelu, weights=[C]),
    "prelu_shared": Case("PRelu", nn.prelu, weights=[(1,)]),
    "reduce_back_mean": Case("ReduceBackMean", lambda x: x.mean((2, 3)), {"num_reduce_dim": 2}),
    "reduce_front_sum": Case("ReduceFrontSum", lambda x: x.sum(0)),
    "reduce_max": Case("ReduceMax", lambda x: x.amax((1, 3)), {"axes": [1, 3], "keepdims": 0}),
    "reduce_mean": Case("ReduceMean", lambda x: x.mean((2, 3), keepdim=True), {"axes": [2, 3]}),
    "reduce_sum": Case("ReduceSum", lambda x: x.sum().reshape(1, 1, 1, 1)),
    "relu": one("Relu", torch.relu),
    "reshape": Case("Reshape", lambda x: x.reshape(2, 36, 7), {"shape": [0, -1, 7]}, outputs=2),
    "reshape_old_shape": Case("Reshape", lambda x: np.int64([2, 4, 7, 9]), {"shape": [8, 63]}, outputs=2, compared=1),
    "resize_nearest": Case("ResizeNearest", lambda x: resized(x, 2, 2), {"width_scale": 2.0, "height_scale": 2.0}),
    "resize_nearest_fraction": Case(
        "ResizeNearest", lambda x: resized(x, 1.1, 0.7), {"height_scale": 1.1, "width_scale": 0.7}
    ),
    "rsqrt": Case("Rsqrt", torch.rsqrt, low=0.1),
    "scale": Case("Scale", lambda x: x * 2.5, {"scale": 2.5}),
    "selu": Case("Selu", nn.selu),
    "sigmoid": one("Sigmoid", torch.sigmoid),
    "slice": Case("Slice", lambda x: x[:, 1:3, :, 2:], {"starts": [0, 1, 0, 2], "ends": [-1, 3, -1, -1]}),
    "softmax": Case("Softmax", lambda x: x.flatten(1).softmax(1).reshape(x.shape)),
    "softmax_axis": Case("Softmax", lambda x: x.softmax(3), {"axis": 3}),
    "softplus": one("Softplus", nn.softplus),
    "softsign": one("Softsign", nn.softsign),
    "spatial_bn": Case(
        "SpatialBN", lambda x, s, b, m, v: nn.batch_norm(x, m, v, s, b, eps=1e-3),
        {"is_test": 1, "epsilon": 1e-3}, weights=[C] * 4, positive=[3],
    ),
    "spatial_bn_nhwc": Case(
        "SpatialBN", lambda x, s, b, m, v: last(nn.batch_norm(first(x), m, v, s, b)),
        {"is_test": 1, "order": "NHWC"}, weights=[(9,)] * 4, positive=[3],
    ),
    "split": Case("Split", lambda x: list(x.split(2, 1)), outputs=2),
    "split_sizes": Case("Split", lambda x: list(x.split([2, 3, 4], 3)), {"axis": 3, "split": [2, 3, 4]}, outputs=3),
    "sqr": one("Sqr", torch.square),
    "sqrt": Case("Sqrt", torch.sqrt, low=0.0),
    "squeeze": Case("Squeeze", lambda x: x[:, 0, :, 0], {"dims": [1, 3]}, [(2, 1, 3, 1)]),
    "sub": Case("Sub", torch.sub, inputs=[PICTURE] * 2),
    "sum": Case("Sum", lambda *x: sum(x), inputs=[PICTURE] * 3),
    "swish": one("Swish", nn.silu),
    "tanh": one("Tanh", torch.tanh),
    "tile": Case("Tile", lambda x: x.tile(1, 3, 1, 1), {"tiles": 3, "axis": 1}),
    "top_k": Case("TopK", lambda x: list(x.topk(3)), {"k": 3}, outputs=2),
    "transpose": Case("Transpose", lambda x: x.permute(0, 2, 3, 1), {"axes": [0, 2, 3, 1]}),
    "transpose_default": Case("Transpose", lambda x: x.permute(3, 2, 1, 0)),
    "upsample_nearest": Case("UpsampleNearest", lambda x: resized(x, 3, 3), {"scale": 3}),
    "acos": one("Acos", torch.acos),
    "alias_with_name": one("AliasWithName", lambda x: x, arguments={"name": "alias"}),
    "asin": one("Asin", torch.asin),
    "atan": one("Atan", torch.atan),
    "cbrt": one("Cbrt", lambda x: x.sign() * x.abs() ** (1 / 3)),
    "colwise_max": Case("ColwiseMax", lambda x: x.amax(1), inputs=[(3, 4, 5)]),
    "cosh": one("Cosh", torch.cosh),
    "dot_product": Case("DotProduct", lambda x, y: (x * y).flatten(1).sum(1), inputs=[PICTURE] * 2),
    "erf": one("Erf", torch.erf),
    "expand": Case("Expand", lambda x: x.expand(2, 3, 4), {"shape": [2, 1, 4]}, inputs=[(3, 1)]),
    "gelu": one("Gelu", nn.gelu),
    "gelu_fast": one("Gelu", lambda x: nn.gelu(x, approximate="tanh"), arguments={"fast_gelu": 1}),
    "glu": Case("Glu", lambda x: nn.glu(x, 1), {"dim": 1}),
    "group_norm": Case(
        "GroupNorm", lambda x, s, b: nn.group_norm(x, 2, s, b, 1e-3), {"group": 2, "epsilon": 1e-3}, weights=[C, C],
        outputs=3,
    ),
    "group_norm_last": Case(
        "GroupNorm", lambda x, s, b: last(nn.group_norm(first(x), 3, s, b)), {"group": 3, "order": "NHWC"},
        weights=[(9,), (9,)],
    ),
    "l1_distance": Case("L1Distance", lambda x, y: (x - y).abs().sum(1), inputs=[(4, 7)] * 2),
    "logit": Case("Logit", lambda x: torch.logit(x, 0.01), {"eps": 0.01}),
    "merge_dim": Case("MergeDim", lambda x: x.flatten(0, 1)),
    "not_equal": Case("NE", lambda x, y: x != y, inputs=[PICTURE] * 2),
    "prepend_dim": Case("PrependDim", lambda x: x.reshape(2, 1, 4, 7, 9), {"dim_size": 2}),
    "roi_align": Case("RoIAlign", roi_aligned, ROI, weights=[(4, 5)], given={0: REGIONS}),
    "roi_align_aligned": Case(
        "RoIAlign", lambda x, r: roi_aligned(x, r, 2, True), {**ROI, "sampling_ratio": 2, "aligned": 1},
        weights=[(4, 5)], given={0: REGIONS},
    ),
    "roi_align_of_one_image": Case(
        "RoIAlign", lambda x, r: roi_aligned(x, r, 1), {**ROI, "sampling_ratio": 1}, weights=[(4, 4)],
        given={0: REGIONS[:, 1:]},
    ),
    "roi_pool": Case("RoIPool", roi_pooled, {**ROI, "is_test": 1}, weights=[(4, 5)], given={0: REGIONS}),
    "rowwise_max": Case("RowwiseMax", lambda x: x.amax(2), inputs=[(3, 4, 5)]),
    "sinh": one("Sinh", torch.sinh),
    "squared_distance": Case("SquaredL2Distance", lambda x, y: ((x - y) ** 2).sum(1) / 2, inputs=[(4, 7)] * 2),
    "sum_elements": Case("SumElements", torch.sum),
    "sum_elements_average": Case("SumElements", torch.mean, {"average": 1}),
    "sum_squares": Case("SumSqrElements", lambda x: (x * x).sum()),
    "tan": one("Tan", torch.tan),
    "upsample_bilinear": Case(
        "UpsampleBilinear",
        lambda x: nn.interpolate(x, size=(14, 13), mode="bilinear", align_corners=True),
        {"height_scale": 2.0, "width_scale": 1.5},
    ),
    "weighted_sum": Case(
        "WeightedSum", lambda x, v, y, w: x * v + y * w, inputs=[PICTURE, (1,), PICTURE, (1,)]
    ),
}  # fmt: skip


def operator(type_: str, inputs: Sequence[str], outputs: Sequence[str], arguments: dict[str, object]) -> bytes:
    fields = [encoded(1, name.encode()) for name in inputs] + [encoded(2, name.encode()) for name in outputs]
    return b"".join([*fields, encoded(4, type_.encode()), *(encoded(5, argument(*pair)) for pair in arguments.items())])


def argument(name: str, value: object) -> bytes:
    head = encoded(1, name.encode())
    match value:
        case float():
            return head + b"\x15" + struct.pack("<f", value)
        case int():
            return head + b"\x18" + varint(value)
        case str():
            return head + encoded(4, value.encode())
        case np.ndarray():
            return head + b"".join(b"\x2d" + struct.pack("<f", number) for number in value.ravel())
    return head + b"".join(b"\x30" + varint(number) for number in value)


def encoded(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    low = number & 0x7F
    return struct.pack("B", low | 0x80) + varint(number >> 7) if number > 0x7F else struct.pack("B", low)


def nets(case: Case, weights: Sequence[Array]) -> tuple[bytes, bytes]:
    """The init net, which also holds places for the inputs, and the predict net."""
    inputs, names = [f"x{i}" for i in range(len(case.inputs))], [f"w{i}" for i in range(len(weights))]
    outputs = [f"y{i}" for i in range(case.outputs)]
    fills = [
        operator("GivenTensorFill", [], [name], {"shape": list(array.shape), "values": array})
        for name, array in zip(names, weights, strict=True)
    ]
    fills += [operator("ConstantFill", [], [name], {"shape": [1]}) for name in inputs]
    init = encoded(1, b"init") + b"".join(encoded(2, fill) for fill in fills)
    op = operator(case.type, [*inputs, *names], outputs, case.arguments)
    ends = b"".join(encoded(7, name.encode()) for name in (*inputs, *names))
    kept = outputs[case.compared :] if case.compared else outputs[: 1 if case.outputs and not many(case) else None]
    ends += b"".join(encoded(8, name.encode()) for name in kept)
    return init, encoded(1, b"net") + encoded(2, op) + ends


def many(case: Case) -> bool:
    """Whether all outputs are compared, not one of them."""
    return case.type in {"Split", "TopK"}


def make(folder: Path, name: str, case: Case) -> None:
    random = np.random.default_rng(sum(name.encode()))
    inputs = [random.uniform(case.low, max(1.0, -case.low), shape).astype(np.float32) for shape in case.inputs]
    weights = [
        random.uniform(0.1 if i in case.positive else -1, 1, shape).astype(np.float32)
        for i, shape in enumerate(case.weights)
    ]
    weights = [case.given.get(i, array) for i, array in enumerate(weights)]
    found = case.definition(*map(torch.tensor, (*inputs, *weights)))
    outputs = found if isinstance(found, list) else [found]
    init, predict = nets(case, weights)
    path = folder / name
    path.mkdir(parents=True)
    (path / "init_net.pb").write_bytes(init)
    (path / "predict_net.pb").write_bytes(predict)
    kept = {f"in/x{i}": array for i, array in enumerate(inputs)}
    kept |= {f"out/y{i}": np.asarray(array) for i, array in enumerate(outputs, start=case.compared)}
    np.savez(path / "io.npz", **kept)
    shapes = {f"x{i}": list(array.shape) for i, array in enumerate(inputs)}
    told = {"model": "predict_net.pb", "weights": "init_net.pb", "options": {"shapes": shapes}}
    (path / "case.json").write_text(json.dumps(told), encoding="utf-8")


def main() -> None:
    folder = Path(sys.argv[1])
    for name, case in CASES.items():
        make(folder, name, case)


if __name__ == "__main__":
    main()
