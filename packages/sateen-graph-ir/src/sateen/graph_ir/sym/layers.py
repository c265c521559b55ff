"""Layers: products, convolutions, pools, normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sateen.graph_ir.ir import TensorType, Value
from sateen.graph_ir.ops import (
    LRN,
    Add,
    AveragePool,
    BatchNormalization,
    Conv,
    ConvTranspose,
    Divide,
    GlobalAveragePool,
    GlobalMaxPool,
    Identity,
    LogSoftmax,
    MatMul,
    Maximum,
    MaxPool,
    PRelu,
    ReduceSumSquare,
    Reshape,
    Resize,
    Softmax,
    Sqrt,
    Transpose,
)
from sateen.graph_ir.sym.axes import axis_of, moved, ordered
from sateen.graph_ir.sym.function import Function, Parameter, Site
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator

Pair = tuple[int, int]


@Function
def dense(at: Site, data: Value, weight: Parameter, bias: Parameter | None, *, units: int) -> Value:
    """data [batch, features] times weight [units, features], plus bias [units]."""
    w = at.step(Transpose((1, 0)), at.parameter(weight, (units, data.type.shape[-1])))
    if bias is None:
        return at.result(MatMul(), data, w)
    return at.result(Add(), at.step(MatMul(), data, w), at.parameter(bias, (units,)))


@Function
def matmul(at: Site, lhs: Value, rhs: Value, *, transpose_a: bool = False, transpose_b: bool = False) -> Value:
    """The product of matrices, or of stacks of them."""
    a, b = (moved(at, v, -1, -2) if swap else v for v, swap in ((lhs, transpose_a), (rhs, transpose_b)))
    return at.result(MatMul(), a, b)


@Function
def conv2d(
    at: Site,
    data: Value,
    weight: Parameter,
    bias: Parameter | None,
    *,
    channels: int,
    kernel_size: Pair,
    strides: Pair = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Value:
    """A convolution with weight [channels, inputs / groups, height, width] and bias [channels]."""
    x = ordered(at, data, layout, "NCHW")
    w = _weight(at, weight, (channels, x.type.shape[1] // groups, *kernel_size), kernel_layout)
    b = None if bias is None else at.parameter(bias, (channels,))
    op = Conv(tuple(strides), _pads(at, padding), tuple(dilation), groups)
    return _in_layout(at, op, (x, w, b), layout)


@Function
def conv2d_transpose(
    at: Site,
    data: Value,
    weight: Parameter,
    bias: Parameter | None,
    *,
    channels: int,
    kernel_size: Pair,
    strides: Pair = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    output_padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Value:
    """The transpose of a convolution, with weight [inputs, channels / groups, height, width]."""
    x = ordered(at, data, layout, "NCHW")
    w = _weight(at, weight, (x.type.shape[1], channels // groups, *kernel_size), kernel_layout)
    b = None if bias is None else at.parameter(bias, (channels,))
    op = ConvTranspose(tuple(strides), _pads(at, padding), tuple(dilation), groups, tuple(output_padding))
    return _in_layout(at, op, (x, w, b), layout)


def _weight(at: Site, weight: Parameter, shape: Sequence[Any], layout: str) -> Value:
    """The weight as OIHW, from another order of axes."""
    if sorted(layout) != sorted("OIHW"):
        raise ArgumentError(f"{at.name}: kernel_layout expects an order of OIHW, found {layout!r}")
    own = at.parameter(weight, tuple(shape["OIHW".index(axis)] for axis in layout))
    return ordered(at, own, layout, "OIHW")


def _pads(at: Site, padding: tuple[int, ...]) -> tuple[int, ...]:
    """(top, left, bottom, right) of one, two or four numbers."""
    given = (padding, padding) if isinstance(padding, int) else tuple(padding)
    if len(given) not in (2, 4):
        raise ArgumentError(f"{at.name}: padding expects 2 or 4 numbers, found {list(given)}")
    return given if len(given) == 4 else given * 2


def _in_layout(at: Site, op: Operator, inputs: Sequence[Value | None], layout: str) -> Value:
    """The result of an operator on NCHW, in another layout."""
    present = [v for v in inputs if v is not None]
    if layout == "NCHW":
        return at.result(op, *present)
    return at.result(Transpose(tuple("NCHW".index(axis) for axis in layout)), at.step(op, *present))


@Function
def max_pool2d(
    at: Site,
    data: Value,
    *,
    pool_size: Pair,
    strides: Pair = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    layout: str = "NCHW",
    ceil_mode: bool = False,
) -> Value:
    """The maximum of each window."""
    op = MaxPool(tuple(pool_size), tuple(strides), _pads(at, padding), ceil_mode=ceil_mode)
    return _in_layout(at, op, [ordered(at, data, layout, "NCHW")], layout)


@Function
def avg_pool2d(
    at: Site,
    data: Value,
    *,
    pool_size: Pair,
    strides: Pair = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    layout: str = "NCHW",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Value:
    """The average of each window."""
    op = AveragePool(
        tuple(pool_size), tuple(strides), _pads(at, padding), ceil_mode=ceil_mode, count_include_pad=count_include_pad
    )
    return _in_layout(at, op, [ordered(at, data, layout, "NCHW")], layout)


@Function
def global_max_pool2d(at: Site, data: Value, *, layout: str = "NCHW") -> Value:
    """The maximum of each channel."""
    return _in_layout(at, GlobalMaxPool(), [ordered(at, data, layout, "NCHW")], layout)


@Function
def global_avg_pool2d(at: Site, data: Value, *, layout: str = "NCHW") -> Value:
    """The average of each channel."""
    return _in_layout(at, GlobalAveragePool(), [ordered(at, data, layout, "NCHW")], layout)


@Function
def batch_norm(
    at: Site,
    data: Value,
    gamma: Parameter | None,
    beta: Parameter | None,
    moving_mean: Parameter,
    moving_var: Parameter,
    *,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Value:
    """(data - moving_mean) / sqrt(moving_var + epsilon) · gamma + beta along an axis."""
    place = axis_of(at, axis, data.type.rank)
    count = data.type.shape[place]
    statistics = [
        at.constant(np.full(TensorType.of("float32", (count,)).static_shape, other, "float32"), role)
        if found is None
        else at.parameter(found, (count,))
        for found, role, other in ((gamma, "gamma", 1), (beta, "beta", 0), (moving_mean, "", 0), (moving_var, "", 1))
    ]
    if place == 1:
        return at.result(BatchNormalization(epsilon), data, *statistics)
    result = at.step(BatchNormalization(epsilon), moved(at, data, place, 1), *statistics)
    return at.result(Identity(), moved(at, result, 1, place))


@Function
def dropout(at: Site, data: Value, *, rate: float = 0.5) -> Value:  # noqa: ARG001 - of training
    """The data itself: a compiled network is not trained."""
    return at.result(Identity(), data)


@Function
def softmax(at: Site, data: Value, *, axis: int = -1) -> Value:
    """e^x / Σ e^x along an axis."""
    return at.result(Softmax(axis_of(at, axis, data.type.rank)), data)


@Function
def log_softmax(at: Site, data: Value, *, axis: int = -1) -> Value:
    """x - log Σ e^x along an axis."""
    return at.result(LogSoftmax(axis_of(at, axis, data.type.rank)), data)


@Function
def prelu(at: Site, data: Value, alpha: Parameter, *, axis: int = 1) -> Value:
    """x, or alpha·x below 0, with an alpha [extent of the axis]."""
    place = axis_of(at, axis, data.type.rank)
    slope = at.parameter(alpha, (data.type.shape[place],))
    shape = (data.type.shape[place], *(1,) * (data.type.rank - 1 - place))
    return at.result(PRelu(), data, at.step(Reshape(shape), slope))


@Function
def lrn(
    at: Site, data: Value, *, size: int = 5, axis: int = 1, alpha: float = 1e-4, beta: float = 0.75, bias: float = 2.0
) -> Value:
    """data / (bias + alpha / size · Σ data²)^beta, the sum over neighbours along an axis."""
    place = axis_of(at, axis, data.type.rank)
    op = LRN(size, alpha, beta, bias)
    if place == 1:
        return at.result(op, data)
    return at.result(Identity(), moved(at, at.step(op, moved(at, data, place, 1)), 1, place))


@Function
def l2_normalize(at: Site, data: Value, *, eps: float, axis: tuple[int, ...] = ()) -> Value:
    """data / sqrt(max(Σ data², eps)) over axes, none: all."""
    axes = tuple(sorted(axis_of(at, a, data.type.rank) for a in axis)) or tuple(range(data.type.rank))
    squares = at.step(ReduceSumSquare(axes), data)
    return at.result(Divide(), data, at.step(Sqrt(), at.step(Maximum(), squares, at.scalar(eps, data))))


@Function
def upsampling(at: Site, data: Value, *, scale: int, layout: str = "NCHW", method: str = "NEAREST_NEIGHBOR") -> Value:
    """Pictures, `scale` times as high and wide."""
    height, width = (data.type.shape[layout.index(axis)] for axis in "HW")
    return _resized(at, data, (height * scale, width * scale), layout, method, align_corners=False)


@Function
def resize(
    at: Site, data: Value, *, size: Pair, layout: str = "NCHW", method: str = "BILINEAR", align_corners: bool = False
) -> Value:
    """Pictures of another height and width."""
    return _resized(at, data, size, layout, method, align_corners=align_corners)


def _resized(at: Site, data: Value, size: Sequence[Any], layout: str, method: str, *, align_corners: bool) -> Value:
    """By positions that are multiples of the ratio of extents, as in TOPI: neighbours are rounded down."""
    modes = {"NEAREST_NEIGHBOR": "nearest", "BILINEAR": "linear"}
    if method not in modes:
        raise ArgumentError(f"{at.name}: method expects one of {', '.join(modes)}, found {method!r}")
    sizes = list(data.type.shape)
    for axis, extent in zip("HW", size, strict=True):
        sizes[layout.index(axis)] = extent
    transformation = "align_corners" if align_corners else "asymmetric"
    op = Resize(tuple(sizes), modes[method], transformation, "floor", float32_positions=True)
    return at.result(op, data)


FUNCTIONS = (
    dense, matmul, conv2d, conv2d_transpose, max_pool2d, avg_pool2d, global_max_pool2d, global_avg_pool2d, batch_norm,
    dropout, softmax, log_softmax, prelu, lrn, l2_normalize, upsampling, resize,
)  # fmt: skip
"""The functions of this file."""
