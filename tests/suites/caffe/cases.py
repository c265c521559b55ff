"""The cases: one layer of Caffe each, with its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as nn
from definitions import (
    Array,
    across_channels,
    along,
    arg_max,
    batch_normalized,
    detected,
    lstm,
    masked,
    normalized,
    pooled,
    position_sensitive,
    priors,
    pyramid,
    resized,
    rnn,
    roi_pooled,
    shuffled,
    unpooled,
    windows,
    within_channel,
)

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
