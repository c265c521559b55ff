"""Elements that mx.np moves, joins, picks and sums over axes of two operands, as NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.converters.constants import CONSTANTS
from sateen.frontends.mxnet.converters.shape import SHAPE, diagonal
from sateen.frontends.mxnet.description import REQUIRED, OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

Shape = tuple[Dim, ...]


def _with_two_axes(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


def _with_three_axes(shape: Shape) -> Shape:
    return (*_with_two_axes(shape), 1) if len(shape) < 3 else shape


def _with_columns(shape: Shape) -> Shape:
    return (*shape, 1) if len(shape) == 1 else shape


def _with_one_axis(shape: Shape) -> Shape:
    return shape or (1,)


def _stacked(shape_of: Callable[[Shape], Shape], axis: int) -> OperatorDescription:
    """Inputs with the axes that a shape gets, joined along one of them; axis 1 of vectors is 0."""

    def convert(node: MxnetNode) -> Operand:
        values = [node.reshaped(value, shape_of(value.type.shape)) for value in node.values()]
        if not values:
            raise FrontendError("expected inputs to stack, found none")
        return node.result(ops.Concat(axis=min(axis, values[0].type.rank - 1)), *values)

    return operator(convert, dim=1)


def _at_least(shape_of: Callable[[Shape], Shape]) -> OperatorDescription:
    def convert(node: MxnetNode) -> Sequence[Operand]:
        shapes = [shape_of(value.type.shape) for value in node.values()]
        values = zip(node.values(), shapes, strict=True)
        return [node.result(ops.Reshape(shape=shape), value, output=i) for i, (value, shape) in enumerate(values)]

    return operator(convert, results=lambda given: ("output",) if given.get("num_args") == "1" else ())


def _axes(node: MxnetNode, name: str, rank: int) -> tuple[int, ...]:
    """Different axes in the order in which they are given."""
    axes = tuple(normal_axis(axis, rank) for axis in node.integers(name))
    if len(set(axes)) < len(axes):
        raise FrontendError(f"expected different axes as {name}, found {list(axes)}")
    return axes


def _move_axes(node: MxnetNode) -> Operand:
    rank = node.rank(0)
    sources, targets = (_axes(node, name, rank) for name in ("source", "destination"))
    if len(sources) != len(targets):
        raise FrontendError(f"expected as many destinations as sources, found {list(targets)} for {list(sources)}")
    order = [axis for axis in range(rank) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return node.result(ops.Transpose(permutation=tuple(order)), node.value(0))


def _roll(node: MxnetNode) -> Operand:
    """Elements moved along axes, the last ones to the front; without an axis, along all elements in order."""
    given = node.value(0)
    shifts = node.integers("shift")
    if node.attribute("axis") is None:
        data, axes = node.reshaped(given, (product(given.type.shape),)), (0,) * len(shifts)
    else:
        data, axes = given, _axes(node, "axis", given.type.rank)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(axes):
        raise FrontendError(f"expected a shift for each axis, found {list(shifts)} for {list(axes)}")
    for axis, shift in zip(axes, shifts, strict=True):
        (extent,) = static_extents(data.type.shape[axis : axis + 1], "an axis that is rolled")
        if moved := shift % extent:
            first, last = node.steps(ops.Split(axis, (extent - moved, moved)), data, count=2)
            data = node.step(ops.Concat(axis=axis), last, first)
    return node.result(ops.Reshape(shape=given.type.shape), data)


def _pad(node: MxnetNode) -> Operand:
    """pad_width has (begin, end) of each axis."""
    widths = node.attribute("pad_width")
    if isinstance(widths, tuple) and len(widths) == 1:
        widths *= node.rank(0)
    fits = isinstance(widths, tuple) and len(widths) == node.rank(0)
    if not fits or not all(isinstance(width, tuple) and len(width) == 2 for width in widths):
        raise FrontendError(f"expected (begin, end) for {node.rank(0)} axes as pad_width, found {widths!r}")
    begins, ends = zip(*widths, strict=True)
    if not all(type(width) is int and width >= 0 for width in (*begins, *ends)):
        raise FrontendError(f"expected widths of 0 or more as pad_width, found {widths!r}")
    mode = node.choice("mode", "constant", "edge", "reflect", "symmetric", "maximum", "minimum")
    if mode not in {"constant", "edge", "reflect"}:
        raise UnsupportedError(f"pads of mode {mode} are not supported", "use constant, edge or reflect")
    op = ops.Pad(mode=mode, pads=(*begins, *ends), value=node.number("constant_value"))
    return node.result(op, node.value(0))


def _picked(node: MxnetNode) -> Operand:
    """A diagonal of two axes, as the last axis."""
    return node.result(*diagonal(node, node.integer("offset")))


def _trace(node: MxnetNode) -> Operand:
    picked = node.step(*diagonal(node, node.integer("offset")))
    return node.result(ops.ReduceSum(axes=(picked.type.rank - 1,), keepdims=False), picked)


def _lower_triangle(node: MxnetNode) -> Operand:
    return node.result(ops.Trilu(upper=False, k=node.integer("k")), node.value(0))


def _contracted(node: MxnetNode) -> Operand:
    """The last axes of the first operand, and as many of the second, or those that are named."""
    left, right = node.values()
    if node.operator == "_npi_tensordot_int_axes":
        count = node.integer("axes")
        if not 0 <= count <= min(left.type.rank, right.type.rank):
            raise FrontendError(f"expected 0 to {min(left.type.rank, right.type.rank)} axes, found {count}")
        first, second = tuple(range(left.type.rank - count, left.type.rank)), tuple(range(count))
    else:
        first = _axes(node, "a_axes_summed", left.type.rank)
        second = _axes(node, "b_axes_summed", right.type.rank)
    if [left.type.shape[axis] for axis in first] != [right.type.shape[axis] for axis in second]:
        raise FrontendError(f"axes {list(first)} of {left.type} don't fit axes {list(second)} of {right.type}")
    rows, kept = _as_matrix(node, left, first, is_left=True)
    columns, others = _as_matrix(node, right, second, is_left=False)
    return node.result(ops.Reshape(shape=(*kept, *others)), node.step(ops.MatMul(), rows, columns))


def _as_matrix(node: MxnetNode, value: Value, summed: Sequence[int], *, is_left: bool) -> tuple[Value, Shape]:
    """An operand as a matrix with the summed axes behind the others, or before them; and the others' shape."""
    kept = [axis for axis in range(value.type.rank) if axis not in summed]
    shape = tuple(value.type.shape[axis] for axis in kept)
    depth = product(value.type.shape[axis] for axis in summed)
    moved = node.transposed(value, *((*kept, *summed) if is_left else (*summed, *kept)))
    return node.reshaped(moved, (product(shape), depth) if is_left else (depth, product(shape))), shape


def _filled_like(node: MxnetNode) -> Operand:
    dtype = node.element_type("dtype") or node.dtype(0)
    return node.result(ops.BroadcastTo(shape=node.shape(0)), node.literal(node.number("fill_value"), dtype))


def _differences(node: MxnetNode) -> Operand:
    """Of neighbours along an axis, `n` times."""
    data, count = node.value(0), node.integer("n")
    axis = node.axis(data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], "an axis of differences")
    if not 0 < count < extent:
        raise FrontendError(f"expected n of 1 to {extent - 1}, found {count}")
    for extent_left in range(extent, extent - count, -1):
        later, earlier = (node.step(_part(data, axis, start, start + extent_left - 1), data) for start in (1, 0))
        data = node.step(ops.Subtract(), later, earlier)
    return node.result(ops.Identity(), data)


def _part(data: Value, axis: int, start: int, stop: int) -> ops.Slice:
    starts, stops = [0] * data.type.rank, list(data.type.shape)
    starts[axis], stops[axis] = start, stop
    return ops.Slice(starts=tuple(starts), ends=tuple(stops), steps=(1,) * data.type.rank)


NUMPY_MOVES = {
    "_np_atleast_1d": _at_least(_with_one_axis),
    "_np_atleast_2d": _at_least(_with_two_axes),
    "_np_atleast_3d": _at_least(_with_three_axes),
    "_np_diag": SHAPE["diag"],
    "_np_diagonal": operator(_picked, offset=0, axis1=0, axis2=1),
    "_np_moveaxis": operator(_move_axes, "a", source=REQUIRED, destination=REQUIRED),
    "_np_roll": operator(_roll, shift=REQUIRED, axis=None),
    "_np_trace": operator(_trace, offset=0, axis1=0, axis2=1),
    "_npi_arange": CONSTANTS["_arange"],
    "_npi_column_stack": _stacked(_with_columns, 1),
    "_npi_diff": operator(_differences, "a", n=1, axis=-1),
    "_npi_dstack": _stacked(_with_three_axes, 2),
    "_npi_eye": CONSTANTS["_eye"],
    "_npi_full_like": operator(_filled_like, "a", fill_value=REQUIRED, dtype=None),
    "_npi_hstack": _stacked(_with_one_axis, 1),
    "_npi_pad": operator(_pad, pad_width=REQUIRED, mode="constant", constant_value=0.0, reflect_type="even"),
    "_npi_tensordot": operator(_contracted, "a b", a_axes_summed=REQUIRED, b_axes_summed=REQUIRED),
    "_npi_tensordot_int_axes": operator(_contracted, "a b", axes=REQUIRED),
    "_npi_tril": operator(_lower_triangle, k=0),
    "_npi_vstack": _stacked(_with_two_axes, 0),
}
