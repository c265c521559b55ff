"""The deep Q network: Mnih et al., Human-level control through deep reinforcement learning (2015)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.workloads.network import Network


def dqn(batch: int = 1, actions: int = 18, seed: int = 0) -> Graph:
    """data [batch, 4, 84, 84], the last four frames, to the values of the actions [batch, actions]."""
    n = Network("dqn", seed)
    x = n.input("data", "float32", (batch, 4, 84, 84))
    for channels, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = n.conv_relu(x, channels, kernel, stride)
    return n.end(n.dense(n.relu(n.dense(n.flatten(x), 512)), actions))
