"""Element-wise operators of one tensor, and those that are none at inference."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import BOOL, floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def _unary(make: Callable[[TorchNode], Operator]) -> Converter:
    """An operator on any numbers, in their type."""
    return lambda node: node.result(make(node), node.tensor("self"))


def _real(make: Callable[[TorchNode], Operator]) -> Converter:
    """A function of real numbers: integers become float32 first."""
    return lambda node: node.result(make(node), real(node))


def real(node: TorchNode, name: str = "self") -> Value:
    """A tensor as floating-point numbers."""
    value = node.tensor(name)
    return node.cast(value, floating(value.type.dtype))


def _integral(make: Callable[[], Operator]) -> Converter:
    """A rounding, which integers are results of already."""

    def convert(node: TorchNode) -> Operand:
        return node.result(make() if node.type("self").dtype.is_float else ops.Identity(), node.tensor("self"))

    return convert


def _identity(node: TorchNode) -> Operand:
    return node.operand_of(node.argument("self"), "self")


def _dropout(node: TorchNode) -> Operand:
    if node.flag("train"):
        raise UnsupportedError("dropout of training is not supported", "export the module after eval()")
    node.ignore("p")
    name = "input" if node.gives("input") else "self"  # as in-place operators call it
    return node.operand_of(node.argument(name), name)


def _native_dropout(node: TorchNode) -> tuple[Operand, Operand]:
    if node.flag("train", True):
        raise UnsupportedError("dropout of training is not supported", "export the module after eval()")
    node.ignore("p")
    kept = node.broadcast(node.literal(True, BOOL), node.type("input").shape)
    return node.operand_of(node.argument("input"), "input"), kept


def _cast(node: TorchNode) -> Operand:
    """to and its relatives: `dtype`, or that of another tensor."""
    dtype = node.type("other").dtype if node.is_tensor("other") else node.element_type()
    node.ignore("copy")
    if dtype is None or dtype == node.type("self").dtype:
        return node.operand_of(node.argument("self"), "self")
    return node.result(ops.Cast(dtype=dtype), node.tensor("self"))


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


def _scaled_log(base: float) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = node.step(ops.Log(), real(node))
        return node.result(ops.Multiply(), data, node.literal(1 / log(base), data.type.dtype))

    return convert


def _scaled(factor: float) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = real(node)
        return node.result(ops.Multiply(), data, node.literal(factor, data.type.dtype))

    return convert


def _exp2(node: TorchNode) -> Operand:
    data = real(node)
    return node.result(ops.Power(), node.literal(2, data.type.dtype), data)


def _rsqrt(node: TorchNode) -> Operand:
    return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), real(node)))


def _square(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(ops.Multiply(), data, data)


def _frac(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(ops.Subtract(), data, node.step(ops.Trunc(), data))


def _round(node: TorchNode) -> Operand:
    data = node.tensor("self")
    decimals = node.integer("decimals", 0)
    if not data.type.dtype.is_float:
        if decimals < 0:
            raise UnsupportedError("rounding of integers to tens is not supported")
        return node.operand_of(node.argument("self"), "self")
    if decimals == 0:
        return node.result(ops.Round(), data)
    factor = node.literal(10.0 ** abs(decimals), data.type.dtype)
    there, back = (ops.Multiply(), ops.Divide()) if decimals > 0 else (ops.Divide(), ops.Multiply())
    return node.result(back, node.step(ops.Round(), node.step(there, data, factor)), factor)


def _sign_bit(node: TorchNode) -> Operand:
    """Whether x is below 0; of floating-point numbers -0 is, too, which shows as 1 / x."""
    data = node.tensor("self")
    zero = node.literal(0, data.type.dtype)
    below = node.step(ops.Less(), data, zero)
    if not data.type.dtype.is_float:
        return node.result(ops.Or(), below, below)
    inverse = node.step(ops.Less(), node.step(ops.Reciprocal(), data), zero)
    return node.result(ops.Or(), below, inverse)


def _is_infinite(negative: bool, positive: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        op = ops.IsInf(detect_negative=negative, detect_positive=positive)
        return node.result(op, real(node))

    return convert


def _is_finite(node: TorchNode) -> Operand:
    data = real(node)
    infinite = node.step(ops.IsInf(), data)
    return node.result(ops.Not(), node.step(ops.Or(), infinite, node.step(ops.IsNaN(), data)))


def _logical_not(node: TorchNode) -> Operand:
    return node.result(ops.Not(), truth(node, node.tensor("self")))


def truth(node: TorchNode, value: Value) -> Value:
    """Whether elements are not 0; NaN is not."""
    if value.type.dtype.is_bool:
        return value
    return node.step(ops.NotEqual(), value, node.literal(0, value.type.dtype))


def _bitwise_not(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(ops.Not() if data.type.dtype.is_bool else ops.BitwiseNot(), data)


def _nan_to_num(node: TorchNode) -> Operand:
    """NaN becomes 0 or `nan`; infinities become the largest numbers of the type or `posinf`, `neginf`."""
    data = node.tensor("self")
    dtype = data.type.dtype
    if not dtype.is_float:
        node.ignore("nan", "posinf", "neginf")
        return node.result(ops.Identity(), data)
    largest = float(_largest(dtype))
    nan = node.number("nan", 0.0) if node.gives("nan") else 0.0
    positive = node.number("posinf") if node.gives("posinf") else largest
    negative = node.number("neginf") if node.gives("neginf") else -largest
    for found, number in ((ops.IsInf(detect_negative=False), positive), (ops.IsInf(detect_positive=False), negative)):
        data = node.step(ops.Where(), node.step(found, data), node.literal(number, dtype), data)
    return node.result(ops.Where(), node.step(ops.IsNaN(), data), node.literal(nan, dtype), data)


def _largest(dtype: object) -> float:
    exponents = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
    return exponents.get(str(dtype), 1.7976931348623157e308)


def _logit(node: TorchNode) -> Operand:
    """log(x / (1 - x)), x limited to [eps, 1 - eps] if eps is given."""
    data = real(node)
    dtype = data.type.dtype
    if node.gives("eps"):
        eps = node.number("eps")
        data = node.step(ops.Clip(low=eps, high=1 - eps), data)
    odds = node.step(ops.Divide(), data, node.step(ops.Subtract(), node.literal(1, dtype), data))
    return node.result(ops.Log(), odds)


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


def _sinc(node: TorchNode) -> Operand:
    """sin(πx) / πx, 1 at 0."""
    data = real(node)
    dtype = data.type.dtype
    turned = node.step(ops.Multiply(), data, node.literal(pi, dtype))
    at_zero = node.step(ops.Equal(), data, node.literal(0, dtype))
    quotient = node.step(ops.Divide(), node.step(ops.Sin(), turned), turned)
    return node.result(ops.Where(), at_zero, node.literal(1, dtype), quotient)


ELEMENT_WISE: dict[str, Converter] = {
    "_to_copy": _cast,
    "abs": _unary(lambda node: ops.Abs()),
    "absolute": _unary(lambda node: ops.Abs()),
    "acos": _real(lambda node: ops.Acos()),
    "acosh": _real(lambda node: ops.Acosh()),
    "alias": _identity,
    "alias_copy": _identity,
    "alpha_dropout": _dropout,
    "asin": _real(lambda node: ops.Asin()),
    "asinh": _real(lambda node: ops.Asinh()),
    "atan": _real(lambda node: ops.Atan()),
    "atanh": _real(lambda node: ops.Atanh()),
    "bitwise_not": _bitwise_not,
    "ceil": _integral(ops.Ceil),
    "celu": _celu,
    "clone": _identity,
    "contiguous": _identity,
    "cos": _real(lambda node: ops.Cos()),
    "cosh": _real(lambda node: ops.Cosh()),
    "deg2rad": _scaled(pi / 180),
    "detach": _identity,
    "detach_copy": _identity,
    "dropout": _dropout,
    "elu": _elu,
    "erf": _real(lambda node: ops.Erf()),
    "exp": _real(lambda node: ops.Exp()),
    "exp2": _exp2,
    "expm1": _real(lambda node: ops.Expm1()),
    "feature_dropout": _dropout,
    "floor": _integral(ops.Floor),
    "frac": _frac,
    "gelu": _gelu,
    "glu": _glu,
    "hardshrink": lambda node: _shrunk(node, hard=True),
    "hardsigmoid": _unary(lambda node: ops.HardSigmoid(alpha=1 / 6, beta=0.5)),
    "hardswish": _unary(lambda node: ops.HardSwish()),
    "hardtanh": _hard_tanh,
    "isfinite": _is_finite,
    "isinf": _is_infinite(True, True),
    "isnan": lambda node: node.result(ops.IsNaN(), real(node)),
    "isneginf": _is_infinite(True, False),
    "isposinf": _is_infinite(False, True),
    "leaky_relu": _leaky,
    "lift_fresh": _identity,
    "lift_fresh_copy": _identity,
    "log": _real(lambda node: ops.Log()),
    "log10": _scaled_log(10),
    "log1p": _real(lambda node: ops.Log1p()),
    "log2": _scaled_log(2),
    "log_sigmoid": _log_sigmoid,
    "logical_not": _logical_not,
    "logit": _logit,
    "mish": _unary(lambda node: ops.Mish()),
    "nan_to_num": _nan_to_num,
    "native_dropout": _native_dropout,
    "neg": _unary(lambda node: ops.Negative()),
    "negative": _unary(lambda node: ops.Negative()),
    "positive": _identity,
    "prelu": _parametric_relu,
    "rad2deg": _scaled(180 / pi),
    "reciprocal": _real(lambda node: ops.Reciprocal()),
    "relu": _unary(lambda node: ops.Relu()),
    "relu6": _relu6,
    "round": _round,
    "rrelu": _randomized_relu,
    "rsqrt": _rsqrt,
    "selu": _selu,
    "sgn": _unary(lambda node: ops.Sign()),
    "sigmoid": _real(lambda node: ops.Sigmoid()),
    "sign": _unary(lambda node: ops.Sign()),
    "signbit": _sign_bit,
    "silu": _silu,
    "sin": _real(lambda node: ops.Sin()),
    "sinc": _sinc,
    "sinh": _real(lambda node: ops.Sinh()),
    "softplus": _softplus,
    "softshrink": lambda node: _shrunk(node, hard=False),
    "softsign": _soft_sign,
    "special_expit": _real(lambda node: ops.Sigmoid()),
    "special_logit": _logit,
    "sqrt": _real(lambda node: ops.Sqrt()),
    "square": _square,
    "tan": _real(lambda node: ops.Tan()),
    "tanh": _real(lambda node: ops.Tanh()),
    "threshold": _threshold,
    "to": _cast,
    "trunc": _integral(ops.Trunc),
    "type_as": _cast,
}
