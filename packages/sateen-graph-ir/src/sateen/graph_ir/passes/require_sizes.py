"""Refuse a graph whose sizes are not all known."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.runtime.errors import InferenceError
from sateen.topi.dimensions import symbols_of


def require_sizes(graph: Graph) -> Graph:
    """The graph itself, if every dimension of its values is a number, as layouts, schedules and memory need it.

    Otherwise raises InferenceError, which names the symbols of all inputs and says how to give their sizes.
    """
    for v in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        if not v.type.is_static:
            names = symbols_of(*(d for value in (*graph.inputs, v) for d in value.type.shape))
            sizes = ", ".join(f'"{name}": 1' for name in names)
            raise InferenceError(
                f"build: expected known sizes, found {v}: {v.type}; give them: build(graph, dims={{{sizes}}})"
            )
    return graph
