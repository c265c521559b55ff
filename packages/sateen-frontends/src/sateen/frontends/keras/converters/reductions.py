"""Functions of keras.ops over axes: sums, extrema, running sums, softmax, norms.

Sources: keras/src/ops and keras/src/backend/tensorflow/{numpy,math,nn}.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.element_wise import truth
from sateen.frontends.keras.converters.operands import INT32, axes_of, integer, tensors
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Cast, Multiply, Subtract
from sateen.topi.operators import Operator


def _softmax(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    return lambda node: node.result(make(normal_axis(node.setting("axis", -1), node.rank(0))), node.raw(0))


def reduction(make: Callable[..., Operator], *, as_float: bool = False) -> Converter[KerasNode]:
    """A reduction over axes; None stands for all of them."""

    def convert(node: KerasNode) -> Operand:
        (data,) = tensors(node, node.raw(0), as_float=as_float)
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def reduced(node: KerasNode, data: Value) -> tuple[tuple[int, ...], bool]:
    """The axes of a reduction, and whether they stay with extents of 1."""
    for setting in ("initial", "dtype", "weights"):
        if node.setting(setting, None) is not None:
            raise UnsupportedError(f"a reduction with {setting} is not supported", f"leave out {setting}")
    return axes_of(node.setting("axis", None), data.type.rank), bool(node.setting("keepdims", False))


def _variance(node: KerasNode, emit: Callable[..., Value]) -> Value:
    (data,) = tensors(node, node.raw(0), as_float=True)
    axes, keepdims = reduced(node, data)
    apart = node.step(Subtract(), data, node.step(ops.ReduceMean(axes=axes, keepdims=True), data))
    return emit(ops.ReduceMean(axes=axes, keepdims=keepdims), node.step(Multiply(), apart, apart))


def _holds(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """Whether any or all elements along axes are true: the largest or smallest of truth values."""

    def convert(node: KerasNode) -> Operand:
        data = truth(node, node.raw(0))
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def _position(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """The position of an extremum as int32; without an axis in the flattened data."""

    def convert(node: KerasNode) -> Operand:
        data, axis, keepdims = node.raw(0), node.setting("axis", None), bool(node.setting("keepdims", False))
        if axis is None:
            raise UnsupportedError("a position in flattened data is not supported", "give an axis")
        op = make(axis=normal_axis(axis, data.type.rank), keepdims=keepdims)
        return node.result(Cast(INT32), node.step(op, data))

    return convert


def _running(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        if node.setting("dtype", None) is not None or type(node.setting("axis", None)) is not int:
            raise UnsupportedError(
                "a running sum without an axis, or of another type, is not supported", "give an axis"
            )
        return node.result(make(normal_axis(node.setting("axis", 0), node.rank(0))), node.raw(0))

    return convert


def _normalize(node: KerasNode) -> Operand:
    """x / sqrt(Σ x²), at most 1e12 times x (`_normalize` of keras/src/ops/nn.py)."""
    if node.setting("order", 2) != 2:
        raise UnsupportedError("norms of other orders than 2 are not supported", "use order 2")
    data, least = node.raw(0), node.setting("epsilon", None)
    epsilon = 1e-7 if least is None else float(least)
    axes = axes_of(node.setting("axis", -1), data.type.rank)
    square = node.step(ops.ReduceSum(axes=axes, keepdims=True), node.step(Multiply(), data, data))
    length = node.step(ops.Sqrt(), square)
    return node.result(ops.Divide(), data, node.step(ops.Maximum(), length, node.literal(epsilon, data.type.dtype)))


def _count_nonzero(node: KerasNode) -> Operand:
    """The number of elements other than 0, as int32."""
    data = node.step(Cast(INT32), truth(node, node.raw(0)))
    return node.result(ops.ReduceSum(axes=axes_of(node.setting("axis", None), data.type.rank), keepdims=False), data)


def _spread(node: KerasNode) -> Operand:
    """The largest element less the smallest."""
    data = node.raw(0)
    axes, keepdims = reduced(node, data)
    largest = node.step(ops.ReduceMax(axes=axes, keepdims=keepdims), data)
    return node.result(Subtract(), largest, node.step(ops.ReduceMin(axes=axes, keepdims=keepdims), data))


def _average(node: KerasNode) -> Operand:
    if node.argument(99, "weights") is not None:
        raise UnsupportedError("an average with weights is not supported", "multiply by the weights before")
    (data,) = tensors(node, node.raw(0), as_float=True)
    return node.result(ops.ReduceMean(axes=axes_of(node.setting("axis", None), data.type.rank), keepdims=False), data)


def _length(node: KerasNode) -> Operand:
    """The norm of vectors along an axis; without an axis, of all elements."""
    (data,) = tensors(node, node.raw(0), as_float=True)
    order, axes = node.setting("ord", None), axes_of(node.setting("axis", None), data.type.rank)
    is_vector = len(axes) == 1
    keepdims = bool(node.setting("keepdims", False))
    if order is None or (order == 2 and is_vector) or (order == "fro" and len(axes) == 2):
        return node.result(ops.ReduceL2(axes=axes, keepdims=keepdims), data)
    if order == 1 and is_vector:
        return node.result(ops.ReduceL1(axes=axes, keepdims=keepdims), data)
    raise UnsupportedError(f"norms of order {order!r} over {len(axes)} axes are not supported", "use order 2 or 1")


def _top(node: KerasNode) -> tuple[Operand, ...]:
    """The largest elements along the last axis, and their places as int32."""
    data = node.raw(0)
    found, places = node.steps(ops.TopK(integer(node.setting("k", None), "k"), data.type.rank - 1), data, count=2)
    return node.result(ops.Identity(), found), node.result(Cast(INT32), places, output=1)


def _sorted(node: KerasNode) -> tuple[Value, Value]:
    """Elements along an axis in ascending order, and their places."""
    data, given = node.raw(0), node.setting("axis", -1)
    if type(given) is not int:
        raise UnsupportedError("sorting flattened data is not supported", "give an axis")
    axis = normal_axis(given, data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    found, places = node.steps(ops.TopK(extent, axis, largest=False), data, count=2)
    return found, places


REDUCTIONS: Mapping[str, Converter[KerasNode]] = {
    "ops.All": _holds(ops.ReduceMin),
    "ops.Amax": reduction(ops.ReduceMax),
    "ops.Amin": reduction(ops.ReduceMin),
    "ops.Any": _holds(ops.ReduceMax),
    "ops.Argmax": _position(ops.ArgMax),
    "ops.Argmin": _position(ops.ArgMin),
    "ops.Argsort": lambda node: node.result(Cast(INT32), _sorted(node)[1]),
    "ops.Average": _average,
    "ops.CountNonzero": _count_nonzero,
    "ops.Cumprod": _running(ops.CumProd),
    "ops.Cumsum": _running(ops.CumSum),
    "ops.LogSoftmax": _softmax(ops.LogSoftmax),
    "ops.Logsumexp": reduction(ops.ReduceLogSumExp, as_float=True),
    "ops.Max": reduction(ops.ReduceMax),
    "ops.Mean": reduction(ops.ReduceMean, as_float=True),
    "ops.Min": reduction(ops.ReduceMin),
    "ops.Norm": _length,
    "ops.Normalize": _normalize,
    "ops.Prod": reduction(ops.ReduceProd),
    "ops.Ptp": _spread,
    "ops.Softmax": _softmax(ops.Softmax),
    "ops.Sort": lambda node: node.result(ops.Identity(), _sorted(node)[0]),
    "ops.Std": lambda node: node.result(ops.Sqrt(), _variance(node, node.step)),
    "ops.Sum": reduction(ops.ReduceSum),
    "ops.TopK": _top,
    "ops.Var": lambda node: _variance(node, node.result),
}
