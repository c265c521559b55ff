"""Reductions, extrema and their places, sums along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.operands import Operand, normal_axes
from sateen.frontends.coreml.network.converters.activations import EPSILON
from sateen.frontends.coreml.network.node import CHANNEL, HEIGHT, WIDTH, Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

_KINDS: tuple[type[Any], ...] = (
    ops.ReduceSum, ops.ReduceMean, ops.ReduceProd, ops.ReduceSum, ops.ReduceSumSquare, ops.ReduceL1, ops.ReduceL2,
    ops.ReduceMax, ops.ReduceMin,
)  # fmt: skip
"""By the values of ReduceOperation."""
LOG_SUM, ARG_MAX = 3, 9
_AXES = ((CHANNEL, HEIGHT, WIDTH), (HEIGHT, WIDTH), (CHANNEL,), (HEIGHT,), (WIDTH,))
"""By the values of ReduceAxis."""


def _reduce(node: LayerNode) -> Operand:
    """Over channels, rows or columns, which stay as 1. LOGSUM sums the logarithms of x + epsilon, while the newer
    reduceLogSum takes the logarithm of the sum (test_numpy_nn_layers.py)."""
    mode, axis = node.parameters.mode, node.parameters.axis
    if not 0 <= axis < len(_AXES) or not 0 <= mode <= ARG_MAX:
        raise FrontendError(
            f"expected a mode of 0 to {ARG_MAX} and an axis of 0 to {len(_AXES) - 1}, found {mode}, {axis}"
        )
    axes = normal_axes(_AXES[axis], node.rank(0))
    data = node.value(0)
    if mode == ARG_MAX:
        if len(axes) != 1:
            raise FrontendError(f"expected one axis of ARGMAX, found {len(axes)}")
        return node.float_result(node.step(ops.ArgMax(axis=axes[0], keepdims=True), data))
    if mode == LOG_SUM:
        data = node.step(ops.Log(), node.step(ops.Add(), data, node.scalar_literal(node.number("epsilon", EPSILON))))
    return node.result(_KINDS[mode](axes=axes, keepdims=True), data)


def _reduction(kind: type[Any]) -> Converter:
    """Over the given axes, or all. A result without axes is a vector of one element, since blobs have an axis."""

    def convert(node: LayerNode) -> Operand:
        given, rank = node.parameters, node.rank(0)
        axes = tuple(range(rank)) if given.reduceAll or not given.axes else normal_axes(tuple(given.axes), rank)
        if given.keepDims or len(axes) < rank:
            return node.result(kind(axes=axes, keepdims=given.keepDims), node.value(0))
        return node.result(ops.Reshape((1,)), node.step(kind(axes=axes, keepdims=False), node.value(0)))

    return convert


def _arg_extremum(kind: type[Any]) -> Converter:
    def convert(node: LayerNode) -> Operand:
        keepdims = not node.parameters.removeDim or node.rank(0) == 1
        return node.float_result(node.step(kind(axis=node.normal_parameter(), keepdims=keepdims), node.value(0)))

    return convert


def _top_k(node: LayerNode) -> tuple[Operand, ...]:
    given = node.parameters
    count = node.integers_of(1) if len(node.inputs) > 1 else (given.K,)
    if len(count) != 1:
        raise FrontendError(f"expected one number as K, found {list(count)}")
    op = ops.TopK(k=count[0], axis=node.normal_parameter(), largest=not given.useBottomK)
    values, places = node.steps(op, node.value(0), count=2)
    return node.result(ops.Identity(), values), node.float_result(places, output=1)


def _arg_sort(node: LayerNode) -> Operand:
    axis = node.normal_parameter()
    extent = node.static_shape(0)[axis]
    op = ops.TopK(k=extent, axis=axis, largest=node.parameters.descending)
    return node.float_result(node.steps(op, node.value(0), count=2)[1])


def _cumulative_sum(node: LayerNode) -> Operand:
    given = node.parameters
    axis = node.normal(node.integers_of(1)[0]) if len(node.inputs) > 1 else node.normal_parameter()
    op = ops.CumSum(axis=axis, exclusive=given.excludeFinalSum, reverse=given.reverse)
    return node.result(op, node.value(0))


def _dot(node: LayerNode) -> Operand:
    """The product of two vectors along the channels, or their cosine."""
    for index in (0, 1):
        node.require_rank(3, index)
        if node.shape(index)[-2:] != (1, 1):
            raise FrontendError(f"expected vectors [..., C, 1, 1], found {node.operand_text(index)}")
    a, b = node.value(0), node.value(1)
    sum_ = ops.ReduceSum(axes=(node.normal(CHANNEL),), keepdims=True)
    if not node.parameters.cosineSimilarity:
        return node.result(sum_, node.step(ops.Multiply(), a, b))
    product = node.step(sum_, node.step(ops.Multiply(), a, b))
    return node.result(ops.Divide(), product, node.step(ops.Multiply(), _length(node, a), _length(node, b)))


def _length(node: LayerNode, vector: Value) -> Value:
    return node.step(ops.ReduceL2(axes=(node.normal(CHANNEL),), keepdims=True), vector)


REDUCTIONS: Mapping[str, Converter] = {
    "argMax": _arg_extremum(ops.ArgMax),
    "argMin": _arg_extremum(ops.ArgMin),
    "argSort": _arg_sort,
    "cumSum": _cumulative_sum,
    "dot": _dot,
    "reduce": _reduce,
    "reduceL1": _reduction(ops.ReduceL1),
    "reduceL2": _reduction(ops.ReduceL2),
    "reduceLogSum": _reduction(ops.ReduceLogSum),
    "reduceLogSumExp": _reduction(ops.ReduceLogSumExp),
    "reduceMax": _reduction(ops.ReduceMax),
    "reduceMean": _reduction(ops.ReduceMean),
    "reduceMin": _reduction(ops.ReduceMin),
    "reduceProd": _reduction(ops.ReduceProd),
    "reduceSum": _reduction(ops.ReduceSum),
    "reduceSumSquare": _reduction(ops.ReduceSumSquare),
    "topK": _top_k,
}
