"""The graph interpreter: the judge of passes. Every node is evaluated from the definition of its operator.

Values are row-major whatever their layout, sums are in float64, and each value is rounded to its element type. An array
of objects stands for integers that are not known yet, such as open dimensions (`te_oracle`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sateen.graph_ir.ir import Array, Graph, Node, Value, note_node
from sateen.graph_ir.ops import Control, ConvertLayout, Fused
from sateen.runtime.dtype import DType
from sateen.tensor_ir.interpret import evaluate
from sateen.topi import operators
from sateen.topi.types import placeholder, unpack


def evaluate_op(node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """The row-major outputs of a node, for row-major inputs."""
    if isinstance(node.op, ConvertLayout):
        return [_present(inputs[0])]
    if isinstance(node.op, Fused):
        return list(run_graph(node.op.body, [_present(a) for a in inputs]).values())
    if isinstance(node.op, Control):
        return node.op.run([_present(a) for a in inputs], lambda body, given: list(run_graph(body, given).values()))
    views = [
        None if v is None else placeholder(v.type.static_shape, v.type.dtype, f"input{i}")
        for i, v in enumerate(node.inputs)
    ]
    types = [replace(v.type, layout=None) for v in node.outputs]
    try:
        computation = operators.computation_of(node.op, views, types, node.method)
        arrays = {v.tensor: a for v, a in zip(views, inputs, strict=True) if v is not None and a is not None}
        results = evaluate([v.tensor for v in computation.outputs], arrays)
    except Exception as error:
        note_node(error, node.inputs, node.spans)
        raise
    return [round_to(r, t.dtype) for r, t in zip(results, types, strict=True)]


def round_to(array: Array, dtype: DType) -> Array:
    """The array in an element type; values beyond its range become infinite, unknown numbers stay."""
    if array.dtype == object:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.numpy)


def run_graph(graph: Graph, inputs: Sequence[Array]) -> dict[str, Array]:
    """The outputs of a graph by name, row-major, for row-major inputs in the order of the graph's."""
    values: dict[Value, Array] = dict(zip(graph.inputs, inputs, strict=True))
    for v, data in graph.parameters.items():
        values[v] = data if v.type.layout is None else unpack(data, v.type.static_shape, v.type.layout)
    for node in graph.nodes:
        results = evaluate_op(node, [None if v is None else values[v] for v in node.inputs])
        values.update(zip(node.outputs, results, strict=True))
    return {v.name: values[v] for v in graph.outputs}


def _present(array: Array | None) -> Array:
    assert array is not None
    return array
