"""Operators that move, join and repeat elements."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
    extents_array,
    normal_axis,
    require_few,
)
from sateen.frontends.core.slices import turned
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _transpose(node: MxnetNode) -> Operand:
    rank = node.rank(0)
    axes = node.integers("axes") or tuple(range(rank))[::-1]
    if len(axes) != rank or len(set(axes)) < rank:
        raise FrontendError(f"expected each of {rank} axes once, found {list(axes)}")
    permutation = tuple(normal_axis(axis, rank) for axis in axes)
    return node.result(ops.Transpose(permutation=permutation), node.value(0))


def _swap_axes(node: MxnetNode) -> Operand:
    rank = node.rank(0)
    order = list(range(rank))
    first, second = node.axis(rank, "dim1"), node.axis(rank, "dim2")
    order[first], order[second] = second, first
    return node.result(ops.Transpose(permutation=tuple(order)), node.value(0))


def _concat(node: MxnetNode) -> Operand:
    if not node.inputs:
        raise FrontendError("expected inputs to concatenate, found none")
    axis = node.axis(node.rank(0), "dim")
    return node.result(ops.Concat(axis=axis), *node.values())


def _joined_parameters(node: MxnetNode) -> Operand:
    """The parameters of a recurrent layer as one vector, put together while importing."""
    parts = [node.constant(index) for index in range(len(node.inputs))]
    if not parts or any(part.ndim != 1 for part in parts):
        raise FrontendError("expected vectors of parameters")
    return node.evaluated(np.concatenate(parts))


def _stack(node: MxnetNode) -> Operand:
    if not node.inputs:
        raise FrontendError("expected inputs to stack, found none")
    shape = node.shape(0)
    axis = normal_axis(node.integer("axis"), len(shape) + 1)
    parts = [node.reshaped(value, (*shape[:axis], 1, *shape[axis:])) for value in node.values()]
    return node.result(ops.Concat(axis=axis), *parts)


def _tile(node: MxnetNode) -> Operand:
    """Where ranks differ, ones are put in front of the shorter."""
    repeats, shape = node.integers("reps"), node.shape(0)
    rank = max(len(repeats), len(shape))
    data = node.reshaped(node.value(0), (*[1] * (rank - len(shape)), *shape))
    return node.result(ops.Tile(repeats=(*[1] * (rank - len(repeats)), *repeats)), data)


def _repeat(node: MxnetNode) -> Operand:
    """Each element several times in a row; of all data as one row, if no axis is given."""
    data, times = node.value(0), node.integer("repeats")
    if node.attribute("axis") is None:
        data = node.reshaped(data, (product(data.type.shape),))
    shape = data.type.shape
    axis = 0 if node.attribute("axis") is None else node.axis(len(shape))
    apart = node.reshaped(data, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    tiled = node.step(ops.Tile(repeats=tuple(times if d == axis + 1 else 1 for d in range(len(shape) + 1))), apart)
    return node.result(ops.Reshape(shape=(*shape[:axis], shape[axis] * times, *shape[axis + 1 :])), tiled)


def _reverse(node: MxnetNode) -> Operand:
    shape = node.shape(0)
    return node.result(turned(shape, node.axes("axis", len(shape))), node.value(0))


def _pad(node: MxnetNode) -> Operand:
    """pad_width has begin and end of each axis in turn."""
    widths = node.integers("pad_width")
    if len(widths) != 2 * node.rank(0) or min(widths) < 0:
        raise FrontendError(f"expected {2 * node.rank(0)} widths of 0 or more, found {list(widths)}")
    op = ops.Pad(
        mode=node.choice("mode", "constant", "edge", "reflect"),
        pads=(*widths[::2], *widths[1::2]),
        value=node.number("constant_value"),
    )
    return node.result(op, node.value(0))


def _broadcast_to(node: MxnetNode) -> Operand:
    """0 keeps an extent."""
    shape, wanted = node.shape(0), node.integers("shape")
    if len(wanted) != len(shape):
        raise FrontendError(f"expected {len(shape)} extents, found {list(wanted)}")
    kept = tuple(extent or n for extent, n in zip(wanted, shape, strict=True))
    return node.result(ops.BroadcastTo(shape=kept), node.value(0))


def _broadcast_axis(node: MxnetNode) -> Operand:
    shape = list(node.shape(0))
    axes, sizes = node.integers("axis"), node.integers("size")
    if len(axes) != len(sizes):
        raise FrontendError(f"expected as many sizes as axes, found {list(sizes)} for {list(axes)}")
    for axis, size in zip(axes, sizes, strict=True):
        shape[normal_axis(axis, len(shape))] = size
    return node.result(ops.BroadcastTo(shape=tuple(shape)), node.value(0))


def _broadcast_like(node: MxnetNode) -> Operand:
    """The second operand's shape; with axes, only these extents of it."""
    shape, like = node.shape(0), node.shape(1)
    if node.attribute("lhs_axes") is None:
        return node.result(ops.BroadcastTo(shape=like), node.value(0))
    wanted = list(shape)
    for axis, other in zip(node.integers("lhs_axes"), node.integers("rhs_axes"), strict=False):
        wanted[normal_axis(axis, len(shape))] = like[normal_axis(other, len(like))]
    return node.result(ops.BroadcastTo(shape=tuple(wanted)), node.value(0))


def _diagonal(node: MxnetNode) -> Operand:
    """The k-th diagonal of two axes, as the last axis; of a vector the matrix with it as its k-th diagonal."""
    k, shape = node.integer("k"), node.static_shape(0)
    if len(shape) == 1:
        size = shape[0] + abs(k)
        require_few(size, size)
        matrix = np.full((size, size), shape[0])
        matrix[np.eye(size, k=k, dtype=bool)] = np.arange(shape[0])
        extended = node.step(ops.Pad(pads=(0, 1)), node.value(0))
        return node.result(ops.Gather(axis=0), extended, node.parameter(matrix, "places"))
    return node.result(*diagonal(node, k))


def diagonal(node: MxnetNode, k: int) -> tuple[ops.Gather, Value, Value]:
    """What gives the k-th diagonal of two axes, as the last axis: an operator and its inputs."""
    shape = node.static_shape(0)
    first, second = node.axis(len(shape), "axis1"), node.axis(len(shape), "axis2")
    if first == second:
        raise FrontendError(f"expected two axes, found {first} twice")
    rows, columns = shape[first], shape[second]
    require_few(min(rows, columns))
    count = min(rows - max(-k, 0), columns - max(k, 0))
    if count < 1:
        raise FrontendError(f"expected a diagonal within [{rows}, {columns}], found k of {k}")
    others = [d for d in range(len(shape)) if d not in (first, second)]
    moved = node.transposed(node.value(0), *others, first, second)
    flat = node.reshaped(moved, (*(shape[d] for d in others), rows * columns))
    places = np.arange(count) * (columns + 1) + max(-k, 0) * columns + max(k, 0)
    return ops.Gather(axis=len(others)), flat, node.parameter(places, "places")


SHAPE = {
    "Concat": operator(_concat, dim=1),
    "Pad": operator(_pad, mode=REQUIRED, pad_width=REQUIRED, constant_value=0.0),
    "SwapAxis": operator(_swap_axes, dim1=0, dim2=0),
    "_rnn_param_concat": operator(_joined_parameters, dim=1),
    "broadcast_axis": operator(_broadcast_axis, axis=(), size=()),
    "broadcast_like": operator(_broadcast_like, "lhs rhs", lhs_axes=None, rhs_axes=None),
    "broadcast_to": operator(_broadcast_to, shape=()),
    "depth_to_space": operator(
        lambda node: node.result(ops.DepthToSpace(block=node.integer("block_size")), node.value(0)), block_size=REQUIRED
    ),
    "diag": operator(_diagonal, k=0, axis1=0, axis2=1),
    "repeat": operator(_repeat, repeats=REQUIRED, axis=None),
    "reverse": operator(_reverse, axis=REQUIRED),
    "shape_array": operator(lambda node: extents_array(node.shape(0))),
    "size_array": operator(lambda node: extents_array((product(node.shape(0)),))),
    "space_to_depth": operator(
        lambda node: node.result(ops.SpaceToDepth(block=node.integer("block_size")), node.value(0)), block_size=REQUIRED
    ),
    "stack": operator(_stack, axis=0),
    "tile": operator(_tile, reps=REQUIRED),
    "transpose": operator(_transpose, axes=()),
}
