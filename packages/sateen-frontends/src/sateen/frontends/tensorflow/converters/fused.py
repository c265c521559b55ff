"""Convolutions and products that TensorFlow's optimiser fused with what follows (remapper.cc): the attribute fused_ops
lists it, and further inputs belong to it in order."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.channels import result_channels_last
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.converters.products import operand_of_product
from sateen.frontends.tensorflow.converters.windows import (
    Convolution,
    channels_first,
    convolution,
    depthwise_convolution,
    has_channels_first,
)
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator

_ACTIVATIONS: dict[str, Callable[[TensorflowNode], Operator]] = {
    "Elu": lambda node: ops.Elu(),
    "GeluApproximate": lambda node: ops.Gelu(approximate="tanh"),
    "GeluExact": lambda node: ops.Gelu(approximate="none"),
    "LeakyRelu": lambda node: ops.LeakyRelu(alpha=node.number("leakyrelu_alpha")),
    "Relu": lambda node: ops.Relu(),
    "Relu6": lambda node: ops.Clip(low=0.0, high=6.0),
    "Sigmoid": lambda node: ops.Sigmoid(),
    "Tanh": lambda node: ops.Tanh(),
}


def _fused_convolution(make: Callable[[TensorflowNode], Convolution]) -> Converter:
    def convert(node: TensorflowNode) -> Operand:
        found = make(node)
        fused = node.attribute("fused_ops") or ()
        if fused[:1] == ("BiasAdd",):
            value = node.step(found.op, found.data, found.weight, node.value(2))
            value = _followed(node, value, fused[1:], 3)
        else:
            value = _followed(node, node.step(found.op, found.data, found.weight), fused, 2)
        return value if has_channels_first(node) else result_channels_last(node, value)

    return convert


def _followed(node: TensorflowNode, value: Value, fused: tuple[str, ...], index: int) -> Value:
    """The value after what is fused with it; inputs from `index` on belong to that."""
    for name in fused:
        if name == "FusedBatchNorm":
            op = ops.BatchNormalization(epsilon=node.number("epsilon"))
            value = node.step(op, value, *(node.value(index + i) for i in range(4)))
            index += 4
        elif name == "Add":
            value = node.step(ops.Add(), value, channels_first(node, index))
            index += 1
        elif name in _ACTIVATIONS:
            value = node.step(_ACTIVATIONS[name](node), value)
        else:
            raise UnsupportedError(f"fused operator {name} is not supported", "export the graph before optimisation")
    return value


def _fused_product(node: TensorflowNode) -> Operand:
    a = operand_of_product(node, 0, node.flag("transpose_a"))
    value = node.step(ops.MatMul(), a, operand_of_product(node, 1, node.flag("transpose_b")))
    index = 2
    for name in node.attribute("fused_ops") or ():
        if name in {"Add", "BiasAdd"}:
            value = node.step(ops.Add(), value, node.value(index))
            index += 1
        elif name in _ACTIVATIONS:
            value = node.step(_ACTIVATIONS[name](node), value)
        else:
            raise UnsupportedError(f"fused operator {name} is not supported", "export the graph before optimisation")
    return value


FUSED: dict[str, Converter] = {
    "_FusedConv2D": _fused_convolution(convolution),
    "_FusedDepthwiseConv2dNative": _fused_convolution(depthwise_convolution),
    "_FusedMatMul": _fused_product,
}
