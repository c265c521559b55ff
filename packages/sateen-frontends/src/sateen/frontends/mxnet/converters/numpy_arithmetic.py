"""Arithmetic, comparisons and reductions of mx.np: they follow NumPy, and scalars are shapes ().

Operands of different types are refused: NumPy's rules for the type of the result are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape
from sateen.frontends.mxnet.converters.broadcast import BROADCAST
from sateen.frontends.mxnet.converters.element_wise import ELEMENT_WISE
from sateen.frontends.mxnet.description import OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator

_UNARY = (
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "expm1",
    "fix",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "negative",
    "radians",
    "reciprocal",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
)
_BROADCAST = {
    "add": "add",
    "hypot": "hypot",
    "mod": "mod",
    "multiply": "mul",
    "power": "power",
    "subtract": "sub",
    "true_divide": "div",
}
_WITH_NUMBER = {
    "add": "plus",
    "mod": "mod",
    "multiply": "mul",
    "power": "power",
    "subtract": "minus",
    "true_divide": "div",
    "rmod": "rmod",
    "rpower": "rpower",
    "rsubtract": "rminus",
    "rtrue_divide": "rdiv",
}
"""Arithmetic by its names here, and elsewhere in MXNet; with a number on the right, or with `r` on the left."""
_COMPARISONS = {
    "equal": ops.Equal(),
    "not_equal": ops.NotEqual(),
    "greater": ops.Greater(),
    "greater_equal": ops.GreaterEqual(),
    "less": ops.Less(),
    "less_equal": ops.LessEqual(),
}


def _of_floats(described: OperatorDescription) -> OperatorDescription:
    """The same for floats; NumPy's results of integers may have another type."""

    def convert(node: MxnetNode) -> Operand | Sequence[Operand]:
        if any(not node.dtype(index).is_float for index in range(len(node.inputs))):
            raise UnsupportedError("this function of NumPy is read for floating-point numbers only")
        return described.convert(node)

    return operator(convert, " ".join(described.arguments), **described.defaults)


def _compared(op: Operator) -> OperatorDescription:
    return operator(lambda node: node.result(op, node.value(0), node.value(1)), "lhs rhs")


def _compared_with_number(op: Operator) -> OperatorDescription:
    def convert(node: MxnetNode) -> Operand:
        data = node.value(0)
        if not data.type.dtype.is_float and node.number("scalar") != int(node.number("scalar")):
            raise UnsupportedError("comparing integers with fractions is not supported")
        return node.result(op, data, node.like(node.number("scalar"), data))

    return operator(convert, scalar=1.0)


def _reduction(make: Callable[[tuple[int, ...], bool], Operator]) -> OperatorDescription:
    def convert(node: MxnetNode) -> Operand:
        if node.attribute("initial") is not None:
            raise UnsupportedError("an initial value of a reduction is not supported")
        dtype = node.element_type("dtype") or node.dtype(0)
        if not (node.dtype(0).is_float and dtype.is_float):
            raise UnsupportedError("this reduction of NumPy is read for floating-point numbers only")
        axes = _axes(node)
        data = node.cast(node.value(0), dtype)
        return node.result(make(axes, node.flag("keepdims")) if axes else ops.Identity(), data)

    return operator(convert, "a", axis=None, dtype=None, keepdims=False, initial=None)


def _axes(node: MxnetNode) -> tuple[int, ...]:
    """All axes for None, none for ()."""
    rank = node.rank(0)
    if node.attribute("axis") is None:
        return tuple(range(rank))
    return tuple(sorted(normal_axis(axis, rank) for axis in node.integers("axis")))


def _spread(node: MxnetNode) -> Operand:
    """The variance, or its root: the mean of squares, over ddof elements fewer."""
    data, axes = node.value(0), _axes(node)
    if not data.type.dtype.is_float or node.integer("ddof") or node.attribute("dtype") is not None:
        raise UnsupportedError("the spread is read for floating-point numbers without ddof only")
    apart = node.step(ops.Subtract(), data, node.step(ops.ReduceMean(axes=axes), data))
    square = node.step(ops.Multiply(), apart, apart)
    mean = ops.ReduceMean(axes=axes, keepdims=node.flag("keepdims"))
    if node.operator == "_npi_var":
        return node.result(mean, square)
    return node.result(ops.Sqrt(), node.step(mean, square))


def _extremum(kind: type[ops.ArgMax | ops.ArgMin]) -> OperatorDescription:
    """Indices are int64."""

    def convert(node: MxnetNode) -> Operand:
        data, keepdims = node.value(0), node.flag("keepdims")
        if node.attribute("axis") is not None:
            return node.result(kind(axis=node.axis(data.type.rank), keepdims=keepdims), data)
        flat = node.reshaped(data, filled_shape([-1], data.type.shape))
        place = node.step(kind(axis=0, keepdims=False), flat)
        return node.result(ops.Reshape(shape=(1,) * data.type.rank if keepdims else ()), place)

    return operator(convert, axis=None, keepdims=False)


def _where(node: MxnetNode) -> Operand:
    condition, *branches = node.values()
    return node.result(ops.Where(), node.cast(condition, DType.of("bool")), *branches)


def _where_with_number(*, is_left: bool) -> OperatorDescription:
    def convert(node: MxnetNode) -> Operand:
        condition, data = node.cast(node.value(0), DType.of("bool")), node.value(1)
        number = node.like(node.number("scalar"), data)
        branches: tuple[Value, Value] = (number, data) if is_left else (data, number)
        return node.result(ops.Where(), condition, *branches)

    return operator(convert, "condition x", scalar=0.0)


def _where_numbers(node: MxnetNode) -> Operand:
    """One of two numbers, as float32."""
    numbers = [node.literal(node.number(name), DType.of("float32")) for name in "xy"]
    return node.result(ops.Where(), node.cast(node.value(0), DType.of("bool")), *numbers)


def _predicate(op: Operator) -> OperatorDescription:
    return operator(lambda node: node.result(op, node.value(0)), "x")


def _is_finite(node: MxnetNode) -> Operand:
    data = node.value(0)
    unbounded = node.step(ops.Or(), node.step(ops.IsInf(), data), node.step(ops.IsNaN(), data))
    return node.result(ops.Not(), unbounded)


def _is_false(node: MxnetNode) -> Operand:
    return node.result(ops.Not(), node.cast(node.value(0), DType.of("bool")))


def _quantified(*, is_all: bool) -> OperatorDescription:
    """Whether all elements along axes are other than 0, or any."""

    def convert(node: MxnetNode) -> Operand:
        axes, keepdims = _axes(node), node.flag("keepdims")
        truth = node.cast(node.cast(node.value(0), DType.of("bool")), DType.of("int32"))
        op = (ops.ReduceMin if is_all else ops.ReduceMax)(axes=axes, keepdims=keepdims)
        return node.result(ops.Cast(dtype=DType.of("bool")), node.step(op, truth) if axes else truth)

    return operator(convert, axis=None, keepdims=False)


def _angle(*, number_is_left: bool = False) -> OperatorDescription:
    """The angle of two operands, or of one and a number."""

    def convert(node: MxnetNode) -> Operand:
        data = node.value(0)
        if not data.type.dtype.is_float:
            raise UnsupportedError("this function of NumPy is read for floating-point numbers only")
        if len(node.inputs) == 2:
            return node.result(ops.Atan2(), data, node.value(1))
        number = node.like(node.number("scalar"), data)
        return node.result(ops.Atan2(), *((number, data) if number_is_left else (data, number)))

    return operator(convert, "x1 x2", scalar=1.0)


def _nearest_integer(node: MxnetNode) -> Operand:
    if node.integer("decimals"):
        raise UnsupportedError("rounding to decimals is not supported", "round to integers")
    if not node.dtype(0).is_float:
        return node.operand(0)
    return node.result(ops.Round(), node.value(0))


def _without_nan(node: MxnetNode) -> Operand:
    """Numbers in place of NaN and of infinities, which are else the largest of the type."""
    data = node.value(0)
    if not data.type.dtype.is_float:
        return data
    limits = np.finfo(data.type.dtype.numpy)
    for op, name, default in (
        (ops.IsNaN(), "nan", 0.0),
        (ops.IsInf(detect_negative=False), "posinf", float(limits.max)),
        (ops.IsInf(detect_positive=False), "neginf", float(limits.min)),
    ):
        number = default if node.attribute(name) is None else node.number(name)
        data = node.step(ops.Where(), node.step(op, data), node.literal(number, data.type.dtype), data)
    return node.result(ops.Identity(), data)


def _average(node: MxnetNode) -> Operand:
    if node.flag("weighted") or node.flag("returned") or not node.dtype(0).is_float:
        raise UnsupportedError("averages are read for floating-point numbers without weights only")
    axes = _axes(node)
    return node.result(ops.ReduceMean(axes=axes, keepdims=False) if axes else ops.Identity(), node.value(0))


NUMPY_ARITHMETIC = {
    **{f"_npi_{name}": _of_floats(ELEMENT_WISE[name]) for name in _UNARY},
    **{f"_npi_{name}": _of_floats(BROADCAST[f"broadcast_{own}"]) for name, own in _BROADCAST.items()},
    **{f"_npi_{name}_scalar": _of_floats(BROADCAST[f"_{own}_scalar"]) for name, own in _WITH_NUMBER.items()},
    **{f"_npi_{name}": _compared(op) for name, op in _COMPARISONS.items()},
    **{f"_npi_{name}_scalar": _compared_with_number(op) for name, op in _COMPARISONS.items()},
    "_np_all": _quantified(is_all=True),
    "_np_any": _quantified(is_all=False),
    "_np_max": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "_np_min": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "_np_prod": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "_np_sum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "_npi_absolute": ELEMENT_WISE["abs"],
    "_npi_arctan2": _angle(),
    "_npi_arctan2_scalar": _angle(),
    "_npi_argmax": _extremum(ops.ArgMax),
    "_npi_argmin": _extremum(ops.ArgMin),
    "_npi_around": operator(_nearest_integer, "x", decimals=0),
    "_npi_average": operator(_average, "a", "", axis=None, returned=False, weighted=True),
    "_npi_isfinite": operator(_is_finite, "x"),
    "_npi_isinf": _predicate(ops.IsInf()),
    "_npi_isnan": _predicate(ops.IsNaN()),
    "_npi_isneginf": _predicate(ops.IsInf(detect_positive=False)),
    "_npi_isposinf": _predicate(ops.IsInf(detect_negative=False)),
    "_npi_logical_not": operator(_is_false, "x"),
    "_npi_mean": _reduction(lambda axes, keepdims: ops.ReduceMean(axes=axes, keepdims=keepdims)),
    "_npi_nan_to_num": operator(_without_nan, copy=True, nan=0.0, posinf=None, neginf=None),
    "_npi_rarctan2_scalar": _angle(number_is_left=True),
    "_npi_rint": ELEMENT_WISE["rint"],
    "_npi_std": operator(_spread, "a", "std mean", axis=None, dtype=None, ddof=0, keepdims=False),
    "_npi_var": operator(_spread, "a", "var mean", axis=None, dtype=None, ddof=0, keepdims=False),
    "_npi_where": operator(_where, "condition x y"),
    "_npi_where_lscalar": _where_with_number(is_left=True),
    "_npi_where_scalar2": operator(_where_numbers, "condition", x=0.0, y=0.0),
    "_npi_where_rscalar": _where_with_number(is_left=False),
    "_npx_relu": ELEMENT_WISE["relu"],
    "_npx_sigmoid": ELEMENT_WISE["sigmoid"],
}
