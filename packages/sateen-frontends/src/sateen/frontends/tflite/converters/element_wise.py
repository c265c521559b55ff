"""Functions of each element."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def _function(op: Operator) -> Converter:
    return lambda node: node.finish(op, node.real(0))


def _with_options(make: Callable[[TfliteNode], Operator]) -> Converter:
    return lambda node: node.finish(make(node), node.real(0))


def _reciprocal_root(node: TfliteNode) -> Operand:
    return node.finish(ops.Reciprocal(), node.step(ops.Sqrt(), node.real(0)))


def _square(node: TfliteNode) -> Operand:
    data = node.real(0)
    return node.finish(ops.Multiply(), data, data)


def _prelu(node: TfliteNode) -> Operand:
    return node.finish(ops.PRelu(), node.real(0), node.real(1))


def _cast(node: TfliteNode) -> Operand:
    """Of the integers themselves, if data are quantised."""
    return node.result(ops.Cast(node.output_dtype()), node.value(0))


def _zeros(node: TfliteNode) -> Operand:
    """0, whatever the numbers are: 0·x is not if x is infinite."""
    data: Value = node.value(0)
    zero = node.literal(0, data.type.dtype)
    return node.result(ops.BroadcastTo(data.type.shape), zero)


def _same_bits(node: TfliteNode) -> Operand:
    wanted = node.output_dtype()
    if wanted.bits != node.dtype(0).bits:
        raise UnsupportedError(f"bits of {node.dtype(0)} as {wanted}, of another width, are not supported")
    return node.result(ops.BitCast(wanted), node.value(0))


ELEMENT_WISE: dict[str, Converter] = {
    "ABS": _function(ops.Abs()),
    "BITCAST": _same_bits,
    "CAST": _cast,
    "CEIL": _function(ops.Ceil()),
    "COS": _function(ops.Cos()),
    "ELU": _function(ops.Elu()),
    "EXP": _function(ops.Exp()),
    "FLOOR": _function(ops.Floor()),
    "GELU": _with_options(lambda node: ops.Gelu("tanh" if node.flag("approximate") else "none")),
    "HARD_SWISH": _function(ops.HardSwish()),
    "LEAKY_RELU": _with_options(lambda node: ops.LeakyRelu(node.number("alpha"))),
    "LOG": _function(ops.Log()),
    "LOGICAL_NOT": _function(ops.Not()),
    "LOGISTIC": _function(ops.Sigmoid()),
    "NEG": _function(ops.Negative()),
    "PRELU": _prelu,
    "RELU": _function(ops.Relu()),
    "RELU6": _function(ops.Clip(0.0, 6.0)),
    "RELU_0_TO_1": _function(ops.Clip(0.0, 1.0)),
    "RELU_N1_TO_1": _function(ops.Clip(-1.0, 1.0)),
    "ROUND": _function(ops.Round()),
    "RSQRT": _reciprocal_root,
    "SIGN": _function(ops.Sign()),
    "SIN": _function(ops.Sin()),
    "SQRT": _function(ops.Sqrt()),
    "SQUARE": _square,
    "TANH": _function(ops.Tanh()),
    "ZEROS_LIKE": _zeros,
}
