"""Let products take rows in the shape in which their results are needed."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Add, MatMul, Reshape


def move_reshapes_up(graph: Graph) -> Graph:
    """A product with one matrix between reshapes of its rows needs none behind it.

        %r = reshape(%x) {shape=(64, 768)}; %a = mat_mul(%r, %w); %b = add(%a, %bias)
        %y = reshape(%b) {shape=(1, 64, 3072)}
        =>  %r = reshape(%x) {shape=(1, 64, 768)}; %a = mat_mul(%r, %w); %y = add(%a, %bias)

    So what follows, such as an activation or a residual, can be computed where the product is. The first reshape may
    then do nothing. Only if nothing else reads the product, and the bias has one dimension. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        product = _product_before(rewriter, node)
        if product is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, _with_rows_of(rewriter, node, *product))
    return rewriter.finish()


def _product_before(rewriter: GraphRewriter, node: Node) -> tuple[Node, Node | None] | None:
    """The product of reshaped rows that a node gives another shape, and the addition of a bias between them."""
    if not isinstance(node.op, Reshape):
        return None
    (data,) = rewriter.values(node.inputs)
    shape, result = node.outputs[0].type.static_shape, data
    assert result is not None
    if len(shape) < 2 or result.type.rank < 2 or shape[-1] != result.type.shape[-1]:
        return None
    addition = rewriter.producer(result)
    if addition is not None and isinstance(addition.op, Add) and not rewriter.is_shared(result):
        result, bias = addition.inputs
        if result is None or bias is None or bias.type.rank != 1 or result.type != addition.outputs[0].type:
            return None
    else:
        addition = None
    product = rewriter.producer(result)
    if product is None or not isinstance(product.op, MatMul) or product.method or rewriter.is_shared(result):
        return None
    rows, weight = product.inputs
    before = rewriter.producer(rows)
    is_reshaped = before is not None and isinstance(before.op, Reshape)
    return (product, addition) if is_reshaped and weight is not None and weight.type.rank == 2 else None


def _with_rows_of(rewriter: GraphRewriter, node: Node, product: Node, addition: Node | None) -> Value:
    """The product, and its bias, whose rows have the shape of the node's result."""
    rows, weight = product.inputs
    before = rewriter.producer(rows)
    assert rows is not None
    assert before is not None
    (source,) = before.inputs
    assert source is not None
    shape = (*node.outputs[0].type.shape[:-1], rows.type.shape[-1])
    if source.type.shape != shape:
        source = rewriter.insert(Reshape(shape), source, name=rows.name, spans=before.spans)
    name = node.outputs[0].name
    if addition is None:
        return rewriter.insert(product.op, source, weight, name=name, spans=product.spans)
    result = rewriter.insert(product.op, source, weight, name=product.outputs[0].name, spans=product.spans)
    return rewriter.insert(addition.op, result, addition.inputs[1], name=name, spans=addition.spans)
