"""Recurrent layers: cells, a step of time each, and LSTMs over all steps as loops of such cells.

Source: tensorflow/core/kernels/rnn, lstm_ops.cc and gru_ops.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sateen.frontends.core.bodies import Bodies, Subgraph
from sateen.frontends.core.control import counted_loop
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.frontends.tensorflow.operation import Operation
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_ORDERS = {"BlockLSTM": "icfo", "BlockLSTMV2": "ifco", "LSTMBlockCell": "icfo"}
"""The order of gates in weights: input, cell, forget, output."""

Step = Callable[..., Value]
"""Applies an operator to values."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """The weight of [x, h], its bias, and those of the state for i, f and o, if there are."""

    weight: Value
    bias: Value
    peepholes: tuple[Value, Value, Value] | None


def _parts(step: Step, value: Value, count: int) -> list[Value]:
    """A value [batch, gates] cut along its last axis."""
    rows, extent = value.type.static_shape
    if extent % count:
        raise FrontendError(f"expected weights of {count} gates, found {extent} columns")
    size = extent // count
    return [step(ops.Slice((0, i * size), (rows, (i + 1) * size), (1, 1)), value) for i in range(count)]


def _affine(step: Step, x: Value, h: Value, weight: Value, bias: Value) -> Value:
    """[x, h] · weight + bias."""
    return step(ops.Add(), step(ops.MatMul(), step(ops.Concat(axis=1), x, h), weight), bias)


def _lstm_step(
    node: TensorflowNode, step: Step, number: Callable[[float], Value], x: Value, cs: Value, h: Value, w: _Weights
) -> list[Value]:
    """A step of an LSTM: i, cs, f, o, ci, co, h. The forget gate has forget_bias; the state is limited to cell_clip if
    that is above 0."""
    gates = dict(zip(_ORDERS[node.operator], _parts(step, _affine(step, x, h, w.weight, w.bias), 4), strict=True))

    def peeped(gate: str, index: int, state: Value) -> Value:
        if w.peepholes is None:
            return gates[gate]
        return step(ops.Add(), gates[gate], step(ops.Multiply(), state, w.peepholes[index]))

    kept = peeped("f", 1, cs)
    if node.attribute("forget_bias"):
        kept = step(ops.Add(), kept, number(node.number("forget_bias")))
    i, f, ci = step(ops.Sigmoid(), peeped("i", 0, cs)), step(ops.Sigmoid(), kept), step(ops.Tanh(), gates["c"])
    state = step(ops.Add(), step(ops.Multiply(), ci, i), step(ops.Multiply(), cs, f))
    if (clip := node.number("cell_clip")) > 0:
        state = step(ops.Clip(low=-clip, high=clip), state)
    o, co = step(ops.Sigmoid(), peeped("o", 2, state)), step(ops.Tanh(), state)
    return [i, state, f, o, ci, co, step(ops.Multiply(), co, o)]


def _lstm_cell(node: TensorflowNode) -> list[Value]:
    """Inputs x, cs_prev, h_prev, w, wci, wcf, wco, b."""
    peepholes = (node.value(4), node.value(5), node.value(6)) if node.flag("use_peephole") else None
    weights = _Weights(node.value(3), node.value(7), peepholes)
    dtype = node.dtype(0)
    x, cs, h = (node.value(index) for index in range(3))
    return _lstm_step(node, node.step, lambda value: node.literal(value, dtype), x, cs, h, weights)


def lstm_layer(node: TensorflowNode, bodies: Bodies[Operation]) -> list[Operand]:
    """The results of all steps. Inputs seq_len_max, x [time, batch, features], cs_prev, h_prev, w, wci, wcf, wco, b."""
    time, *_ = node.static_shape(1)
    if not time or int(node.scalar(0)) < time:
        raise UnsupportedError(f"a sequence that ends before its {time} steps is not supported")
    body = bodies.open(Subgraph("step", (), (), (), (), (), dict))
    iteration = body.input("iteration", ops.NUMBER)
    states = [node.value(2), node.value(3)]
    cs, h = (body.input(name, state.type) for name, state in zip(("cs", "h"), states, strict=True))
    held = [body.capture(node.value(index)) for index in range(4, 9)]
    peepholes = (held[1], held[2], held[3]) if node.flag("use_peephole") else None
    dtype = node.dtype(1).numpy

    def number(value: float) -> Value:
        return body.constant(np.array(value, dtype))

    def step(op: Operator, *inputs: Value) -> Value:
        return body.add(op, *inputs)

    x = step(ops.Gather(axis=0), body.capture(node.value(1)), iteration)
    results = _lstm_step(node, step, number, x, cs, h, _Weights(held[0], held[4], peepholes))
    op, inputs = counted_loop(body, time, states, [results[1], results[6], *results])
    return list(node.steps(op, *inputs, count=9)[2:])


def _gru_cell(node: TensorflowNode) -> tuple[Operand, ...]:
    """Gates r, u, then the candidate over r · h. Outputs r, u, c, h = u · h + (1 - u) · c."""
    step, x, previous = node.step, node.value(0), node.value(1)
    gates = step(ops.Sigmoid(), _affine(step, x, previous, node.value(2), node.value(4)))
    reset, update = _parts(step, gates, 2)
    moved = _affine(step, x, step(ops.Multiply(), previous, reset), node.value(3), node.value(5))
    c, one = step(ops.Tanh(), moved), node.literal(1, node.dtype(0))
    rest = step(ops.Multiply(), step(ops.Subtract(), one, update), c)
    return reset, update, c, step(ops.Add(), step(ops.Multiply(), update, previous), rest)


RECURRENT: dict[str, Converter] = {"GRUBlockCell": _gru_cell, "LSTMBlockCell": _lstm_cell}
