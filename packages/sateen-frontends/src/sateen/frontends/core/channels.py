"""Channels last and channels first: data [N, …, C] of a model, for operators of the graph, which take [N, C, …].

Such a transpose is a layout for the compiler: it moves no data but at the borders of the network.
"""

from __future__ import annotations

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Transpose


def to_channels_first(node: ModelNode, data: Value) -> Value:
    """[N, …, C] as [N, C, …], on the way to the node's result."""
    rank = data.type.rank
    return node.step(Transpose((0, rank - 1, *range(1, rank - 1))), data)


def to_channels_last(node: ModelNode, data: Value) -> Value:
    """[N, C, …] as [N, …, C], on the way to the node's result."""
    return node.step(_last(data), data)


def result_channels_last(node: ModelNode, data: Value) -> Value:
    """[N, C, …] as the node's result [N, …, C]."""
    return node.result(_last(data), data)


def _last(data: Value) -> Transpose:
    return Transpose((0, *range(2, data.type.rank), 1))
