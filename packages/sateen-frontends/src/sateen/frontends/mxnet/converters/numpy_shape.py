"""Shapes, joins and products of mx.np and mx.npx, which follow NumPy."""

from __future__ import annotations

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, without_axes
from sateen.frontends.mxnet.converters.constants import CONSTANTS
from sateen.frontends.mxnet.converters.reshape import shaped
from sateen.frontends.mxnet.converters.shape import SHAPE
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError


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


def _dot(node: MxnetNode) -> Operand:
    left, right = node.rank(0), node.rank(1)
    if max(left, right) > 2 and right != 2:
        raise UnsupportedError("np.dot of stacks of matrices is not supported", "write it as np.matmul or np.einsum")
    return _product(node)


def _product(node: MxnetNode) -> Operand:
    """Of vectors, matrices and stacks of them; np.dot of other stacks is refused."""
    left, right = node.values()
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


NUMPY_SHAPE = {
    "_np_copy": operator(lambda node: node.operand(0), "a"),
    "_np_dot": operator(_dot, "a b"),
    "_np_reshape": operator(_reshape, "a", newshape=REQUIRED, order="C"),
    "_np_squeeze": operator(_squeeze, "a", axis=None),
    "_np_transpose": operator(_transpose, "a", axes=None),
    "_npi_broadcast_to": operator(_broadcast_to, "array", shape=REQUIRED),
    "_npi_concatenate": operator(_concatenate, results="out", axis=0),
    "_npi_einsum": operator(_einsum, subscripts=REQUIRED, optimize=0),
    "_npi_flip": SHAPE["reverse"],
    "_npi_matmul": operator(_product, "a b", "out"),
    "_npi_ones": CONSTANTS["_ones"],
    "_npi_stack": SHAPE["stack"],
    "_npi_zeros": CONSTANTS["_zeros"],
    "_npx_reshape": operator(_coded_reshape, "a", newshape=REQUIRED, reverse=False, order="C"),
}
