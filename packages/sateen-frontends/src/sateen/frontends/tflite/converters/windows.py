"""Operators that slide a window over spatial axes: convolutions and pools. Channels are last in the file."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.core.channels import to_channels_first, to_channels_last
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads
from sateen.frontends.tflite.model import Scaling
from sateen.frontends.tflite.node import FLOAT, Converter, TfliteNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Abs,
    Add,
    AveragePool,
    Conv,
    ConvTranspose,
    Floor,
    Identity,
    MaxPool,
    Multiply,
    Sign,
    Sqrt,
    Transpose,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window

_NAMES = {2: ("h", "w"), 3: ("d", "h", "w")}
"""The spatial axes in the names of options."""


def _strides(node: TfliteNode, rank: int) -> tuple[int, ...]:
    return _positive(node, "stride", rank)


def _positive(node: TfliteNode, name: str, rank: int) -> tuple[int, ...]:
    """An option per spatial axis."""
    values = tuple(node.integer(f"{name}_{axis}") for axis in _NAMES[rank])
    if min(values) < 1:
        raise FrontendError(f"expected {name}s of 1 or more, found {list(values)}")
    return values


def _require_rank(node: TfliteNode, index: int, rank: int) -> None:
    if node.rank(index) != rank:
        raise FrontendError(f"expected {node.described(index)} of {rank} dimensions, found {node.rank(index)}")


def _window(node: TfliteNode, data: Value, kernel: Sequence[int], dilations: Sequence[int]) -> Window:
    """The window over data with channels first, with the padding that SAME gives (the odd element at the end)."""
    rank = len(kernel)
    strides = _strides(node, rank)
    window = Window(tuple(kernel), strides, (0,) * (2 * rank), tuple(dilations))
    spatial = data.type.shape[2:]
    pads = window.pads
    if node.text("padding") == "SAME":
        pads = same_pads(spatial, strides, window.reaches, f"padding SAME of {node.described(0)}")
    return Window(window.kernel, limited_strides(strides, spatial, pads), pads, window.dilations)


def _convolution(node: TfliteNode) -> Operand:
    """The filter is [O, H, W, I]; data with a multiple of I channels is convolved in groups."""
    _require_rank(node, 0, 4)
    _require_rank(node, 1, 4)
    return _convolved(node, (0, 3, 1, 2), _positive(node, "dilation", 2))


def _convolution_3d(node: TfliteNode) -> Operand:
    """The filter is [D, H, W, I, O]."""
    _require_rank(node, 0, 5)
    _require_rank(node, 1, 5)
    return _convolved(node, (4, 3, 0, 1, 2), _positive(node, "dilation", 3))


def _convolved(node: TfliteNode, order: tuple[int, ...], dilations: tuple[int, ...]) -> Operand:
    weight = node.step(Transpose(order), node.real(1))
    data = to_channels_first(node, node.real(0))
    channels, per_group = static_extents((data.type.shape[1], weight.type.shape[1]), "the channels")
    if not per_group or channels % per_group:
        raise FrontendError(f"expected a multiple of {per_group} channels, as the filter has, found {channels}")
    return _conv(node, data, weight, dilations, channels // per_group)


def _depthwise(node: TfliteNode) -> Operand:
    """The filter is [1, H, W, C·multiplier], the results of one channel beside each other."""
    _require_rank(node, 0, 4)
    _require_rank(node, 1, 4)
    weight = node.step(Transpose((3, 0, 1, 2)), node.real(1))
    data = to_channels_first(node, node.real(0))
    channels, outputs = static_extents((data.type.shape[1], weight.type.shape[0]), "the channels")
    if weight.type.shape[1] != 1 or not channels or outputs % channels:
        raise FrontendError(f"expected a filter [1, H, W, multiple of {channels}], found {node.tensor(1).shape}")
    return _conv(node, data, weight, _positive(node, "dilation", 2), channels)


def _conv(node: TfliteNode, data: Value, weight: Value, dilations: tuple[int, ...], groups: int) -> Operand:
    kernel = static_extents(weight.type.shape[2:], "the filter")
    window = _window(node, data, kernel, dilations)
    op = Conv(window.strides, window.pads, window.dilations, groups)
    result = node.step(op, data, weight, *bias_of(node, 2, data=0, weight=1))
    return node.finish(_channels_last(result), result)


def _channels_last(value: Value) -> Transpose:
    return Transpose((0, *range(2, value.type.rank), 1))


def bias_of(node: TfliteNode, index: int, *, data: int, weight: int) -> list[Value]:
    """The bias, if there is one. That of a quantised operator has the scale of data times that of the weight, whatever
    the file says (tensorflow/lite/kernels/kernel_util.cc, PopulateConvolutionQuantizationParams)."""
    if not node.has(index):
        return []
    value, scalings = node.value(index), (node.scaling(data), node.scaling(weight))
    if value.type.dtype.is_float:
        return [value]
    if scalings[0] is None or scalings[1] is None or not scalings[0].is_single:
        raise FrontendError(f"expected a bias of {FLOAT}, found {value.type}")
    if value.type.dtype.bits == 64:
        value = _narrowed(node, index)
    scales = scalings[0].scales * scalings[1].scales
    return [node.dequantised(value, Scaling(scales, np.zeros(scales.size, np.int64), 0))]


def _narrowed(node: TfliteNode, index: int) -> Value:
    """A bias of int64, which data of int16 have, as int32."""
    data = node.constant(index)
    if np.any(np.abs(data) >= 1 << 31):
        raise UnsupportedError(f"{node.described(index)} has integers beyond 32 bits")
    return node.parameter(data.astype(np.int32), "bias")


def _transposed_convolution(node: TfliteNode) -> Operand:
    """Inputs: the shape of the result, a filter [O, H, W, I], data, perhaps a bias."""
    _require_rank(node, 1, 4)
    _require_rank(node, 2, 4)
    return _spread(node, (3, 0, 1, 2))


def _transposed_convolution_3d(node: TfliteNode) -> Operand:
    """The filter is [D, H, W, O, I]."""
    _require_rank(node, 1, 5)
    _require_rank(node, 2, 5)
    return _spread(node, (4, 3, 0, 1, 2))


def _spread(node: TfliteNode, order: tuple[int, ...]) -> Operand:
    """The padding is that of the convolution from the result to the data (reference_ops.h, TransposeConv, and
    ComputePaddingHeightWidth): the result is cut at its begin, and cut or filled with zeros at its end."""
    weight = node.step(Transpose(order), node.real(1))
    data = to_channels_first(node, node.real(2))
    kernel = static_extents(weight.type.shape[2:], "the filter")
    rank = len(kernel)
    strides = _strides(node, rank)
    wanted = node.integers_at(0)[1:-1]
    if len(wanted) != rank or min(wanted) < 1:
        raise FrontendError(f"expected an output shape of {rank + 2} dimensions, found {list(node.integers_at(0))}")
    begins = []
    for extent, stride, reach in zip(wanted, strides, kernel, strict=True):
        count = -(-extent // stride) if node.text("padding") == "SAME" else (extent + stride - reach) // stride
        begins.append(max((count - 1) * stride + reach - extent, 0) // 2)
    spatial = static_extents(data.type.shape[2:], node.described(2))
    ends = [
        (n - 1) * stride + reach - begin - extent
        for n, stride, reach, begin, extent in zip(spatial, strides, kernel, begins, wanted, strict=True)
    ]
    op = ConvTranspose(
        strides=strides,
        pads=(*begins, *(max(end, 0) for end in ends)),
        output_padding=tuple(max(-end, 0) for end in ends),
    )
    result = node.step(op, data, weight, *bias_of(node, 3, data=2, weight=1))
    return node.finish(_channels_last(result), result)


def _pool_window(node: TfliteNode, data: Value) -> Window:
    kernel = node.integer("filter_height"), node.integer("filter_width")
    if min(kernel) < 1:
        raise FrontendError(f"expected a window of 1 or more, found {list(kernel)}")
    return _window(node, data, kernel, (1, 1))


def _max_pool(node: TfliteNode) -> Operand:
    """Of the integers, if data are quantised."""
    _require_rank(node, 0, 4)
    data = to_channels_first(node, node.value(0))
    window = _pool_window(node, data)
    pooled = to_channels_last(node, node.step(MaxPool(window.kernel, window.strides, window.pads), data))
    return node.result(node.limit() or Identity(), pooled)


def _average_pool(node: TfliteNode) -> Operand:
    """Padding does not count."""
    _require_rank(node, 0, 4)
    scaling, dtype = node.scaling(0), node.dtype(0)
    if scaling is not None and dtype.bits == 8 and scaling.equals(node.output_scaling()):
        return _average_of_integers(node)
    data = to_channels_first(node, node.real(0))
    window = _pool_window(node, data)
    pooled = node.step(AveragePool(window.kernel, window.strides, window.pads), data)
    return node.finish(_channels_last(pooled), pooled)


def _average_of_integers(node: TfliteNode) -> Operand:
    """The mean of integers of 8 bits, halves away from 0 (reference/integer_ops/pooling.h, AveragePool).

    A mean in float32 may fall short of a half by its rounding, but other means are at least 1/(2 · elements) away from
    one: half of that is added first.
    """
    dtype = node.dtype(0)
    data = to_channels_first(node, node.value(0))
    window = _pool_window(node, data)
    mean = node.step(AveragePool(window.kernel, window.strides, window.pads), node.cast(data, FLOAT))
    up = node.literal(0.5 + 0.25 / prod(window.kernel), FLOAT)
    away = node.step(Floor(), node.step(Add(), node.step(Abs(), mean), up))
    rounded = node.cast(node.step(Multiply(), node.step(Sign(), mean), away), dtype)
    return node.result(node.limit() or Identity(), to_channels_last(node, rounded))


def _root_mean_square(node: TfliteNode) -> Operand:
    _require_rank(node, 0, 4)
    data = to_channels_first(node, node.real(0))
    window = _pool_window(node, data)
    squares = node.step(Multiply(), data, data)
    pooled = node.step(Sqrt(), node.step(AveragePool(window.kernel, window.strides, window.pads), squares))
    return node.finish(_channels_last(pooled), pooled)


WINDOWS: dict[str, Converter] = {
    "AVERAGE_POOL_2D": _average_pool,
    "CONV_2D": _convolution,
    "CONV_3D": _convolution_3d,
    "CONV_3D_TRANSPOSE": _transposed_convolution_3d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "L2_POOL_2D": _root_mean_square,
    "MAX_POOL_2D": _max_pool,
    "TRANSPOSE_CONV": _transposed_convolution,
}
