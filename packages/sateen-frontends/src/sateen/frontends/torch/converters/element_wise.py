"""Element-wise functions of one tensor, and operators that are none at inference."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.operands import real
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import BOOL
from sateen.graph_ir import ops
from sateen.topi.operators import Operator


def unary(make: Callable[[TorchNode], Operator]) -> Converter:
    """An operator on any numbers, in their type."""
    return lambda node: node.result(make(node), node.tensor("self"))


def _real(make: Callable[[TorchNode], Operator]) -> Converter:
    """A function of real numbers: integers become float32 first."""
    return lambda node: node.result(make(node), real(node))


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
    "abs": unary(lambda node: ops.Abs()),
    "absolute": unary(lambda node: ops.Abs()),
    "acos": _real(lambda node: ops.Acos()),
    "acosh": _real(lambda node: ops.Acosh()),
    "alias": _identity,
    "alias_copy": _identity,
    "alpha_dropout": _dropout,
    "asin": _real(lambda node: ops.Asin()),
    "asinh": _real(lambda node: ops.Asinh()),
    "atan": _real(lambda node: ops.Atan()),
    "atanh": _real(lambda node: ops.Atanh()),
    "ceil": _integral(ops.Ceil),
    "clone": _identity,
    "contiguous": _identity,
    "cos": _real(lambda node: ops.Cos()),
    "cosh": _real(lambda node: ops.Cosh()),
    "deg2rad": _scaled(pi / 180),
    "detach": _identity,
    "detach_copy": _identity,
    "dropout": _dropout,
    "erf": _real(lambda node: ops.Erf()),
    "exp": _real(lambda node: ops.Exp()),
    "exp2": _exp2,
    "expm1": _real(lambda node: ops.Expm1()),
    "feature_dropout": _dropout,
    "floor": _integral(ops.Floor),
    "frac": _frac,
    "isfinite": _is_finite,
    "isinf": _is_infinite(True, True),
    "isnan": lambda node: node.result(ops.IsNaN(), real(node)),
    "isneginf": _is_infinite(True, False),
    "isposinf": _is_infinite(False, True),
    "lift_fresh": _identity,
    "lift_fresh_copy": _identity,
    "log": _real(lambda node: ops.Log()),
    "log10": _real(lambda node: ops.Log10()),
    "log1p": _real(lambda node: ops.Log1p()),
    "log2": _real(lambda node: ops.Log2()),
    "logit": _logit,
    "nan_to_num": _nan_to_num,
    "native_dropout": _native_dropout,
    "neg": unary(lambda node: ops.Negative()),
    "negative": unary(lambda node: ops.Negative()),
    "positive": _identity,
    "rad2deg": _scaled(180 / pi),
    "reciprocal": _real(lambda node: ops.Reciprocal()),
    "round": _round,
    "rsqrt": _rsqrt,
    "sgn": unary(lambda node: ops.Sign()),
    "sigmoid": _real(lambda node: ops.Sigmoid()),
    "sign": unary(lambda node: ops.Sign()),
    "signbit": _sign_bit,
    "sin": _real(lambda node: ops.Sin()),
    "sinc": _sinc,
    "sinh": _real(lambda node: ops.Sinh()),
    "special_expit": _real(lambda node: ops.Sigmoid()),
    "special_logit": _logit,
    "sqrt": _real(lambda node: ops.Sqrt()),
    "square": _square,
    "tan": _real(lambda node: ops.Tan()),
    "tanh": _real(lambda node: ops.Tanh()),
    "to": _cast,
    "trunc": _integral(ops.Trunc),
    "type_as": _cast,
}
