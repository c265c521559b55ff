"""Element-wise operators of one input, and those that are one or none at inference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir import ops
from sateen.graph_ir.ops import Add, BroadcastTo, Maximum, Minimum, Multiply
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator


def _unary(make: Callable[[OnnxNode], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.value(0))


def _identity(node: OnnxNode) -> Operand:
    return node.operand(0)


def _clip(node: OnnxNode) -> Operand:
    """Bounds are attributes up to opset 10, inputs later; with a computed one Clip is a maximum and a minimum."""
    data = node.value(0)
    if node.knows("min"):
        return node.result(ops.Clip(low=node.attribute("min"), high=node.attribute("max")), data)
    if not node.is_value(1) and not node.is_value(2):
        low, high = (node.scalar(i) if node.has(i) else None for i in (1, 2))
        return node.result(ops.Clip(low=low, high=high), data)
    if not node.has(2):
        return node.result(Maximum(), data, node.value(1))
    raised = node.step(Maximum(), data, node.value(1)) if node.has(1) else data
    return node.result(Minimum(), raised, node.value(2))


def _cast(node: OnnxNode) -> Operand:
    """Saturation is for float8 only, where it is the default."""
    dtype = _cast_target(node)
    if dtype == node.dtype(0):
        return node.operand(0)
    saturate = not node.knows("saturate") or node.flag("saturate")
    return node.result(ops.Cast(dtype=dtype, saturate=saturate), node.value(0))


def _cast_target(node: OnnxNode) -> DType:
    """The element type that Cast gives; up to opset 5 its name, later its number."""
    if node.version >= 6:
        return dtype_of(node.integer("to"), "Cast")
    codes = dict(TensorProto.DataType.items())
    return dtype_of(codes.get(node.text("to").upper(), -1), f"Cast to {node.text('to')!r}")


def _cast_like(node: OnnxNode) -> Operand:
    dtype = node.dtype(1)
    if dtype == node.dtype(0):
        return node.operand(0)
    return node.result(ops.Cast(dtype=dtype, saturate=node.flag("saturate")), node.value(0))


def _bit_cast(node: OnnxNode) -> Operand:
    """A bool is a byte of 0 or 1."""
    dtype = dtype_of(node.integer("to"), "BitCast")
    if dtype == node.dtype(0):
        return node.operand(0)
    if node.dtype(0).is_bool:
        whole = node.step(ops.Cast(dtype=DType.of("uint8")), node.value(0))
        return whole if dtype == whole.type.dtype else node.result(ops.BitCast(dtype=dtype), whole)
    return node.result(ops.BitCast(dtype=dtype), node.value(0))


def _scaled(node: OnnxNode, op: Operator) -> Operand:
    """alpha * op(beta * x), as experimental operators have it."""
    data = node.value(0)
    dtype = data.type.dtype
    inner = node.step(Multiply(), data, node.literal(node.number("beta"), dtype))
    return node.result(Multiply(), node.step(op, inner), node.literal(node.number("alpha"), dtype))


def _affine(node: OnnxNode) -> Operand:
    data = node.value(0)
    dtype = data.type.dtype
    scaled = node.step(Multiply(), data, node.literal(node.number("alpha"), dtype))
    return node.result(Add(), scaled, node.literal(node.number("beta"), dtype))


def _image_scaler(node: OnnxNode) -> Operand:
    """scale * x + bias, a bias per channel of NCHW."""
    data = node.value(0)
    dtype = data.type.dtype
    bias = np.array(node.attribute("bias"), dtype.numpy).reshape(-1, 1, 1)
    scaled = node.step(Multiply(), data, node.literal(node.number("scale"), dtype))
    return node.result(Add(), scaled, node.parameter(bias, "bias"))


def _dropout(node: OnnxNode) -> tuple[Operand, ...]:
    """The input itself; the mask keeps all."""
    if node.has(2) and node.scalar(2) and not (node.has(1) and node.scalar(1) == 0):
        raise UnsupportedError("dropout in training is not supported", "export the model for inference")
    if len(node.outputs) < 2 or not node.outputs[1]:
        return (node.operand(0),)
    kept = node.literal(1, DType.of("bool") if node.version >= 10 else node.dtype(0))
    return node.operand(0), node.step(BroadcastTo(shape=node.shape(0)), kept)


ELEMENT_WISE: dict[str, Converter] = {
    "Abs": _unary(lambda node: ops.Abs()),
    "Acos": _unary(lambda node: ops.Acos()),
    "Acosh": _unary(lambda node: ops.Acosh()),
    "Affine": _affine,
    "Asin": _unary(lambda node: ops.Asin()),
    "Asinh": _unary(lambda node: ops.Asinh()),
    "Atan": _unary(lambda node: ops.Atan()),
    "Atanh": _unary(lambda node: ops.Atanh()),
    "BitCast": _bit_cast,
    "BitwiseNot": _unary(lambda node: ops.BitwiseNot()),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": _unary(lambda node: ops.Ceil()),
    "Celu": _unary(lambda node: ops.Celu(alpha=node.number("alpha"))),
    "Clip": _clip,
    "Cos": _unary(lambda node: ops.Cos()),
    "Cosh": _unary(lambda node: ops.Cosh()),
    "Dropout": _dropout,
    "Elu": _unary(lambda node: ops.Elu(alpha=node.number("alpha"))),
    "Erf": _unary(lambda node: ops.Erf()),
    "Exp": _unary(lambda node: ops.Exp()),
    "Floor": _unary(lambda node: ops.Floor()),
    "Gelu": _unary(lambda node: ops.Gelu(approximate=node.text("approximate"))),
    "HardSigmoid": _unary(lambda node: ops.HardSigmoid(alpha=node.number("alpha"), beta=node.number("beta"))),
    "HardSwish": _unary(lambda node: ops.HardSwish()),
    "Identity": _identity,
    "ImageScaler": _image_scaler,
    "IsInf": _unary(
        lambda node: ops.IsInf(
            detect_negative=node.flag("detect_negative"), detect_positive=node.flag("detect_positive")
        )
    ),
    "IsNaN": _unary(lambda node: ops.IsNaN()),
    "LeakyRelu": _unary(lambda node: ops.LeakyRelu(alpha=node.number("alpha"))),
    "Log": _unary(lambda node: ops.Log()),
    "Mish": _unary(lambda node: ops.Mish()),
    "Neg": _unary(lambda node: ops.Negative()),
    "Not": _unary(lambda node: ops.Not()),
    "ParametricSoftplus": lambda node: _scaled(node, ops.Softplus()),
    "Reciprocal": _unary(lambda node: ops.Reciprocal()),
    "Relu": _unary(lambda node: ops.Relu()),
    "Round": _unary(lambda node: ops.Round()),
    "ScaledTanh": lambda node: _scaled(node, ops.Tanh()),
    "Selu": _unary(lambda node: ops.Selu(alpha=node.number("alpha"), gamma=node.number("gamma"))),
    "Shrink": _unary(lambda node: ops.Shrink(bias=node.number("bias"), lambd=node.number("lambd"))),
    "Sigmoid": _unary(lambda node: ops.Sigmoid()),
    "Sign": _unary(lambda node: ops.Sign()),
    "Sin": _unary(lambda node: ops.Sin()),
    "Sinh": _unary(lambda node: ops.Sinh()),
    "Softplus": _unary(lambda node: ops.Softplus()),
    "Softsign": _unary(lambda node: ops.Softsign()),
    "Sqrt": _unary(lambda node: ops.Sqrt()),
    "Tan": _unary(lambda node: ops.Tan()),
    "Tanh": _unary(lambda node: ops.Tanh()),
    "ThresholdedRelu": _unary(lambda node: ops.ThresholdedRelu(alpha=node.number("alpha"))),
}
