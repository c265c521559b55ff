"""Compute operators by functions of users."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sateen.graph_ir.ir import HOST, ByFunction, Graph, Node, OpSet
from sateen.graph_ir.ops import Control


def use_lowerings(graph: Graph, operators: OpSet, kind: str, host_kind: str = "") -> Graph:
    """Let the lowerings in a set of operators compute their operators, on targets of a kind; on the host of a network
    for devices those for its kind.

        %y = softmax(%x)
        =>  %y = softmax(%x), by function(Softmax(), x, outputs=…) of operators.with_lowering(Softmax, kind, function)

    The text form stays the same. Runs last, after layouts are chosen. Bodies of control nodes are included.
    """
    nodes = tuple(_lowered(node, operators, kind, host_kind) for node in graph.nodes)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _lowered(node: Node, operators: OpSet, kind: str, host_kind: str) -> Node:
    if isinstance(node.op, Control):
        op = node.op.map_bodies(partial(use_lowerings, operators=operators, kind=kind, host_kind=host_kind))
        return node if op is node.op else replace(node, op=op)
    own = host_kind if host_kind and node.outputs[0].device == HOST else kind
    function = operators.lowerings.get((type(node.op), own))
    return node if function is None else replace(node, method=ByFunction(function, node.method))
