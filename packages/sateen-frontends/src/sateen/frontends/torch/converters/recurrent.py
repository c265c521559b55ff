"""Recurrent layers and cells.

Gates are i f c o of LSTM and r z h of GRU, whose hidden gate resets after its product (torch.nn.GRU).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.gates import GRU, LSTM
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

_GATES = {"lstm": ("ifco", LSTM), "gru": ("rzh", GRU), "rnn_tanh": ("h", "h"), "rnn_relu": ("h", "h")}
"""The order of gates in torch, and in the graph."""


def _in_order(node: TorchNode, kind: str, weight: Value) -> Value:
    """A weight or bias with its gates in the graph's order."""
    given, wanted = _GATES[kind]
    if given == wanted:
        return weight
    (rows,) = static_extents(weight.type.shape[:1], "a weight of a recurrent layer")
    parts = node.steps(ops.Split(axis=0, sizes=(rows // len(given),) * len(given)), weight, count=len(given))
    return node.step(ops.Concat(axis=0), *(parts[given.index(gate)] for gate in wanted))


def _stacked(node: TorchNode, values: Sequence[Value]) -> Value:
    return node.step(ops.Concat(axis=0), *(node.reshaped(v, (1, *v.type.shape)) for v in values))


def _operator(kind: str, hidden: int, count: int) -> ops.Recurrent:
    direction = "bidirectional" if count == 2 else "forward"
    if kind == "lstm":
        return ops.LSTM(hidden, direction)
    if kind == "gru":
        return ops.GRU(hidden, direction, linear_before_reset=True)
    return ops.RNN(hidden, direction, ("Relu" if kind == "rnn_relu" else "Tanh",) * count)


def _run(
    node: TorchNode, kind: str, data: Value, directions: Sequence[Sequence[Value]], states: Sequence[Value]
) -> tuple[Value, ...]:
    """One layer over data [time, batch, in]: its results, each direction with weights and perhaps biases."""
    weights, recurrences, *biases = (
        [_in_order(node, kind, value) for value in values] for values in zip(*directions, strict=True)
    )
    bias = None
    if biases:
        pairs = zip(*biases, strict=True)
        bias = _stacked(node, [node.step(ops.Concat(axis=0), *pair) for pair in pairs])
    (hidden,) = static_extents(recurrences[0].type.shape[1:], "a weight of a recurrent layer")
    op = _operator(kind, hidden, len(directions))
    given = (data, _stacked(node, weights), _stacked(node, recurrences), bias, None, *states)
    return node.steps(op, *given, count=1 + len(states))


def _layers(kind: str) -> Converter:
    """lstm, gru, rnn_tanh and rnn_relu: layers of one or both directions, one on the other."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        data, params = node.tensor("input"), node.tensors("params")
        states = node.tensors("hx") if kind == "lstm" else [node.tensor("hx")]
        count, layers = 1 + node.flag("bidirectional"), node.integer("num_layers")
        if node.flag("train") and node.number("dropout") > 0:
            raise UnsupportedError("dropout between layers is not supported", "export the module after eval()")
        node.ignore("dropout")
        per_direction = 4 if node.flag("has_biases") else 2
        if len(params) != per_direction * count * layers:
            raise UnsupportedError("a projection of the hidden state (proj_size) is not supported")
        rank, batch_first = data.type.rank, node.flag("batch_first")
        if rank == 2:
            data = node.reshaped(data, (data.type.shape[0], 1, data.type.shape[1]))
            states = [node.reshaped(v, (v.type.shape[0], 1, *v.type.shape[1:])) for v in states]
        elif batch_first:
            data = node.step(ops.Transpose(permutation=(1, 0, 2)), data)
        last: list[list[Value]] = [[] for _ in states]
        for layer in range(layers):
            first = layer * count * per_direction
            directions = [params[first + d * per_direction :][:per_direction] for d in range(count)]
            initial = [_rows(node, v, layer * count, count) for v in states]
            found, *after = _run(node, kind, data, directions, initial)
            data = _joined(node, found)
            for all_, one in zip(last, after, strict=True):
                all_.append(one)
        return _results(node, data, last, rank, batch_first)

    return convert


def _rows(node: TorchNode, value: Value, start: int, count: int) -> Value:
    if value.type.shape[0] == count:
        return value
    rest = value.type.rank - 1
    return node.step(
        ops.Slice((start, *(0,) * rest), (start + count, *value.type.shape[1:]), (1,) * value.type.rank), value
    )


def _joined(node: TorchNode, found: Value) -> Value:
    """[time, direction, batch, hidden] as [time, batch, direction·hidden]."""
    time, count, batch, hidden = found.type.shape
    if count == 1:
        return node.reshaped(found, (time, batch, hidden))
    moved = node.step(ops.Transpose(permutation=(0, 2, 1, 3)), found)
    return node.reshaped(moved, (time, batch, count * hidden))


def _results(
    node: TorchNode, data: Value, last: Sequence[Sequence[Value]], rank: int, batch_first: bool
) -> list[Operand]:
    """The last layer over time, and the last states of all layers."""
    results: list[Operand] = []
    if rank == 2:
        results.append(node.result(ops.Reshape(shape=(data.type.shape[0], data.type.shape[2])), data))
    else:
        order = (1, 0, 2) if batch_first else (0, 1, 2)
        results.append(node.result(ops.Transpose(permutation=order), data))
    for output, states in enumerate(last, start=1):
        whole = node.step(ops.Concat(axis=0), *states) if len(states) > 1 else states[0]
        shape = (whole.type.shape[0], whole.type.shape[2]) if rank == 2 else whole.type.shape
        results.append(node.result(ops.Reshape(shape=shape), whole, output=output))
    return results


def _cell(kind: str) -> Converter:
    """One step: the new hidden state, and the cell of LSTM."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        data = node.tensor("input")
        states = node.tensors("hx") if kind == "lstm" else [node.tensor("hx")]
        names = ("w_ih", "w_hh", "b_ih", "b_hh")
        given = [value for name in names if (value := node.optional(name)) is not None]
        if len(given) not in (2, 4):
            raise FrontendError("expected both biases or none")
        batch, wide = data.type.rank == 2, states[0].type.shape
        rows = node.reshaped(data, (1, data.type.shape[0] if batch else 1, data.type.shape[-1]))
        initial = [node.reshaped(v, (1, v.type.shape[0] if batch else 1, v.type.shape[-1])) for v in states]
        _, *after = _run(node, kind, rows, [given], initial)
        return [node.result(ops.Reshape(shape=wide), v, output=i) for i, v in enumerate(after)]

    return convert


RECURRENT: dict[str, Converter] = {
    **{f"{kind}.input": _layers(kind) for kind in _GATES},
    **{f"{kind}_cell": _cell(kind) for kind in _GATES},
}
