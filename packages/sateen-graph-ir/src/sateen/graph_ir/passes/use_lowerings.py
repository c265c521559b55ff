"""Compute operators as users say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sateen.graph_ir.graph import Graph
from sateen.graph_ir.op_set import OpSet
from sateen.graph_ir.ops.control import Control
from sateen.graph_ir.ops.lowered import Lowered
from sateen.topi.operator import Operator


def use_lowerings(graph: Graph, operators: OpSet, kind: str) -> Graph:
    """Let the lowerings of a set of operators compute those that they are for, on targets of a kind.

        %y = softmax(%x)
        =>  %y = softmax(%x), by function(Softmax(), x, outputs=…) of operators.with_lowering(Softmax, kind, function)

    The text form stays. Runs last: other passes look at the classes of operators. Bodies of control nodes are included.
    """
    nodes = []
    for node in graph.nodes:
        op = _lowered(node.op, operators, kind)
        nodes.append(node if op is node.op else replace(node, op=op))
    return graph if tuple(nodes) == graph.nodes else replace(graph, nodes=tuple(nodes))


def _lowered(op: Operator, operators: OpSet, kind: str) -> Operator:
    if isinstance(op, Control):
        return op.map_bodies(partial(use_lowerings, operators=operators, kind=kind))
    function = operators.lowerings.get((type(op), kind))
    return op if function is None else Lowered(op, function)
