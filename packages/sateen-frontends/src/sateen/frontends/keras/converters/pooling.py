"""Pools over windows, whole pictures, and regions of equal count.

Sources: keras/src/layers/pooling, keras/src/backend/tensorflow/nn.py (adaptive pools).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.keras.converters.convolution import activated_result, channels_first, window_pads
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    AveragePool,
    Cast,
    Concat,
    Divide,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    Multiply,
    ReduceMax,
    ReduceMean,
    ReduceSum,
    Reshape,
    Slice,
    Transpose,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _pool(rank: int, make: type[MaxPool | AveragePool]) -> Converter[KerasNode]:
    """Strides are those of the window if the file gives none. Padding takes no part in an average, as in TensorFlow."""

    def convert(node: KerasNode) -> Operand:
        data, kernel = channels_first(node), node.per_axis("pool_size", rank)
        given = node.layer.config.get("strides")
        strides = kernel if given is None else node.per_axis("strides", rank)
        if min(*kernel, *strides) < 1:
            raise FrontendError(f"expected windows and strides of 1 or more, found {list(kernel)} and {list(strides)}")
        pads = window_pads(node, data, kernel, strides, (1,) * rank)
        known = limited_strides(strides, data.type.shape[2:], pads or (0,) * 2 * rank)
        return activated_result(node, make(kernel=kernel, strides=known, pads=pads), data)

    return convert


def _global(op: Operator) -> Converter[KerasNode]:
    return lambda node: _whole(node, op)


def _whole(node: KerasNode, op: Operator) -> Operand:
    """One number for each channel; with keepdims the spatial extents are 1."""
    data = channels_first(node)
    if node.layer.config.get("keepdims") and not node.is_channels_last:
        return node.result(op, data)
    pooled = node.step(op, data)
    if node.layer.config.get("keepdims"):
        return node.result(Transpose((0, *range(2, data.type.rank), 1)), pooled)
    return node.result(Reshape(data.type.shape[:2]), pooled)


def _masked_average(node: KerasNode) -> Operand:
    """With a mask the average of the time steps at which it is true (GlobalAveragePooling1D)."""
    mask = node.mask()
    if mask is None:
        return _whole(node, GlobalAveragePool())
    axis = 1 if node.is_channels_last else 2
    data, keepdims = node.value(0), bool(node.layer.config.get("keepdims"))
    batch, time = mask.type.shape
    numbers = node.step(Cast(data.type.dtype), mask)
    weights = node.step(Reshape((batch, time, 1) if axis == 1 else (batch, 1, time)), numbers)
    total = ReduceSum(axes=(axis,), keepdims=keepdims)
    return node.result(Divide(), node.step(total, node.step(Multiply(), data, weights)), node.step(total, weights))


def _adaptive(rank: int, pool: type[MaxPool | AveragePool], reduce: Callable[[int], Operator]) -> Converter[KerasNode]:
    """Region i of n in an extent goes from floor(i * extent / n) to ceil((i + 1) * extent / n), along each axis by
    itself; equal regions are windows."""

    def convert(node: KerasNode) -> Operand:
        data, sizes = channels_first(node), node.per_axis("output_size", rank)
        extents = static_extents(data.type.shape[2:], node.described(0))
        if min(sizes) < 1 or min(extents) < 1:
            raise FrontendError(f"expected an output_size of 1 or more, found {list(sizes)}")
        if all(extent % size == 0 for extent, size in zip(extents, sizes, strict=True)):
            window = tuple(extent // size for extent, size in zip(extents, sizes, strict=True))
            return activated_result(node, pool(kernel=window, strides=window), data)
        for axis, (extent, size) in enumerate(zip(extents, sizes, strict=True), start=2):
            regions = [(i * extent // size, -(-(i + 1) * extent // size)) for i in range(size)]
            parts = [node.step(reduce(axis), node.step(_part(data, axis, *region), data)) for region in regions]
            data = node.step(Concat(axis), *parts) if len(parts) > 1 else parts[0]
        return activated_result(node, Reshape(data.type.shape), data)

    return convert


def _part(data: Value, axis: int, start: int, end: int) -> Slice:
    """Positions from `start` to `end` of an axis."""
    shape = data.type.shape
    starts = tuple(start if one == axis else 0 for one in range(len(shape)))
    return Slice(starts, tuple(end if one == axis else shape[one] for one in range(len(shape))), (1,) * len(shape))


def _average_of(axis: int) -> Operator:
    return ReduceMean(axes=(axis,), keepdims=True)


def _most_of(axis: int) -> Operator:
    return ReduceMax(axes=(axis,), keepdims=True)


POOLING: Mapping[str, Converter[KerasNode]] = {
    "AdaptiveAveragePooling1D": _adaptive(1, AveragePool, _average_of),
    "AdaptiveAveragePooling2D": _adaptive(2, AveragePool, _average_of),
    "AdaptiveAveragePooling3D": _adaptive(3, AveragePool, _average_of),
    "AdaptiveMaxPooling1D": _adaptive(1, MaxPool, _most_of),
    "AdaptiveMaxPooling2D": _adaptive(2, MaxPool, _most_of),
    "AdaptiveMaxPooling3D": _adaptive(3, MaxPool, _most_of),
    "AveragePooling1D": _pool(1, AveragePool),
    "AveragePooling2D": _pool(2, AveragePool),
    "AveragePooling3D": _pool(3, AveragePool),
    "GlobalAveragePooling1D": _masked_average,
    "GlobalAveragePooling2D": _global(GlobalAveragePool()),
    "GlobalAveragePooling3D": _global(GlobalAveragePool()),
    "GlobalMaxPooling1D": _global(GlobalMaxPool()),
    "GlobalMaxPooling2D": _global(GlobalMaxPool()),
    "GlobalMaxPooling3D": _global(GlobalMaxPool()),
    "MaxPooling1D": _pool(1, MaxPool),
    "MaxPooling2D": _pool(2, MaxPool),
    "MaxPooling3D": _pool(3, MaxPool),
}
