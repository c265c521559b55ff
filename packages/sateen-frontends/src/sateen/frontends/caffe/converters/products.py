"""Products of matrices, rows of a table, and reductions along axes."""

from __future__ import annotations

from math import prod

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Concat,
    Gather,
    MatMul,
    Multiply,
    ReduceL1,
    ReduceMean,
    ReduceSum,
    ReduceSumSquare,
    Reshape,
    Slice,
    Subtract,
    TopK,
    Transpose,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

FLOAT, INDEX = DType.of("float32"), DType.of("int64")


def _inner_product(node: CaffeNode) -> Operand:
    """All axes from `axis` on times a matrix [outputs, inputs], or its transpose (inner_product_layer.cpp)."""
    data, outputs = node.the_value(), node.integer("num_output")
    axis, shape = node.axis(data.type.rank), data.type.shape
    inputs = prod(static_extents(shape[axis:], node.described(0)))
    rows = data
    if axis != 1 or data.type.rank != 2:
        rows = node.step(Reshape((product(shape[:axis]), inputs)), data)
    if node.flag("transpose"):
        weight = node.weight(0, inputs, outputs)
    else:
        weight = node.step(Transpose((1, 0)), node.weight(0, outputs, inputs))
    bias = node.weight(1, outputs) if node.flag("bias_term") else None
    is_last = axis == 1
    total = node.result(MatMul(), rows, weight) if is_last and bias is None else node.step(MatMul(), rows, weight)
    if bias is not None:
        total = node.result(Add(), total, bias) if is_last else node.step(Add(), total, bias)
    return total if is_last else node.result(Reshape((*shape[:axis], outputs)), total)


def _embed(node: CaffeNode) -> Operand:
    """Rows of a table; indices are floats, of which the fraction is cut off (embed_layer.cpp)."""
    outputs, count = node.integer("num_output"), node.integer("input_dim")
    indices = node.step(Cast(INDEX), node.the_value())
    table = node.weight(0, count, outputs)
    if not node.flag("bias_term"):
        return node.result(Gather(0), table, indices)
    return node.result(Add(), node.step(Gather(0), table, indices), node.weight(1, outputs))


def _reduction(node: CaffeNode) -> Operand:
    """All axes from `axis` on become one number, times `coeff` (reduction_layer.cpp)."""
    data, factor = node.the_value(), node.number("coeff")
    axes = tuple(range(node.axis(data.type.rank), data.type.rank))
    kind = {"SUM": ReduceSum, "ASUM": ReduceL1, "SUMSQ": ReduceSumSquare, "MEAN": ReduceMean}[node.text("operation")]
    op = kind(axes=axes, keepdims=False)
    if factor == 1:
        return node.result(op, data)
    return node.result(Multiply(), node.step(op, data), node.literal(factor, FLOAT))


def _arg_max(node: CaffeNode) -> Operand:
    """Places of the largest elements as floats; of equal ones the last comes first, since Caffe sorts pairs.

    Without `axis` over all of an image, as [N, 1, top_k], or [N, 2, top_k] with their values; with it along the axis,
    and then the values alone if they are asked for. Source: argmax_layer.cpp, Reshape and Forward_cpu.
    """
    data, count = node.the_value(), node.integer("top_k")
    gives_values = node.flag("out_max_val")
    rank = data.type.rank
    has_axis = node.attribute("axis") is not None
    axis = node.axis(rank) if has_axis else 1
    if not has_axis:
        per_image = prod(static_extents(data.type.shape[1:], node.described(0)))
        data = node.step(Reshape((data.type.shape[0], per_image)), data)
    shape = static_extents(data.type.shape, node.described(0))
    if not 1 <= count <= shape[axis]:
        raise FrontendError(f"expected top_k of 1 to {shape[axis]}, found {count}")
    top = node.step(_reversed(shape, axis), data)
    values, backwards = node.steps(TopK(count, axis), top, count=2)
    places = node.step(Subtract(), node.literal(shape[axis] - 1, INDEX), backwards)
    if has_axis:
        return values if gives_values else node.result(Cast(FLOAT), places)
    row = Reshape((shape[0], 1, count))
    if not gives_values:
        return node.result(row, node.step(Cast(FLOAT), places))
    return node.result(Concat(1), node.step(row, node.step(Cast(FLOAT), places)), node.step(row, values))


def _reversed(shape: tuple[int, ...], axis: int) -> Slice:
    starts = tuple(extent - 1 if i == axis else 0 for i, extent in enumerate(shape))
    ends = tuple(-1 if i == axis else extent for i, extent in enumerate(shape))
    return Slice(starts, ends, tuple(-1 if i == axis else 1 for i in range(len(shape))))


def _batch_reindex(node: CaffeNode) -> Operand:
    """Elements of axis 0 by the second bottom (batch_reindex_layer.cpp)."""
    node.require_inputs(2, 2)
    return node.result(Gather(0), node.value(0), node.step(Cast(INDEX), node.value(1)))


PRODUCTS: dict[str, Converter] = {
    "ArgMax": _arg_max,
    "BatchReindex": _batch_reindex,
    "Embed": _embed,
    "InnerProduct": _inner_product,
    "Reduction": _reduction,
}
