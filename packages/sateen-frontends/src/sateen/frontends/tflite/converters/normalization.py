"""Normalizations."""

from __future__ import annotations

from sateen.frontends.core.channels import to_channels_first, to_channels_last
from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir.ops import (
    LRN,
    Divide,
    Identity,
    LogSoftmax,
    Maximum,
    Multiply,
    ReduceSumSquare,
    Softmax,
    Sqrt,
)
from sateen.runtime.errors import FrontendError

_LEAST_NORM = 1e-6
"""The smallest divisor of L2_NORMALIZATION (reference_ops, l2normalization.h)."""


def _last_axis(node: TfliteNode) -> int:
    if not node.rank(0):
        raise FrontendError("expected data of one dimension or more, found a scalar")
    return node.rank(0) - 1


def _softmax(node: TfliteNode) -> Operand:
    """Of beta·x, along the last axis."""
    axis, data, beta = _last_axis(node), node.real(0), node.number("beta")
    if beta != 1.0:
        data = node.step(Multiply(), data, node.literal(beta, data.type.dtype))
    return node.finish(Softmax(axis), data)


def _log_softmax(node: TfliteNode) -> Operand:
    return node.finish(LogSoftmax(_last_axis(node)), node.real(0))


def _norm(node: TfliteNode) -> Operand:
    """Divided by the 2-norm along the last axis, or 1e-6 if that is larger."""
    axis, data = _last_axis(node), node.real(0)
    norm = node.step(Sqrt(), node.step(ReduceSumSquare((axis,), True), data))
    return node.finish(Divide(), data, node.step(Maximum(), norm, node.literal(_LEAST_NORM, data.type.dtype)))


def _local_response(node: TfliteNode) -> Operand:
    """The sum over `radius` channels to either side is not divided by their number, as ONNX does."""
    if node.rank(0) != 4:
        raise FrontendError(f"expected data of 4 dimensions, found {node.rank(0)}")
    size = 2 * node.integer("radius") + 1
    op = LRN(size, node.number("alpha") * size, node.number("beta"), node.number("bias"))
    normalised = node.step(op, to_channels_first(node, node.real(0)))
    return node.result(Identity(), to_channels_last(node, normalised))


NORMALIZATION: dict[str, Converter] = {
    "L2_NORMALIZATION": _norm,
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
    "LOG_SOFTMAX": _log_softmax,
    "SOFTMAX": _softmax,
}
