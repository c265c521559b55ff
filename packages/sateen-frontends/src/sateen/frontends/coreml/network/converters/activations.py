"""Activations, and functions of single numbers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import log

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.node import CHANNEL, Converter, LayerNode
from sateen.frontends.coreml.network.weights import array_of
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


class Function(IntEnum):
    """UnaryFunctionLayerParams.Operation."""

    SQRT = 0
    RSQRT = 1
    INVERSE = 2
    POWER = 3
    EXP = 4
    LOG = 5
    ABS = 6
    THRESHOLD = 7


EXACT, TANH_APPROXIMATION, SIGMOID_APPROXIMATION = range(3)
"""Values of GeluMode."""
EPSILON = 1e-6
"""The epsilon of layers that leave it out."""


def _activation(node: LayerNode) -> Operand:
    kind = node.parameters.WhichOneof("nonlinearity_type")
    if kind is None:
        raise FrontendError("expected an activation, found none")
    given = getattr(node.parameters, kind)
    data = node.value(0)
    match kind:
        case "linear":
            return _affine(node, data, given.alpha, given.beta)
        case "scaledTanh":
            inner = _affine(node, data, given.beta, 0.0, is_result=False)
            return _affine(node, node.step(ops.Tanh(), inner), given.alpha, 0.0)
        case "thresholdedReLU":
            return _thresholded(node, data, given.alpha)
        case "PReLU":
            return node.result(ops.PRelu(), data, _per_channel(node, given.alpha, "alpha"))
        case "parametricSoftplus":
            inner = node.step(ops.Multiply(), data, _per_channel(node, given.beta, "beta"))
            return node.result(
                ops.Multiply(), node.step(ops.Softplus(), inner), _per_channel(node, given.alpha, "alpha")
            )
    return node.result(_plain(kind, given), data)


def _plain(kind: str, given: Message) -> Operator:
    match kind:
        case "ReLU":
            return ops.Relu()
        case "leakyReLU":
            return ops.LeakyRelu(alpha=given.alpha)
        case "tanh":
            return ops.Tanh()
        case "sigmoid":
            return ops.Sigmoid()
        case "sigmoidHard":
            return ops.HardSigmoid(alpha=given.alpha, beta=given.beta)
        case "ELU":
            return ops.Elu(alpha=given.alpha)
        case "softsign":
            return ops.Softsign()
        case "softplus":
            return ops.Softplus()
    raise UnsupportedError(f"activation {kind!r} is not known")


def _affine(node: LayerNode, data: Value, scale: float, shift: float, *, is_result: bool = True) -> Value:
    """scale · data + shift."""
    steps: list[tuple[Operator, float]] = [(ops.Multiply(), scale)] * (scale != 1) + [(ops.Add(), shift)] * (shift != 0)
    if not steps:
        return node.result(ops.Identity(), data) if is_result else data
    for op, number in steps[:-1]:
        data = node.step(op, data, node.scalar_literal(number))
    op, number = steps[-1]
    return (node.result if is_result else node.step)(op, data, node.scalar_literal(number))


def _thresholded(node: LayerNode, data: Value, threshold: float) -> Value:
    """x where it is at least the threshold, and 0 elsewhere: the format's comparison includes equality."""
    keeps = node.step(ops.GreaterEqual(), data, node.scalar_literal(threshold))
    return node.result(ops.Where(), keeps, data, node.scalar_literal(0.0))


def _per_channel(node: LayerNode, weights: Message, role: str) -> Value:
    """One number for all channels, or one for each, broadcast along the axis of channels."""
    node.require_rank(3)
    count = node.shape(0)[CHANNEL]
    given = len(weights.floatValue) or len(weights.float16Value) // 2
    extent = 1 if given == 1 else count
    if not isinstance(extent, int):
        raise UnsupportedError("the number of channels must be known", node.binding(0))
    return node.parameter(array_of(weights, (extent, 1, 1), role), role)


def _unary(node: LayerNode) -> Operand:
    """f(scale · x + shift); the scale is 1 and the epsilon 1e-6 where they are 0."""
    given = node.parameters
    data = _affine(node, node.value(0), node.number("scale", 1.0), node.number("shift"), is_result=False)
    epsilon = node.number("epsilon", EPSILON)
    match given.type:
        case Function.SQRT:
            return node.result(ops.Sqrt(), data)
        case Function.RSQRT:
            moved = node.step(ops.Add(), data, node.scalar_literal(epsilon))
            return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), moved))
        case Function.INVERSE:
            return node.result(ops.Reciprocal(), node.step(ops.Add(), data, node.scalar_literal(epsilon)))
        case Function.POWER:
            return node.result(ops.Power(), data, node.scalar_literal(given.alpha))
        case Function.EXP:
            return node.result(ops.Exp(), data)
        case Function.LOG:
            return node.result(ops.Log(), data)
        case Function.ABS:
            return node.result(ops.Abs(), data)
        case Function.THRESHOLD:
            return node.result(ops.Maximum(), data, node.scalar_literal(given.alpha))
    raise FrontendError(f"expected a function of 0 to {len(Function) - 1}, found {given.type}")


def _gelu(node: LayerNode) -> Operand:
    mode, data = node.parameters.mode, node.value(0)
    if mode == SIGMOID_APPROXIMATION:
        gate = node.step(ops.Sigmoid(), node.step(ops.Multiply(), data, node.scalar_literal(1.702)))
        return node.result(ops.Multiply(), data, gate)
    if mode not in (EXACT, TANH_APPROXIMATION):
        raise FrontendError(f"expected a mode of 0 to 2, found {mode}")
    return node.result(ops.Gelu(approximate="tanh" if mode == TANH_APPROXIMATION else "none"), data)


def _clip(node: LayerNode) -> Operand:
    """min(max(x, least), most), which gives the most where it is below the least."""
    above = node.step(ops.Maximum(), node.value(0), node.scalar_literal(node.parameters.minVal))
    return node.result(ops.Minimum(), above, node.scalar_literal(node.parameters.maxVal))


def _clamped_relu(node: LayerNode) -> Operand:
    """min(beta, x) above 0, min(beta, alpha · x) below."""
    leaky = node.step(ops.LeakyRelu(alpha=node.parameters.alpha), node.value(0))
    return node.result(ops.Minimum(), leaky, node.scalar_literal(node.parameters.beta))


def _function(op: Operator) -> Converter:
    return lambda node: node.result(op, node.value(0))


def _power_of_two(node: LayerNode) -> Operand:
    return node.result(ops.Exp(), node.step(ops.Multiply(), node.value(0), node.scalar_literal(log(2))))


ACTIVATIONS: Mapping[str, Converter] = {
    "acos": _function(ops.Acos()),
    "acosh": _function(ops.Acosh()),
    "activation": _activation,
    "asin": _function(ops.Asin()),
    "asinh": _function(ops.Asinh()),
    "atan": _function(ops.Atan()),
    "atanh": _function(ops.Atanh()),
    "ceil": _function(ops.Ceil()),
    "clampedReLU": _clamped_relu,
    "clip": _clip,
    "copy": _function(ops.Identity()),
    "cos": _function(ops.Cos()),
    "cosh": _function(ops.Cosh()),
    "erf": _function(ops.Erf()),
    "exp2": _power_of_two,
    "floor": _function(ops.Floor()),
    "gelu": _gelu,
    "round": _function(ops.Round()),
    "sign": _function(ops.Sign()),
    "sin": _function(ops.Sin()),
    "sinh": _function(ops.Sinh()),
    "tan": _function(ops.Tan()),
    "tanh": _function(ops.Tanh()),
    "unary": _unary,
}
