"""Activations: functions by their names, and layers that are activations.

Sources: keras/src/activations/activations.py, keras/src/backend/tensorflow/nn.py, tf_keras/src/activations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Clip, Greater, Multiply, Subtract, Where
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

Emit = Callable[..., Value]
"""Adds the last operator of an activation: on the way to the result of a node, or as its result."""
Activation = Callable[[KerasNode, Emit, Value], Value]


def finished(node: KerasNode, op: Operator, *inputs: Value | None) -> Operand:
    """The node's result: that of an operator, through the layer's activation."""
    activation = node.attribute("activation")
    if is_linear(activation):
        return node.result(op, *inputs)
    return activated(node, activation, node.step(op, *inputs), node.result)


def is_linear(activation: object) -> bool:
    return activation in (None, "linear")


def activated(node: KerasNode, activation: Any, data: Value, emit: Emit) -> Value:
    """An activation of data. A setting names a function, or is itself a layer such as LeakyReLU with its settings.

    Raises UnsupportedError for a function of the user's.
    """
    settings: Mapping[str, Any] = {}
    name = activation
    if isinstance(activation, dict):
        name, inner = activation.get("class_name"), activation.get("config")
        if name == "function":
            name = inner
        elif isinstance(inner, dict):
            settings = inner
    if name in _LAYERS and isinstance(activation, dict):
        return _LAYERS[name](node, emit, data, settings)
    if name not in FUNCTIONS:
        remedy = "replace it by one of Keras's own, and save the model again"
        raise UnsupportedError(f"the activation {name!r} is not known", remedy)
    return FUNCTIONS[name](node, emit, data)


def _one(op: Operator) -> Activation:
    return lambda node, emit, data: emit(op, data)


def _hard_sigmoid(node: KerasNode, emit: Emit, data: Value) -> Value:
    """relu6(x + 3) / 6 in Keras 3; before, 0.2 x + 0.5 within 0 and 1 (tf_keras/src/backend.py)."""
    return emit(hard_sigmoid(node.generation), data)


def hard_sigmoid(generation: int) -> ops.HardSigmoid:
    return ops.HardSigmoid(alpha=1 / 6 if generation >= 3 else 0.2, beta=0.5)


def _hard_silu(node: KerasNode, emit: Emit, data: Value) -> Value:
    return emit(ops.HardSwish(), data)


def _silu(node: KerasNode, emit: Emit, data: Value) -> Value:
    return emit(Multiply(), data, node.step(ops.Sigmoid(), data))


def _gelu(approximate: str) -> Activation:
    return lambda node, emit, data: emit(ops.Gelu(approximate=approximate), data)


def _softmax(node: KerasNode, emit: Emit, data: Value) -> Value:
    return emit(ops.Softmax(axis=data.type.rank - 1), data)


def _log_softmax(node: KerasNode, emit: Emit, data: Value) -> Value:
    return emit(ops.LogSoftmax(axis=data.type.rank - 1), data)


def _glu(node: KerasNode, emit: Emit, data: Value) -> Value:
    """The first half of the last axis times the sigmoid of the second."""
    axis = data.type.rank - 1
    extent = data.type.static_shape[axis] if data.type.is_static else data.type.shape[axis]
    if not isinstance(extent, int) or extent % 2:
        raise FrontendError(f"expected an even number of elements along the last axis, found {extent}")
    first, second = node.steps(ops.Split(axis, (extent // 2, extent // 2)), data, count=2)
    return emit(Multiply(), first, node.step(ops.Sigmoid(), second))


def _log_sigmoid(node: KerasNode, emit: Emit, data: Value) -> Value:
    """-softplus(-x)."""
    return emit(ops.Negative(), node.step(ops.Softplus(), node.step(ops.Negative(), data)))


def _squareplus(node: KerasNode, emit: Emit, data: Value) -> Value:
    """(x + sqrt(x² + b)) / 2 with b = 4."""
    dtype = data.type.dtype
    square = node.step(Add(), node.step(Multiply(), data, data), node.literal(4, dtype))
    total = node.step(Add(), data, node.step(ops.Sqrt(), square))
    return emit(Multiply(), total, node.literal(0.5, dtype))


def _sparse_plus(node: KerasNode, emit: Emit, data: Value) -> Value:
    """0 up to -1, x from 1 on, (x + 1)² / 4 between."""
    dtype = data.type.dtype
    one = node.literal(1, dtype)
    raised = node.step(Add(), data, one)
    curve = node.step(Multiply(), node.step(Multiply(), raised, raised), node.literal(0.25, dtype))
    low = node.step(Where(), node.step(ops.LessEqual(), data, node.literal(-1, dtype)), node.literal(0, dtype), curve)
    return emit(Where(), node.step(ops.GreaterEqual(), data, one), data, low)


def _sparse_sigmoid(node: KerasNode, emit: Emit, data: Value) -> Value:
    """(x + 1) / 2 within 0 and 1."""
    return emit(ops.HardSigmoid(alpha=0.5, beta=0.5), data)


def _tanh_shrink(node: KerasNode, emit: Emit, data: Value) -> Value:
    return emit(Subtract(), data, node.step(ops.Tanh(), data))


FUNCTIONS: Mapping[str, Activation] = {
    "celu": _one(ops.Celu()),
    "elu": _one(ops.Elu()),
    "exponential": _one(ops.Exp()),
    "gelu": _gelu("none"),
    "glu": _glu,
    "hard_shrink": _one(ops.Shrink(lambd=0.5)),
    "hard_sigmoid": _hard_sigmoid,
    "hard_silu": _hard_silu,
    "hard_swish": _hard_silu,
    "hard_tanh": _one(Clip(low=-1.0, high=1.0)),
    "leaky_relu": _one(ops.LeakyRelu(alpha=0.2)),
    "linear": lambda node, emit, data: emit(ops.Identity(), data),
    "log_sigmoid": _log_sigmoid,
    "log_softmax": _log_softmax,
    "mish": _one(ops.Mish()),
    "relu": _one(ops.Relu()),
    "relu6": _one(Clip(low=0.0, high=6.0)),
    "selu": _one(ops.Selu(alpha=1.6732632423543772, gamma=1.0507009873554805)),
    "sigmoid": _one(ops.Sigmoid()),
    "silu": _silu,
    "soft_shrink": _one(ops.Shrink(bias=0.5, lambd=0.5)),
    "softmax": _softmax,
    "softplus": _one(ops.Softplus()),
    "softsign": _one(ops.Softsign()),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": _sparse_sigmoid,
    "squareplus": _squareplus,
    "swish": _silu,
    "tanh": _one(ops.Tanh()),
    "tanh_shrink": _tanh_shrink,
}
"""Functions by the names that configurations give them."""


def _number(settings: Mapping[str, Any], default: float, *names: str) -> float:
    value = next((settings[name] for name in names if settings.get(name) is not None), default)
    if isinstance(value, dict):  # a NumPy scalar, as Keras 2 wrote some numbers
        inner = value.get("config")
        value = value.get("value", inner.get("value") if isinstance(inner, dict) else None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FrontendError(f"expected a number as {names[0]!r}, found {value!r}")
    return float(value)


def _relu(node: KerasNode, emit: Emit, data: Value, settings: Mapping[str, Any]) -> Value:
    """x from the threshold on, at most max_value; below it slope * (x - threshold). At a threshold of 0 that is
    LeakyReLU (keras/src/activations/activations.py, ReLU.static_call)."""
    slope = _number(settings, 0.0, "negative_slope")
    threshold = _number(settings, 0.0, "threshold")
    high = None if settings.get("max_value") is None else _number(settings, 0.0, "max_value")
    if threshold == 0 and slope == 0:
        return emit(ops.Relu() if high is None else Clip(low=0.0, high=high), data)
    if threshold == 0:
        leaky = ops.LeakyRelu(alpha=slope)
        return emit(leaky, data) if high is None else emit(Clip(high=high), node.step(leaky, data))
    dtype = data.type.dtype
    limit = node.literal(threshold, dtype)
    is_above = node.step(Greater(), data, limit)
    if slope:
        below = node.step(Multiply(), node.step(Subtract(), data, limit), node.literal(slope, dtype))
    else:
        below = node.literal(0, dtype)
    if high is None:
        return emit(Where(), is_above, data, below)
    return emit(Clip(high=high), node.step(Where(), is_above, data, below))


def _softmax_layer(node: KerasNode, emit: Emit, data: Value, settings: Mapping[str, Any]) -> Value:
    """Over one axis, or over several as if they were one: exp(x - logsumexp(x)) (keras/src/layers/activations)."""
    given = settings.get("axis", -1)
    axes = given if isinstance(given, (list, tuple)) else [given]
    if not axes or not all(type(axis) is int for axis in axes):
        raise FrontendError(f"expected axes, found {given!r}")
    normal = sorted({normal_axis(axis, data.type.rank) for axis in axes})
    if len(normal) == 1:
        return emit(ops.Softmax(axis=normal[0]), data)
    total = node.step(ops.ReduceLogSumExp(axes=tuple(normal), keepdims=True), data)
    return emit(ops.Exp(), node.step(Subtract(), data, total))


def _elu_layer(node: KerasNode, emit: Emit, data: Value, settings: Mapping[str, Any]) -> Value:
    return emit(ops.Elu(alpha=_number(settings, 1.0, "alpha")), data)


def _leaky_relu_layer(node: KerasNode, emit: Emit, data: Value, settings: Mapping[str, Any]) -> Value:
    return emit(ops.LeakyRelu(alpha=_number(settings, 0.3, "negative_slope", "alpha")), data)


def _thresholded_relu_layer(node: KerasNode, emit: Emit, data: Value, settings: Mapping[str, Any]) -> Value:
    return emit(ops.ThresholdedRelu(alpha=_number(settings, 1.0, "theta")), data)


_LAYERS: Mapping[str, Callable[[KerasNode, Emit, Value, Mapping[str, Any]], Value]] = {
    "ELU": _elu_layer,
    "LeakyReLU": _leaky_relu_layer,
    "ReLU": _relu,
    "Softmax": _softmax_layer,
    "ThresholdedReLU": _thresholded_relu_layer,
}
"""Layers that are activations with settings."""


def _layer(kind: str) -> Converter[KerasNode]:
    return lambda node: _LAYERS[kind](node, node.result, node.value(0), node.layer.config)


def _activation(node: KerasNode) -> Operand:
    activation = node.attribute("activation")
    return node.value(0) if is_linear(activation) else activated(node, activation, node.value(0), node.result)


def _softmax_with_mask(node: KerasNode) -> Operand:
    """Where the mask is false, -3e4 for float16 or -1e9 is added (`_large_negative_number` of
    keras/src/layers/activations/softmax.py); Keras 2 adds it to all, too, multiplied by the mask."""
    if node.input_count == 1 and not node.has_mask():
        return _softmax_layer(node, node.result, node.value(0), node.layer.config)
    mask = node.argument(1, "mask")
    if not isinstance(mask, Value):
        raise UnsupportedError("a mask that embedding gives is not supported here", "give the mask as an argument")
    data = node.value(0)
    lowest = -3e4 if data.type.dtype.bits == 16 else -1e9
    hidden = node.step(Subtract(), node.number_like(1), node.step(ops.Cast(data.type.dtype), mask))
    masked = node.step(Add(), data, node.step(Multiply(), hidden, node.number_like(lowest)))
    return _softmax_layer(node, node.result, masked, node.layer.config)


def _prelu(node: KerasNode) -> Operand:
    """A slope for each element, with extents of 1 along shared axes."""
    return node.result(ops.PRelu(), node.value(0), node.weight("alpha"))


ACTIVATION_LAYERS: Mapping[str, Converter[KerasNode]] = {
    "Activation": _activation,
    "ELU": _layer("ELU"),
    "LeakyReLU": _layer("LeakyReLU"),
    "PReLU": _prelu,
    "ReLU": _layer("ReLU"),
    "Softmax": _softmax_with_mask,
    "ThresholdedReLU": _layer("ThresholdedReLU"),
}
