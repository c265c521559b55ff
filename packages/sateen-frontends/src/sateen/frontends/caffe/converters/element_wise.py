"""Activations and arithmetic, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.broadcast import aligned
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import Add, BroadcastTo, Cast, Greater, Maximum, Multiply, Power, Reshape
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

FLOAT = DType.of("float32")


def _unary(make: Callable[[CaffeNode], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.the_value())


def _affine(node: CaffeNode, data: Value, scale: float, shift: float) -> Value:
    """shift + scale · data, on the way to the top."""
    if scale != 1:
        data = node.step(Multiply(), data, node.literal(scale, FLOAT))
    return node.step(Add(), data, node.literal(shift, FLOAT)) if shift else data


def _power(node: CaffeNode) -> Operand:
    """(shift + scale · x) ^ power; with a power or scale of 0 the result does not depend on x (power_layer.cpp)."""
    power, scale, shift = (node.number(name) for name in ("power", "scale", "shift"))
    data = node.the_value()
    if not power * scale:
        number = 1.0 if not power else _real_power(shift, power)
        return node.result(BroadcastTo(data.type.shape), node.literal(number, FLOAT, (1,) * data.type.rank))
    if power == 1 and shift:
        return node.result(Add(), _affine(node, data, scale, 0), node.literal(shift, FLOAT))
    if power == 1:
        return node.result(Multiply(), data, node.literal(scale, FLOAT))
    base = _affine(node, data, scale, shift)
    if power == 2:
        return node.result(Multiply(), base, base)
    if power == 0.5:
        return node.result(ops.Sqrt(), base)
    return node.result(Power(), base, node.literal(power, FLOAT))


def _real_power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except (ValueError, OverflowError):
        raise UnsupportedError(f"{base} to the power of {exponent} is no number", "change shift") from None


def _exponential(node: CaffeNode) -> Operand:
    """base ^ (shift + scale · x), base -1 standing for e (exp_layer.cpp)."""
    scale, shift = node.number("scale"), node.number("shift")
    factor = _logarithm_of_base(node)
    data = _affine(node, node.the_value(), scale * factor, 0)
    outer = math.exp(shift * factor) if abs(shift * factor) < 700 else None
    if outer is None:
        raise UnsupportedError(f"the shift {shift} gives no number of float32", "use a smaller shift")
    if outer == 1:
        return node.result(ops.Exp(), data)
    return node.result(Multiply(), node.step(ops.Exp(), data), node.literal(outer, FLOAT))


def _logarithm(node: CaffeNode) -> Operand:
    """log to a base of (shift + scale · x), base -1 standing for e (log_layer.cpp)."""
    factor = 1 / _logarithm_of_base(node)
    inner = _affine(node, node.the_value(), node.number("scale"), node.number("shift"))
    if factor == 1:
        return node.result(ops.Log(), inner)
    return node.result(Multiply(), node.step(ops.Log(), inner), node.literal(factor, FLOAT))


def _logarithm_of_base(node: CaffeNode) -> float:
    base = node.number("base")
    if base != -1 and (not base > 0 or base == 1):
        raise FrontendError(f"expected a base of -1, for e, or above 0 and not 1, found {base}")
    return 1.0 if base == -1 else math.log(base)


def _relu(node: CaffeNode) -> Operand:
    slope = node.number("negative_slope")
    return node.result(ops.LeakyRelu(slope) if slope else ops.Relu(), node.the_value())


def _parametric_relu(node: CaffeNode) -> Operand:
    """A slope for each channel, axis 1, or one for all (prelu_layer.cpp)."""
    data = node.the_value()
    if node.flag("channel_shared"):
        return node.result(ops.PRelu(), data, node.weight(0))
    channels = node.static_shape(0)[1] if data.type.rank > 1 else 0
    if not channels:
        raise FrontendError(f"expected data with channels, axis 1, found {data.type}")
    return node.result(ops.PRelu(), data, aligned(node, node.weight(0, channels), 1, data.type.rank))


def _threshold(node: CaffeNode) -> Operand:
    """1 above the threshold, else 0."""
    data = node.the_value()
    above = node.step(Greater(), data, node.literal(node.number("threshold"), FLOAT))
    return node.result(Cast(FLOAT), above)


def _element_wise(node: CaffeNode) -> Operand:
    """A product, maximum or sum of two or more bottoms of one shape; `coeff` is for sums (eltwise_layer.cpp)."""
    operation, factors = node.text("operation"), node.attribute("coeff")
    values = list(node.values())
    if len(values) < 2 or any(value.type.shape != values[0].type.shape for value in values):
        shapes = ", ".join(str(value.type) for value in values)
        raise FrontendError(f"expected two bottoms or more of one shape, found {shapes}")
    if factors and (len(factors) != len(values) or operation != "SUM"):
        raise FrontendError(f"expected coeff for each of {len(values)} bottoms of a SUM, found {len(factors)}")
    if factors:
        values = [_affine(node, value, factor, 0) for value, factor in zip(values, factors, strict=True)]
    op = {"PROD": Multiply(), "SUM": Add(), "MAX": Maximum()}[operation]
    *before, last = values[1:]
    total = values[0]
    for value in before:
        total = node.step(op, total, value)
    return node.result(op, total, last)


def _scale(node: CaffeNode) -> Operand:
    """Times a factor along `num_axes` axes from `axis` on, which is a blob or the second bottom; then plus a bias of
    the same shape, the last blob (scale_layer.cpp)."""
    data = node.value(0)
    factor, axis, shape = _second(node, data)
    if not node.flag("bias_term"):
        return node.result(Multiply(), data, factor)
    known = static_extents(shape, "the shape of the bias")
    bias = aligned(node, node.weight(2 - len(node.inputs), *known), axis, data.type.rank)
    return node.result(Add(), node.step(Multiply(), data, factor), bias)


def _bias(node: CaffeNode) -> Operand:
    data = node.value(0)
    return node.result(Add(), data, _second(node, data)[0])


def _second(node: CaffeNode, data: Value) -> tuple[Value, int, tuple[Dim, ...]]:
    """The factor or bias aligned with the data, the axis at which it begins, and its shape."""
    node.require_inputs(1, 2)
    rank, count = data.type.rank, node.integer("num_axes")
    if len(node.inputs) == 2:
        shape = node.shape(1)
        axis = node.axis(rank) if shape else 0
        return aligned(node, node.value(1), axis, rank), axis, shape
    axis = node.axis(rank)
    if count < -1 or axis + count > rank:
        raise FrontendError(f"expected num_axes of -1 to {rank - axis}, found {count}")
    shape = data.type.shape[axis:] if count == -1 else data.type.shape[axis : axis + count]
    weight = node.weight(0, *static_extents(shape, node.described(0)))
    return aligned(node, weight, axis, rank), axis, shape


def _axpy(node: CaffeNode) -> Operand:
    """a · x + y, a number of a for each channel (hujie-frank/SENet, axpy_layer.cpp)."""
    node.require_inputs(3, 3)
    factor, data, other = node.values()
    shape = (*data.type.shape[:2], *(1,) * (data.type.rank - 2))
    if factor.type.shape != shape:
        if factor.type.shape != data.type.shape[:2]:
            raise FrontendError(f"expected a first bottom {list(shape)}, found {factor.type}")
        factor = node.step(Reshape(shape), factor)
    return node.result(Add(), node.step(Multiply(), data, factor), other)


def _swish(node: CaffeNode) -> Operand:
    data = node.the_value()
    gate = node.step(ops.Sigmoid(), _affine(node, data, node.number("beta"), 0))
    return node.result(Multiply(), data, gate)


def _dropout(node: CaffeNode) -> Operand:
    """The bottom itself. Forks with scale_train false scale it here and not in training."""
    ratio = node.number("dropout_ratio")
    if node.flag("scale_train") or not ratio:
        return node.operand(0)
    return node.result(Multiply(), node.the_value(), node.literal(1 - ratio, FLOAT))


ELEMENT_WISE: dict[str, Converter] = {
    "AbsVal": _unary(lambda node: ops.Abs()),
    "Axpy": _axpy,
    "BNLL": _unary(lambda node: ops.Softplus()),
    "Bias": _bias,
    "Clip": _unary(lambda node: ops.Clip(low=node.number("min"), high=node.number("max"))),
    "Dropout": _dropout,
    "ELU": _unary(lambda node: ops.Elu(alpha=node.number("alpha"))),
    "Eltwise": _element_wise,
    "Exp": _exponential,
    "Log": _logarithm,
    "PReLU": _parametric_relu,
    "Power": _power,
    "ReLU": _relu,
    "ReLU6": _unary(lambda node: ops.Clip(low=0.0, high=node.number("threshold"))),
    "Scale": _scale,
    "Sigmoid": _unary(lambda node: ops.Sigmoid()),
    "Swish": _swish,
    "TanH": _unary(lambda node: ops.Tanh()),
    "Threshold": _threshold,
}
