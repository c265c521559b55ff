"""Give symbolic dimensions their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sateen.graph_ir.graph import Graph, Value
from sateen.graph_ir.passes.infer_types import with_inputs
from sateen.graph_ir.types import Symbol, TensorType


def bind_dims(graph: Graph, dims: Mapping[str, int]) -> Graph:
    """Replace symbolic dimensions of the inputs by sizes, and infer all types anew.

        input %x: float32[?n, 3]; %y: float32[?n, 3] = relu(%x)          with dims = {"n": 8}
        =>  input %x: float32[8, 3]; %y: float32[8, 3] = relu(%x)

    Raises InferenceError where a node does not take the sizes.
    """
    if not any(_bound(v.type, dims) != v.type for v in graph.inputs):
        return graph
    return with_inputs(graph, tuple(Value(v.name, _bound(v.type, dims)) for v in graph.inputs))


def _bound(type_: TensorType, dims: Mapping[str, int]) -> TensorType:
    shape = tuple(dims.get(d.name, d) if isinstance(d, Symbol) else d for d in type_.shape)
    return replace(type_, shape=shape)
