"""Activations, with the bias before them, and those that are fused into products and convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import part
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Gelu, Multiply, Sigmoid, Softmax
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_Numbers = Sequence[float]
FUSED: dict[str, tuple[int, Callable[[_Numbers], Operator]]] = {
    "Clip": (2, lambda p: ops.Clip(low=p[0], high=p[1])),
    "Elu": (1, lambda p: ops.Elu(alpha=p[0])),
    "HardSigmoid": (2, lambda p: ops.HardSigmoid(alpha=p[0], beta=p[1])),
    "LeakyRelu": (1, lambda p: ops.LeakyRelu(alpha=p[0])),
    "Relu": (0, lambda p: ops.Relu()),
    "Sigmoid": (0, lambda p: ops.Sigmoid()),
    "Softplus": (0, lambda p: ops.Softplus()),
    "Softsign": (0, lambda p: ops.Softsign()),
    "Tanh": (0, lambda p: ops.Tanh()),
    "ThresholdedRelu": (1, lambda p: ops.ThresholdedRelu(alpha=p[0])),
}
"""The activations that onnxruntime fuses (graph optimizer, conv_activation_fusion.cc), with the number of parameters
that must be given."""


def activation(name: str, numbers: _Numbers) -> Operator | None:
    """The operator of a fused activation; None for none. Raises UnsupportedError for another one, FrontendError if
    parameters are missing."""
    if not name:
        return None
    if name not in FUSED:
        raise UnsupportedError(f"the fused activation {name!r} is not supported", "export without fusions")
    count, make = FUSED[name]
    if len(numbers) < count:
        raise FrontendError(f"expected {count} parameters of activation {name}, found {list(numbers)}")
    return make(numbers)


def with_bias(node: OnnxNode, *indices: int) -> Value:
    """Input 0 plus those of the given inputs that are present."""
    data = node.value(0)
    for index in indices:
        if node.has(index):
            data = node.step(Add(), data, node.value(index))
    return data


def _gelu(node: OnnxNode) -> Operand:
    return node.result(Gelu(approximate="none"), with_bias(node, 1))


def _fast_gelu(node: OnnxNode) -> Operand:
    return node.result(Gelu(approximate="tanh"), with_bias(node, 1))


def _quick_gelu(node: OnnxNode) -> Operand:
    """x · sigmoid(alpha · x)."""
    data = node.value(0)
    inner = node.step(Multiply(), data, node.literal(node.number("alpha"), data.type.dtype))
    return node.result(Multiply(), data, node.step(Sigmoid(), inner))


def _bias_split_gelu(node: OnnxNode) -> Operand:
    """The first half of the last axis times gelu of the second."""
    data = with_bias(node, 1)
    axis, whole = data.type.rank - 1, data.type.shape[-1]
    if not isinstance(whole, int) or whole % 2:
        raise FrontendError(f"expected a last axis of an even extent, found {data.type}")
    left, right = part(node, data, axis, 0, whole // 2), part(node, data, axis, whole // 2, whole)
    return node.result(Multiply(), left, node.step(Gelu(approximate="none"), right))


def _bias_softmax(node: OnnxNode) -> Operand:
    if node.rank(0) != node.rank(1):
        raise UnsupportedError("a bias of another rank than the data is not supported", "export without fusions")
    if node.axis(node.rank(0)) != node.rank(0) - 1:
        raise UnsupportedError("softmax over several axes is not supported", "export without fusions")
    return node.result(Softmax(axis=node.rank(0) - 1), with_bias(node, 1))


def _sum(node: OnnxNode) -> Operand:
    """Dropout, with bias and residual, is their sum at inference."""
    if any(node.outputs[1:]):
        raise UnsupportedError("the mask of dropout is not supported", "export the model for inference")
    present = [index for index in range(min(3, len(node.inputs))) if node.has(index)]
    if present == [0]:
        return node.operand(0)
    total = with_bias(node, *present[1:-1])
    return node.result(Add(), total, node.value(present[-1]))


ACTIVATIONS: dict[str, Description] = {
    "BiasAdd": Description(_sum, "X bias skip"),
    "BiasDropout": Description(_sum, "data bias residual? ratio:any? training_mode:any?", 2, {"seed": int}),
    "BiasGelu": Description(_gelu, "A B"),
    "BiasSoftmax": Description(_bias_softmax, "data bias", 1, {"axis": 1, "is_inner_broadcast": int}),
    "BiasSplitGelu": Description(_bias_split_gelu, "X bias"),
    "BitmaskDropout": Description(lambda node: node.operand(0), "data ratio:any? training_mode:any?", 1, {"seed": int}),
    "FastGelu": Description(_fast_gelu, "X bias?"),
    "Gelu": Description(_gelu, "X"),
    "QuickGelu": Description(_quick_gelu, "X", 1, {"alpha": 1.702}),
}
