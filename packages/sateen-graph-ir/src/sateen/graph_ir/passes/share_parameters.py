"""Keep one parameter where several are the same data in other orders of axes."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Value
from sateen.graph_ir.ops import Transpose
from sateen.runtime import Device
from sateen.runtime.dtype import DType


def share_parameters(graph: Graph) -> Graph:
    """Compute parameters that are transposes of others, in the same memory.

        parameter %w: float32[4, 2] = […]; parameter %t: float32[2, 4] = […, a view of %w]
        =>  parameter %w: float32[4, 2] = […]; %t = transpose(%w) {permutation=(1, 0)}

    Such views are what fold_constants makes of a transpose, for example of a table of words that a network also
    multiplies by. Runs before reorder_parameters, which decides what a file holds. Requires: static types.
    """
    known: dict[tuple[int, DType, Device], Value] = {}
    transposes: dict[Value, tuple[Value, tuple[int, ...]]] = {}
    for v, data in graph.parameters.items():
        if v.type.layout is None and data.flags.c_contiguous and data.size:
            known.setdefault(_memory(v, data), v)
    for v, data in graph.parameters.items():
        source = known.get(_memory(v, data))
        if source is None or source is v or v.type.layout is not None or v in graph.outputs:
            continue
        permutation = _permutation(graph.parameters[source], data)
        if permutation is not None:
            transposes[v] = source, permutation
    if not transposes:
        return graph
    rewriter = GraphRewriter(graph)
    for v, (source, permutation) in transposes.items():
        rewriter.stand_for(v, rewriter.insert(Transpose(permutation), rewriter.value(source), name=v.name))
    for node in graph.nodes:
        rewriter.keep(node)
    return rewriter.finish()


def _memory(value: Value, data: Array) -> tuple[int, DType, Device]:
    """Where an array begins: two that begin alike, and have the same elements, may be orders of the same ones."""
    return data.__array_interface__["data"][0], value.type.dtype, value.device


def _permutation(source: Array, view: Array) -> tuple[int, ...] | None:
    """The permutation by which a view is a transpose of an array without gaps; None if it is none."""
    if source.ndim != view.ndim or source.size != view.size:
        return None
    order = np.argsort([-stride for stride in view.strides], kind="stable")
    permutation = tuple(int(axis) for axis in np.argsort(order))
    found = source.transpose(permutation)
    return permutation if (found.shape, found.strides) == (view.shape, view.strides) else None
