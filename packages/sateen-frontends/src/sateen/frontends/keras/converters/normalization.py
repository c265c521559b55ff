"""Normalisations, as at inference.

Sources: keras/src/layers/normalization, keras/src/ops/nn.py, keras/src/layers/preprocessing/normalization.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Add, Divide, Multiply, ReduceMean, Sqrt, Subtract, Transpose
from sateen.runtime.errors import FrontendError


def axes_of(node: KerasNode, rank: int) -> tuple[int, ...]:
    """The setting `axis`: a number or a list, counted from the front, in order."""
    given = node.setting("axis", -1)
    axes = [given] if isinstance(given, int) else given
    if not isinstance(axes, (list, tuple)) or not all(type(axis) is int for axis in axes):
        raise FrontendError(f"expected axes, found {given!r}")
    found = normal_axes(axes, rank)
    if tuple(normal_axis(axis, rank) for axis in axes) != found:
        raise UnsupportedError(f"axes out of order are not supported: {list(axes)}", "save the model with sorted axes")
    return found


def _with_axes_last(node: KerasNode, data: Value, axes: Sequence[int]) -> tuple[Value, tuple[int, ...]]:
    """The data with some axes behind the others, and the permutation that takes them back."""
    rank = data.type.rank
    order = (*(axis for axis in range(rank) if axis not in axes), *axes)
    back = tuple(order.index(axis) for axis in range(rank))
    return (data if order == tuple(range(rank)) else node.step(Transpose(order), data)), back


def _batch_normalization(node: KerasNode) -> Operand:
    """With the moving mean and variance. `mode` 1 and 2 of Keras 1 use other statistics."""
    if node.layer.config.get("mode") not in (None, 0):
        raise UnsupportedError("statistics of each batch (mode 1 and 2) are not supported", "train it with mode 0")
    data = node.value(0)
    axes = axes_of(node, data.type.rank)
    if len(axes) != 1 or axes[0] == 0:
        raise UnsupportedError(
            f"statistics along axes {list(axes)} are not supported", "normalise one axis of features"
        )
    (axis,) = axes
    rank = data.type.rank
    mean = node.weight("moving_mean", 1)
    count = mean.type.static_shape[0]
    scale, offset = node.weight_or(1, "gamma", (count,)), node.weight_or(0, "beta", (count,))
    op = ops.BatchNormalization(epsilon=node.number("epsilon"))
    parameters = (scale, offset, mean, node.weight("moving_variance", 1))
    if axis == 1:
        return node.result(op, data, *parameters)
    order = (0, axis, *(one for one in range(1, rank) if one != axis))
    back = tuple(order.index(one) for one in range(rank))
    return node.result(Transpose(back), node.step(op, node.step(Transpose(order), data), *parameters))


def _layer_normalization(node: KerasNode) -> Operand:
    """With mean and variance over the axes. `rms_scaling` divides by the deviation alone: the mean stays."""
    given = node.value(0)
    axes = axes_of(node, given.type.rank)
    data, back = _with_axes_last(node, given, axes)
    first, epsilon = data.type.rank - len(axes), node.number("epsilon")
    shape = static_extents(data.type.shape[first:], node.described(0))
    scale = node.weight_or(1, "gamma", shape)
    emit = node.result if back == tuple(range(given.type.rank)) else node.step
    if node.flag("rms_scaling"):
        mean = node.step(ReduceMean(axes=tuple(range(first, data.type.rank)), keepdims=True), data)
        apart = node.step(Subtract(), data, mean)
        result = _scaled(node, data, apart, tuple(range(first, data.type.rank)), epsilon)
        result = emit(Multiply(), result, scale)
    else:
        offset = (node.weight("beta", len(axes)),) if node.has_weight("beta") else ()
        result = emit(ops.LayerNormalization(axis=first, epsilon=epsilon), data, scale, *offset)
    return result if emit == node.result else node.result(Transpose(back), result)


def _scaled(node: KerasNode, data: Value, measured: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    """data / sqrt(mean(measured²) + epsilon)."""
    square = node.step(ReduceMean(axes=axes, keepdims=True), node.step(Multiply(), measured, measured))
    return node.step(Divide(), data, node.step(Sqrt(), node.step(Add(), square, node.number_like(epsilon))))


def _rms_normalization(node: KerasNode) -> Operand:
    data = node.value(0)
    axes = axes_of(node, data.type.rank)
    if axes != (data.type.rank - 1,):
        raise UnsupportedError(f"axes {list(axes)} are not supported", "normalise the last axis")
    return node.result(Multiply(), _scaled(node, data, data, axes, node.number("epsilon")), node.weight("scale", 1))


def _group_normalization(node: KerasNode) -> Operand:
    """Over groups of channels along an axis; -1 groups are one for each channel."""
    data = node.value(0)
    rank = data.type.rank
    (axis,) = axes_of(node, rank)
    order = (0, axis, *(one for one in range(1, rank) if one != axis))
    back = tuple(order.index(one) for one in range(rank))
    (channels,) = static_extents((data.type.shape[axis],), node.described(0))
    groups = channels if node.integer("groups") == -1 else node.integer("groups")
    scale, offset = node.weight_or(1, "gamma", (channels,)), node.weight_or(0, "beta", (channels,))
    op = ops.GroupNormalization(groups=groups, epsilon=node.number("epsilon"))
    if axis == 1:
        return node.result(op, data, scale, offset)
    return node.result(Transpose(back), node.step(op, node.step(Transpose(order), data), scale, offset))


def _unit_normalization(node: KerasNode) -> Operand:
    """x / sqrt(Σ x²), where the sum is 1e-12 at least (tf.linalg.l2_normalize; Keras 3 bounds the quotient alike)."""
    data = node.value(0)
    axes = axes_of(node, data.type.rank)
    square = node.step(ops.ReduceSum(axes=axes, keepdims=True), node.step(Multiply(), data, data))
    length = node.step(Sqrt(), node.step(ops.Maximum(), square, node.number_like(_LEAST[node.generation >= 3])))
    return node.result(Divide(), data, length)


_LEAST = {False: 1e-12, True: 1e-24}
"""The least sum of squares: 1e-12 in Keras 2; Keras 3 lets the length be 1e-12."""


def _normalization(node: KerasNode) -> Operand:
    """(x - mean) / sqrt(variance), the deviation 1e-7 at least; with `invert` the other way round. Statistics are
    variables or settings, of the axes that are kept (keras/src/layers/preprocessing/normalization.py)."""
    data = node.value(0)
    mean, variance = _statistic(node, data, "mean"), _statistic(node, data, "variance")
    deviation = np.maximum(np.sqrt(variance), np.asarray(1e-7, variance.dtype))
    centre, spread = node.made(mean, "mean"), node.made(deviation, "deviation")
    if node.layer.config.get("invert"):
        return node.result(Add(), node.step(Multiply(), data, spread), centre)
    return node.result(Divide(), node.step(Subtract(), data, centre), spread)


def _statistic(node: KerasNode, data: Value, name: str) -> Array:
    """A statistic in the shape that goes with the data."""
    if node.layer.config.get(name) is None:
        found = node.variable(name)
    else:
        try:
            found = np.asarray(node.layer.config[name], node.dtype_of_layer.numpy)
        except (TypeError, ValueError):
            raise FrontendError(f"expected numbers as {name!r}, found {node.layer.config[name]!r}") from None
    rank, given = data.type.rank, node.setting("axis", -1)
    axes = [] if given is None else [given] if isinstance(given, int) else given
    kept = normal_axes(axes, rank)
    if found.size == 1 and found.ndim == 0:
        return found
    shape = static_extents([data.type.shape[axis] if axis in kept else 1 for axis in range(rank)], node.described(0))
    if found.size != int(np.prod(shape)):
        raise FrontendError(f"expected {name!r} for extents {list(shape)}, found shape {list(found.shape)}")
    return found.reshape(shape)


NORMALIZATION: Mapping[str, Converter[KerasNode]] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "LayerNormalization": _layer_normalization,
    "LayerScale": lambda node: node.result(Multiply(), node.value(0), node.weight("gamma", 1)),
    "Normalization": _normalization,
    "RMSNormalization": _rms_normalization,
    "UnitNormalization": _unit_normalization,
}
