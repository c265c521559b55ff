"""The graph interpreter: the judge of passes. Every node is evaluated from the definition of its operator."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.graph_ir.evaluate import run_graph
from sateen.graph_ir.ir import Array, Graph, Symbol
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError


def interpret(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a graph by name, for inputs by name, whose shapes give the symbolic dimensions.

    Raises ArgumentError for inputs that are missing, unknown or of another type than in the graph.
    """
    dims = _check(graph, inputs)
    if dims:
        graph = bind_dims(graph, dims)
    return run_graph(graph, [inputs[v.name] for v in graph.inputs])


def _check(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, int]:
    """The symbolic dimensions that the inputs give."""
    expected = {v.name: v.type for v in graph.inputs}
    if inputs.keys() != expected.keys():
        raise ArgumentError(f"expected inputs {', '.join(expected) or 'none'}; found {', '.join(inputs) or 'none'}")
    dims: dict[str, int] = {}
    for name, type_ in expected.items():
        for dim, size in zip(type_.shape, inputs[name].shape, strict=False):
            if isinstance(dim, Symbol):
                dims.setdefault(dim.name, size)
    for name, type_ in expected.items():
        array = inputs[name]
        is_held = type_.dtype.is_int if array.dtype == object else DType.of(array.dtype) == type_.dtype
        if not is_held or type_.bind(dims).shape != array.shape:
            raise ArgumentError(f"input {name!r} expects {type_}, found {array.dtype}{list(array.shape)}")
    return dims
