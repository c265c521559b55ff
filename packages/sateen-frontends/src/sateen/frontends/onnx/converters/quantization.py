"""Linear quantisation to integers of 8 and 16 bits, and products of quantised tensors, by plain arithmetic."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.converters.windows import convolution
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Clip,
    Dequantize,
    Divide,
    MatMul,
    Multiply,
    Quantize,
    Reshape,
    Round,
    Subtract,
)
from sateen.runtime.dtype import DType

_FLOAT, _INT, _SHORT = DType.of("float32"), DType.of("int32"), DType.of("int16")
_NARROW = frozenset(map(DType.of, ("int8", "uint8", "int16", "uint16")))


def _dequantize(node: OnnxNode) -> Operand:
    """(x - zero point) · scale, in float32, as the type of the scale."""
    wanted = _type_named(node, "output_dtype", node.dtype(1))
    if wanted != node.dtype(1):
        raise UnsupportedError(f"output_dtype {wanted} differs from the scale's, {node.dtype(1)}")
    if not node.dtype(0).is_int:
        raise UnsupportedError(f"quantised elements of type {node.dtype(0)} are not supported")
    axis, block = _parts(node)
    return node.result(Dequantize(axis, block), *_factors(node))


def _quantize(node: OnnxNode) -> Operand:
    """x / scale to the nearest integer, ties to even, + zero point, limited to the range of the type."""
    target = node.dtype(2) if node.has(2) else _type_named(node, "output_dtype", DType.of("uint8"))
    if node.dtype(0) != node.dtype(1) or _type_named(node, "precision", node.dtype(1)) != node.dtype(1):
        raise UnsupportedError("division in another type than that of input and scale is not supported")
    if target not in _NARROW:
        raise UnsupportedError(f"quantisation to {target} is not supported")
    axis, block = _parts(node)
    return node.result(Quantize(target, axis, block), *_factors(node))


def _factors(node: OnnxNode) -> list[Value]:
    """Data, scale and, if there is one, zero point."""
    return [node.value(index) for index in (0, 1, 2) if node.has(index)]


def _parts(node: OnnxNode) -> tuple[int, int]:
    """The axis of scales and zero points, and the number of indices that share each; 0, 0: one is for all."""
    data = node.static_shape(0)
    for index in (1, 2):
        if node.has(index) and not _is_single(node, index):
            axis = normal_axis(node.integer("axis"), len(data))
            block, extents = node.integer("block_size") if node.knows("block_size") else 0, node.static_shape(index)
            if not block and extents != (data[axis],):
                raise UnsupportedError(f"expected one scale or {data[axis]}, found shape {list(extents)}")
            blocks = (*data[:axis], -(-data[axis] // (block or 1)), *data[axis + 1 :])
            if block and (extents != blocks or data[axis] % block):
                raise UnsupportedError(f"blocks of {block} along axis {axis} don't divide shape {list(data)}")
            return axis, block
    return 0, 0


def _rounded(node: OnnxNode, ratio: Value, zero_point: Value | None, target: DType) -> Operand:
    """The end of quantisation, in float32, which holds all sums near the limits of these types exactly."""
    nearest = node.step(Round(), _as(node, _FLOAT, ratio))
    if zero_point is not None:
        nearest = node.step(Add(), nearest, _as(node, _FLOAT, zero_point))
    limits = np.iinfo(target.numpy)
    limited = node.step(Clip(low=float(limits.min), high=float(limits.max)), nearest)
    return node.result(Cast(dtype=target), limited)


def _matrix_product_of_integers(node: OnnxNode) -> Operand:
    a = _centred(node, 0, 2, rows=True)
    b = _centred(node, 1, 3, rows=False)
    return node.result(MatMul(), a, b)


def _quantized_matrix_product(node: OnnxNode) -> Operand:
    """The exact product of the centred integers, scaled in float32."""
    if node.dtype(7) not in _NARROW:
        raise UnsupportedError(f"quantisation to {node.dtype(7)} is not supported")
    for index in (1, 4, 6):
        if not _is_single(node, index):
            raise UnsupportedError("scales per row or column are not supported")
    product = _as(node, _FLOAT, node.step(MatMul(), _centred(node, 0, 2, rows=True), _centred(node, 3, 5, rows=False)))
    a, b, y = (_as(node, _FLOAT, _scalar(node, index)) for index in (1, 4, 6))
    scale = node.step(Divide(), node.step(Multiply(), a, b), y)
    return _rounded(node, node.step(Multiply(), product, scale), _scalar(node, 7), node.dtype(7))


def _convolution_of_integers(node: OnnxNode) -> Operand:
    return node.result(convolution(node), _centred_image(node, 0, 2), _centred_weight(node, 1, 3))


def _quantized_convolution(node: OnnxNode) -> Operand:
    """The exact convolution of the centred integers with its bias, scaled in float32, perhaps by output channel."""
    if node.dtype(7) not in _NARROW:
        raise UnsupportedError(f"quantisation to {node.dtype(7)} is not supported")
    bias = [node.value(8)] if node.has(8) else []
    total = node.step(convolution(node, weight=3), _centred_image(node, 0, 2), _centred_weight(node, 3, 5), *bias)
    scales = _by_channel(node, 4, node.rank(3) - 2)
    factors = node.step(Divide(), node.step(Multiply(), _scalar(node, 1), scales), _scalar(node, 6))
    scaled = node.step(Multiply(), _as(node, _FLOAT, total), factors)
    return _rounded(node, scaled, _scalar(node, 7), node.dtype(7))


def _centred_image(node: OnnxNode, index: int, zero_index: int) -> Value:
    """Data of integers less its zero point, as int32."""
    data = _as(node, _INT, node.value(index))
    if not node.has(zero_index):
        return data
    return node.step(Subtract(), data, _as(node, _INT, _scalar(node, zero_index)))


def _centred_weight(node: OnnxNode, index: int, zero_index: int) -> Value:
    """A weight of bytes less its zero point, one for all or one per output channel; the weight as it is if that is
    0."""
    weight = node.value(index)
    if not node.has(zero_index) or _is_zero(node, zero_index):
        return weight
    zero_point = _as(node, _SHORT, _by_channel(node, zero_index, node.rank(index) - 1))
    return node.step(Subtract(), _as(node, _SHORT, weight), zero_point)


def _is_zero(node: OnnxNode, index: int) -> bool:
    """Whether an input is known to be zeros."""
    return node.is_known(index) and not np.any(node.constant(index))


def _by_channel(node: OnnxNode, index: int, inner: int) -> Value:
    """A scalar, or a vector along an axis that has `inner` axes behind it."""
    if _is_single(node, index):
        return _scalar(node, index)
    return node.step(Reshape(shape=(*node.shape(index), *[1] * inner)), node.value(index))


def _centred(node: OnnxNode, index: int, zero_index: int, *, rows: bool) -> Value:
    """A matrix of integers less its zero point, one for all or one per row (per column).

    As int32; the right one stays as it is if its zero point is 0.
    """
    if node.rank(index) < 2:
        raise UnsupportedError("vectors are not supported")
    if not node.has(zero_index) or _is_zero(node, zero_index):
        return _as(node, _INT, node.value(index)) if rows else node.value(index)
    data = _as(node, _INT, node.value(index))
    if _is_single(node, zero_index):
        return node.step(Subtract(), data, _as(node, _INT, _scalar(node, zero_index)))
    zero_point = _as(node, _INT, node.value(zero_index))
    if rows and node.rank(zero_index) == 1:
        zero_point = node.step(Reshape(shape=(*node.shape(zero_index), 1)), zero_point)
    return node.step(Subtract(), data, zero_point)


def _is_single(node: OnnxNode, index: int) -> bool:
    return node.static_shape(index) in ((), (1,))


def _scalar(node: OnnxNode, index: int) -> Value:
    """An input of one element, without dimensions."""
    value = node.value(index)
    return node.step(Reshape(shape=()), value) if node.rank(index) else value


def _as(node: OnnxNode, dtype: DType, value: Value) -> Value:
    return value if value.type.dtype == dtype else node.step(Cast(dtype=dtype), value)


def _type_named(node: OnnxNode, attribute: str, default: DType) -> DType:
    """The element type that an attribute names; 0, as its absence, leaves the choice to the inputs."""
    code = node.integer(attribute) if node.knows(attribute) else 0
    return dtype_of(code, attribute) if code else default


QUANTIZATION: dict[str, Converter] = {
    "ConvInteger": _convolution_of_integers,
    "DequantizeLinear": _dequantize,
    "MatMulInteger": _matrix_product_of_integers,
    "QLinearConv": _quantized_convolution,
    "QLinearMatMul": _quantized_matrix_product,
    "QuantizeLinear": _quantize,
}
