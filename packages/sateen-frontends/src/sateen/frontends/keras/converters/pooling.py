"""Pools over windows, whole pictures, and regions of equal count.

Sources: keras/src/layers/pooling, keras/src/backend/tensorflow/nn.py (adaptive pools).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.keras.converters.convolution import activated_result, channels_first, window_pads
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ops import (
    AdaptiveAveragePool,
    AdaptiveMaxPool,
    AveragePool,
    Cast,
    Divide,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    Multiply,
    ReduceSum,
    Reshape,
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


def _adaptive(rank: int, make: type[AdaptiveAveragePool | AdaptiveMaxPool]) -> Converter[KerasNode]:
    """As many regions as output_size says, from floor(i * extent / n) to ceil((i + 1) * extent / n)."""
    return lambda node: activated_result(node, make(node.per_axis("output_size", rank)), channels_first(node))


POOLING: Mapping[str, Converter[KerasNode]] = {
    "AdaptiveAveragePooling1D": _adaptive(1, AdaptiveAveragePool),
    "AdaptiveAveragePooling2D": _adaptive(2, AdaptiveAveragePool),
    "AdaptiveAveragePooling3D": _adaptive(3, AdaptiveAveragePool),
    "AdaptiveMaxPooling1D": _adaptive(1, AdaptiveMaxPool),
    "AdaptiveMaxPooling2D": _adaptive(2, AdaptiveMaxPool),
    "AdaptiveMaxPooling3D": _adaptive(3, AdaptiveMaxPool),
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


def _of_layer(name: str) -> Converter[KerasNode]:
    """A function of keras.ops: the layer of its settings, for as many spatial axes as the data has."""

    def convert(node: KerasNode) -> Operand | Sequence[Operand]:
        layer = f"{name}{node.rank(0) - 2}D"
        if layer not in POOLING:
            raise FrontendError(f"expected data of 3 to 5 dimensions, found {node.rank(0)}")
        return POOLING[layer](node)

    return convert


POOLING_FUNCTIONS: Mapping[str, Converter[KerasNode]] = {
    "ops.AdaptiveAveragePool": _of_layer("AdaptiveAveragePooling"),
    "ops.AdaptiveMaxPool": _of_layer("AdaptiveMaxPooling"),
    "ops.AveragePool": _of_layer("AveragePooling"),
    "ops.MaxPool": _of_layer("MaxPooling"),
}
