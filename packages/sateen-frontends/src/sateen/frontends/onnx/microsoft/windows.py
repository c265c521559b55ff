"""Convolutions with what is fused into them, and windows over data with channels last."""

from __future__ import annotations

from sateen.frontends.core.channels import result_channels_last, to_channels_first, to_channels_last
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.microsoft.activations import activation
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import applied
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ops import Add, CropAndResize
from sateen.runtime.errors import FrontendError

_WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


def _settings(node: OnnxNode, *more: str) -> dict[str, object]:
    """The attributes of a window that the node has."""
    return {name: node.attribute(name) for name in (*_WINDOW, *more) if node.knows(name)}


def _fused_convolution(node: OnnxNode) -> Operand:
    """activation(X ∗ W + B + Z); in the Nhwc kind X, Z and the result have channels last, W does not."""
    last = node.operator.startswith("Nhwc")
    fused = activation(node.attribute("activation") or "", node.attribute("activation_params") or ())
    others = node.has(3), fused is not None, last
    data = to_channels_first(node, node.value(0)) if last else node.value(0)
    weights = [node.value(1), *([node.value(2)] if node.has(2) else [])]
    value = applied(node, "Conv", [data, *weights], _settings(node, "group"), result=not any(others))
    if node.has(3):
        addend = to_channels_first(node, node.value(3)) if last else node.value(3)
        value = (node.step if any(others[1:]) else node.result)(Add(), value, addend)
    if fused is not None:
        value = (node.step if last else node.result)(fused, value)
    return result_channels_last(node, value) if last else value


def _pool_channels_last(node: OnnxNode) -> Operand:
    first = to_channels_first(node, node.value(0))
    return result_channels_last(node, applied(node, "MaxPool", [first], _settings(node, "ceil_mode")))


def _quantised_convolution(node: OnnxNode) -> Operand:
    """QLinearConv of the standard; with channels_last its data and result are so, the weight is not."""
    settings = _settings(node, "group")
    if not node.flag("channels_last"):
        return applied(node, "QLinearConv", node.inputs, settings, result=True)
    first = to_channels_first(node, node.value(0))
    return result_channels_last(node, applied(node, "QLinearConv", [first, *node.inputs[1:]], settings))


def _quantised_pool(node: OnnxNode) -> Operand:
    """The pool of dequantised data, quantised; with channels_last both are so."""
    pool, last = node.operator.removeprefix("QLinear"), node.flag("channels_last")
    settings = _settings(node, "ceil_mode", "count_include_pad")
    data = applied(node, "DequantizeLinear", node.inputs[:3])
    pooled = applied(node, pool, [to_channels_first(node, data) if last else data], settings)
    turned = to_channels_last(node, pooled) if last else pooled
    return applied(node, "QuantizeLinear", [turned, *node.inputs[3:5]], result=True)


def _regions(node: OnnxNode) -> Operand:
    """Regions of pictures, resized: rois are [y1, x1, y2, x2] of the picture (crop_and_resize.cc)."""
    height, width = (int(size) for size in node.constant(3).flat)
    mode = node.text("mode")
    if mode not in _CROPS or min(height, width) < 1:
        raise FrontendError(
            f"expected mode bilinear or nearest and sizes of 1 or more, found {mode!r}, {height}x{width}"
        )
    op = CropAndResize((height, width), _CROPS[mode], node.number("extrapolation_value"))
    return node.result(op, node.value(0), node.value(1), node.value(2))


def _transposed_convolution(node: OnnxNode) -> Operand:
    """Its pads are an input."""
    settings = _settings(node, "group", "output_padding")
    if settings["pads"] is not None:
        raise UnsupportedError("pads both as attribute and as input are not supported")
    weights = [node.value(index) for index in (1, 3) if node.has(index)]
    pads = [int(number) for number in node.constant(2).flat]
    return applied(node, "ConvTranspose", [node.value(0), *weights], {**settings, "pads": pads}, result=True)


_PLACES = {
    "auto_pad": "NOTSET",
    "dilations": list[int],
    "kernel_shape": list[int],
    "pads": list[int],
    "strides": list[int],
}
_POOLED = {**{name: kind for name, kind in _PLACES.items() if name != "dilations"}, "channels_last": 0}
_QUANTISED = "X:byte x_scale x_zero_point:byte? y_scale y_zero_point:byte?"
_CROPS = {"bilinear": "linear", "nearest": "nearest"}
_FUSED = {**_PLACES, "activation": str, "activation_params": list[float], "group": 1}
WINDOWS: dict[str, Description] = {
    "ConvTransposeWithDynamicPads": Description(
        _transposed_convolution, "X W Pads:index? B?", 1, {**_PLACES, "group": 1, "output_padding": list[int]}
    ),
    "CropAndResize": Description(
        _regions, "X rois batch_indices:index crop_size:index", 1, {"extrapolation_value": 0.0, "mode": "bilinear"}
    ),
    "FusedConv": Description(_fused_convolution, "X W B? Z?", 1, _FUSED),
    "NhwcConv": Description(_fused_convolution, "X W B?", 1, {**_PLACES, "group": 1}),
    "NhwcFusedConv": Description(_fused_convolution, "X W B? Z?", 1, _FUSED),
    "NhwcMaxPool": Description(_pool_channels_last, "x:byte", 1, {**_PLACES, "ceil_mode": 0}),
    "QLinearAveragePool": Description(
        _quantised_pool, _QUANTISED, 1, {**_POOLED, "ceil_mode": 0, "count_include_pad": 0}
    ),
    "QLinearGlobalAveragePool": Description(_quantised_pool, _QUANTISED, 1, {"channels_last": 0}),
    "QLinearConv": Description(
        _quantised_convolution,
        "x:byte x_scale x_zero_point:byte w:byte w_scale w_zero_point:byte y_scale y_zero_point:byte B:index?",
        1,
        {**_PLACES, "channels_last": 0, "group": 1},
    ),
}
