"""Reductions, indices of extrema, sorting and the largest elements.

MXNet has no scalars: a reduction of all axes gives a tensor of one element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.mxnet.description import OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

Reduction = Callable[[tuple[int, ...], bool], Operator]


def _axes(node: MxnetNode, name: str = "axis") -> tuple[int, ...]:
    """The reduced axes: those given, or with `exclude` the others; all if none are given."""
    rank = node.rank(0)
    axes = node.axes(name, rank)
    if node.attribute("exclude") and node.attribute(name) not in (None, ()):
        return tuple(axis for axis in range(rank) if axis not in axes)
    return axes


def _reduced(node: MxnetNode, make: Reduction, data: Value, axes: tuple[int, ...], output: int = 0) -> Operand:
    keepdims = node.flag("keepdims")
    if keepdims or len(axes) < data.type.rank:
        return node.result(make(axes, keepdims), data, output=output)
    return node.result(ops.Reshape(shape=(1,)), node.step(make(axes, True), data), output=output)


def _reduction(make: Reduction, *, skips_nan_as: float | None = None) -> OperatorDescription:
    """With a number in place of NaN, where one is given."""

    def convert(node: MxnetNode) -> Operand:
        data, axes = node.value(0), _axes(node)
        if skips_nan_as is not None:
            data = node.step(ops.Where(), node.step(ops.IsNaN(), data), node.like(skips_nan_as, data), data)
        if not axes:
            return node.operand(0)
        return _reduced(node, make, data, axes)

    return operator(convert, axis=None, keepdims=False, exclude=False)


def _norm(node: MxnetNode) -> Operand:
    """The sum of sizes, or the root of the sum of squares."""
    order = node.integer("ord")
    if order not in {1, 2}:
        raise FrontendError(f"expected ord of 1 or 2, found {order}")
    kind = ops.ReduceL1 if order == 1 else ops.ReduceL2
    dtype = node.element_type("out_dtype")
    data = node.value(0) if dtype is None else node.cast(node.value(0), dtype)
    return _reduced(node, lambda axes, keepdims: kind(axes=axes, keepdims=keepdims), data, _axes(node))


def _moments(node: MxnetNode) -> tuple[Operand, ...]:
    """The mean and the variance."""
    data, axes = node.value(0), _axes(node, "axes")

    def mean(axes: tuple[int, ...], keepdims: bool) -> Operator:
        return ops.ReduceMean(axes=axes, keepdims=keepdims)

    apart = node.step(ops.Subtract(), data, node.step(mean(axes, True), data))
    square = node.step(ops.Multiply(), apart, apart)
    return _reduced(node, mean, data, axes), _reduced(node, mean, square, axes, output=1)


def _flattened(node: MxnetNode, name: str = "axis") -> tuple[Value, int]:
    """The data and an axis of it; without an axis the data are one row."""
    data = node.value(0)
    if node.attribute(name) is None:
        return node.reshaped(data, (product(data.type.shape),)), 0
    return data, node.axis(data.type.rank, name)


def _extremum(kind: type[ops.ArgMax | ops.ArgMin]) -> OperatorDescription:
    """The index as a number of the data's type, float32 for integers shorter than that."""

    def convert(node: MxnetNode) -> Operand:
        data, axis = _flattened(node)
        keepdims = node.flag("keepdims")
        place = node.step(kind(axis=axis, keepdims=keepdims), data)
        shape: tuple[Dim, ...] = place.type.shape or (1,)
        if node.attribute("axis") is None and keepdims:
            shape = (1,) * node.rank(0)
        return node.result(ops.Cast(dtype=node.dtype(0)), node.reshaped(place, shape))

    return operator(convert, axis=None, keepdims=False)


def _channel_of_maximum(node: MxnetNode) -> Operand:
    place = node.step(ops.ArgMax(axis=1, keepdims=False), node.value(0))
    return node.result(ops.Cast(dtype=node.dtype(0)), place)


def _ordered(node: MxnetNode, count: int, *, ascending: bool) -> tuple[Value, Value]:
    """The values and places of the first elements in order; 0 or fewer stand for all of them (ParseTopKParam of
    src/operator/tensor/ordering_op-inl.h)."""
    data, axis = _flattened(node)
    (extent,) = static_extents((data.type.shape[axis],), "the axis that is sorted")
    if count > extent:
        raise FrontendError(f"expected k of at most {extent}, the elements of the axis, found {count}")
    op = ops.TopK(k=count if count > 0 else extent, axis=axis, largest=not ascending)
    values, places = node.steps(op, data, count=2)
    return values, places


def _sort(node: MxnetNode) -> Operand:
    values, _ = _ordered(node, 0, ascending=node.flag("is_ascend"))
    return node.result(ops.Identity(), values)


def _argsort(node: MxnetNode) -> Operand:
    _, places = _ordered(node, 0, ascending=node.flag("is_ascend"))
    return node.result(ops.Cast(dtype=node.element_type("dtype") or DType.of("float32")), places)


def _top_k(node: MxnetNode) -> tuple[Operand, ...]:
    kind = node.choice("ret_typ", "value", "indices", "mask", "both")
    values, places = _ordered(node, node.integer("k"), ascending=node.flag("is_ascend"))
    dtype = node.element_type("dtype") or DType.of("float32")
    match kind:
        case "value":
            return (node.result(ops.Identity(), values),)
        case "indices":
            return (node.result(ops.Cast(dtype=dtype), places),)
        case "both":
            return node.result(ops.Identity(), values), node.result(ops.Cast(dtype=dtype), places, output=1)
    data, axis = _flattened(node)
    zeros, ones = (node.filled(number, value.type.shape, data.type.dtype) for number, value in ((0, data), (1, places)))
    mask = node.step(ops.ScatterElements(axis=axis), zeros, places, ones)
    return (node.result(ops.Reshape(shape=node.shape(0)), mask),)


def _top_k_results(attributes: Mapping[str, str]) -> tuple[str, ...]:
    return ("output0", "output1") if attributes.get("ret_typ") in {"value", "both"} else ("output",)


def _cumulative_sum(node: MxnetNode) -> Operand:
    data, axis = _flattened(node)
    dtype = node.element_type("dtype")
    return node.result(ops.CumSum(axis=axis), data if dtype is None else node.cast(data, dtype))


def _squares(axes: tuple[int, ...], keepdims: bool) -> Operator:
    return ops.ReduceSumSquare(axes=axes, keepdims=keepdims)


REDUCTIONS = {
    "_np_cumsum": operator(_cumulative_sum, "a", axis=None, dtype=None),
    "_square_sum": _reduction(_squares),
    "argmax": _extremum(ops.ArgMax),
    "argmax_channel": operator(_channel_of_maximum),
    "argmin": _extremum(ops.ArgMin),
    "argsort": operator(_argsort, axis=-1, is_ascend=True, dtype="float32"),
    "max": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "mean": _reduction(lambda axes, keepdims: ops.ReduceMean(axes=axes, keepdims=keepdims)),
    "min": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "moments": operator(_moments, results="", axes=None, keepdims=False),
    "nanprod": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims), skips_nan_as=1),
    "nansum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims), skips_nan_as=0),
    "norm": operator(_norm, ord=2, axis=None, out_dtype=None, keepdims=False),
    "prod": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "sort": operator(_sort, results="", axis=-1, is_ascend=True),
    "sum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "topk": operator(_top_k, results=_top_k_results, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"),
}
