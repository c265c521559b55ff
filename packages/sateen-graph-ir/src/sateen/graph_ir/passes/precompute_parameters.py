"""Bring parameters into the form in which kernels read them."""

from __future__ import annotations

from sateen.graph_ir.graph import Graph, Node
from sateen.graph_ir.passes.fold_constants import fold_where

MOST_GROWTH = 16
"""A result larger than its inputs by more than this factor is cheaper to make than to read."""


def precompute_parameters(graph: Graph) -> Graph:
    """Evaluate what depends on parameters only: conversions of layout and transforms of weights that passes inserted.

        parameter %w: float32[64, 3, 7, 7]; %p: float32[64, 3, 7, 7]@Abcd16a = convert_layout(%w) {layout=@Abcd16a}
        =>  parameter %p: float32[64, 3, 7, 7]@Abcd16a

    Runs after choose_layouts. Nodes whose results are far larger than their inputs stay, as do those that compute an
    output of the graph.
    """
    return fold_where(graph, _is_worth)


def _is_worth(node: Node) -> bool:
    return sum(v.type.bytes for v in node.outputs) <= MOST_GROWTH * max(sum(t.bytes for t in node.input_types), 64)
