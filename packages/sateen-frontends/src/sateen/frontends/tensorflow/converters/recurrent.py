"""Cells of recurrent layers, a step of time each (tensorflow/core/kernels/rnn)."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _parts(node: TensorflowNode, value: Value, count: int) -> tuple[Value, ...]:
    """A value cut along its last axis."""
    *_, extent = value.type.static_shape
    if extent % count:
        raise FrontendError(f"expected weights of {count} gates, found {extent} columns")
    axis = value.type.rank - 1
    return node.steps(ops.Split(axis=axis, sizes=(extent // count,) * count), value, count=count)


def _affine(node: TensorflowNode, inputs: tuple[Value, ...], weight: int, bias: int) -> Value:
    """[inputs] · weight + bias."""
    joined = node.step(ops.Concat(axis=1), *inputs)
    return node.step(ops.Add(), node.step(ops.MatMul(), joined, node.value(weight)), node.value(bias))


def _lstm_cell(node: TensorflowNode) -> tuple[Operand, ...]:
    """Gates i, cell, f, o; the forget gate with forget_bias, the cell limited to cell_clip if that is above 0. Outputs
    i, cs, f, o, ci, co, h."""
    previous, dtype = node.value(1), node.dtype(0)
    gates = _affine(node, (node.value(0), node.value(2)), 3, 7)
    entry, fresh, kept, exit_ = _parts(node, gates, 4)
    peeps = node.flag("use_peephole")
    if peeps:
        entry = node.step(ops.Add(), entry, node.step(ops.Multiply(), previous, node.value(4)))
        kept = node.step(ops.Add(), kept, node.step(ops.Multiply(), previous, node.value(5)))
    kept = node.step(ops.Add(), kept, node.literal(node.number("forget_bias"), dtype))
    i, f = node.result(ops.Sigmoid(), entry), node.result(ops.Sigmoid(), kept, output=2)
    ci = node.result(ops.Tanh(), fresh, output=4)
    cell = node.step(ops.Add(), node.step(ops.Multiply(), ci, i), node.step(ops.Multiply(), previous, f))
    clip = node.number("cell_clip")
    state = node.result(ops.Clip(low=-clip, high=clip) if clip > 0 else ops.Identity(), cell, output=1)
    if peeps:
        exit_ = node.step(ops.Add(), exit_, node.step(ops.Multiply(), state, node.value(6)))
    o, co = node.result(ops.Sigmoid(), exit_, output=3), node.result(ops.Tanh(), state, output=5)
    return i, state, f, o, ci, co, node.result(ops.Multiply(), co, o, output=6)


def _gru_cell(node: TensorflowNode) -> tuple[Operand, ...]:
    """Gates r, u, then the candidate over r · h. Outputs r, u, c, h = u · h + (1 - u) · c."""
    x, previous = node.value(0), node.value(1)
    gates = node.step(ops.Sigmoid(), _affine(node, (x, previous), 2, 4))
    reset, update = _parts(node, gates, 2)
    c = node.result(ops.Tanh(), _affine(node, (x, node.step(ops.Multiply(), previous, reset)), 3, 5), output=2)
    one = node.literal(1, node.dtype(0))
    rest = node.step(ops.Multiply(), node.step(ops.Subtract(), one, update), c)
    return reset, update, c, node.result(ops.Add(), node.step(ops.Multiply(), update, previous), rest, output=3)


RECURRENT: dict[str, Converter] = {
    "GRUBlockCell": _gru_cell,
    "LSTMBlockCell": _lstm_cell,
}
