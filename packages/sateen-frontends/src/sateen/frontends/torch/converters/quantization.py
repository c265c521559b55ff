"""Quantised numbers, as quantisation of exported programs (pt2e) writes them.

q = clamp(round(x · (1 / scale)) + zero point), with a product by the inverse in float32, whose integers may differ
from those of a quotient by one. Sources: torch/ao/quantization/fx/_decomposed.py; for the operators that quantise and
undo it at once aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp (fake_quantize).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import FLOAT32, INT64
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType

_WIDE = DType.of("float64")


def _number(node: TorchNode, name: str, dtype: DType) -> Value:
    """A number or a tensor of one element, without axes."""
    if node.is_tensor(name):
        return node.cast(node.reshaped(node.tensor(name), ()), dtype)
    return node.literal(node.number(name), dtype)


def _along(node: TorchNode, value: Value, rank: int) -> Value:
    """A vector along the axis of channels."""
    axis = node.one_axis(rank, "axis")
    return node.reshaped(value, (*value.type.shape, *(1,) * (rank - axis - 1)))


def _factors(node: TorchNode, per_channel: bool) -> tuple[Value, Value, Value]:
    """The scale, its inverse and the zero point, in float32."""
    if per_channel:
        rank = node.type("input" if node.gives("input") else "self").rank
        name = "scales" if node.gives("scales") else "scale"
        points = "zero_points" if node.gives("zero_points") else "zero_point"
        scale, zero = (node.cast(_along(node, node.tensor(n), rank), FLOAT32) for n in (name, points))
        return scale, node.step(ops.Divide(), node.literal(1, FLOAT32), scale), zero
    wide = _number(node, "scale", _WIDE)  # as Python divides
    inverse = node.step(ops.Divide(), node.literal(1, _WIDE), wide)
    return node.cast(wide, FLOAT32), node.cast(inverse, FLOAT32), _number(node, "zero_point", FLOAT32)


def _limits(node: TorchNode) -> tuple[int, int]:
    return int(node.number("quant_min")), int(node.number("quant_max"))


def _rounded(node: TorchNode, data: Value, inverse: Value, zero: Value) -> Value:
    """round(x · inverse) + zero point, in float32."""
    return node.step(ops.Add(), node.step(ops.Round(), node.step(ops.Multiply(), data, inverse)), zero)


def _quantize(per_channel: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        _, inverse, zero = _factors(node, per_channel)
        low, high = _limits(node)
        dtype = node.element_type() or node.result_dtype()
        found = _rounded(node, node.cast(node.tensor("input"), FLOAT32), inverse, zero)
        return node.result(ops.Cast(dtype=dtype), node.step(ops.Clip(low=low, high=high), found))

    return convert


def _dequantize(per_channel: bool) -> Converter:
    """(q - zero point) · scale."""

    def convert(node: TorchNode) -> Operand:
        data, rank = node.tensor("input"), node.type("input").rank
        node.ignore("quant_min", "quant_max", "dtype")  # which describe the input
        is_wide = data.type.dtype.bits > 16 and not per_channel
        if is_wide and (node.is_tensor("zero_point") or node.argument("zero_point") != 0):
            raise UnsupportedError("zero points of integers of more than 16 bits are not supported")
        axis = node.one_axis(rank, "axis") if per_channel else 0
        scale = node.cast(node.tensor("scales") if per_channel else _number(node, "scale", _WIDE), FLOAT32)
        found = _centred(node, data, axis, scale, per_channel)
        dtype = node.element_type("out_dtype") or FLOAT32
        return node.result(ops.Cast(dtype=dtype), found)

    return convert


def _centred(node: TorchNode, data: Value, axis: int, scale: Value, per_channel: bool) -> Value:
    """With the graph's own operator where the zero point is a number of the data's type, as it is if it is known."""
    name = "zero_points" if per_channel else "zero_point"
    op = ops.Dequantize(axis=axis)
    if not node.gives(name):
        return node.step(op, data, scale)
    if not node.is_tensor(name):
        return node.step(op, data, scale, node.literal(node.number(name), data.type.dtype))
    zero = node.tensor(name)
    points = node.reshaped(zero, ()) if not per_channel else _along(node, zero, data.type.rank)
    factor = scale if not per_channel else _along(node, scale, data.type.rank)
    apart = node.step(ops.Subtract(), node.cast(data, INT64), node.cast(points, INT64))
    return node.step(ops.Multiply(), node.cast(apart, FLOAT32), factor)


def _faked(per_channel: bool, with_mask: bool) -> Converter:
    """(q - zero point) · scale of q, and where q needed no limits."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        name = "input" if node.gives("input") else "self"
        scale, inverse, zero = _factors(node, per_channel)
        low, high = _limits(node)
        found = _rounded(node, node.tensor(name), inverse, zero)
        limited = node.step(ops.Clip(low=low, high=high), found)
        result = node.result(ops.Multiply(), node.step(ops.Subtract(), limited, zero), scale)
        return [result, node.result(ops.Equal(), found, limited, output=1)] if with_mask else result

    return convert


def _chosen(symmetric: bool) -> Converter:
    """choose_qparams: the scale and zero point of the range of a tensor, which has 0 in it (determine_qparams of
    torch/ao/quantization/utils.py)."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        data = node.tensor("input")
        axes = tuple(range(data.type.rank))
        zero = node.literal(0, data.type.dtype)
        low = node.step(ops.Minimum(), node.step(ops.ReduceMin(axes=axes, keepdims=False), data), zero)
        high = node.step(ops.Maximum(), node.step(ops.ReduceMax(axes=axes, keepdims=False), data), zero)
        least, most = _limits(node)
        steps = float(most - least)
        if symmetric:
            extent = node.step(ops.Maximum(), node.step(ops.Negative(), low), high)
            steps /= 2
        else:
            extent = node.step(ops.Subtract(), high, low)
        scale = node.step(ops.Divide(), extent, node.literal(steps, data.type.dtype))
        scale = node.step(ops.Maximum(), scale, node.literal(node.number("eps"), data.type.dtype))
        if symmetric:
            middle = 128 if str(node.element_type()) == "uint8" else 0
            point = node.literal(middle, INT64)
        else:
            node.ignore("dtype")
            turned = node.cast(node.step(ops.Round(), node.step(ops.Divide(), low, scale)), INT64)
            point = node.step(ops.Subtract(), node.literal(least, INT64), turned)
            point = node.step(ops.Clip(low=least, high=most), point)
        first = node.result(ops.Reshape(shape=(1,)), node.cast(scale, _WIDE))
        return [first, node.result(ops.Reshape(shape=(1,)), point, output=1)]

    return convert


_OF_TENSOR = ("", ".tensor", ".tensor2")

QUANTIZATION: dict[str, Converter] = {
    "fake_quantize_per_channel_affine": _faked(per_channel=True, with_mask=False),
    "fake_quantize_per_channel_affine_cachemask": _faked(per_channel=True, with_mask=True),
    "fake_quantize_per_tensor_affine": _faked(per_channel=False, with_mask=False),
    "fake_quantize_per_tensor_affine_cachemask": _faked(per_channel=False, with_mask=True),
    "quantized_decomposed.choose_qparams.tensor": _chosen(symmetric=False),
    "quantized_decomposed.choose_qparams_symmetric.tensor": _chosen(symmetric=True),
    **{f"quantized_decomposed.dequantize_per_tensor{end}": _dequantize(per_channel=False) for end in _OF_TENSOR},
    "quantized_decomposed.dequantize_per_channel": _dequantize(per_channel=True),
    "quantized_decomposed.fake_quant_per_channel": _faked(per_channel=True, with_mask=False),
    **{f"quantized_decomposed.quantize_per_tensor{end}": _quantize(per_channel=False) for end in _OF_TENSOR},
    "quantized_decomposed.quantize_per_channel": _quantize(per_channel=True),
}
