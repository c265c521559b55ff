"""Refuse what networks can't be compiled for: values on devices."""

from __future__ import annotations

from sateen.graph_ir.ir import HOST, Graph
from sateen.graph_ir.ops import Control
from sateen.runtime import TargetError


def require_host(graph: Graph) -> Graph:
    """The graph, all of whose values are in memory of the host.

    Raises TargetError for one on a device, telling it: networks run on processors, kernels of te on devices.
    """
    for v in (*graph.inputs, *graph.parameters, *(v for node in graph.nodes for v in node.outputs)):
        if v.device != HOST:
            raise TargetError(f"{v}: expected a value on {HOST}, where networks run, found one on {v.device}")
    for node in graph.nodes:
        if isinstance(node.op, Control):
            for body in node.op.bodies:
                require_host(body)
    return graph
