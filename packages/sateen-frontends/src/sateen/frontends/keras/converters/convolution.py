"""Convolutions and their transposes, depthwise and separable ones.

Sources: keras/src/layers/convolutional, keras/src/backend/common/backend_utils.py (transposes); of Keras 2,
keras/utils/conv_utils.py. Kernels are [extents…, in, out].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.channels import to_channels_first, to_channels_last
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads
from sateen.frontends.keras.converters.activations import activated, is_linear
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Conv, ConvTranspose, Reshape, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def channels_first(node: KerasNode) -> Value:
    """The data as [N, C, …]."""
    return to_channels_first(node, node.value(0)) if node.is_channels_last else node.value(0)


def activated_result(node: KerasNode, op: Operator, *inputs: Value | None) -> Operand:
    """The node's result: that of an operator on channels first, in the layout of the file, through the activation."""
    activation = node.attribute("activation")
    linear = is_linear(activation)
    if not node.is_channels_last:
        data = (node.result if linear else node.step)(op, *inputs)
    elif linear:
        data = node.step(op, *inputs)
        return node.result(Transpose((0, *range(2, data.type.rank), 1)), data)
    else:
        data = to_channels_last(node, node.step(op, *inputs))
    return data if linear else activated(node, activation, data, node.result)


def bias_of(node: KerasNode) -> tuple[Value, ...]:
    return (node.weight("bias", 1),) if node.flag("use_bias") else ()


def window_pads(
    node: KerasNode, data: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    """The pads of `padding`; causal ones are all at the begin (keras/src/layers/convolutional/base_conv.py)."""
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    match node.choice("padding", "valid", "same", "causal"):
        case "same":
            return same_pads(data.type.shape[2:], strides, reaches, node.described(0))
        case "causal":
            return (*(reach - 1 for reach in reaches), *(0,) * len(reaches))
        case _:
            return ()


def _positive(node: KerasNode, name: str, rank: int) -> tuple[int, ...]:
    values = node.per_axis(name, rank)
    if min(values) < 1:
        raise FrontendError(f"expected {name} of 1 or more, found {list(values)}")
    return values


def convolution(node: KerasNode, data: Value, kernel: Sequence[int], groups: int) -> Conv:
    rank = len(kernel)
    strides, dilations = _positive(node, "strides", rank), _positive(node, "dilation_rate", rank)
    pads = window_pads(node, data, kernel, strides, dilations)
    known = limited_strides(strides, data.type.shape[2:], pads or (0,) * 2 * rank)
    return Conv(strides=known, pads=pads, dilations=dilations, groups=groups)


def _conv(rank: int) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        data, kernel = channels_first(node), node.weight("kernel", rank + 2)
        op = convolution(node, data, kernel.type.static_shape[:rank], node.integer("groups"))
        weight = node.step(Transpose((rank + 1, rank, *range(rank))), kernel)
        return activated_result(node, op, data, weight, *bias_of(node))

    return convert


def _depthwise_weight(node: KerasNode, kernel: Value) -> Value:
    """[extents…, in, multiplier] as [in * multiplier, 1, extents…]."""
    *extents, inputs, multiplier = kernel.type.static_shape
    rank = len(extents)
    turned = node.step(Transpose((rank, rank + 1, *range(rank))), kernel)
    return node.step(Reshape((inputs * multiplier, 1, *extents)), turned)


def _depthwise(rank: int) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        data, kernel = channels_first(node), node.weight("kernel", rank + 2)
        extents = kernel.type.static_shape
        op = convolution(node, data, extents[:rank], extents[rank])
        return activated_result(node, op, data, _depthwise_weight(node, kernel), *bias_of(node))

    return convert


def _separable(rank: int) -> Converter[KerasNode]:
    """A depthwise convolution, then one over channels."""

    def convert(node: KerasNode) -> Operand:
        data, kernel = channels_first(node), node.weight("depthwise_kernel", rank + 2)
        extents = kernel.type.static_shape
        depthwise = convolution(node, data, extents[:rank], extents[rank])
        between = node.step(depthwise, data, _depthwise_weight(node, kernel))
        pointwise = node.step(Transpose((rank + 1, rank, *range(rank))), node.weight("pointwise_kernel", rank + 2))
        return activated_result(node, Conv(), between, pointwise, *bias_of(node))

    return convert


def _conv_transpose(rank: int) -> Converter[KerasNode]:
    """The gradient of a convolution that would give the input from a result of the extents that `padding` and
    `output_padding` decide. That convolution's padding is cut off, its odd element at the end; what its windows don't
    reach is filled with zeros."""

    def convert(node: KerasNode) -> Operand:
        data, kernel = channels_first(node), node.weight("kernel", rank + 2)
        strides, dilations = _positive(node, "strides", rank), _positive(node, "dilation_rate", rank)
        extents = static_extents(data.type.shape[2:], node.described(0))
        reaches = [(k - 1) * d + 1 for k, d in zip(kernel.type.static_shape, dilations, strict=False)]
        whole = [(n - 1) * stride + reach for n, stride, reach in zip(extents, strides, reaches, strict=True)]
        wanted = _extents_of_transpose(node, extents, strides, reaches)
        cut = [max(full - part, 0) for full, part in zip(whole, wanted, strict=True)]
        op = ConvTranspose(
            strides=strides,
            pads=(*(one // 2 for one in cut), *(one - one // 2 for one in cut)),
            dilations=dilations,
            output_padding=tuple(max(part - full, 0) for full, part in zip(whole, wanted, strict=True)),
        )
        weight = node.step(Transpose((rank + 1, rank, *range(rank))), kernel)
        return activated_result(node, op, data, weight, *bias_of(node))

    return convert


def _extents_of_transpose(
    node: KerasNode, extents: Sequence[int], strides: Sequence[int], reaches: Sequence[int]
) -> list[int]:
    """The extents of the result (`_get_output_shape_given_tf_padding`, and `deconv_output_length` of Keras 2, whose
    window is half its reach on each side)."""
    is_same = node.choice("padding", "valid", "same") == "same"
    rank = len(extents)
    padding = None if node.attribute("output_padding") is None else node.per_axis("output_padding", rank)
    found = []
    for axis, (extent, stride, reach) in enumerate(zip(extents, strides, reaches, strict=True)):
        if padding is None:
            found.append(extent * stride + (0 if is_same else max(reach - stride, 0)))
        else:
            base = reach - 2 * (reach // 2) if is_same else reach
            found.append((extent - 1) * stride + base + padding[axis])
    if min(found) < 1:
        raise FrontendError(f"expected a result with elements, found extents {found}")
    given = node.setting("output_shape", None)  # Deconvolution2D of Keras 1 says it
    if given is not None:
        said = list(given[1:-1] if node.is_channels_last else given[2:])
        if said != found:
            raise UnsupportedError(f"a result of extents {said}, which would be {found} in Keras 2, is not supported")
    return found


CONVOLUTION: Mapping[str, Converter[KerasNode]] = {
    "Conv1D": _conv(1),
    "Conv1DTranspose": _conv_transpose(1),
    "Conv2D": _conv(2),
    "Conv2DTranspose": _conv_transpose(2),
    "Conv3D": _conv(3),
    "Conv3DTranspose": _conv_transpose(3),
    "DepthwiseConv1D": _depthwise(1),
    "DepthwiseConv2D": _depthwise(2),
    "SeparableConv1D": _separable(1),
    "SeparableConv2D": _separable(2),
}
