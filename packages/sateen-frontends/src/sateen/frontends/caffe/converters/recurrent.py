"""Recurrent layers, as loops over time: a second bottom says where sequences go on, 1, and where one begins, 0.

Caffe keeps the state from call to call; here each call begins with zeros, or with the bottoms of `expose_hidden`, which
is the same where the second bottom begins with 0. Source: recurrent_layer.cpp, lstm_layer.cpp, lstm_unit_layer.cpp,
rnn_layer.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.graph_ir.ir import GraphBuilder, Value
from sateen.graph_ir.ops import (
    NUMBER,
    Add,
    BroadcastTo,
    Gather,
    Identity,
    Loop,
    MatMul,
    Multiply,
    Reshape,
    Sigmoid,
    Split,
    Tanh,
    Transpose,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
Step = Callable[[GraphBuilder, Value, Value, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""The next state, and then the outputs, of a time's products with its input, whether it goes on [N, 1], the state, and
further captured values."""


def _lstm(node: CaffeNode) -> Sequence[Operand]:
    """Gates input, forget, output and cell. Blobs: of the input, bias, of the static input if there is one, and of the
    state."""
    size = _size(node)
    gates, used = _gates(node, 4 * size)
    weight = node.step(Transpose((1, 0)), node.weight(used, 4 * size, size))

    def step(b: GraphBuilder, x: Value, goes_on: Value, state: Sequence[Value], more: Sequence[Value]) -> list[Value]:
        hidden, cell = state
        total = b.add(Add(), x, b.add(MatMul(), b.add(Multiply(), hidden, goes_on), more[0]))
        i, f, o, g = b.add_all(Split(1, (size,) * 4), total)
        kept = b.add(Multiply(), b.add(Multiply(), b.add(Sigmoid(), f), goes_on), cell)
        new = b.add(Add(), kept, b.add(Multiply(), b.add(Sigmoid(), i), b.add(Tanh(), g)))
        given = b.add(Multiply(), b.add(Sigmoid(), o), b.add(Tanh(), new))
        return [given, new, b.add(Identity(), given)]

    return _looped(node, gates, 2, [weight], step)


def _rnn(node: CaffeNode) -> Sequence[Operand]:
    """tanh of the input and the state, and tanh of a product with that as the output."""
    size = _size(node)
    products, used = _gates(node, size)
    weights = [node.step(Transpose((1, 0)), node.weight(i, size, size)) for i in (used, used + 1)]

    def step(b: GraphBuilder, x: Value, goes_on: Value, state: Sequence[Value], more: Sequence[Value]) -> list[Value]:
        recurrence, out, bias = more
        total = b.add(Add(), x, b.add(MatMul(), b.add(Multiply(), state[0], goes_on), recurrence))
        hidden = b.add(Tanh(), total)
        return [hidden, b.add(Tanh(), b.add(Add(), b.add(MatMul(), hidden, out), bias))]

    return _looped(node, products, 1, [*weights, node.weight(used + 2, size)], step)


def _size(node: CaffeNode) -> int:
    size = node.integer("num_output")
    if size < 1:
        raise FrontendError(f"expected num_output of 1 or more, found {size}")
    return size


def _times(node: CaffeNode) -> tuple[int, int]:
    """The number of times and of sequences: bottoms are [T, N, …] and [T, N]."""
    times, sequences = static_extents(node.shape(0)[:2], node.described(0)) if node.rank(0) > 2 else (0, 0)
    if not times or node.shape(1) != (times, sequences):
        raise FrontendError(
            f"expected bottoms [T, N, …] and [T, N], found {list(node.shape(0))}, {list(node.shape(1))}"
        )
    return times, sequences


def _gates(node: CaffeNode, outputs: int) -> tuple[Value, int]:
    """Products of the inputs of all times with their weights, [T, N, outputs], and the number of blobs used."""
    states = 2 if node.operator == "LSTM" else 1
    bottoms = len(node.inputs) - (states if node.flag("expose_hidden") else 0)
    if not 2 <= bottoms <= 3:
        raise FrontendError(f"expected 2 or 3 bottoms besides those of states, found {bottoms}")
    times, sequences = _times(node)
    rows = _product(node, 0, times * sequences, node.static_shape(0)[2:], outputs, 0)
    rows = node.step(Reshape((times, sequences, outputs)), node.step(Add(), rows, node.weight(1, outputs)))
    if bottoms == 2:
        return rows, 2
    shape = node.static_shape(2)
    if not shape or shape[0] != sequences:
        raise FrontendError(f"expected a third bottom of {sequences} sequences, found {list(shape)}")
    return node.step(Add(), rows, _product(node, 2, sequences, shape[1:], outputs, 2)), 3


def _product(node: CaffeNode, index: int, rows: int, shape: Sequence[int], outputs: int, blob: int) -> Value:
    """A bottom as rows, times a blob [outputs, inputs]."""
    inputs = prod(shape)
    data = node.step(Reshape((rows, inputs)), node.value(index))
    return node.step(MatMul(), data, node.step(Transpose((1, 0)), node.weight(blob, outputs, inputs)))


def _looped(node: CaffeNode, rows: Value, states: int, more: Sequence[Value], step: Step) -> Sequence[Operand]:
    """The tops: outputs of all times, and with `expose_hidden` the last state as [1, N, H]."""
    (times, sequences), size = _times(node), _size(node)
    exposes = node.flag("expose_hidden")
    initial = [_state(node, len(node.inputs) - states + i, exposes, sequences, size) for i in range(states)]
    captured = [rows, node.value(1), *more]
    b = GraphBuilder(f"{node.layer.name}.step")
    number = b.input("time", NUMBER.dtype, NUMBER.shape)
    state = [b.input(f"state{i}", v.type.dtype, v.type.shape) for i, v in enumerate(initial)]
    inner = [b.input(f"given{i}", v.type.dtype, v.type.shape) for i, v in enumerate(captured)]
    x = b.add(Gather(0), inner[0], number)
    goes_on = b.add(Reshape((sequences, 1)), b.add(Gather(0), inner[1], number))
    for value in step(b, x, goes_on, state, inner[2:]):
        b.output(value)
    loop = Loop(b.finish(), times, states)
    found = node.steps(loop, *initial, *captured, count=states + 1)
    shape = (1, sequences, size)
    outputs = node.result(Reshape((times, sequences, size)), found[-1])
    if not exposes:
        return [outputs]
    return [outputs, *(node.result(Reshape(shape), v, output=i) for i, v in enumerate(found[:-1], start=1))]


def _state(node: CaffeNode, index: int, is_given: bool, sequences: int, size: int) -> Value:
    if not is_given:
        return node.step(BroadcastTo((sequences, size)), node.literal(0, FLOAT, (1, 1)))
    if node.shape(index) != (1, sequences, size):
        raise FrontendError(f"expected a state [1, {sequences}, {size}], found {list(node.shape(index))}")
    return node.step(Reshape((sequences, size)), node.value(index))


RECURRENT: dict[str, Converter] = {"LSTM": _lstm, "RNN": _rnn}
