"""Reductions, extrema and their places, sums along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops


def _reduction(kind: type[Any]) -> Converter:
    def convert(node: OperationNode) -> Operand:
        x = node.take("x")
        return node.result(kind(axes=node.axes("axes", x.type.rank), keepdims=node.flag("keep_dims")), x)

    return defaulting(convert, keep_dims=False)


def _place(kind: type[Any]) -> Converter:
    def convert(node: OperationNode) -> Operand:
        x = node.take("x")
        return node.typed_step(kind(axis=node.axis(x.type.rank), keepdims=node.flag("keep_dims")), x)

    return defaulting(convert, axis=-1, keep_dims=False)


def _top_k(node: OperationNode) -> tuple[Operand, ...]:
    """In order, whatever `sort` says, which any order satisfies."""
    x = node.take("x")
    op = ops.TopK(k=node.integer("k"), axis=node.axis(x.type.rank), largest=not node.flag("ascending"))
    values, places = node.steps(op, x, count=2)
    first = node.result(ops.Identity(), values)
    return (first, node.typed(places, 1)) if len(node.outputs) > 1 else (first,)


def _arg_sort(node: OperationNode) -> Operand:
    x = node.take("x")
    axis = node.axis(x.type.rank)
    (extent,) = static_extents(x.type.shape[axis : axis + 1], "the sorted axis")
    return node.typed(node.steps(ops.TopK(k=extent, axis=axis, largest=not node.flag("ascending")), x, count=2)[1])


def _cumulative_sum(node: OperationNode) -> Operand:
    x = node.take("x")
    op = ops.CumSum(node.axis(x.type.rank), exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))
    return node.result(op, x)


REDUCTIONS: Mapping[str, Converter] = {
    "argsort": defaulting(_arg_sort, axis=-1, ascending=False),
    "cumsum": defaulting(_cumulative_sum, axis=0, exclusive=False, reverse=False),
    "reduce_argmax": _place(ops.ArgMax),
    "reduce_argmin": _place(ops.ArgMin),
    "reduce_l1_norm": _reduction(ops.ReduceL1),
    "reduce_l2_norm": _reduction(ops.ReduceL2),
    "reduce_log_sum": _reduction(ops.ReduceLogSum),
    "reduce_log_sum_exp": _reduction(ops.ReduceLogSumExp),
    "reduce_max": _reduction(ops.ReduceMax),
    "reduce_mean": _reduction(ops.ReduceMean),
    "reduce_min": _reduction(ops.ReduceMin),
    "reduce_prod": _reduction(ops.ReduceProd),
    "reduce_sum": _reduction(ops.ReduceSum),
    "reduce_sum_square": _reduction(ops.ReduceSumSquare),
    "topk": defaulting(_top_k, k=1, axis=-1, ascending=False),
}
