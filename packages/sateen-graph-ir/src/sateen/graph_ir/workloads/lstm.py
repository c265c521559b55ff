"""A stack of LSTM layers: Hochreiter and Schmidhuber (1997), with the gates of Gers et al. (2000)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.ops import LSTM
from sateen.graph_ir.workloads.network import Network


def lstm(
    layers: int = 2, length: int = 16, batch: int = 1, features: int = 128, hidden: int = 128, seed: int = 0
) -> Graph:
    """data [length, batch, features] to the states of the last layer, output [length, batch, hidden]."""
    n = Network("lstm", seed)
    x = n.input("data", "float32", (length, batch, features))
    for _ in range(layers):
        inputs = x.type.static_shape[-1]
        weights = [
            n.weight("weight", 1, 4 * hidden, inputs, fan_in=inputs),
            n.weight("recurrence", 1, 4 * hidden, hidden, fan_in=hidden),
            n.weight("bias", 1, 8 * hidden, fan_in=hidden),
        ]
        states, _, _ = n.add_all(LSTM(hidden_size=hidden), x, *weights, names=("states", "last", "cell"))
        x = n.reshape(states, length, batch, hidden)
    return n.end(x)
