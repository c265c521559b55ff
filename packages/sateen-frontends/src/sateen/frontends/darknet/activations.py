"""The activations of layers. Source: src/activations.h and activations.c of both pjreddie's and AlexeyAB's darknet."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.node import DarknetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Equal, Less, Maximum, Minimum, Multiply, Subtract, Where
from sateen.runtime.display import did_you_mean
from sateen.runtime.dtype import DType
from sateen.runtime.errors import printable
from sateen.topi.operators import Operator

FLOAT = DType.of("float32")
Give = Callable[..., Value]
"""`node.step` or `node.result`: applies an operator, on the way to the result or as it."""
Activation = Callable[[DarknetNode, Value, Give], Value]


def finished(node: DarknetNode, op: Operator, *inputs: Value, default: str = "linear") -> Value:
    """The layer's result: its activation of an operator's."""
    return activated(node, op, *inputs, give=node.result, default=default)


def activated(node: DarknetNode, op: Operator, *inputs: Value, give: Give, default: str) -> Value:
    """The layer's activation of an operator's result, as a step or the result. Raises UnsupportedError for an unknown
    one, which darknet would replace by relu."""
    name = node.section.text("activation", default)
    if name not in ACTIVATIONS:
        reason = f"sateen has no activation {printable(name)}{did_you_mean(name, ACTIVATIONS)}"
        raise UnsupportedError(reason, "train with another one")
    if name == "linear":
        return give(op, *inputs)
    return ACTIVATIONS[name](node, node.step(op, *inputs), give)


def _number(node: DarknetNode, number: float) -> Value:
    return node.literal(number, FLOAT)


def _simple(op: Operator) -> Activation:
    return lambda node, x, give: give(op, x)


def _loggy(node: DarknetNode, x: Value, give: Give) -> Value:
    """2 / (1 + exp(-x)) - 1"""
    twice = node.step(Multiply(), node.step(ops.Sigmoid(), x), _number(node, 2))
    return give(Subtract(), twice, _number(node, 1))


def _ramp(node: DarknetNode, x: Value, give: Give) -> Value:
    return give(Add(), node.step(ops.Relu(), x), node.step(Multiply(), x, _number(node, 0.1)))


def _plse(node: DarknetNode, x: Value, give: Give) -> Value:
    """x / 8 + 1/2, and steeper than flat beyond -4 and 4: the slopes are 0.01."""
    inner = node.step(Add(), node.step(Multiply(), x, _number(node, 0.125)), _number(node, 0.5))
    low = node.step(Multiply(), node.step(Add(), x, _number(node, 4)), _number(node, 0.01))
    over = node.step(Multiply(), node.step(Subtract(), x, _number(node, 4)), _number(node, 0.01))
    high = node.step(Add(), over, _number(node, 1))
    upper = node.step(Where(), node.step(Less(), _number(node, 4), x), high, inner)
    return give(Where(), node.step(Less(), x, _number(node, -4)), low, upper)


def _stair(node: DarknetNode, x: Value, give: Give) -> Value:
    """floor(x / 2), and a slope between the odd and the next even number."""
    floor = node.step(ops.Floor(), x)
    half = node.step(Multiply(), x, _number(node, 0.5))
    stairs = node.step(ops.Floor(), half)
    even = node.step(
        Multiply(), node.step(ops.Floor(), node.step(Multiply(), floor, _number(node, 0.5))), _number(node, 2)
    )
    slope = node.step(Add(), node.step(Subtract(), x, floor), stairs)
    return give(Where(), node.step(Equal(), even, floor), stairs, slope)


def _lhtan(node: DarknetNode, x: Value, give: Give) -> Value:
    """x between 0 and 1, with slopes of 0.001 beyond."""
    low = node.step(Minimum(), x, _number(node, 0))
    high = node.step(Maximum(), node.step(Subtract(), x, _number(node, 1)), _number(node, 0))
    beyond = node.step(Multiply(), node.step(Add(), low, high), _number(node, 0.001))
    return give(Add(), node.step(ops.Clip(low=0.0, high=1.0), x), beyond)


def _swish(node: DarknetNode, x: Value, give: Give) -> Value:
    return give(Multiply(), x, node.step(ops.Sigmoid(), x))


def _hard_mish(node: DarknetNode, x: Value, give: Give) -> Value:
    """x above 0, x²/2 + x down to -2, 0 below."""
    square = node.step(Multiply(), node.step(Multiply(), x, x), _number(node, 0.5))
    curve = node.step(Add(), square, x)
    lower = node.step(Where(), node.step(Less(), _number(node, -2), x), curve, _number(node, 0))
    return give(Where(), node.step(Less(), _number(node, 0), x), x, lower)


def _gelu(node: DarknetNode, x: Value, give: Give) -> Value:
    """x/2 · (1 + tanh(0.797885·x + 0.035677·x³)), with these digits."""
    cube = node.step(Multiply(), node.step(Multiply(), x, x), x)
    inner = node.step(
        Add(), node.step(Multiply(), x, _number(node, 0.797885)), node.step(Multiply(), cube, _number(node, 0.035677))
    )
    factor = node.step(Add(), node.step(ops.Tanh(), inner), _number(node, 1))
    return give(Multiply(), node.step(Multiply(), x, _number(node, 0.5)), factor)


def _over_channels(node: DarknetNode, x: Value, give: Give) -> Value:
    """What is positive, divided by its sum over the channels and 0.0001."""
    return _divided(node, node.step(ops.Relu(), x), give)


def _softmax_over_channels(node: DarknetNode, x: Value, give: Give) -> Value:
    return _divided(node, node.step(ops.Exp(), x), give)


def _softmax_below_maximum(node: DarknetNode, x: Value, give: Give) -> Value:
    return _divided(node, node.step(ops.Exp(), node.step(Subtract(), x, node.step(ops.ReduceMax(axes=(1,)), x))), give)


def _divided(node: DarknetNode, x: Value, give: Give) -> Value:
    total = node.step(Add(), node.step(ops.ReduceSum(axes=(1,)), x), _number(node, 1e-4))
    return give(ops.Divide(), x, total)


ACTIVATIONS: dict[str, Activation] = {
    "elu": _simple(ops.Elu(alpha=1.0)),
    "gelu": _gelu,
    "hard_mish": _hard_mish,
    "hardtan": _simple(ops.Clip(low=-1.0, high=1.0)),
    "leaky": _simple(ops.LeakyRelu(alpha=0.1)),
    "lhtan": _lhtan,
    "linear": lambda node, x, give: x,
    "loggy": _loggy,
    "logistic": _simple(ops.Sigmoid()),
    "mish": _simple(ops.Mish()),
    "normalize_channels": _over_channels,
    "normalize_channels_softmax": _softmax_over_channels,
    "normalize_channels_softmax_maxval": _softmax_below_maximum,
    "plse": _plse,
    "ramp": _ramp,
    "relie": _simple(ops.LeakyRelu(alpha=0.01)),
    "relu": _simple(ops.Relu()),
    "relu6": _simple(ops.Clip(low=0.0, high=6.0)),
    "revleaky": _simple(ops.LeakyRelu(alpha=0.1)),
    "selu": _simple(ops.Selu(alpha=1.6732, gamma=1.0507)),
    "stair": _stair,
    "swish": _swish,
    "tanh": _simple(ops.Tanh()),
}
"""By name in the file. Leaky has a slope of 0.1, selu four digits."""
