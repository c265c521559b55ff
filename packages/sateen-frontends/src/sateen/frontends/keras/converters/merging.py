"""Layers of several inputs, element by element, joined or multiplied.

Sources: keras/src/layers/merging; batch_dot in keras/src/layers/merging/dot.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.broadcast import folded, mean
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.keras.converters.activations import Emit
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    Concat,
    Divide,
    MatMul,
    Maximum,
    Minimum,
    Multiply,
    ReduceSum,
    Reshape,
    Sqrt,
    Subtract,
    Transpose,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator


def _aligned(node: KerasNode) -> list[Value]:
    """Inputs of fewer axes get extents of 1 behind the batch (`Merge.call` of keras/src/layers/merging)."""
    values = list(node.values())
    if len(values) < 2:
        raise FrontendError(f"expected two inputs or more, found {len(values)}")
    rank = max(value.type.rank for value in values)
    return [_widened(node, value, rank) for value in values]


def _widened(node: KerasNode, value: Value, rank: int) -> Value:
    shape = value.type.shape
    missing = rank - len(shape)
    return node.step(Reshape((*shape[:1], *(1,) * missing, *shape[1:])), value) if missing and shape else value


def _folded(op: Operator) -> Converter[KerasNode]:
    return lambda node: folded(node, op, _aligned(node))


def _average(node: KerasNode) -> Operand:
    return mean(node, _aligned(node))


def _concatenate(node: KerasNode) -> Operand:
    values = node.values()
    if not values:
        raise FrontendError("expected inputs, found none")
    axis = normal_axis(node.setting("axis", -1), values[0].type.rank)
    return node.result(Concat(axis), *values)


def _dot(node: KerasNode) -> Operand:
    """The sum of products along an axis of each, for each element of the batch. Both are first scaled to length 1 if
    `normalize` says so; that divides by sqrt(max(Σx², 1e-12)), as in TensorFlow."""
    first, second = node.value(0), node.value(1)
    one, other = axes_of_dot(node, first, second)
    if node.flag("normalize"):
        first, second = normalized(node, first, one), normalized(node, second, other)
    return batch_dot(node, first, one, second, other, node.result)


def axes_of_dot(node: KerasNode, first: Value, second: Value) -> tuple[int, int]:
    """The axes of two tensors along which products are summed: a number for both, or one for each, which Keras 1 may
    put into lists."""
    given = node.attribute("axes")
    axes = [given, given] if isinstance(given, int) else given
    axes = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in axes or ()]
    if len(axes) != 2 or not all(type(axis) is int for axis in axes):
        raise FrontendError(f"expected one axis of each input, found {given!r}")
    one, other = normal_axis(axes[0], first.type.rank), normal_axis(axes[1], second.type.rank)
    if 0 in {one, other}:
        raise FrontendError("expected axes behind the batch, found axis 0")
    return one, other


def normalized(node: KerasNode, data: Value, axis: int) -> Value:
    """Scaled to length 1 along an axis."""
    square = node.step(ReduceSum(axes=(axis,), keepdims=True), node.step(Multiply(), data, data))
    return node.step(Divide(), data, node.step(Sqrt(), node.step(Maximum(), square, node.number_like(1e-12))))


def batch_dot(node: KerasNode, first: Value, one: int, second: Value, other: int, emit: Emit) -> Value:
    """[N, a…, k] and [N, k, b…] to [N, a…, b…], the axes of k moved there first."""
    rank, other_rank = first.type.rank, second.type.rank
    left = [axis for axis in range(1, rank) if axis != one]
    right = [axis for axis in range(1, other_rank) if axis != other]
    batch, summed = first.type.shape[0], first.type.shape[one]
    rows, columns = [first.type.shape[axis] for axis in left], [second.type.shape[axis] for axis in right]
    a = node.step(Transpose((0, *left, one)), first)
    b = node.step(Transpose((0, other, *right)), second)
    flat = node.step(
        MatMul(),
        node.step(Reshape((batch, product(rows), summed)), a),
        node.step(Reshape((batch, summed, product(columns))), b),
    )
    kept = (*rows, *columns) or (1,)  # two vectors give one number for each element of the batch
    return emit(Reshape((batch, *kept)), flat)


def _scaled_sum(node: KerasNode) -> Operand:
    """x + scale * y, a class of keras/src/applications/inception_resnet_v2.py."""
    first, second = node.value(0), node.value(1)
    return node.result(Add(), first, node.step(Multiply(), second, node.number_like(node.number("scale"))))


MERGING: Mapping[str, Converter[KerasNode]] = {
    "Add": _folded(Add()),
    "Average": _average,
    "Concatenate": _concatenate,
    "CustomScaleLayer": _scaled_sum,
    "Dot": _dot,
    "Maximum": _folded(Maximum()),
    "Minimum": _folded(Minimum()),
    "Multiply": _folded(Multiply()),
    "Subtract": _folded(Subtract()),
}
