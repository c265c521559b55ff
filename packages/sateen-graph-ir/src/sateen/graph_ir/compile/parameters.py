"""Users' data for a graph: inputs become constants, parameters get other data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Graph
from sateen.runtime import ArgumentError


def bind_parameters(graph: Graph, params: Mapping[str, Any]) -> Graph:
    """The graph, in which inputs in `params` are constants and parameters in it have its data.

    Raises ArgumentError for data of another type, for an unknown name, and for an input whose memory an output may use.
    """
    if not isinstance(params, Mapping):
        raise ArgumentError(f"params: expected a mapping from names to arrays, found {type(params).__name__}")
    named = [v for v in (*graph.inputs, *graph.parameters) if v.name in params]
    unknown = params.keys() - {v.name for v in named}
    if unknown:
        known = ", ".join(str(v) for v in graph.inputs) or "none"
        raise ArgumentError(f"params: {', '.join(sorted(unknown))} are not in the graph, whose inputs are {known}")
    for output, input_ in graph.aliases.items():
        if input_.name in params:
            raise ArgumentError(f"params: {input_} can't be a constant, as its memory may be that of output {output}")
    data = {v: np.asarray(params[v.name]) for v in named}
    for v, array in data.items():
        if array.dtype != v.type.dtype.numpy or array.shape != v.type.physical_shape:
            raise ArgumentError(f"params: {v} expects {v.type}, found {array.dtype}{list(array.shape)}")
    if all(graph.parameters.get(v) is array for v, array in data.items()):
        return graph
    inputs = tuple(v for v in graph.inputs if v not in data)
    return replace(graph, inputs=inputs, parameters={**graph.parameters, **data})
