"""Choose the way in which each product with a constant matrix is computed."""

from __future__ import annotations

from sateen.graph_ir.graph import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops.matmul import MatMul, StrassenMatMul
from sateen.tensor_ir import Machine
from sateen.topi import strassen


def choose_products(graph: Graph, machine: Machine) -> Graph:
    """Turn each product that is large enough into StrassenMatMul.

        parameter %w: float32[768, 3072]; %y: float32[1, 128, 3072] = mat_mul(%x, %w)
        =>  parameter %w.1: float32[7, 384, 1536]; %y = strassen_mat_mul(%x, %w.1) {vectors=3}

    An eighth of the multiplications is saved, for a weight that is larger by three quarters and errors of a few 1e-6 of
    the largest element of the whole result: rows of one matrix meet, so that a large one costs others their digits, and
    an infinity or NaN reaches them. So this is for `fast` numerics alone. Items of a batch do not meet.
    Requires: static types. Runs before choose_layouts. Source: sateen.topi.strassen.
    """
    rewriter = GraphRewriter(graph)
    transformed: dict[Value, Value] = {}
    for node in graph.nodes:
        vectors = _vectors(node, machine)
        if not vectors:
            rewriter.keep(node)
            continue
        data, weight = rewriter.values(node.inputs)
        constant = rewriter.constant(weight)
        if weight is None or constant is None:
            rewriter.keep(node)
            continue
        if weight not in transformed:
            transformed[weight] = rewriter.parameter(weight.name, strassen.transformed(constant))
        operator, name = StrassenMatMul(vectors), node.outputs[0].name
        rewriter.replace(node, rewriter.insert(operator, data, transformed[weight], name=name, spans=node.spans))
    return rewriter.finish()


def _vectors(node: Node, machine: Machine) -> int:
    """Vectors of columns with which a product pays by quarters; 0 where it is none of float32, or too small."""
    if not isinstance(node.op, MatMul):
        return 0
    a, b = (v.type for v in node.inputs if v is not None)
    if b.rank != 2 or str(a.dtype) != "float32":
        return 0
    return strassen.vectors_for(a.static_shape, b.static_shape[1], machine)
