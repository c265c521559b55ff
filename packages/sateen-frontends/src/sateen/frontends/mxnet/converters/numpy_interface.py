"""The operators of mx.np and mx.npx that are not those of other names: they follow NumPy, and scalars are shapes ().

Operands of different types are refused: NumPy's rules for the type of the result are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, without_axes
from sateen.frontends.mxnet.converters.broadcast import BROADCAST
from sateen.frontends.mxnet.converters.constants import CONSTANTS
from sateen.frontends.mxnet.converters.element_wise import ELEMENT_WISE
from sateen.frontends.mxnet.converters.shape import SHAPE, shaped
from sateen.frontends.mxnet.description import REQUIRED, OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
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


def _reshape(node: MxnetNode) -> Operand:
    if node.text("order") != "C":
        raise UnsupportedError(f"order {node.attribute('order')!r} of elements is not supported")
    return shaped(node, filled_shape(node.integers("newshape"), node.shape(0)))


def _coded_reshape(node: MxnetNode) -> Operand:
    """Codes differ from those elsewhere: -1 is what is left, -2 an axis as it is, -3 drops an axis of 1, -4 all axes
    that follow, -5 two axes as one, and -6 splits an axis into the two numbers that follow."""
    if node.flag("reverse") or node.text("order") != "C":
        raise UnsupportedError("shapes that are read from the end are not supported")
    axes, codes = list(node.shape(0)), list(node.integers("newshape"))
    found: list[Dim] = []
    while codes:
        code = codes.pop(0)
        if code >= -1:
            found.append(code)
            del axes[:1]
        elif code == -4:
            found += axes
            axes.clear()
        elif not axes or (code == -5 and len(axes) < 2) or (code == -6 and len(codes) < 2):
            raise FrontendError(f"expected data of more axes for code {code} of a shape, found {node.rank(0)}")
        elif code == -6:
            extent, parts = axes.pop(0), [codes.pop(0), codes.pop(0)]
            found += filled_shape(parts, (extent,))
        elif code == -3 and axes[0] != 1:
            raise FrontendError(f"expected an extent of 1 for code -3 of a shape, found {axes[0]}")
        else:
            extent = axes.pop(0)
            found += {-2: [extent], -3: []}.get(code, [extent * axes.pop(0)] if code == -5 else [])
    return shaped(node, filled_shape(found, node.shape(0)))


def _transpose(node: MxnetNode) -> Operand:
    rank = node.rank(0)
    axes = tuple(range(rank))[::-1] if node.attribute("axes") is None else node.integers("axes")
    if sorted(normal_axis(axis, rank) for axis in axes) != list(range(rank)):
        raise FrontendError(f"expected each of {rank} axes once, found {list(axes)}")
    return node.result(ops.Transpose(permutation=tuple(axis % rank for axis in axes)), node.value(0))


def _squeeze(node: MxnetNode) -> Operand:
    """Without the given axes, or all of 1."""
    shape = node.shape(0)
    given = None if node.attribute("axis") is None else node.integers("axis")
    return shaped(node, without_axes(shape, squeezed_axes(shape, given, node.described(0))))


def _concatenate(node: MxnetNode) -> Operand:
    """Without an axis, of the elements in order."""
    values = node.values()
    if not values:
        raise FrontendError("expected inputs to concatenate, found none")
    if node.attribute("axis") is None:
        flat = [node.reshaped(value, filled_shape([-1], value.type.shape)) for value in values]
        return node.result(ops.Concat(axis=0), *flat)
    return node.result(ops.Concat(axis=node.axis(values[0].type.rank)), *values)


def _broadcast_to(node: MxnetNode) -> Operand:
    """-1 and -2 keep an extent; new axes are in front."""
    shape, wanted = node.shape(0), node.integers("shape")
    if len(wanted) < len(shape):
        raise FrontendError(f"expected {len(shape)} or more extents, found {list(wanted)}")
    aligned: list[Dim] = [*[1] * (len(wanted) - len(shape)), *shape]
    kept = tuple(own if extent < 0 else extent for extent, own in zip(wanted, aligned, strict=True))
    return node.result(ops.BroadcastTo(shape=kept), node.value(0))


def _product(node: MxnetNode) -> Operand:
    """Of vectors, matrices and stacks of them; np.dot of other stacks is refused."""
    left, right = node.values()
    if node.operator == "_np_dot" and max(left.type.rank, right.type.rank) > 2 and right.type.rank != 2:
        raise UnsupportedError("np.dot of stacks of matrices is not supported", "write it as np.matmul or np.einsum")
    if 0 in {left.type.rank, right.type.rank}:
        raise UnsupportedError("products with scalars are not supported", "write them as np.multiply")
    is_row, is_column = left.type.rank == 1, right.type.rank == 1
    if not is_row and not is_column:
        return node.result(ops.MatMul(), left, right)
    left = node.reshaped(left, (1, *left.type.shape)) if is_row else left
    right = node.reshaped(right, (*right.type.shape, 1)) if is_column else right
    whole = node.step(ops.MatMul(), left, right)
    *stack, rows, columns = whole.type.shape
    shape = (*stack, *[rows] * (not is_row), *[columns] * (not is_column))
    return node.result(ops.Reshape(shape=shape), whole)


def _einsum(node: MxnetNode) -> Operand:
    op, value = einsum(node, node.text("subscripts"), node.values())
    return node.result(op, value)


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


NUMPY_INTERFACE = {
    **{f"_npi_{name}": _of_floats(ELEMENT_WISE[name]) for name in _UNARY},
    **{f"_npi_{name}": _of_floats(BROADCAST[f"broadcast_{own}"]) for name, own in _BROADCAST.items()},
    **{f"_npi_{name}_scalar": _of_floats(BROADCAST[f"_{own}_scalar"]) for name, own in _WITH_NUMBER.items()},
    **{f"_npi_{name}": _compared(op) for name, op in _COMPARISONS.items()},
    **{f"_npi_{name}_scalar": _compared_with_number(op) for name, op in _COMPARISONS.items()},
    "_np_copy": operator(lambda node: node.operand(0), "a"),
    "_np_dot": operator(_product, "a b"),
    "_np_max": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "_np_min": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "_np_prod": _reduction(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "_np_reshape": operator(_reshape, "a", newshape=REQUIRED, order="C"),
    "_np_squeeze": operator(_squeeze, "a", axis=None),
    "_np_sum": _reduction(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "_np_transpose": operator(_transpose, "a", axes=None),
    "_npi_absolute": ELEMENT_WISE["abs"],
    "_npi_argmax": _extremum(ops.ArgMax),
    "_npi_argmin": _extremum(ops.ArgMin),
    "_npi_broadcast_to": operator(_broadcast_to, "array", shape=REQUIRED),
    "_npi_concatenate": operator(_concatenate, results="out", axis=0),
    "_npi_einsum": operator(_einsum, subscripts=REQUIRED, optimize=0),
    "_npi_flip": SHAPE["reverse"],
    "_npi_matmul": operator(_product, "a b", "out"),
    "_npi_mean": _reduction(lambda axes, keepdims: ops.ReduceMean(axes=axes, keepdims=keepdims)),
    "_npi_ones": CONSTANTS["_ones"],
    "_npi_stack": SHAPE["stack"],
    "_npi_std": operator(_spread, "a", "std mean", axis=None, dtype=None, ddof=0, keepdims=False),
    "_npi_var": operator(_spread, "a", "var mean", axis=None, dtype=None, ddof=0, keepdims=False),
    "_npi_where": operator(_where, "condition x y"),
    "_npi_where_lscalar": _where_with_number(is_left=True),
    "_npi_where_rscalar": _where_with_number(is_left=False),
    "_npi_zeros": CONSTANTS["_zeros"],
    "_npx_relu": ELEMENT_WISE["relu"],
    "_npx_reshape": operator(_coded_reshape, "a", newshape=REQUIRED, reverse=False, order="C"),
    "_npx_sigmoid": ELEMENT_WISE["sigmoid"],
}
