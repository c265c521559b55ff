"""Store parameters in the form that kernels read."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Node
from sateen.graph_ir.passes.fold_constants import bytes_of, fold_where

MOST_GROWTH = 16
"""A result larger than its inputs by more than this factor is cheaper to compute than to read."""
LEAST_SOURCE = 64
"""Inputs smaller than this many bytes count as this many."""


def precompute_parameters(graph: Graph) -> Graph:
    """Evaluate nodes that depend on parameters only: conversions of layout and transforms of weights that passes
    inserted.

        parameter %w: float32[64, 3, 7, 7]; %p: float32[64, 3, 7, 7]@Abcd16a = convert_layout(%w) {layout=@Abcd16a}
        =>  parameter %p: float32[64, 3, 7, 7]@Abcd16a

    Runs after choose_layouts. Nodes whose results are far larger than their inputs stay, as do those that compute an
    output of the graph.
    """
    return fold_where(graph, is_worth_reading)


def is_worth_reading(node: Node, source: int) -> bool:
    """Whether the results of a node are better read than computed in each run, from so many bytes."""
    return bytes_of(node.outputs) <= MOST_GROWTH * max(source, LEAST_SOURCE)
