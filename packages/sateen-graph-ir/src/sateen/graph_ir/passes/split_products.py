"""Compute the parts of a product apart where it is split."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Add, MatMul, Split
from sateen.runtime import DeviceKind


def split_products(graph: Graph) -> Graph:
    """A product with a constant matrix that is split along its columns becomes products with parts of the matrix.

        %a = mat_mul(%x, %w); %q, %k, %v = split(%a) {axis=2, sizes=(768, 768, 768)}
        =>  %q = mat_mul(%x, %w.1); %k = mat_mul(%x, %w.2); %v = mat_mul(%x, %w.3)

    So no part is copied. A constant bias of one dimension between them is split as well. Only if nothing else reads the
    product, and not on devices, where it would be more launches. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        found = _product_before(rewriter, node)
        if found is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, *_parts(rewriter, node, *found))
    return rewriter.finish()


def _product_before(rewriter: GraphRewriter, node: Node) -> tuple[Node, Array, Node | None, Array | None] | None:
    """The product that a node splits along its columns, its matrix, and the addition of a bias between them."""
    if not isinstance(node.op, Split) or 0 in node.op.sizes or node.outputs[0].device.kind is not DeviceKind.CPU:
        return None
    (data,) = rewriter.values(node.inputs)
    if data is None or node.op.axis != data.type.rank - 1 or rewriter.is_shared(data):
        return None
    addition, bias = rewriter.producer(data), None
    if addition is not None and isinstance(addition.op, Add):
        data, other = addition.inputs
        bias = rewriter.constant(other)
        if data is None or bias is None or bias.ndim != 1 or bias.size == 1 or rewriter.is_shared(data):
            return None
        if data.type != addition.outputs[0].type:
            return None
    else:
        addition = None
    product = rewriter.producer(data)
    if product is None or not isinstance(product.op, MatMul) or product.method:
        return None
    matrix = rewriter.constant(product.inputs[1])
    return (product, matrix, addition, bias) if matrix is not None and matrix.ndim == 2 else None


def _parts(
    rewriter: GraphRewriter, node: Node, product: Node, matrix: Array, addition: Node | None, bias: Array | None
) -> list[Value]:
    rows, weight = product.inputs
    assert rows is not None
    assert weight is not None
    assert isinstance(node.op, Split)
    found, begin = [], 0
    for output, size in zip(node.outputs, node.op.sizes, strict=True):
        assert isinstance(size, int)
        columns = slice(begin, begin + size)
        part = rewriter.parameter(weight.name, np.ascontiguousarray(matrix[:, columns]), weight.device)
        value = rewriter.insert(product.op, rows, part, name=output.name, spans=product.spans)
        if addition is not None and bias is not None:
            own = rewriter.parameter(addition.outputs[0].name, np.ascontiguousarray(bias[columns]), weight.device)
            value = rewriter.insert(addition.op, value, own, name=output.name, spans=addition.spans)
        found.append(value)
        begin += size
    return found
