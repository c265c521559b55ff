"""Element-wise operators of one input, and those that hand their input on."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from sateen.frontends.core.elementary import complementary_error
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.frontends.tensorflow.tensors import shape_of, single_element
from sateen.graph_ir import ops
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator

LARGEST_FILL = 1 << 20
"""The most elements of a tensor of one number that importing makes itself."""


def _unary(make: Callable[[TensorflowNode], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.value(0))


def _chain(*operators: Operator) -> Converter:
    """Several operators, one after the other."""

    def convert(node: TensorflowNode) -> Operand:
        value = node.value(0)
        for op in operators[:-1]:
            value = node.step(op, value)
        return node.result(operators[-1], value)

    return convert


def _first(node: TensorflowNode) -> Operand:
    return node.operand(0)


def _all(node: TensorflowNode) -> list[Operand]:
    return [node.operand(index) for index in range(len(node.inputs))]


def _constant(node: TensorflowNode) -> Operand:
    """A large tensor that is one number throughout stays an operator."""
    tensor = node.tensor_message("value")
    shape = shape_of(tensor.tensor_shape)
    if shape is None or prod(shape) <= LARGEST_FILL or min(shape) < 0:
        return node.tensor("value")
    element = single_element(tensor, "attribute 'value'")
    if element is None:
        return node.tensor("value")
    return node.result(ops.BroadcastTo(shape=shape), node.parameter(element, "element"))


def _cast(node: TensorflowNode) -> Operand:
    """Of floating-point numbers to integers towards zero; beyond the integers' range TensorFlow leaves it open."""
    dtype = node.type("DstT")
    if dtype == node.dtype(0):
        return node.operand(0)
    return node.result(ops.Cast(dtype=dtype), node.value(0))


def _bit_cast(node: TensorflowNode) -> Operand:
    """To a type of another width the last axis would change (array_ops.cc, Bitcast)."""
    dtype = node.type("type")
    if dtype.bits != node.dtype(0).bits:
        raise UnsupportedError(f"bits of {node.dtype(0)} as {dtype}, of another width, are not supported")
    return node.operand(0) if dtype == node.dtype(0) else node.result(ops.BitCast(dtype=dtype), node.value(0))


def _filled(number: int) -> Converter:
    """A tensor of the input's shape, all of one number."""
    return lambda node: node.result(ops.BroadcastTo(shape=node.shape(0)), node.literal(number, node.dtype(0)))


def _is_finite(node: TensorflowNode) -> Operand:
    infinite = node.step(ops.IsInf(), node.value(0))
    return node.result(ops.Not(), node.step(ops.Or(), infinite, node.step(ops.IsNaN(), node.value(0))))


def _clip(node: TensorflowNode) -> Operand:
    """The bounds broadcast; they may be computed. min(max(x, low), high) as in clip_ops.cc."""
    raised = node.step(ops.Maximum(), node.value(0), node.value(1))
    return node.result(ops.Minimum(), raised, node.value(2))


def _erfc(node: TensorflowNode) -> Operand:
    return complementary_error(node, node.value(0))


def _square(node: TensorflowNode) -> Operand:
    return node.result(ops.Multiply(), node.value(0), node.value(0))


def _bucketize(node: TensorflowNode) -> Operand:
    """How many boundaries an element has reached (math_ops.cc: boundaries are sorted; those equal to it count)."""
    boundaries = np.array(node.attribute("boundaries"), np.float32)
    data = node.cast(node.value(0), DType.of("float32")) if node.dtype(0).is_int else node.value(0)
    column = node.step(ops.Reshape(shape=(*node.shape(0), 1)), data)
    bounds = node.parameter(boundaries.astype(data.type.dtype.numpy), "boundaries")
    reached = node.step(ops.Cast(dtype=DType.of("int32")), node.step(ops.GreaterEqual(), column, bounds))
    return node.result(ops.ReduceSum(axes=(node.rank(0),), keepdims=False), reached)


ELEMENT_WISE: dict[str, Converter] = {
    "Abs": _unary(lambda node: ops.Abs()),
    "Acos": _unary(lambda node: ops.Acos()),
    "Acosh": _unary(lambda node: ops.Acosh()),
    "Asin": _unary(lambda node: ops.Asin()),
    "Asinh": _unary(lambda node: ops.Asinh()),
    "Atan": _unary(lambda node: ops.Atan()),
    "Atanh": _unary(lambda node: ops.Atanh()),
    "Bitcast": _bit_cast,
    "Bucketize": _bucketize,
    "Cast": _cast,
    "Ceil": _unary(lambda node: ops.Ceil()),
    "CheckNumerics": _first,
    "CheckNumericsV2": _first,
    "ClipByValue": _clip,
    "Const": _constant,
    "Cos": _unary(lambda node: ops.Cos()),
    "Cosh": _unary(lambda node: ops.Cosh()),
    "Elu": _unary(lambda node: ops.Elu()),
    "EnsureShape": _first,
    "Erf": _unary(lambda node: ops.Erf()),
    "Erfc": _erfc,
    "Exp": _unary(lambda node: ops.Exp()),
    "Expm1": _unary(lambda node: ops.Expm1()),
    "Floor": _unary(lambda node: ops.Floor()),
    "Identity": _first,
    "IdentityN": _all,
    "Inv": _unary(lambda node: ops.Reciprocal()),
    "Invert": _unary(lambda node: ops.BitwiseNot()),
    "IsFinite": _is_finite,
    "IsInf": _unary(lambda node: ops.IsInf()),
    "IsNan": _unary(lambda node: ops.IsNaN()),
    "LeakyRelu": _unary(lambda node: ops.LeakyRelu(alpha=node.number("alpha"))),
    "Log": _unary(lambda node: ops.Log()),
    "Log1p": _unary(lambda node: ops.Log1p()),
    "LogicalNot": _unary(lambda node: ops.Not()),
    "Neg": _unary(lambda node: ops.Negative()),
    "OnesLike": _filled(1),
    "PlaceholderWithDefault": _first,
    "PreventGradient": _first,
    "ReadVariableOp": _first,
    "Reciprocal": _unary(lambda node: ops.Reciprocal()),
    "Relu": _unary(lambda node: ops.Relu()),
    "Relu6": _unary(lambda node: ops.Clip(low=0.0, high=6.0)),
    "Rint": _unary(lambda node: ops.Round()),
    "Round": _unary(lambda node: ops.Round()),
    "Rsqrt": _chain(ops.Sqrt(), ops.Reciprocal()),
    "Selu": _unary(lambda node: ops.Selu()),
    "Sigmoid": _unary(lambda node: ops.Sigmoid()),
    "Sign": _unary(lambda node: ops.Sign()),
    "Sin": _unary(lambda node: ops.Sin()),
    "Sinh": _unary(lambda node: ops.Sinh()),
    "Snapshot": _first,
    "Softplus": _unary(lambda node: ops.Softplus()),
    "Softsign": _unary(lambda node: ops.Softsign()),
    "Sqrt": _unary(lambda node: ops.Sqrt()),
    "Square": _square,
    "StopGradient": _first,
    "Tan": _unary(lambda node: ops.Tan()),
    "Tanh": _unary(lambda node: ops.Tanh()),
    "ZerosLike": _filled(0),
}
