"""Networks on sequences."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import LSTM, Add, Gelu, LayerNormalization, MatMul, Multiply, Softmax, Transpose
from sateen.graph_ir.workloads.network import Network


def lstm(
    layers: int = 2, length: int = 16, batch: int = 1, features: int = 128, hidden: int = 128, seed: int = 0
) -> Graph:
    """data [length, batch, features] to the states of the last layer, output [length, batch, hidden].

    A stack of LSTM layers: Hochreiter and Schmidhuber (1997), with the gates of Gers et al. (2000).
    """
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


def transformer(
    blocks: int = 1, batch: int = 1, length: int = 64, width: int = 256, heads: int = 4, seed: int = 0
) -> Graph:
    """data [batch, length, width] to output of the same shape.

    An encoder block: Vaswani et al., Attention Is All You Need (2017), normalised in front (Xiong et al. 2020).
    """
    n = Network("transformer", seed)
    x = n.input("data", "float32", (batch, length, width))
    for _ in range(blocks):
        x = n.add(Add(), x, _attention(n, _norm(n, x), heads))
        x = n.add(Add(), x, n.dense(n.add(Gelu(), n.dense(_norm(n, x), 4 * width)), width))
    return n.end(x)


def _norm(n: Network, x: Value) -> Value:
    width = x.type.static_shape[-1]
    scale, shift = n.uniform("scale", width, 0.8, 1.2), n.uniform("shift", width, -0.1, 0.1)
    return n.add(LayerNormalization(axis=2, epsilon=1e-5), x, scale, shift, name="norm")


def _attention(n: Network, x: Value, heads: int) -> Value:
    """softmax(q k / sqrt(depth)) v, per head, and a dense layer."""
    batch, length, width = x.type.static_shape
    depth = width // heads

    def project(order: tuple[int, ...]) -> Value:
        return n.add(Transpose(permutation=order), n.reshape(n.dense(x, width), batch, length, heads, depth))

    query, key, value = project((0, 2, 1, 3)), project((0, 2, 3, 1)), project((0, 2, 1, 3))
    scale = n.parameter("scale", np.float32(1 / np.sqrt(depth)).reshape(1))
    scores = n.add(Multiply(), n.add(MatMul(), query, key), scale)
    mixed = n.add(MatMul(), n.add(Softmax(axis=3), scores), value)
    joined = n.reshape(n.add(Transpose(permutation=(0, 2, 1, 3)), mixed), batch, length, width)
    return n.dense(joined, width)
