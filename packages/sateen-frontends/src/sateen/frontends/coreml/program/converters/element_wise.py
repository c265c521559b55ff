"""Operations element by element."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from sateen.frontends.core.operands import Operand, open_dimensions_of
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_CASTS = {
    "bool": "bool", "fp16": "float16", "fp32": "float32", "fp64": "float64", "int8": "int8", "int16": "int16",
    "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
}  # fmt: skip
"""Element types by the names that `cast` takes."""


def _unary(op: Operator) -> Converter:
    return lambda node: node.result(op, node.take("x"))


def _binary(op: Operator) -> Converter:
    return lambda node: node.result(op, node.take("x"), node.take("y"))


def _division(node: OperationNode) -> Operand:
    if not node.dtype(node.at("x")).is_float:
        raise UnsupportedError(
            "real_div of integers, which the format leaves open how to round",
            "cast the operands to fp32, or use floor_div",
        )
    return node.result(ops.Divide(), node.take("x"), node.take("y"))


def _floor_division(node: OperationNode) -> Operand:
    x, y = node.take("x"), node.take("y")
    if x.type.dtype.is_float:
        return node.result(ops.Floor(), node.step(ops.Divide(), x, y))
    return node.result(ops.FloorDivide(), x, y)


def _affine(node: OperationNode) -> Operand:
    """alpha · x + beta."""
    x = node.take("x")
    scaled = node.step(ops.Multiply(), x, node.take("alpha"))
    return node.result(ops.Add(), scaled, node.take("beta"))


def _shifted(node: OperationNode) -> Value:
    """x + epsilon."""
    x, epsilon = node.take("x"), node.number("epsilon")
    shift = node.number_like(epsilon, x)
    return node.step(ops.Add(), x, shift) if epsilon else x


def _logarithm(node: OperationNode) -> Operand:
    return node.result(ops.Log(), _shifted(node))


def _inverse(node: OperationNode) -> Operand:
    return node.result(ops.Reciprocal(), _shifted(node))


def _inverse_root(node: OperationNode) -> Operand:
    return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), _shifted(node)))


def _power_of_two(node: OperationNode) -> Operand:
    x = node.take("x")
    return node.result(ops.Exp(), node.step(ops.Multiply(), x, node.number_like(log(2), x)))


def _square(node: OperationNode) -> Operand:
    x = node.take("x")
    return node.result(ops.Multiply(), x, x)


def _clip(node: OperationNode) -> Operand:
    above = node.step(ops.Maximum(), node.take("x"), node.take("alpha"))
    return node.result(ops.Minimum(), above, node.take("beta"))


def _thresholded(node: OperationNode) -> Operand:
    """x where it is at least alpha, 0 elsewhere."""
    x = node.take("x")
    return node.result(ops.Where(), node.step(ops.GreaterEqual(), x, node.take("alpha")), x, node.number_like(0.0, x))


def _clamped_relu(node: OperationNode) -> Operand:
    leaky = node.step(ops.LeakyRelu(alpha=node.number("alpha")), node.take("x"))
    return node.result(ops.Minimum(), leaky, node.take("beta"))


def _scaled_tanh(node: OperationNode) -> Operand:
    inner = node.step(ops.Multiply(), node.take("x"), node.take("beta"))
    return node.result(ops.Multiply(), node.step(ops.Tanh(), inner), node.take("alpha"))


def _gated(node: OperationNode, scale: float) -> Operand:
    """x · sigmoid(scale · x)."""
    x = node.take("x")
    inner = x if scale == 1 else node.step(ops.Multiply(), x, node.number_like(scale, x))
    return node.result(ops.Multiply(), x, node.step(ops.Sigmoid(), inner))


def _gelu(node: OperationNode) -> Operand:
    match node.text("mode"):
        case "SIGMOID_APPROXIMATION":
            return _gated(node, 1.702)
        case "EXACT" | "TANH_APPROXIMATION" as mode:
            return node.result(ops.Gelu("none" if mode == "EXACT" else "tanh"), node.take("x"))
        case mode:
            raise FrontendError(f"expected mode EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION, found {mode!r}")


def _per_channel(node: OperationNode, name: str) -> Value:
    """Numbers of channels, which are axis 1 of x."""
    value = node.take(name)
    if value.type.rank > 1:
        raise FrontendError(f"expected {name} of one number per channel, found {value.type}")
    rank = node.rank(node.at("x"))
    return node.step(ops.Reshape((1, *value.type.shape, *(1,) * (rank - 2))), value) if value.type.rank else value


def _parametric_relu(node: OperationNode) -> Operand:
    return node.result(ops.PRelu(), node.take("x"), _per_channel(node, "alpha"))


def _parametric_softplus(node: OperationNode) -> Operand:
    inner = node.step(ops.Multiply(), node.take("x"), _per_channel(node, "beta"))
    return node.result(ops.Multiply(), node.step(ops.Softplus(), inner), _per_channel(node, "alpha"))


def _cast(node: OperationNode) -> Operand:
    """Open dimensions stay what they are."""
    name, operand = node.text("dtype"), node.operand(node.at("x"))
    if name not in _CASTS:
        raise FrontendError(f"expected a type of {', '.join(_CASTS)}, found {name!r}")
    wanted = DType.of(_CASTS[name])
    if isinstance(operand, np.ndarray) and open_dimensions_of(operand) and wanted.is_int:
        return operand
    return node.result(ops.Cast(wanted), node.take("x"))


def _relu6(node: OperationNode) -> Operand:
    return node.result(ops.Clip(0.0, 6.0), node.take("x"))


ELEMENT_WISE: Mapping[str, Converter] = {
    "abs": _unary(ops.Abs()),
    "acos": _unary(ops.Acos()),
    "add": _binary(ops.Add()),
    "asin": _unary(ops.Asin()),
    "atan": _unary(ops.Atan()),
    "atanh": _unary(ops.Atanh()),
    "cast": _cast,
    "ceil": _unary(ops.Ceil()),
    "clamped_relu": _clamped_relu,
    "clip": _clip,
    "cos": _unary(ops.Cos()),
    "cosh": _unary(ops.Cosh()),
    "elu": lambda node: node.result(ops.Elu(node.number("alpha")), node.take("x")),
    "equal": _binary(ops.Equal()),
    "erf": _unary(ops.Erf()),
    "exp": _unary(ops.Exp()),
    "exp2": _power_of_two,
    "floor": _unary(ops.Floor()),
    "floor_div": _floor_division,
    "gelu": defaulting(_gelu, mode="EXACT"),
    "greater": _binary(ops.Greater()),
    "greater_equal": _binary(ops.GreaterEqual()),
    "identity": _unary(ops.Identity()),
    "inverse": defaulting(_inverse, epsilon=1e-4),
    "leaky_relu": lambda node: node.result(ops.LeakyRelu(node.number("alpha")), node.take("x")),
    "less": _binary(ops.Less()),
    "less_equal": _binary(ops.LessEqual()),
    "linear_activation": _affine,
    "log": defaulting(_logarithm, epsilon=1e-45),
    "logical_and": _binary(ops.And()),
    "logical_not": _unary(ops.Not()),
    "logical_or": _binary(ops.Or()),
    "logical_xor": _binary(ops.Xor()),
    "maximum": _binary(ops.Maximum()),
    "minimum": _binary(ops.Minimum()),
    "mod": _binary(ops.Modulo()),
    "mul": _binary(ops.Multiply()),
    "not_equal": _binary(ops.NotEqual()),
    "pow": _binary(ops.Power()),
    "prelu": _parametric_relu,
    "real_div": _division,
    "relu": _unary(ops.Relu()),
    "relu6": _relu6,
    "round": _unary(ops.Round()),
    "rsqrt": defaulting(_inverse_root, epsilon=1e-12),
    "scaled_tanh": _scaled_tanh,
    "select": lambda node: node.result(ops.Where(), node.take("cond"), node.take("a"), node.take("b")),
    "sigmoid": _unary(ops.Sigmoid()),
    "sigmoid_hard": lambda node: node.result(
        ops.HardSigmoid(node.number("alpha"), node.number("beta")), node.take("x")
    ),
    "sign": _unary(ops.Sign()),
    "silu": lambda node: _gated(node, 1.0),
    "sin": _unary(ops.Sin()),
    "sinh": _unary(ops.Sinh()),
    "softplus": _unary(ops.Softplus()),
    "softplus_parametric": _parametric_softplus,
    "softsign": _unary(ops.Softsign()),
    "sqrt": _unary(ops.Sqrt()),
    "square": _square,
    "sub": _binary(ops.Subtract()),
    "tan": _unary(ops.Tan()),
    "tanh": _unary(ops.Tanh()),
    "threshold": lambda node: node.result(ops.Maximum(), node.take("x"), node.take("alpha")),
    "thresholded_relu": _thresholded,
}
