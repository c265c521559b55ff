"""Operators that move whole elements: reshape, transpose, concatenate, pad, repeat; and shapes. They take the integers
of quantised tensors as they are."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
    extents_array,
    normal_axis,
    static_extents,
)
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

LARGEST_RANGE = 1 << 20
"""The most elements of a range."""


def _reshape(node: TfliteNode) -> Operand:
    """The shape is an input or, in old files, an option; a single 0 there is a scalar (reshape.cc,
    ShapeIsVector and GetOutputShapeFromParam)."""
    wanted: tuple[Dim, ...]
    if node.has(1):
        wanted = node.dimensions_at(1)
    else:
        wanted = node.integers("new_shape")
        wanted = () if wanted == (0,) else wanted
    return _reshaped(node, filled_shape(wanted, node.shape(0)))


def _reshaped(node: TfliteNode, shape: tuple[Dim, ...]) -> Operand:
    return node.result(ops.Reshape(shape), node.value(0))


def _squeeze(node: TfliteNode) -> Operand:
    """Given axes, or all whose extent is 1."""
    shape = node.shape(0)
    axes = squeezed_axes(shape, node.optional_integers("squeeze_dims") or None, node.described(0))
    return _reshaped(node, without_axes(shape, axes))


def _expand(node: TfliteNode) -> Operand:
    return _reshaped(node, with_axes(node.shape(0), (node.integer_at(1),)))


def _transpose(node: TfliteNode) -> Operand:
    rank = node.rank(0)
    permutation = node.integers_at(1)
    if sorted(permutation) != list(range(rank)):
        raise FrontendError(f"expected a permutation of {rank} axes, found {list(permutation)}")
    return node.result(ops.Transpose(permutation), node.value(0))


def _concatenate(node: TfliteNode) -> Operand:
    """Of the integers, if all have the scale of the result; otherwise they are scaled anew."""
    axis = node.axis(node.rank(0))
    scaling = node.output_scaling()
    alike = scaling is None or all(scaling.equals(node.scaling(index)) for index in range(len(node.inputs)))
    if not alike:
        return node.finish(ops.Concat(axis), *node.reals())
    limit = node.limit()
    if limit is None:
        return node.result(ops.Concat(axis), *node.values())
    return node.result(limit, node.step(ops.Concat(axis), *node.values()))


def _pack(node: TfliteNode) -> Operand:
    axis = normal_axis(node.integer("axis"), node.rank(0) + 1)
    parts = [node.step(ops.Reshape(with_axes(value.type.shape, (axis,))), value) for value in node.values()]
    return node.result(ops.Concat(axis), *parts)


def _pad(node: TfliteNode) -> Operand:
    """With the integer that stands for 0, or the value of the third input."""
    if node.has(2):
        value = node.scalar(2)
    else:
        scaling = node.scaling(0)
        value = 0 if scaling is None else int(scaling.zero_points[0])
    return node.result(ops.Pad("constant", _pads(node), value), node.value(0))


def _mirror(node: TfliteNode) -> Operand:
    modes = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    return node.result(ops.Pad(modes[node.text("mode")], _pads(node)), node.value(0))


def _pads(node: TfliteNode) -> tuple[int, ...]:
    """Begins, then ends, of the second input [rank, 2]."""
    pairs = node.pairs_at(1, node.rank(0))
    return (*(begin for begin, _ in pairs), *(end for _, end in pairs))


def _tile(node: TfliteNode) -> Operand:
    repeats = node.dimensions_at(1)
    if len(repeats) != node.rank(0):
        raise FrontendError(f"expected {node.rank(0)} repeats, found {listed(repeats)}")
    return node.result(ops.Tile(repeats), node.value(0))


def _broadcast(node: TfliteNode) -> Operand:
    return node.result(ops.BroadcastTo(node.dimensions_at(1)), node.value(0))


def _fill(node: TfliteNode) -> Operand:
    return node.result(ops.BroadcastTo(node.dimensions_at(0)), node.value(1))


def _broadcast_shape(node: TfliteNode) -> Operand:
    one, other = node.integers_at(0), node.integers_at(1)
    try:
        return np.array(np.broadcast_shapes(one, other), node.output_dtype().numpy)
    except ValueError:
        raise FrontendError(f"shapes {list(one)} and {list(other)} don't broadcast") from None


def _shape(node: TfliteNode) -> Operand:
    return extents_array(node.shape(0))


def _rank(node: TfliteNode) -> Operand:
    return np.array(node.rank(0), np.int32)


def _range(node: TfliteNode) -> Operand:
    """Floating-point numbers are sums of steps, each rounded (range.cc, CalculateRange)."""
    start, limit, step = (node.constant(index).reshape(()) for index in range(3))
    if step == 0 or not all(np.isfinite(end) for end in (start, limit, step)):
        raise FrontendError(f"expected a step other than 0, found {start}, {limit}, {step}")
    exact = max(float(np.ceil((float(limit) - float(start)) / float(step))), 0.0)
    if not exact <= LARGEST_RANGE:
        raise FrontendError(f"expected a range of at most {LARGEST_RANGE} elements, found {exact}")
    count = int(exact)
    steps = np.full(count, step, start.dtype)
    steps[:1] = start
    return node.evaluated(np.add.accumulate(steps, dtype=start.dtype))


def _diagonal(node: TfliteNode) -> Operand:
    """A matrix with the last axis as its diagonal, and 0 elsewhere."""
    data = node.value(0)
    (extent,) = static_extents(data.type.shape[-1:], node.described(0))
    zero = node.literal(0, data.type.dtype)
    return node.result(ops.Where(), _main_diagonal(node, extent, extent), _as_column(node, data), zero)


def _with_diagonal(node: TfliteNode) -> Operand:
    """Matrices with another diagonal."""
    data, diagonal = node.value(0), node.value(1)
    rows, columns = static_extents(data.type.shape[-2:], node.described(0))
    if rows <= columns:
        diagonal = _as_column(node, diagonal)
    else:
        shape = diagonal.type.shape
        diagonal = node.step(ops.Reshape((*shape[:-1], 1, *shape[-1:])), diagonal)
    return node.result(ops.Where(), _main_diagonal(node, rows, columns), diagonal, data)


def _as_column(node: TfliteNode, data: Value) -> Value:
    return node.step(ops.Reshape((*data.type.shape, 1)), data)


def _main_diagonal(node: TfliteNode, rows: int, columns: int) -> Value:
    kind = DType.of("int32")
    row, column = node.counted(rows, kind), node.counted(columns, kind)
    both = node.parameter(row[:, None], "rows"), node.parameter(column, "columns")
    return node.step(ops.Equal(), *both)


SHAPE: dict[str, Converter] = {
    "BROADCAST_ARGS": _broadcast_shape,
    "BROADCAST_TO": _broadcast,
    "CONCATENATION": _concatenate,
    "EXPAND_DIMS": _expand,
    "FILL": _fill,
    "MATRIX_DIAG": _diagonal,
    "MATRIX_SET_DIAG": _with_diagonal,
    "MIRROR_PAD": _mirror,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _pad,
    "RANGE": _range,
    "RANK": _rank,
    "RESHAPE": _reshape,
    "SHAPE": _shape,
    "SQUEEZE": _squeeze,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
}
