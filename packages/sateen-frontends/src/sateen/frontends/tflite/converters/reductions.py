"""Reductions, positions of extrema, running sums and the largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.topi.operators import Operator


def _reduction(make: Callable[[tuple[int, ...], bool], Operator], *, of_integers: bool = False) -> Converter:
    """`of_integers`: a result of one scale with the input is chosen among the integers."""

    def convert(node: TfliteNode) -> Operand:
        op = make(normal_axes(sorted(set(_axes(node))), node.rank(0)), node.flag("keep_dims"))
        scaling = node.output_scaling()
        if of_integers and scaling is not None and scaling.equals(node.scaling(0)):
            return node.result(op, node.value(0))
        return node.finish(op, node.real(0))

    return convert


def _axes(node: TfliteNode) -> list[int]:
    """The axes of the second input; an axis may be there twice."""
    rank = node.rank(0)
    return [normal_axis(axis, rank) for axis in node.integers_at(1)]


def _position(make: Callable[[int], Operator]) -> Converter:
    """The first position of the extremum, which scales don't change."""

    def convert(node: TfliteNode) -> Operand:
        axis = normal_axis(node.integer_at(1), node.rank(0))
        found = node.step(make(axis), node.value(0))
        return node.result(ops.Cast(node.output_dtype()), found)

    return convert


def _running_sum(node: TfliteNode) -> Operand:
    axis = normal_axis(node.integer_at(1), node.rank(0))
    return node.finish(ops.CumSum(axis, node.flag("exclusive"), node.flag("reverse")), node.real(0))


def _largest(node: TfliteNode) -> Sequence[Operand]:
    """Along the last axis; of equal elements the first comes first."""
    values, places = node.steps(ops.TopK(node.integer_at(1), node.rank(0) - 1), node.value(0), count=2)
    return node.result(ops.Identity(), values), node.result(ops.Cast(node.output_dtype(1)), places, output=1)


REDUCTIONS: dict[str, Converter] = {
    "ARG_MAX": _position(lambda axis: ops.ArgMax(axis, keepdims=False)),
    "ARG_MIN": _position(lambda axis: ops.ArgMin(axis, keepdims=False)),
    "CUMSUM": _running_sum,
    "MEAN": _reduction(ops.ReduceMean),
    "REDUCE_ALL": _reduction(ops.ReduceMin),
    "REDUCE_ANY": _reduction(ops.ReduceMax),
    "REDUCE_MAX": _reduction(ops.ReduceMax, of_integers=True),
    "REDUCE_MIN": _reduction(ops.ReduceMin, of_integers=True),
    "REDUCE_PROD": _reduction(ops.ReduceProd),
    "SUM": _reduction(ops.ReduceSum),
    "TOPK_V2": _largest,
}
