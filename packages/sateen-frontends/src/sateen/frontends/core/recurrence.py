"""Recurrent layers of one or both directions, one on the other, as cuDNN has them and frameworks after it."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core import gates
from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import GRU, LSTM, RNN, Recurrent, Reshape, Transpose

GATES = {"lstm": ("ifco", gates.LSTM), "gru": ("rzh", gates.GRU), "rnn_tanh": ("h", "h"), "rnn_relu": ("h", "h")}
"""The kinds of layers: the order of gates in the weights, and in the graph's, by the letters of `gates`."""
LayerWeights = tuple[Value, Value, Value | None]
"""Weights [directions, gates·hidden, in], recurrences [directions, gates·hidden, hidden] and biases
[directions, 2·gates·hidden] of a layer, with gates in the graph's order."""


def recurrent_layer(kind: str, hidden: int, directions: int) -> Recurrent:
    """The operator of a layer of a kind in GATES. The reset gate of GRU comes after the product with the state."""
    direction = "bidirectional" if directions == 2 else "forward"
    if kind == "lstm":
        return LSTM(hidden, direction)
    if kind == "gru":
        return GRU(hidden, direction, linear_before_reset=True)
    return RNN(hidden, direction, ("Relu" if kind == "rnn_relu" else "Tanh",) * directions)


def recurrent_layers(
    node: ModelNode, op: Recurrent, data: Value, weights: Sequence[LayerWeights], initial: Sequence[Sequence[Value]]
) -> tuple[Value, list[tuple[Value, ...]]]:
    """Layers over data [time, batch, in]: the results of the last, [time, batch, directions·hidden], and of each layer
    the states after it. `initial` are those before it; a state is [directions, batch, hidden]."""
    after: list[tuple[Value, ...]] = []
    for own, states in zip(weights, initial, strict=True):
        found, *last = node.steps(op, data, *own, None, *states, count=1 + len(states))
        time, count, batch, hidden = found.type.shape
        moved = node.step(Transpose((0, 2, 1, 3)), found)
        data = node.step(Reshape((time, batch, count * hidden)), moved)
        after.append(tuple(last))
    return data, after
