"""Makes Caffe models of one layer each, and what they compute: by OpenCV's dnn, or else by Caffe's definition.

    python make.py FOLDER

OpenCV reads Caffe's files, but lacks some layers and differs in others; those have a definition in NumPy or PyTorch
here, which follows the file of BVLC/caffe (or of the fork) that the layer's converter names.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as nn

Array = np.ndarray
PICTURE = (2, 4, 7, 9)


@dataclass(frozen=True)
class Case:
    """A layer of a type with parameters as text, the shapes of its inputs and blobs, and its definition: None for
    OpenCV's. `low` and `high` bound the inputs."""

    type: str
    parameters: str = ""
    inputs: Sequence[tuple[int, ...]] = (PICTURE,)
    blobs: Sequence[tuple[int, ...]] = ()
    definition: Callable[..., Array | Sequence[Array]] | None = None
    low: float = -1.0
    high: float = 1.0
    positive: bool = False
    tops: int = 1
    whole: bool = False
    given: dict[int, Array] = field(default_factory=dict)
    legacy: bool = False


def conv(
    parameters: str, blobs: Sequence[tuple[int, ...]], inputs: Sequence[tuple[int, ...]] = (PICTURE,), **more
) -> Case:
    return Case("Convolution", f"convolution_param {{ {parameters} }}", inputs, blobs, **more)


def deconv(parameters: str, blobs: Sequence[tuple[int, ...]], **more) -> Case:
    return Case("Deconvolution", f"convolution_param {{ {parameters} }}", (PICTURE,), blobs, **more)


def pool(parameters: str, inputs: Sequence[tuple[int, ...]] = (PICTURE,), **more) -> Case:
    return Case("Pooling", f"pooling_param {{ {parameters} }}", inputs, **more)


def pooled(x: Array, method: str, kernel: int, stride: int = 1, pad: int = 0) -> Array:
    """Caffe's pool, window by window (pooling_layer.cpp)."""
    counts = []
    for extent in x.shape[2:]:
        count = -(-(extent + 2 * pad - kernel) // stride) + 1
        counts.append(count - 1 if pad and (count - 1) * stride >= extent + pad else count)
    y = np.empty((*x.shape[:2], *counts), np.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            starts = [i * stride - pad, j * stride - pad]
            ends = [min(s + kernel, extent + pad) for s, extent in zip(starts, x.shape[2:], strict=True)]
            area = (ends[0] - starts[0]) * (ends[1] - starts[1])
            window = x[:, :, max(starts[0], 0) : ends[0], max(starts[1], 0) : ends[1]]
            y[:, :, i, j] = window.max((2, 3)) if method == "MAX" else window.sum((2, 3)) / area
    return y


def along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape(values.shape + (1,) * (rank - axis - values.ndim))


def within_channel(x: Array) -> Array:
    return x * (1 + 0.5 * pooled(x * x, "AVE", 3, 1, 1)) ** -0.75


def across_channels(x: Array, size: int = 5, alpha: float = 1.0, beta: float = 0.75, k: float = 1.0) -> Array:
    """OpenCV does not divide alpha by the size."""
    return nn.local_response_norm(torch.tensor(x), size, alpha, beta, k).numpy()


def normalized(x: Array, axes: tuple[int, ...], variance: bool = True, eps: float = 1e-9) -> Array:
    distance = x - x.mean(axes, keepdims=True)
    return distance / (np.sqrt((distance**2).mean(axes, keepdims=True)) + eps) if variance else distance


def batch_normalized(x: Array, mean: Array, variance: Array, total: Array, eps: float = 1e-5) -> Array:
    share = 1 / total[0] if total[0] else 0
    return (x - along(mean * share, 1, x.ndim)) / np.sqrt(along(variance * share, 1, x.ndim) + eps)


def arg_max(x: Array, count: int, axis: int) -> tuple[Array, Array]:
    """Places and values; of equal elements the last comes first."""
    order = np.argsort(np.flip(x, axis) * -1, axis, kind="stable").take(range(count), axis)
    places = x.shape[axis] - 1 - order
    return places.astype(np.float32), np.take_along_axis(x, places, axis)


def shuffled(x: Array, groups: int) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(0, 2, 1, 3, 4).reshape(x.shape)


def unpooled(x: Array, mask: Array) -> Array:
    y = np.zeros((*x.shape[:2], 4 * x.shape[2] * x.shape[3]), np.float32)
    np.put_along_axis(y, mask.reshape(*x.shape[:2], -1).astype(int), x.reshape(*x.shape[:2], -1), 2)
    return y.reshape(*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])


def masked(x: Array) -> list[Array]:
    """A maximum of 2x2 and its positions within the channel."""
    values, places = nn.max_pool2d(torch.tensor(x), 2, 2, return_indices=True)
    return [values.numpy(), places.numpy().astype(np.float32)]


def pyramid(x: Array) -> Array:
    parts = []
    for bins in (1, 2):
        kernel = [-(-extent // bins) for extent in x.shape[2:]]
        pads = [(k * bins - extent + 1) // 2 for k, extent in zip(kernel, x.shape[2:], strict=True)]
        padded = np.pad(
            x, [(0, 0), (0, 0), *((p, k) for p, k in zip(pads, kernel, strict=True))], constant_values=-np.inf
        )
        windows = [
            padded[:, :, i * kernel[0] : (i + 1) * kernel[0], j * kernel[1] : (j + 1) * kernel[1]].max((2, 3))
            for i in range(bins)
            for j in range(bins)
        ]
        parts.append(np.stack(windows, 2).reshape(len(x), -1))
    return np.concatenate(parts, 1)


def resized(x: Array, height: int, width: int) -> Array:
    return nn.interpolate(torch.tensor(x), (height, width), mode="bilinear", align_corners=True).numpy()


def roi_pooled(x: Array, regions: Array) -> Array:
    """Regions in parts of 3x2, at half their size (caffe-fast-rcnn, roi_pooling_layer.cpp)."""
    y = np.zeros((len(regions), x.shape[1], 3, 2), np.float32)
    for row, (image, *corners) in zip(y, regions, strict=True):
        x0, y0, x1, y1 = (int(np.floor(c * 0.5 + 0.5)) for c in corners)
        sizes = [max(y1 - y0 + 1, 1) / 3, max(x1 - x0 + 1, 1) / 2]
        for i in range(3):
            for j in range(2):
                starts = [int(np.floor(n * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
                ends = [int(np.ceil((n + 1) * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
                part = x[int(image), :, max(starts[0], 0) : ends[0], max(starts[1], 0) : ends[1]]
                row[:, i, j] = part.max((1, 2)) if part.size else 0
    return y


def position_sensitive(x: Array, regions: Array) -> Array:
    """Averages of regions in parts of 2x2 at half their size, each of its own channels (caffe-rfcn,
    psroi_pooling_layer.cu)."""
    y = np.zeros((len(regions), x.shape[1] // 4, 2, 2), np.float32)
    for row, (image, *corners) in zip(y, regions, strict=True):
        first, last = ([np.floor(c + 0.5) for c in part] for part in (corners[:2], corners[2:]))
        begins = [c * 0.5 for c in first[::-1]]
        sizes = [max((c + 1) * 0.5 - b, 0.1) / 2 for c, b in zip(last[::-1], begins, strict=True)]
        for i, j in np.ndindex(2, 2):
            starts = [max(int(np.floor(n * s + b)), 0) for n, s, b in zip((i, j), sizes, begins, strict=True)]
            ends = [int(np.ceil((n + 1) * s + b)) for n, s, b in zip((i, j), sizes, begins, strict=True)]
            part = x[int(image), i * 2 + j :: 4, starts[0] : ends[0], starts[1] : ends[1]]
            row[:, i, j] = part.mean((1, 2)) if part.size else 0
    return y


def windows(x: Array) -> Array:
    """Windows of 3x2 with stride 2 and padding 1, as channels (im2col.cpp)."""
    x = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))[:, :, ::2, ::2]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), -1, *seen.shape[2:4])


def overlap(a: Array, b: Array) -> float:
    width, height = (np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).tolist()
    common = max(width, 0) * max(height, 0)
    areas = [float(max(x[2] - x[0], 0) * max(x[3] - x[1], 0)) for x in (a, b)]
    return common / (sum(areas) - common) if common else 0.0


def detected(
    centres: bool, shared: bool, keep: int, threshold: float, first: int
) -> Callable[[Array, Array, Array], Array]:
    """Caffe's rows for 3 classes, the first of them the background, and -1 up to `keep` for each image."""

    def detect(locations: Array, scores: Array, priors: Array) -> Array:
        prior, variance = priors.reshape(2, -1, 4)
        count, rows = len(prior), []
        for image in range(len(scores)):
            found = []
            for label in (1, 2):
                place = locations[image].reshape(count, 1 if shared else 3, 4)[:, 0 if shared else label] * variance
                boxes = prior + place
                if centres:
                    size, middle = prior[:, 2:] - prior[:, :2], (prior[:, 2:] + prior[:, :2]) / 2
                    centre, reach = middle + place[:, :2] * size, np.exp(place[:, 2:]) * size / 2
                    boxes = np.concatenate([centre - reach, centre + reach], 1)
                score = scores[image].reshape(count, 3)[:, label]
                kept: list[int] = []
                candidates = [i for i in np.argsort(-score, kind="stable") if score[i] > threshold]
                for i in candidates[:first]:
                    if all(overlap(boxes[i], boxes[j]) <= 0.4 for j in kept):
                        kept.append(i)
                found += [(label, score[i], *boxes[i]) for i in kept]
            least = sorted((row[1] for row in found), reverse=True)[:keep][-1] if found else 0
            found = [(image, *row) for row in found if row[1] >= least]
            rows += found + [(-1,) * 7] * (keep - len(found))
        return np.array(rows, np.float32).reshape(1, 1, -1, 7)

    return detect


def priors(random: np.random.Generator, count: int) -> Array:
    low = random.uniform(0, 0.7, (count, 2))
    boxes = np.concatenate([low, low + random.uniform(0.1, 0.3, (count, 2))], 1)
    return np.stack([boxes.ravel(), np.tile([0.1, 0.1, 0.2, 0.2], count)])[None].astype(np.float32)


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(x: Array, goes_on: Array, w: Array, b: Array, u: Array, static: Array | float = 0, state=None) -> list[Array]:
    """All hidden states, and the last of both, time by time (lstm_layer.cpp, lstm_unit_layer.cpp)."""
    h, c = [np.zeros((x.shape[1], u.shape[1]), np.float32)] * 2 if state is None else (part[0] for part in state)
    found = []
    for each, cont in zip(x, goes_on[..., None], strict=True):
        i, f, o, g = np.split(each.reshape(len(each), -1) @ w.T + b + static + (h * cont) @ u.T, 4, 1)
        c = cont * logistic(f) * c + logistic(i) * np.tanh(g)
        h = logistic(o) * np.tanh(c)
        found.append(h)
    return [np.stack(found), h[None], c[None]]


def rnn(x: Array, goes_on: Array, w: Array, b: Array, u: Array, v: Array, d: Array) -> Array:
    """Outputs of all times (rnn_layer.cpp)."""
    h, found = np.zeros((x.shape[1], len(u)), np.float32), []
    for each, cont in zip(x, goes_on[..., None], strict=True):
        h = np.tanh(each @ w.T + b + (h * cont) @ u.T)
        found.append(np.tanh(h @ v.T + d))
    return np.stack(found)


GOES_ON = np.float32([[0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
MASK = np.stack([2 * (2 * i * 4 + j) + (i + j) % 2 for i in range(3) for j in range(4)]).astype(np.float32)
CASES: dict[str, Case] = {
    "abs": Case("AbsVal"),
    "argmax": Case("ArgMax", "argmax_param { axis: 1 }", definition=lambda x: arg_max(x, 1, 1)[0]),
    "argmax_all": Case("ArgMax", definition=lambda x: arg_max(x.reshape(2, -1), 1, 1)[0].reshape(2, 1, 1)),
    "argmax_ties": Case(
        "ArgMax", "argmax_param { axis: 1 top_k: 3 }", whole=True, definition=lambda x: arg_max(x, 3, 1)[0]
    ),
    "argmax_top_values": Case(
        "ArgMax",
        "argmax_param { top_k: 3 out_max_val: true }",
        definition=lambda x: np.stack(arg_max(x.reshape(2, -1), 3, 1), 1),
    ),
    "argmax_values": Case(
        "ArgMax", "argmax_param { axis: 2 out_max_val: true }", definition=lambda x: x.max(2, keepdims=True)
    ),
    "axpy": Case("Axpy", inputs=[(2, 4, 1, 1), PICTURE, PICTURE], definition=lambda a, x, y: a * x + y),
    "batch_norm": Case("BatchNorm", blobs=[(4,), (4,), (1,)], positive=True),
    "batch_norm_eps": Case(
        "BatchNorm",
        "batch_norm_param { eps: 0.1 use_global_stats: true }",
        blobs=[(4,), (4,), (1,)],
        positive=True,
    ),
    "batch_norm_of_batch": Case(
        "BatchNorm",
        "batch_norm_param { use_global_stats: false }",
        blobs=[(4,), (4,), (1,)],
        definition=lambda x, *_: (
            (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
        ),
    ),
    "batch_norm_scale_factor": Case(
        "BatchNorm", blobs=[(4,), (4,), (1,)], positive=True, given={2: np.float32([999.98])}
    ),
    "batch_norm_zero_factor": Case(
        "BatchNorm", blobs=[(4,), (4,), (1,)], positive=True, given={2: np.float32([0])}, definition=batch_normalized
    ),
    "batch_reindex": Case(
        "BatchReindex", inputs=[(4, 3), (5,)], whole=True, low=0, high=3, definition=lambda x, i: x[i.astype(int)]
    ),
    "bias": Case("Bias", blobs=[(4,)], definition=lambda x, b: x + along(b, 1, 4)),
    "bias_two_bottoms": Case(
        "Bias", "bias_param { axis: 0 }", [PICTURE, (2, 4)], definition=lambda x, b: x + along(b, 0, 4)
    ),
    "bnll": Case("BNLL", high=30.0, low=-30.0),
    "clip": Case("Clip", "clip_param { min: -0.3 max: 0.4 }", definition=lambda x: x.clip(-0.3, 0.4)),
    "concat": Case("Concat", inputs=[PICTURE, (2, 3, 7, 9)]),
    "concat_axis": Case("Concat", "concat_param { axis: -1 }", [PICTURE, (2, 4, 7, 3)]),
    "concat_dim": Case(
        "Concat", "concat_param { concat_dim: 0 }", [PICTURE, PICTURE], definition=lambda x, y: np.concatenate([x, y])
    ),
    "conv": conv("num_output: 6 kernel_size: 3", [(6, 4, 3, 3), (6,)]),
    "conv_1x1": conv("num_output: 6 kernel_size: 1 bias_term: false", [(6, 4, 1, 1)]),
    "conv_depthwise": conv("num_output: 8 kernel_size: 3 pad: 1 group: 4", [(8, 1, 3, 3), (8,)]),
    "conv_dilation": conv("num_output: 6 kernel_size: 3 dilation: 2 pad: 2", [(6, 4, 3, 3), (6,)]),
    "conv_group": conv("num_output: 6 kernel_size: 3 group: 2 stride: 2", [(6, 2, 3, 3), (6,)]),
    "conv_h_w": conv(
        "num_output: 5 kernel_h: 3 kernel_w: 1 pad_h: 2 pad_w: 0 stride_h: 1 stride_w: 2", [(5, 4, 3, 1), (5,)]
    ),
    "conv_legacy_blobs": conv("num_output: 6 kernel_size: 3", [(6, 4, 3, 3), (6,)], legacy=True),
    "conv_pad": conv("num_output: 6 kernel_size: 5 pad: 3 stride: 3", [(6, 4, 5, 5), (6,)]),
    "conv_per_axis": conv(
        "num_output: 6 kernel_size: 3 kernel_size: 2 pad: 1 pad: 0 stride: 2 stride: 1", [(6, 4, 3, 2), (6,)]
    ),
    "conv_3d": conv(
        "num_output: 3 kernel_size: 2 pad: 1",
        [(3, 2, 2, 2, 2), (3,)],
        [(1, 2, 4, 5, 3)],
        definition=lambda x, w, b: nn.conv3d(*map(torch.tensor, (x, w, b)), padding=1).numpy(),
    ),
    "crop": Case("Crop", "crop_param { offset: 1 }", [PICTURE, (2, 4, 3, 5)]),
    "crop_axis": Case("Crop", "crop_param { axis: 1 offset: 1 offset: 0 offset: 2 }", [PICTURE, (2, 2, 3, 5)]),
    "deconv": deconv("num_output: 6 kernel_size: 3 stride: 2", [(4, 6, 3, 3), (6,)]),
    "deconv_group": deconv("num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 4 bias_term: false", [(4, 1, 4, 4)]),
    "deconv_dilation": deconv(
        "num_output: 6 kernel_size: 3 dilation: 2",
        [(4, 6, 3, 3), (6,)],
        definition=lambda x, w, b: nn.conv_transpose2d(*map(torch.tensor, (x, w, b)), dilation=2).numpy(),
    ),
    "detection_output": Case(
        "DetectionOutput",
        "detection_output_param { num_classes: 3 code_type: CENTER_SIZE keep_top_k: 12 confidence_threshold: 0.3 "
        "nms_param { nms_threshold: 0.4 top_k: 20 } }",
        [(2, 160), (2, 120), (1, 2, 160)],
        definition=detected(True, True, 12, 0.3, 20),
        low=0,
        given={-1: priors(np.random.default_rng(1), 40)},
    ),
    "detection_output_corners": Case(
        "DetectionOutput",
        "detection_output_param { num_classes: 3 keep_top_k: 30 share_location: false confidence_threshold: 0.7 "
        "nms_param { nms_threshold: 0.4 } }",
        [(1, 480), (1, 120), (1, 2, 160)],
        definition=detected(False, False, 30, 0.7, 40),
        low=0,
        given={-1: priors(np.random.default_rng(2), 40)},
    ),
    "detection_output_none": Case(
        "DetectionOutput",
        "detection_output_param { num_classes: 3 keep_top_k: 5 confidence_threshold: 2 nms_param { top_k: 9 } }",
        [(1, 160), (1, 120), (1, 2, 160)],
        definition=lambda *_: np.full((1, 1, 5, 7), -1, np.float32),
        low=0,
        given={-1: priors(np.random.default_rng(3), 40)},
    ),
    "dropout": Case("Dropout", definition=lambda x: x),
    "eltwise_coeff": Case("Eltwise", "eltwise_param { coeff: 0.5 coeff: -2 }", [PICTURE] * 2),
    "eltwise_max": Case("Eltwise", "eltwise_param { operation: MAX }", [PICTURE] * 3),
    "eltwise_prod": Case("Eltwise", "eltwise_param { operation: PROD }", [PICTURE] * 2),
    "eltwise_sum": Case("Eltwise", inputs=[PICTURE] * 3),
    "elu": Case("ELU", "elu_param { alpha: 0.7 }"),
    "embed": Case(
        "Embed",
        "embed_param { input_dim: 6 num_output: 5 }",
        [(3, 4)],
        [(6, 5), (5,)],
        whole=True,
        low=0,
        high=5,
        definition=lambda x, w, b: w[x.astype(int)] + b,
    ),
    "exp": Case("Exp"),
    "exp_base": Case("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }"),
    "flatten": Case("Flatten"),
    "flatten_axes": Case("Flatten", "flatten_param { axis: 1 end_axis: 2 }"),
    "inner_product": Case("InnerProduct", "inner_product_param { num_output: 5 }", blobs=[(5, 252), (5,)]),
    "inner_product_axis": Case(
        "InnerProduct",
        "inner_product_param { num_output: 5 axis: 2 }",
        blobs=[(5, 63), (5,)],
        definition=lambda x, w, b: x.reshape(2, 4, 63) @ w.T + b,
    ),
    "inner_product_legacy": Case(
        "InnerProduct", "inner_product_param { num_output: 5 }", blobs=[(5, 252), (5,)], legacy=True
    ),
    "inner_product_transpose": Case(
        "InnerProduct",
        "inner_product_param { num_output: 5 transpose: true bias_term: false }",
        blobs=[(252, 5)],
        definition=lambda x, w: x.reshape(2, -1) @ w,
    ),
    "interp_size": Case("Interp", "interp_param { height: 12 width: 20 }", definition=lambda x: resized(x, 12, 20)),
    "interp_shrink": Case("Interp", "interp_param { shrink_factor: 2 }", definition=lambda x: resized(x, 4, 5)),
    "interp_zoom": Case(
        "Interp", "interp_param { zoom_factor: 2 pad_beg: -1 }", definition=lambda x: resized(x[:, :, 1:, 1:], 11, 15)
    ),
    "log": Case("Log", low=0.1, high=4, definition=np.log),
    "log_base": Case(
        "Log", "log_param { base: 10 scale: 2 shift: 1 }", low=0.1, high=4, definition=lambda x: np.log10(1 + 2 * x)
    ),
    "lstm": Case(
        "LSTM",
        "recurrent_param { num_output: 4 }",
        [(5, 3, 2, 3), (5, 3)],
        [(16, 6), (16,), (16, 4)],
        definition=lambda *given: lstm(*given)[0],
        given={-1: GOES_ON},
    ),
    "lstm_exposed": Case(
        "LSTM",
        "recurrent_param { num_output: 4 expose_hidden: true }",
        [(5, 3, 6), (5, 3), (1, 3, 4), (1, 3, 4)],
        [(16, 6), (16,), (16, 4)],
        definition=lambda x, goes_on, h, c, w, b, u: lstm(x, goes_on, w, b, u, state=(h, c)),
        tops=3,
    ),
    "lstm_static": Case(
        "LSTM",
        "recurrent_param { num_output: 4 }",
        [(5, 3, 6), (5, 3), (3, 2)],
        [(16, 6), (16,), (16, 2), (16, 4)],
        definition=lambda x, goes_on, s, w, b, v, u: lstm(x, goes_on, w, b, u, s @ v.T)[0],
    ),
    "rnn": Case(
        "RNN",
        "recurrent_param { num_output: 4 }",
        [(5, 3, 6), (5, 3)],
        [(4, 6), (4,), (4, 4), (4, 4), (4,)],
        definition=rnn,
        given={-1: GOES_ON},
    ),
    "lrn": Case(
        "LRN",
        "lrn_param { local_size: 5 alpha: 0.3 beta: 0.6 k: 2 }",
        definition=lambda x: across_channels(x, 5, 0.3, 0.6, 2.0),
    ),
    "lrn_default": Case("LRN", definition=across_channels),
    "lrn_within": Case(
        "LRN", "lrn_param { local_size: 3 alpha: 0.5 norm_region: WITHIN_CHANNEL k: 3 }", definition=within_channel
    ),
    "mvn": Case("MVN", definition=lambda x: normalized(x, (2, 3))),
    "mvn_across": Case(
        "MVN", "mvn_param { across_channels: true eps: 0.5 }", definition=lambda x: normalized(x, (1, 2, 3), eps=0.5)
    ),
    "mvn_mean": Case(
        "MVN", "mvn_param { normalize_variance: false }", definition=lambda x: normalized(x, (2, 3), False)
    ),
    "normalize": Case(
        "Normalize",
        "norm_param { across_spatial: false channel_shared: false }",
        blobs=[(4,)],
        definition=lambda x, w: x / np.sqrt((x * x).sum(1, keepdims=True) + 1e-10) * along(w, 1, 4),
    ),
    "normalize_picture": Case(
        "Normalize", blobs=[()], definition=lambda x, w: x / np.sqrt((x * x).sum((1, 2, 3), keepdims=True) + 1e-10) * w
    ),
    "bn_pspnet": Case(
        "BN",
        "bn_param { eps: 0.01 momentum: 0.95 frozen: true }",
        blobs=[(1, 4, 1, 1)] * 4,
        definition=lambda x, w, b, m, v: (x - m) / np.sqrt(v + 0.01) * w + b,
        positive=True,
    ),
    "bn_segnet": Case(
        "BN",
        "bn_param { bn_mode: INFERENCE scale_filler { type: 'constant' } }",
        blobs=[(1, 4, 1, 1)] * 2,
        definition=lambda x, w, b: x * w + b,
    ),
    "convolution_depthwise": Case(
        "ConvolutionDepthwise",
        "convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 }",
        blobs=[(4, 1, 3, 3), (4,)],
        definition=lambda x, w, b: nn.conv2d(
            torch.tensor(x), torch.tensor(w), torch.tensor(b), stride=2, padding=1, groups=4
        ).numpy(),
    ),
    "dummy_data": Case(
        "DummyData",
        "dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 4 } data_filler { value: 0.5 } }",
        inputs=(),
        definition=lambda: [np.full((2, 3), 0.5), np.full(4, 0.5)],
        tops=2,
    ),
    "im2col": Case("Im2col", "convolution_param { kernel_h: 3 kernel_w: 2 pad: 1 stride: 2 }", definition=windows),
    "permute": Case("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"),
    "permute_rest": Case("Permute", "permute_param { order: 2 }", definition=lambda x: x.transpose(2, 0, 1, 3)),
    "pool_average": pool("pool: AVE kernel_size: 3 stride: 2", definition=lambda x: pooled(x, "AVE", 3, 2)),
    "pool_average_pad": pool(
        "pool: AVE kernel_size: 3 stride: 2 pad: 1", definition=lambda x: pooled(x, "AVE", 3, 2, 1)
    ),
    "pool_average_pad_large": pool(
        "pool: AVE kernel_size: 4 stride: 3 pad: 2", definition=lambda x: pooled(x, "AVE", 4, 3, 2)
    ),
    "pool_global_average": pool("pool: AVE global_pooling: true"),
    "pool_global_max": pool("pool: MAX global_pooling: true"),
    "pool_floor": pool(
        "kernel_size: 3 stride: 2 round_mode: FLOOR",
        [(1, 2, 8, 8)],
        definition=lambda x: pooled(x[:, :, :7, :7], "MAX", 3, 2),
    ),
    "pool_h_w": pool("kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2"),
    "pool_mask": pool("kernel_size: 2 stride: 2", [(2, 3, 6, 8)], definition=masked, tops=2),
    "pool_max": pool("kernel_size: 3 stride: 2"),
    "pool_max_ceil": pool("kernel_size: 2 stride: 2"),
    "pool_max_pad": pool("kernel_size: 3 stride: 2 pad: 1", definition=lambda x: pooled(x, "MAX", 3, 2, 1)),
    "pool_max_pad_clipped": pool(
        "kernel_size: 2 stride: 3 pad: 1", [(1, 2, 5, 8)], definition=lambda x: pooled(x, "MAX", 2, 3, 1)
    ),
    "power": Case("Power", "power_param { power: 3 scale: 0.5 shift: 2 }"),
    "power_affine": Case("Power", "power_param { scale: 0.5 shift: 2 }"),
    "power_constant": Case("Power", "power_param { power: 0 }", definition=np.ones_like),
    "power_root": Case("Power", "power_param { power: 0.5 shift: 2 }"),
    "power_square": Case("Power", "power_param { power: 2 }"),
    "psroi_pooling": Case(
        "PSROIPooling",
        "psroi_pooling_param { spatial_scale: 0.5 output_dim: 3 group_size: 2 }",
        [(2, 12, 9, 11), (4, 5)],
        definition=position_sensitive,
        given={-1: np.float32([[0, 0, 0, 12, 9], [1, 3, 5, 20, 17], [1, 8, 8, 8, 8], [0, 1, 2, 15, 6]])},
    ),
    "roi_pooling": Case(
        "ROIPooling",
        "roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.5 }",
        [(2, 4, 9, 11), (4, 5)],
        definition=roi_pooled,
        given={-1: np.float32([[0, 0, 0, 12, 9], [1, 3, 5, 20, 17], [1, 8, 8, 8, 8], [0, 1, 2, 15, 6]])},
    ),
    "prelu": Case("PReLU", blobs=[(4,)]),
    "prelu_shared": Case(
        "PReLU", "prelu_param { channel_shared: true }", blobs=[()], definition=lambda x, w: np.where(x > 0, x, w * x)
    ),
    "prior_box": Case(
        "PriorBox",
        "prior_box_param { min_size: 3 max_size: 6 aspect_ratio: 2 aspect_ratio: 3 flip: true clip: false "
        "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 }",
        [(1, 4, 5, 6), (1, 3, 40, 48)],
    ),
    "prior_box_clip_step": Case(
        "PriorBox",
        "prior_box_param { min_size: 30 aspect_ratio: 2 flip: false clip: true variance: 0.1 step: 9 offset: 0.4 }",
        [(1, 4, 5, 6), (1, 3, 40, 48)],
    ),
    "reduction_asum": Case(
        "Reduction", "reduction_param { operation: ASUM axis: 2 }", definition=lambda x: np.abs(x).sum((2, 3))
    ),
    "reduction_mean": Case(
        "Reduction", "reduction_param { operation: MEAN axis: -1 coeff: 3 }", definition=lambda x: 3 * x.mean(3)
    ),
    "reduction_sum": Case("Reduction", "reduction_param { axis: 1 }", definition=lambda x: x.sum((1, 2, 3))),
    "reduction_sumsq": Case(
        "Reduction", "reduction_param { operation: SUMSQ axis: 3 }", definition=lambda x: (x * x).sum(3)
    ),
    "relu": Case("ReLU"),
    "relu6": Case("ReLU6", low=-3, high=9),
    "relu_slope": Case("ReLU", "relu_param { negative_slope: 0.2 }"),
    "reshape": Case("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 3 } }"),
    "reshape_axis": Case("Reshape", "reshape_param { shape { dim: 2 dim: -1 } axis: 1 num_axes: 1 }"),
    "reshape_insert": Case(
        "Reshape", "reshape_param { shape { dim: 1 } axis: -3 num_axes: 0 }", definition=lambda x: x[:, :, None]
    ),
    "scale": Case("Scale", "scale_param { bias_term: true }", blobs=[(4,), (4,)]),
    "scale_axes": Case(
        "Scale", "scale_param { axis: 1 num_axes: 2 }", blobs=[(4, 7)], definition=lambda x, w: x * along(w, 1, 4)
    ),
    "scale_scalar": Case("Scale", "scale_param { num_axes: 0 }", blobs=[()], definition=lambda x, w: x * w),
    "scale_two_bottoms": Case(
        "Scale",
        "scale_param { axis: 0 bias_term: true }",
        [PICTURE, (2, 4)],
        [(2, 4)],
        lambda x, s, b: x * along(s, 0, 4) + along(b, 0, 4),
    ),
    "shuffle": Case("ShuffleChannel", "shuffle_channel_param { group: 2 }", definition=lambda x: shuffled(x, 2)),
    "sigmoid": Case("Sigmoid"),
    "slice": Case("Slice", tops=2, definition=lambda x: [x[:, :2], x[:, 2:]]),
    "slice_points": Case(
        "Slice",
        "slice_param { axis: 3 slice_point: 2 slice_point: 3 }",
        tops=3,
        definition=lambda x: [x[..., :2], x[..., 2:3], x[..., 3:]],
    ),
    "softmax": Case("Softmax"),
    "softmax_axis": Case("Softmax", "softmax_param { axis: -1 }"),
    "split": Case("Split", tops=2, definition=lambda x: [x, x]),
    "spp": Case("SPP", "spp_param { pyramid_height: 2 }", definition=pyramid),
    "swish": Case("Swish", "swish_param { beta: 0.5 }", definition=lambda x: x / (1 + np.exp(-0.5 * x))),
    "tanh": Case("TanH"),
    "threshold": Case("Threshold", "threshold_param { threshold: 0.2 }", definition=lambda x: np.float32(x > 0.2)),
    "tile": Case("Tile", "tile_param { axis: 2 tiles: 3 }", definition=lambda x: np.tile(x, (1, 1, 3, 1))),
    "unpool": Case(
        "Upsample",
        "upsample_param { scale: 2 }",
        [(1, 2, 3, 4), (1, 2, 3, 4)],
        definition=unpooled,
        given={-1: np.broadcast_to(MASK.reshape(3, 4), (1, 2, 3, 4))},
    ),
    "upsample": Case("Upsample", "upsample_param { scale: 2 }", definition=lambda x: x.repeat(2, 2).repeat(2, 3)),
}


def network(case: Case) -> str:
    names = [f"x{i}" for i in range(len(case.inputs))]
    dims = ["".join(f" dim: {n}" for n in shape) for shape in case.inputs]
    heads = "".join(f'input: "{name}"\ninput_shape {{{dim} }}\n' for name, dim in zip(names, dims, strict=True))
    tops = "".join(f' top: "y{i}"' for i in range(case.tops))
    bottoms = "".join(f' bottom: "{name}"' for name in names)
    return f'name: "net"\n{heads}layer {{ name: "layer" type: "{case.type}"{bottoms}{tops} {case.parameters} }}\n'


def weights(case: Case, arrays: Sequence[Array]) -> bytes:
    blobs = b"".join(encoded(7, blob_of(array, case.legacy)) for array in arrays)
    layer = encoded(1, b"layer") + encoded(2, case.type.encode()) + blobs
    return encoded(1, b"net") + encoded(100, layer)


def blob_of(array: Array, legacy: bool) -> bytes:
    """A blob with its shape, or with the four dimensions that were there before shapes."""
    data = encoded(5, array.astype("<f4").tobytes())
    if legacy:
        shape = (1,) * (4 - array.ndim) + array.shape
        return b"".join(varint(number << 3) + varint(extent) for number, extent in enumerate(shape, 1)) + data
    return data + encoded(7, encoded(1, b"".join(map(varint, array.shape))))


def encoded(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    low = number & 0x7F
    return struct.pack("B", low | 0x80) + varint(number >> 7) if number > 0x7F else struct.pack("B", low)


def by_opencv(text: str, data: bytes, inputs: Sequence[Array]) -> Array:
    net = cv2.dnn.readNetFromCaffe(np.frombuffer(text.encode(), np.uint8), np.frombuffer(data, np.uint8))
    for i, array in enumerate(inputs):
        net.setInput(array, f"x{i}")
    return net.forward()


def make(folder: Path, name: str, case: Case) -> None:
    random = np.random.default_rng(sum(name.encode()))
    inputs = [random.uniform(case.low, case.high, shape).astype(np.float32) for shape in case.inputs]
    if -1 in case.given:
        inputs[-1] = np.ascontiguousarray(case.given[-1])
    inputs = [np.round(array) for array in inputs] if case.whole else inputs
    arrays = [random.uniform(0.1 if case.positive else -1, 1, shape).astype(np.float32) for shape in case.blobs]
    arrays = [case.given.get(i, array) for i, array in enumerate(arrays)]
    text, data = network(case), weights(case, arrays)
    if case.definition is None:
        found: Array | Sequence[Array] = by_opencv(text, data, inputs)
    else:
        found = case.definition(*inputs, *arrays)
    outputs = found if isinstance(found, (list, tuple)) else [found]
    path = folder / name
    path.mkdir(parents=True)
    (path / "net.prototxt").write_text(text, encoding="utf-8")
    (path / "net.caffemodel").write_bytes(data)
    kept = {f"in/x{i}": array for i, array in enumerate(inputs)}
    kept |= {f"out/y{i}": np.asarray(array, np.float32) for i, array in enumerate(outputs)}
    np.savez(path / "io.npz", **kept)
    (path / "case.json").write_text(
        json.dumps({"model": "net.prototxt", "weights": "net.caffemodel"}), encoding="utf-8"
    )


def main() -> None:
    folder = Path(sys.argv[1])
    for name, case in CASES.items():
        make(folder, name, case)


if __name__ == "__main__":
    main()
