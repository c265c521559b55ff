"""Reductions, places of extrema, running sums and the largest elements."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis
from sateen.frontends.tensorflow.node import INT32, INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _axes(node: TensorflowNode) -> tuple[int, ...]:
    return normal_axes(node.integers_at(1), node.rank(0))


def _reduction(make: Callable[[tuple[int, ...], bool], Operator]) -> Converter:
    """Over the axes in the second input; over none if that is empty (reduction_ops.h)."""
    return lambda node: node.result(make(_axes(node), node.flag("keep_dims")), node.value(0))


def _extremum(kind: type[ops.ArgMax | ops.ArgMin]) -> Converter:
    """Of equal elements the first. The axis is an input, the older way of a last attribute included."""

    def convert(node: TensorflowNode) -> Operand:
        (axis,) = node.integers_at(1) if len(node.inputs) > 1 else (0,)
        op = kind(axis=normal_axis(axis, node.rank(0)), keepdims=False)
        wanted = node.type("output_type")
        return node.result(op, node.value(0)) if wanted == INT64 else node.result_as(wanted, op, node.value(0))

    return convert


def _cumulative(kind: type[ops.CumSum | ops.CumProd]) -> Converter:
    def convert(node: TensorflowNode) -> Operand:
        axis = normal_axis(int(node.scalar(1)), node.rank(0))
        return node.result(
            kind(axis=axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse")), node.value(0)
        )

    return convert


def _top_k(node: TensorflowNode) -> tuple[Operand, ...]:
    """Along the last axis, in order; k is an attribute of the first version."""
    k = node.integer("k") if node.operator == "TopK" else int(node.scalar(1))
    if not node.rank(0):
        raise FrontendError("expected data of one axis or more, found a scalar")
    op = ops.TopK(k=k, axis=node.rank(0) - 1)
    if node.operator == "TopKV2" and node.type("index_type") == INT64:
        return node.results(op, node.value(0), count=2)
    values, places = node.steps(op, node.value(0), count=2)
    return values, node.result(ops.Cast(dtype=INT32), places, output=1)


def _half_of_squares(node: TensorflowNode) -> Operand:
    """Σ x² / 2 (l2loss_op.h)."""
    total = node.step(ops.ReduceSumSquare(axes=tuple(range(node.rank(0))), keepdims=False), node.value(0))
    return node.result(ops.Multiply(), total, node.literal(0.5, node.dtype(0)))


def _softmax(make: Callable[[int], Operator]) -> Converter:
    def convert(node: TensorflowNode) -> Operand:
        if not node.rank(0):
            raise FrontendError("expected data of one axis or more, found a scalar")
        return node.result(make(node.rank(0) - 1), node.value(0))

    return convert


def _in_top_k(node: TensorflowNode) -> Operand:
    """Whether the prediction of the target is among the k largest: fewer than k are larger (in_topk_op.h)."""
    predictions, targets = node.value(0), node.value(1)
    k = node.integer("k") if node.operator == "InTopK" else int(node.scalar(2))
    if node.rank(0) != 2 or node.rank(1) != 1:
        raise FrontendError(f"expected predictions [batch, classes] and targets [batch], found {predictions.type}")
    column = node.step(ops.Reshape(shape=(*node.shape(1), 1)), targets)
    chosen = node.step(ops.GatherElements(axis=1), predictions, node.cast(column, INT64))
    larger = node.cast(node.step(ops.Greater(), predictions, chosen), INT64)
    count = node.step(ops.ReduceSum(axes=(1,), keepdims=False), larger)
    return node.result(ops.Less(), count, node.literal(k, INT64))


REDUCTIONS: dict[str, Converter] = {
    "All": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "Any": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "ArgMax": _extremum(ops.ArgMax),
    "ArgMin": _extremum(ops.ArgMin),
    "Cumprod": _cumulative(ops.CumProd),
    "Cumsum": _cumulative(ops.CumSum),
    "EuclideanNorm": _reduction(lambda axes, keepdims: ops.ReduceL2(axes=axes, keepdims=keepdims)),
    "InTopK": _in_top_k,
    "InTopKV2": _in_top_k,
    "L2Loss": _half_of_squares,
    "LogSoftmax": _softmax(lambda axis: ops.LogSoftmax(axis=axis)),
    "Max": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "Mean": _reduction(lambda axes, keepdims: ops.ReduceMean(axes=axes, keepdims=keepdims)),
    "Min": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "Prod": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "Softmax": _softmax(lambda axis: ops.Softmax(axis=axis)),
    "Sum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "TopK": _top_k,
    "TopKV2": _top_k,
}
