"""A perceptron of several layers, as for MNIST."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.workloads.network import Network


def mlp(
    batch: int = 1, features: int = 784, hidden: tuple[int, ...] = (128, 64), classes: int = 10, seed: int = 0
) -> Graph:
    """data [batch, features] to probabilities [batch, classes]."""
    n = Network("mlp", seed)
    x = n.input("data", "float32", (batch, features))
    for units in hidden:
        x = n.relu(n.dense(x, units))
    return n.classify(x, classes)
