"""Layers that slide a window over spatial axes: convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.columns import columns
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    AveragePool,
    Cast,
    Concat,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    MaxPoolIndices,
    Modulo,
    Reshape,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.operators import Operator


def _per_axis(node: CaffeNode, name: str, rank: int, default: int | None = None) -> tuple[int, ...]:
    """A number for each spatial axis: of the repeated field `name`, or of NAME_h and NAME_w with two axes.

    One without a default must be given. Source: base_conv_layer.cpp, LayerSetUp.
    """
    short = name.removesuffix("_size")
    both = [node.attribute(f"{short}_{end}") for end in "hw"]
    given: tuple[int | None, ...] = node.integers(name)
    if any(size is not None for size in both):
        if given or rank != 2:
            raise FrontendError(
                f"expected either {name} or {short}_h and {short}_w, which are for two axes, found both"
            )
        given = tuple(default if size is None else size for size in both)
    given = given or (default,)
    sizes = tuple(size for size in given if size is not None)
    if len(sizes) < len(given) or len(sizes) not in {1, rank}:
        raise FrontendError(f"expected {name} once or {rank} times, found {list(sizes)}")
    return sizes * rank if len(sizes) == 1 else sizes


def _convolution(node: CaffeNode) -> Sequence[Operand]:
    window, channels, groups = _convolving(node)
    outputs = node.integer("num_output")
    strides = limited_strides(window.strides, node.shape(0)[2:], window.pads)
    op = Conv(strides=strides, pads=window.pads, dilations=window.dilations, groups=groups)
    return _each(node, op, node.weight(0, outputs, channels // groups, *window.kernel))


def _depthwise(node: CaffeNode) -> Sequence[Operand]:
    """A convolution of each channel by itself, whatever `group` says (farmingyard/caffe, conv_dw_layer.cpp)."""
    window, channels, _ = _convolving(node)
    if node.integer("num_output") != channels:
        raise FrontendError(f"expected num_output {channels}, as many as channels, found {node.integer('num_output')}")
    strides = limited_strides(window.strides, node.shape(0)[2:], window.pads)
    op = Conv(strides=strides, pads=window.pads, dilations=window.dilations, groups=channels)
    return _each(node, op, node.weight(0, channels, 1, *window.kernel))


def _columns(node: CaffeNode) -> Operand:
    """The elements that each window sees, as channels (im2col_layer.cpp)."""
    data = node.the_value()
    seen = columns(node, data, _window_of(node, data.type.rank - 2))
    batch, channels, taps, *places = seen.type.shape
    return node.result(Reshape((batch, channels * taps, *places)), seen)


def _deconvolution(node: CaffeNode) -> Sequence[Operand]:
    """The transpose of a convolution, whose weights have the bottom's channels first (deconv_layer.cpp)."""
    window, channels, groups = _convolving(node)
    outputs = node.integer("num_output")
    op = ConvTranspose(strides=window.strides, pads=window.pads, dilations=window.dilations, groups=groups)
    return _each(node, op, node.weight(0, channels, outputs // groups, *window.kernel))


def _convolving(node: CaffeNode) -> tuple[Window, int, int]:
    """The window of a convolution, its channels, and its groups."""
    rank = node.rank(0) - 2
    if rank < 1:
        raise FrontendError(f"expected a bottom of three axes or more, found {rank + 2}")
    if node.axis(rank + 2) != 1:
        raise UnsupportedError(f"channels on axis {node.integer('axis')} are not supported", "put them on axis 1")
    groups, outputs = node.integer("group"), node.integer("num_output")
    (channels,) = static_extents(node.shape(0)[1:2], node.described(0))
    if groups < 1 or outputs < 1 or channels % groups or outputs % groups:
        raise FrontendError(f"{channels} channels and num_output {outputs} can't be divided into {groups} groups")
    return _window_of(node, rank), channels, groups


def _window_of(node: CaffeNode, rank: int) -> Window:
    kernel = _per_axis(node, "kernel_size", rank)
    strides, pads = _per_axis(node, "stride", rank, 1), _per_axis(node, "pad", rank, 0)
    dilations = node.integers("dilation") or (1,)
    dilations = dilations * rank if len(dilations) == 1 else dilations
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0 or len(dilations) != rank:
        raise FrontendError(
            f"expected a kernel, strides and dilations of 1 or more and pads of 0 or more for {rank} axes, found "
            f"{list(kernel)}, {list(strides)}, {list(dilations)} and {list(pads)}"
        )
    return Window(kernel, strides, (*pads, *pads), dilations)


def _each(node: CaffeNode, op: Operator, weight: Value) -> Sequence[Operand]:
    """The results for all bottoms, each by itself, with the same weights."""
    bias = [node.weight(1, node.integer("num_output"))] if node.flag("bias_term") else []
    return [node.result(op, node.value(i), weight, *bias, output=i) for i in range(len(node.inputs))]


def _pooling(node: CaffeNode) -> Operand | Sequence[Operand]:
    """Pools round up, and a last window that would begin in the padding behind the data is left out.

    Padding counts in averages as far as it reaches; what a window covers beyond it does not. A second top of a maximum
    holds its position in its channel, as a float. Source: pooling_layer.cpp, Reshape and Forward_cpu.
    """
    data, method = node.the_value(), node.text("pool")
    if data.type.rank != 4:
        raise FrontendError(f"expected data of four axes, found {data.type}")
    if method == "STOCHASTIC":
        raise UnsupportedError("stochastic pools are not supported", "Caffe itself has them on GPUs only")
    if node.flag("global_pooling"):
        return _global_pool(node, data, method)
    kernel = _per_axis(node, "kernel_size", 2)
    strides, pads = _per_axis(node, "stride", 2, 1), _per_axis(node, "pad", 2, 0)
    rounds_up = node.text("round_mode") == "CEIL" and node.flag("ceil_mode")
    _check_window(data, kernel, strides, pads, rounds_up)
    settings = (kernel, strides, (*pads, *pads), (), rounds_up)
    if method == "AVE":
        return node.result(AveragePool(*settings, count_include_pad=True), data)
    if len(node.outputs) > 1:
        return _pool_with_mask(node, data, MaxPoolIndices(*settings))
    return node.result(MaxPool(*settings), data)


def _check_window(
    data: Value, kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...], rounds_up: bool
) -> None:
    """Raises FrontendError for pads as large as the window, and UnsupportedError for windows of Caffe that cover
    nothing: without padding it does not leave them out, and their values are undefined."""
    if min((*kernel, *strides)) < 1 or min(pads) < 0 or any(p >= k for p, k in zip(pads, kernel, strict=True)):
        raise FrontendError(
            f"expected a kernel and strides of 1 or more, and pads below the kernel, found {list(kernel)}, "
            f"{list(strides)} and {list(pads)}"
        )
    if rounds_up and not any(pads) and any(s > k for s, k in zip(strides, kernel, strict=True)):
        for extent, k, s in zip(static_extents(data.type.shape[2:], "a pool"), kernel, strides, strict=True):
            if -(-(extent - k) // s) * s >= extent:
                raise UnsupportedError(
                    f"the last window of {k} with stride {s} begins behind the data, {extent}", "use a smaller stride"
                )


def _global_pool(node: CaffeNode, data: Value, method: str) -> Operand | Sequence[Operand]:
    """The window is the whole channel; Caffe expects no other kernel, and strides and pads of none."""
    kernel = [node.attribute(name) for name in ("kernel_h", "kernel_w")]
    if node.integers("kernel_size") or any(kernel):
        raise FrontendError("expected no kernel with global_pooling")
    if any(p != 0 for p in _per_axis(node, "pad", 2, 0)) or any(s != 1 for s in _per_axis(node, "stride", 2, 1)):
        raise FrontendError("expected no pad, and stride 1, with global_pooling")
    if method == "AVE":
        return node.result(GlobalAveragePool(), data)
    if len(node.outputs) > 1:
        return _pool_with_mask(node, data, MaxPoolIndices(static_extents(data.type.shape[2:], "a global pool")))
    return node.result(GlobalMaxPool(), data)


def _pool_with_mask(node: CaffeNode, data: Value, op: MaxPoolIndices) -> Sequence[Operand]:
    """The graph counts positions in all of the data, Caffe in each channel."""
    values, positions = node.steps(op, data, count=2)
    plane = prod(static_extents(data.type.shape[2:], "a pool with a mask"))
    within = node.step(Modulo(), positions, node.literal(plane, positions.type.dtype))
    return values, node.result(Cast(DType.of("float32")), within, output=1)


def _pyramid(node: CaffeNode) -> Operand:
    """Pools into 1, 2x2, 4x4 … parts, flattened and joined (spp_layer.cpp, GetPoolingParam)."""
    data, levels = node.the_value(), node.integer("pyramid_height")
    if node.text("pool") == "STOCHASTIC":
        raise UnsupportedError("stochastic pools are not supported", "Caffe itself has them on GPUs only")
    if data.type.rank != 4 or not 1 <= levels <= 16:
        raise FrontendError(f"expected data of four axes and 1 to 16 levels, found {data.type} and {levels}")
    spatial = static_extents(data.type.shape[2:], node.described(0))
    parts = []
    for level in range(levels):
        pooled = node.step(_pool_into(node.text("pool"), spatial, 1 << level), data)
        flat = Reshape((data.type.shape[0], prod(static_extents(pooled.type.shape[1:], "a pool"))))
        parts.append(node.step(flat, pooled))
    return node.result(Concat(1), *parts)


def _pool_into(method: str, spatial: tuple[int, ...], bins: int) -> Operator:
    kernel = tuple(-(-extent // bins) for extent in spatial)
    pads = tuple((k * bins - extent + 1) // 2 for k, extent in zip(kernel, spatial, strict=True))
    if any(pad >= k for pad, k in zip(pads, kernel, strict=True)):
        raise UnsupportedError(f"{bins} parts of {list(spatial)} would hold padding alone", "use fewer levels")
    settings = (kernel, kernel, (*pads, *pads), (), True)
    return AveragePool(*settings, count_include_pad=True) if method == "AVE" else MaxPool(*settings)


WINDOWS: dict[str, Converter] = {
    "Convolution": _convolution,
    "ConvolutionDepthwise": _depthwise,
    "Deconvolution": _deconvolution,
    "DepthwiseConvolution": _convolution,
    "Im2col": _columns,
    "Pooling": _pooling,
    "SPP": _pyramid,
}
