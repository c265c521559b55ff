"""Recurrent layers and cells.

Gates are i f c o of LSTM and r z h of GRU, whose hidden gate resets after its product (torch.nn.GRU).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.recurrence import GATES, LayerWeights, recurrent_layer, recurrent_layers
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _in_order(node: TorchNode, kind: str, weight: Value) -> Value:
    """A weight or bias with its gates in the graph's order."""
    given, wanted = GATES[kind]
    if given == wanted:
        return weight
    (rows,) = static_extents(weight.type.shape[:1], "a weight of a recurrent layer")
    parts = node.steps(ops.Split(axis=0, sizes=(rows // len(given),) * len(given)), weight, count=len(given))
    return node.step(ops.Concat(axis=0), *(parts[given.index(gate)] for gate in wanted))


def _stacked(node: TorchNode, values: Sequence[Value]) -> Value:
    return node.step(ops.Concat(axis=0), *(node.reshaped(v, (1, *v.type.shape)) for v in values))


def _weights(node: TorchNode, kind: str, directions: Sequence[Sequence[Value]]) -> LayerWeights:
    """Of a layer, whose directions have weights and perhaps biases."""
    weights, recurrences, *biases = (
        [_in_order(node, kind, value) for value in values] for values in zip(*directions, strict=True)
    )
    bias = None
    if biases:
        bias = _stacked(node, [node.step(ops.Concat(axis=0), *pair) for pair in zip(*biases, strict=True)])
    return _stacked(node, weights), _stacked(node, recurrences), bias


def _operator(kind: str, weights: LayerWeights) -> ops.Recurrent:
    count, _, hidden = static_extents(weights[1].type.shape, "a weight of a recurrent layer")
    return recurrent_layer(kind, hidden, count)


def _layers(kind: str) -> Converter:
    """lstm, gru, rnn_tanh and rnn_relu: layers of one or both directions, one on the other."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        data, params = node.tensor("input"), node.tensors("params")
        states = node.tensors("hx") if kind == "lstm" else [node.tensor("hx")]
        count, layers = 1 + node.flag("bidirectional"), node.integer("num_layers")
        if layers < 1:
            raise FrontendError(f"expected one layer or more, found {layers}")
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
        weights, initial = [], []
        for layer in range(layers):
            first = layer * count * per_direction
            directions = [params[first + d * per_direction :][:per_direction] for d in range(count)]
            weights.append(_weights(node, kind, directions))
            initial.append([_rows(node, v, layer * count, count) for v in states])
        data, after = recurrent_layers(node, _operator(kind, weights[0]), data, weights, initial)
        last = list(zip(*after, strict=True))
        return _results(node, data, last, rank, batch_first)

    return convert


def _rows(node: TorchNode, value: Value, start: int, count: int) -> Value:
    if value.type.shape[0] == count:
        return value
    rest = value.type.rank - 1
    return node.step(
        ops.Slice((start, *(0,) * rest), (start + count, *value.type.shape[1:]), (1,) * value.type.rank), value
    )


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
        weights = _weights(node, kind, [given])
        _, (after,) = recurrent_layers(node, _operator(kind, weights), rows, [weights], [initial])
        return [node.result(ops.Reshape(shape=wide), v, output=i) for i, v in enumerate(after)]

    return convert


RECURRENT: dict[str, Converter] = {
    **{f"{kind}.input": _layers(kind) for kind in GATES},
    **{f"{kind}_cell": _cell(kind) for kind in GATES},
}
