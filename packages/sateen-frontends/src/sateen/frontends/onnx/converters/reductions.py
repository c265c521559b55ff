"""Reductions, indices of extrema, cumulative sums and the largest elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, static_extents
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ops import OneHot, Reshape
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_PLAIN = frozenset({"ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})
"""Operators that give their input where they reduce no axis: log e^x is x, however large e^x is."""


def _reduction(make: Callable[[tuple[int, ...], bool], Operator]) -> Converter:
    """Axes are an attribute up to opset 12 (ReduceSum) or 17, an input later."""

    def convert(node: OnnxNode) -> Operand:
        axes = _reduced_axes(node)
        if not axes and node.flag("noop_with_empty_axes"):
            return node.operand(0) if node.operator in _PLAIN else node.result(make((), True), node.value(0))
        return node.result(make(axes, node.flag("keepdims")), node.value(0))

    return convert


def _reduced_axes(node: OnnxNode) -> tuple[int, ...]:
    """The axes of a reduction: all if none are given, unless an attribute says that this means none."""
    rank = node.rank(0)
    given = node.setting("axes", 1)
    if given:
        return normal_axes(given, rank)
    return () if node.flag("noop_with_empty_axes") else tuple(range(rank))


def _arg_max(node: OnnxNode) -> Operand:
    op = ops.ArgMax(
        axis=node.axis(node.rank(0)), keepdims=node.flag("keepdims"), select_last_index=node.flag("select_last_index")
    )
    return node.result(op, node.value(0))


def _arg_min(node: OnnxNode) -> Operand:
    op = ops.ArgMin(
        axis=node.axis(node.rank(0)), keepdims=node.flag("keepdims"), select_last_index=node.flag("select_last_index")
    )
    return node.result(op, node.value(0))


def _hard_max(node: OnnxNode) -> Operand:
    """1 at the first of the largest elements, 0 elsewhere: over one axis as of opset 13, before over all from it on."""
    data, extents = node.value(0), node.static_shape(0)
    axis = normal_axis(node.integer("axis"), len(extents))
    if node.version < 13:
        data = node.step(Reshape(shape=(prod(extents[:axis]), prod(extents[axis:]))), data)
        axis = 1
    depth = static_extents(data.type.shape, "the input")[axis]
    index = node.step(ops.ArgMax(axis=axis, keepdims=False, select_last_index=False), data)
    values = node.parameter(np.array([0, 1], data.type.dtype.numpy), "values")
    if node.version >= 13:
        return node.result(OneHot(depth=depth, axis=axis), index, values)
    return node.result(Reshape(shape=extents), node.step(OneHot(depth=depth, axis=axis), index, values))


def _cumulative(node: OnnxNode) -> Operand:
    axis = normal_axis(int(node.scalar(1)), node.rank(0))
    kind = ops.CumSum if node.operator == "CumSum" else ops.CumProd
    op = kind(axis=axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))
    return node.result(op, node.value(0))


def _top_k(node: OnnxNode) -> tuple[Operand, ...]:
    """k is an attribute up to opset 9; largest and sorted came with opset 11."""
    given = node.required_setting("k", 1)
    if len(given) != 1:
        raise FrontendError(f"expected one number as k, found {list(given)}")
    newer = node.version >= 11
    op = ops.TopK(
        k=given[0],
        axis=node.axis(node.rank(0)),
        largest=node.flag("largest") or not newer,
        sorted=node.flag("sorted") or not newer,
    )
    return node.results(op, node.value(0), count=2)


REDUCTIONS: dict[str, Converter] = {
    "ArgMax": _arg_max,
    "ArgMin": _arg_min,
    "CumProd": _cumulative,
    "CumSum": _cumulative,
    "Hardmax": _hard_max,
    "ReduceL1": _reduction(lambda axes, keepdims: ops.ReduceL1(axes=axes, keepdims=keepdims)),
    "ReduceL2": _reduction(lambda axes, keepdims: ops.ReduceL2(axes=axes, keepdims=keepdims)),
    "ReduceLogSum": _reduction(lambda axes, keepdims: ops.ReduceLogSum(axes=axes, keepdims=keepdims)),
    "ReduceLogSumExp": _reduction(lambda axes, keepdims: ops.ReduceLogSumExp(axes=axes, keepdims=keepdims)),
    "ReduceMax": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "ReduceMean": _reduction(lambda axes, keepdims: ops.ReduceMean(axes=axes, keepdims=keepdims)),
    "ReduceMin": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "ReduceProd": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "ReduceSum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "ReduceSumSquare": _reduction(lambda axes, keepdims: ops.ReduceSumSquare(axes=axes, keepdims=keepdims)),
    "TopK": _top_k,
}
