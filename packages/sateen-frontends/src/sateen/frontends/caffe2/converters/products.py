"""Products of matrices, and reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, ArgMax, ArgMin, MatMul, Reshape, TopK, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _fully_connected(node: Caffe2Node) -> Operand:
    """All axes from `axis` on times a matrix [outputs, inputs], whose axes from `axis_w` on are one; FCTransposed has
    its transpose (fully_connected_op.h)."""
    node.require_inputs(3, 3)
    data, weight, bias = node.values()
    axis = normal_axis(node.whole("axis", 1), data.type.rank)
    second = normal_axis(node.whole("axis_w", 1), weight.type.rank)
    inputs = prod(static_extents(data.type.shape[axis:], node.described(0)))
    extents = static_extents(weight.type.shape, node.described(1))
    matrix = (prod(extents[:second]), prod(extents[second:]))
    if weight.type.shape != matrix:
        weight = node.step(Reshape(matrix), weight)
    if node.operator == "FC":
        weight, matrix = node.step(Transpose((1, 0)), weight), (matrix[1], matrix[0])
    if matrix[0] != inputs:
        raise FrontendError(f"the weight takes {matrix[0]} inputs, found {inputs}")
    shape = (*data.type.shape[:axis], matrix[1])
    is_plain = data.type.rank == 2 and axis == 1
    rows = data if is_plain else node.step(Reshape((product(data.type.shape[:axis]), inputs)), data)
    total = node.step(MatMul(), rows, weight)
    if axis == 1:
        return node.result(Add(), total, bias)
    return node.result(Reshape(shape), node.step(Add(), total, bias))


def _mat_mul(node: Caffe2Node) -> Operand:
    """Matrices of the axes before and from `axis_a` and `axis_b` on (matmul_op.h)."""
    node.require_inputs(2, 2)
    matrices = []
    for index, end in enumerate("ab"):
        value, axis = node.value(index), node.whole(f"axis_{end}", 1)
        axis = normal_axis(axis, value.type.rank)
        shape = (product(value.type.shape[:axis]), product(value.type.shape[axis:]))
        value = value if value.type.shape == shape else node.step(Reshape(shape), value)
        matrices.append(_transposed(node, value, node.whole(f"trans_{end}", 0)))
    return node.result(MatMul(), *matrices)


def _batch_mat_mul(node: Caffe2Node) -> Operand:
    node.require_inputs(2, 2)
    values = [_transposed(node, node.value(i), node.whole(f"trans_{end}", 0)) for i, end in enumerate("ab")]
    if min(value.type.rank for value in values) < 2:
        raise UnsupportedError("products with rows of numbers are not supported", "give them two axes")
    return node.result(MatMul(), *values)


def _transposed(node: Caffe2Node, value: Value, wanted: int) -> Value:
    if not wanted:
        return value
    rank = value.type.rank
    return node.step(Transpose((*range(rank - 2), rank - 1, rank - 2)), value)


def _reduced(
    kind: type[ops.ReduceSum | ops.ReduceMean | ops.ReduceMax | ops.ReduceMin | ops.ReduceL1 | ops.ReduceL2],
) -> Converter:
    """Over `axes`, all of them by default (reduce_ops.h)."""

    def convert(node: Caffe2Node) -> Operand:
        data = node.the_value()
        axes = normal_axes(node.wholes("axes"), data.type.rank) or tuple(range(data.type.rank))
        return node.result(kind(axes=axes, keepdims=bool(node.whole("keepdims", 1))), data)

    return convert


def _reduced_end(kind: type[ops.ReduceSum | ops.ReduceMean | ops.ReduceMax], front: bool) -> Converter:
    """Over the first or last `num_reduce_dim` axes, 1 by default (reduce_front_back_sum_mean_ops.h)."""

    def convert(node: Caffe2Node) -> Operand:
        if len(node.inputs) > 1:
            raise UnsupportedError("lengths of rows are not supported", "reduce whole rows")
        data, count = node.the_value(), node.whole("num_reduce_dim", 1)
        rank = data.type.rank
        if not 0 < count <= rank:
            raise FrontendError(f"expected num_reduce_dim of 1 to {rank}, found {count}")
        axes = tuple(range(count)) if front else tuple(range(rank - count, rank))
        return node.result(kind(axes=axes, keepdims=False), data)

    return convert


def _maxima_of_matrices(axis: int) -> Converter:
    """Of each row, or of each column, of matrices [B, M, N] (reduction_ops.cc)."""

    def convert(node: Caffe2Node) -> Operand:
        data = node.the_value()
        if data.type.rank != 3:
            raise FrontendError(f"expected matrices [B, M, N], found {data.type}")
        return node.result(ops.ReduceMax(axes=(axis,), keepdims=False), data)

    return convert


def _sum_of_all(node: Caffe2Node) -> Operand:
    """One number: the sum, or with `average` the mean, of all elements or their squares (reduction_ops.h)."""
    data, kind = node.the_value(), ops.ReduceMean if node.whole("average", 0) else ops.ReduceSum
    if node.operator == "SumSqrElements":
        data = node.step(ops.Multiply(), data, data)
    return node.result(kind(axes=tuple(range(data.type.rank)), keepdims=False), data)


def _of_rows(node: Caffe2Node) -> Operand:
    """A number for each row of two inputs: their product, their distance, or half its square (distance_op.cc)."""
    node.require_inputs(2, 2)
    first, second = node.values()
    if first.type.shape != second.type.shape or not first.type.rank:
        raise FrontendError(f"expected rows of one shape, found {first.type} and {second.type}")
    axes = tuple(range(1, first.type.rank))
    if node.operator == "DotProduct":
        each = node.step(ops.Multiply(), first, second)
    else:
        apart = node.step(ops.Subtract(), first, second)
        squared = node.operator == "SquaredL2Distance"
        each = node.step(ops.Multiply(), apart, apart) if squared else node.step(ops.Abs(), apart)
        if squared:
            each = node.step(ops.Multiply(), each, node.literal(0.5, each.type.dtype))
    return node.result(ops.ReduceSum(axes=axes, keepdims=False) if axes else ops.Identity(), each)


def _arg(kind: type[ArgMax | ArgMin]) -> Converter:
    def convert(node: Caffe2Node) -> Operand:
        data = node.the_value()
        axis = normal_axis(node.whole("axis", -1), data.type.rank)
        return node.result(kind(axis, bool(node.whole("keepdims", 1))), data)

    return convert


def _top_k(node: Caffe2Node) -> Sequence[Operand]:
    """Values and places; of equal ones the first comes first (top_k.cc)."""
    data = node.the_value()
    if len(node.outputs) > 2:
        raise UnsupportedError("flattened places are not supported", "use the first two outputs")
    axis = normal_axis(node.whole("axis", -1), data.type.rank)
    return node.results(TopK(node.integer("k"), axis), data, count=2)


PRODUCTS: dict[str, Converter] = {
    "ArgMax": _arg(ArgMax),
    "ArgMin": _arg(ArgMin),
    "BatchMatMul": _batch_mat_mul,
    "ColwiseMax": _maxima_of_matrices(1),
    "DotProduct": _of_rows,
    "FC": _fully_connected,
    "FCTransposed": _fully_connected,
    "L1Distance": _of_rows,
    "MatMul": _mat_mul,
    "ReduceBackMax": _reduced_end(ops.ReduceMax, front=False),
    "ReduceBackMean": _reduced_end(ops.ReduceMean, front=False),
    "ReduceBackSum": _reduced_end(ops.ReduceSum, front=False),
    "ReduceFrontMax": _reduced_end(ops.ReduceMax, front=True),
    "ReduceFrontMean": _reduced_end(ops.ReduceMean, front=True),
    "ReduceFrontSum": _reduced_end(ops.ReduceSum, front=True),
    "ReduceL1": _reduced(ops.ReduceL1),
    "ReduceL2": _reduced(ops.ReduceL2),
    "ReduceMax": _reduced(ops.ReduceMax),
    "ReduceMean": _reduced(ops.ReduceMean),
    "ReduceMin": _reduced(ops.ReduceMin),
    "ReduceSum": _reduced(ops.ReduceSum),
    "RowwiseMax": _maxima_of_matrices(2),
    "SquaredL2Distance": _of_rows,
    "SumElements": _sum_of_all,
    "SumSqrElements": _sum_of_all,
    "TopK": _top_k,
}
