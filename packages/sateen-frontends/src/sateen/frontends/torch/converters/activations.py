"""Activations."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.element_wise import unary
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops


def _gelu(node: TorchNode) -> Operand:
    return node.result(ops.Gelu(approximate=node.text("approximate", "none")), node.tensor("self"))


def _elu(node: TorchNode) -> Operand:
    """scale·x, or scale·alpha·(e^(input_scale·x) - 1) below 0."""
    alpha, scale, inner = node.number("alpha", 1.0), node.number("scale", 1.0), node.number("input_scale", 1.0)
    data = node.tensor("self")
    if scale == inner == 1:
        return node.result(ops.Elu(alpha=alpha), data)
    if inner != 1:
        raise UnsupportedError("input_scale of elu is not supported")
    return node.result(ops.Selu(alpha=alpha, gamma=scale), data)


def _softplus(node: TorchNode) -> Operand:
    """log(1 + e^(beta·x)) / beta, and x where beta·x is above the threshold."""
    beta, threshold, data = node.number("beta", 1.0), node.number("threshold", 20.0), node.tensor("self")
    dtype = data.type.dtype
    scaled = data if beta == 1 else node.step(ops.Multiply(), data, node.literal(beta, dtype))
    soft = node.step(ops.Softplus(), scaled)
    soft = soft if beta == 1 else node.step(ops.Divide(), soft, node.literal(beta, dtype))
    above = node.step(ops.Greater(), scaled, node.literal(threshold, dtype))
    return node.result(ops.Where(), above, data, soft)


def _threshold(node: TorchNode) -> Operand:
    """`value` where x is not above the threshold, x where it is NaN."""
    data = node.tensor("self")
    dtype = data.type.dtype
    below = node.step(ops.LessEqual(), data, node.literal(node.number("threshold"), dtype))
    return node.result(ops.Where(), below, node.literal(node.number("value"), dtype), data)


def _shrunk(node: TorchNode, hard: bool) -> Operand:
    lambd = node.number("lambd", 0.5)
    if not hard:
        return node.result(ops.Shrink(bias=lambd, lambd=lambd), node.tensor("self"))
    return node.result(ops.Shrink(bias=0.0, lambd=lambd), node.tensor("self"))


def _hard_tanh(node: TorchNode) -> Operand:
    op = ops.Clip(low=node.number("min_val", -1.0), high=node.number("max_val", 1.0))
    return node.result(op, node.tensor("self"))


def _log_sigmoid(node: TorchNode) -> Operand:
    """-log(1 + e^-x)."""
    negated = node.step(ops.Negative(), node.tensor("self"))
    return node.result(ops.Negative(), node.step(ops.Softplus(), negated))


def _silu(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(ops.Multiply(), data, node.step(ops.Sigmoid(), data))


def _glu(node: TorchNode) -> Operand:
    """The first half along an axis times the sigmoid of the second."""
    data = node.tensor("self")
    axis = node.one_axis(data.type.rank, default=-1)
    half = data.type.shape[axis] // 2
    first, second = node.steps(ops.Split(axis=axis, sizes=(half, half)), data, count=2)
    return node.result(ops.Multiply(), first, node.step(ops.Sigmoid(), second))


def _parametric_relu(node: TorchNode) -> Operand:
    """A weight per channel, axis 1, or one for all."""
    data, weight = node.tensor("self"), node.tensor("weight")
    rank = data.type.rank
    if weight.type.rank == 1 and rank > 1:
        weight = node.reshaped(weight, (weight.type.shape[0], *[1] * (rank - 2)))
    return node.result(ops.PRelu(), data, weight)


def _randomized_relu(node: TorchNode) -> Operand:
    if node.flag("training"):
        raise UnsupportedError("rrelu of training is not supported", "export the module after eval()")
    slope = (node.number("lower", 0.125) + node.number("upper", 1 / 3)) / 2
    return node.result(ops.LeakyRelu(alpha=slope), node.tensor("self"))


def _celu(node: TorchNode) -> Operand:
    return node.result(ops.Celu(alpha=node.number("alpha", 1.0)), node.tensor("self"))


def _selu(node: TorchNode) -> Operand:
    """Its constants are in float64 in aten/src/ATen/native/Activation.cpp."""
    return node.result(ops.Selu(alpha=1.6732632423543772, gamma=1.0507009873554805), node.tensor("self"))


def _leaky(node: TorchNode) -> Operand:
    return node.result(ops.LeakyRelu(alpha=node.number("negative_slope", 0.01)), node.tensor("self"))


def _relu6(node: TorchNode) -> Operand:
    return node.result(ops.Clip(low=0, high=6), node.tensor("self"))


def _soft_sign(node: TorchNode) -> Operand:
    return node.result(ops.Softsign(), node.tensor("self"))


ACTIVATION: dict[str, Converter] = {
    "celu": _celu,
    "elu": _elu,
    "gelu": _gelu,
    "glu": _glu,
    "hardshrink": lambda node: _shrunk(node, hard=True),
    "hardsigmoid": unary(lambda node: ops.HardSigmoid(alpha=1 / 6, beta=0.5)),
    "hardswish": unary(lambda node: ops.HardSwish()),
    "hardtanh": _hard_tanh,
    "leaky_relu": _leaky,
    "log_sigmoid": _log_sigmoid,
    "mish": unary(lambda node: ops.Mish()),
    "prelu": _parametric_relu,
    "relu": unary(lambda node: ops.Relu()),
    "relu6": _relu6,
    "rrelu": _randomized_relu,
    "selu": _selu,
    "silu": _silu,
    "softplus": _softplus,
    "softshrink": lambda node: _shrunk(node, hard=False),
    "softsign": _soft_sign,
    "threshold": _threshold,
}
