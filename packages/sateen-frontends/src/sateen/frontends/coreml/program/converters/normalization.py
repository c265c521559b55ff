"""Normalisations, softmax, and quantised data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _filled(node: OperationNode, name: str, number: float) -> Value:
    """An argument of one number per channel, or that number for all of them."""
    if node.given(name):
        return node.take(name)
    x = node.take_of_rank("x", 2, 3, 4, 5)
    channels = x.type.shape[1]
    if not isinstance(channels, int):
        raise UnsupportedError("the number of channels must be known", node.binding(node.at("x")))
    return node.literal(number, x.type.dtype, (channels,))


def _batch_norm(node: OperationNode) -> Operand:
    scale, shift = _filled(node, "gamma", 1.0), _filled(node, "beta", 0.0)
    op = ops.BatchNormalization(node.number("epsilon"))
    return node.result(op, node.take("x"), scale, shift, node.take("mean"), node.take("variance"))


def _instance_norm(node: OperationNode) -> Operand:
    op = ops.InstanceNormalization(node.number("epsilon"))
    return node.result(op, node.take("x"), _filled(node, "gamma", 1.0), _filled(node, "beta", 0.0))


def _layer_norm(node: OperationNode) -> Operand:
    """Over any axes; gamma and beta have these axes in order."""
    x = node.take("x")
    rank = x.type.rank
    axes = node.axes("axes", rank)
    gamma, beta = node.take_optional("gamma"), node.take_optional("beta")
    if axes == tuple(range(rank - len(axes), rank)):
        scale = gamma if gamma is not None else node.number_like(1.0, x)
        if gamma is None:
            scale = node.literal(1.0, x.type.dtype, (1,))
        return node.result(
            ops.LayerNormalization(rank - len(axes), node.number("epsilon")), x, scale, *([beta] if beta else [])
        )
    return _composed(node, x, axes, gamma, beta)


def _composed(node: OperationNode, x: Value, axes: tuple[int, ...], gamma: Value | None, beta: Value | None) -> Operand:
    mean = ops.ReduceMean(axes=axes, keepdims=True)
    centred = node.step(ops.Subtract(), x, node.step(mean, x))
    variance = node.step(mean, node.step(ops.Multiply(), centred, centred))
    moved = node.step(ops.Add(), variance, node.number_like(node.number("epsilon"), x))
    made = node.step(ops.Divide(), centred, node.step(ops.Sqrt(), moved))
    shape = tuple(extent if axis in axes else 1 for axis, extent in enumerate(x.type.shape))
    for op, operand in ((ops.Multiply(), gamma), (ops.Add(), beta)):
        if operand is not None:
            made = node.step(op, made, node.step(ops.Reshape(shape), operand))
    return node.result(ops.Identity(), made)


def _l2_norm(node: OperationNode) -> Operand:
    """x / sqrt(Σ x² + epsilon) over the last three axes."""
    x = node.take("x")
    if x.type.rank < 3:
        raise FrontendError(f"expected x of 3 or more dimensions, found {x.type}")
    axes = tuple(range(x.type.rank - 3, x.type.rank))
    total = node.step(ops.ReduceSumSquare(axes=axes, keepdims=True), x)
    moved = node.step(ops.Add(), total, node.number_like(node.number("epsilon"), x))
    return node.result(ops.Divide(), x, node.step(ops.Sqrt(), moved))


def _local_response_norm(node: OperationNode) -> Operand:
    size = node.integer("size")
    if size % 2 == 0:
        raise UnsupportedError(
            f"a window of {size} channels has no centre, and the format does not say where it begins"
        )
    op = ops.LRN(size, node.number("alpha"), node.number("beta"), node.number("k"))
    return node.result(op, node.take("x"))


def _softmax(node: OperationNode) -> Operand:
    x = node.take("x")
    return node.result(ops.Softmax(axis=node.axis(x.type.rank)), x)


def _quantization(node: OperationNode, data: Value, name: str) -> tuple[int, Value, Value | None]:
    """The axis, the scale, and the zero point of a type."""
    scale, zero = node.take("scale"), node.take_optional("zero_point")
    axis = node.axis(data.type.rank) if node.given("axis") else 0
    if scale.type.rank > 1 or (zero is not None and zero.type.shape != scale.type.shape):
        raise FrontendError(f"expected a scale and a zero point of one shape for {name}, found {scale.type}")
    return axis, scale, zero


def _quantize(node: OperationNode) -> Operand:
    """clip(round(input / scale) + zero point); round takes the even one of two equally near."""
    data = node.take("input")
    dtype = node.text("output_dtype")
    if dtype not in ("int8", "uint8"):
        raise FrontendError(f"expected output_dtype int8 or uint8, found {dtype!r}")
    axis, scale, zero = _quantization(node, data, "quantize")
    if zero is None:
        zero = node.parameter(np.zeros(scale.type.static_shape, dtype), "zero_point")
    return node.result(ops.Quantize(DType.of(dtype), axis=axis), data, scale, zero)


def _dequantize(node: OperationNode) -> Operand:
    data = node.take("input")
    axis, scale, zero = _quantization(node, data, "dequantize")
    return node.result(ops.Dequantize(axis=axis), data, scale, *([] if zero is None else [zero]))


NORMALIZATION: Mapping[str, Converter] = {
    "batch_norm": defaulting(_batch_norm, epsilon=1e-5),
    "dequantize": _dequantize,
    "instance_norm": defaulting(_instance_norm, epsilon=1e-5),
    "l2_norm": defaulting(_l2_norm, epsilon=1e-6),
    "layer_norm": defaulting(_layer_norm, epsilon=1e-5),
    "local_response_norm": defaulting(_local_response_norm, alpha=1e-4, beta=0.75, k=1.0),
    "quantize": _quantize,
    "softmax": defaulting(_softmax, axis=-1),
}
