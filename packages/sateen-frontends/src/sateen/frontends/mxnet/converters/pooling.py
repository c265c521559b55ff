"""Pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.mxnet.converters.windows import (
    FIRST,
    LAST,
    WindowSettings,
    channels_first_data,
    finished,
    settings_of,
)
from sateen.frontends.mxnet.description import operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window


def _pooling(node: MxnetNode) -> Operand:
    """With `full` the last window may exceed the padding, which does not count in averages (src/operator/nn/pool.h)."""
    if node.flag("global_pool"):
        return _global_pooling(node)
    settings = settings_of(node)
    data, pads = channels_first_data(node, settings), settings.both_pads
    ceil_mode = node.choice("pooling_convention", "valid", "full", "same") == "full"
    if ceil_mode:
        _require_windows_on_data(settings, data)
    elif node.text("pooling_convention") == "same":
        raise UnsupportedError("pooling_convention 'same' is not supported; MXNet 1.9 itself runs no such pool")
    strides = limited_strides(settings.strides, data.type.shape[2:], pads)
    kind = node.choice("pool_type", "max", "avg", "sum", "lp")
    if kind == "max":
        op = ops.MaxPool(kernel=settings.kernel, strides=strides, pads=pads, ceil_mode=ceil_mode)
        return finished(node, settings, op, data)
    if kind == "avg":
        counts = node.attribute("count_include_pad") is None or node.flag("count_include_pad")
        average = ops.AveragePool(settings.kernel, strides, pads, (), ceil_mode, counts)
        return finished(node, settings, average, data)
    power = _power(node) if kind == "lp" else 1
    return _rooted(node, settings, _sums(node, settings, _powered(node, data, power), strides, ceil_mode), power)


def _first_pooling(node: MxnetNode) -> Operand:
    """The first version of pools: padding is zeros that take part in maxima, and averages divide by the whole kernel
    (src/operator/pooling_v1-inl.h)."""
    if node.flag("global_pool"):
        return _global_pooling(node)
    settings = settings_of(node)
    data = _padded(node, node.value(0), settings.both_pads)
    ceil_mode = node.choice("pooling_convention", "valid", "full") == "full"
    strides = limited_strides(settings.strides, data.type.shape[2:], (0,) * 2 * len(settings.kernel))
    kind = node.choice("pool_type", "max", "avg", "sum")
    if kind == "max":
        return node.result(ops.MaxPool(kernel=settings.kernel, strides=strides, ceil_mode=ceil_mode), data)
    settings = replace(settings, pads=(0,) * len(settings.kernel))
    total = _sums(node, settings, data, strides, ceil_mode)
    if kind == "sum":
        return node.result(ops.Identity(), total)
    return node.result(ops.Divide(), total, node.literal(prod(settings.kernel), total.type.dtype))


def _require_windows_on_data(settings: WindowSettings, data: Value) -> None:
    """Checks that the graph's rounded-up pools have as many windows as MXNet's: it drops those in padding alone."""
    for extent, kernel, stride, pad in zip(
        data.type.shape[2:], settings.kernel, settings.strides, settings.pads, strict=True
    ):
        (known,) = static_extents((extent,), "data with pooling_convention 'full'")
        windows = -(-(known + 2 * pad - kernel) // stride) + 1
        if (windows - 1) * stride >= known + pad:
            raise UnsupportedError("pooling_convention 'full' with windows in the padding alone is not supported")


def _padded(node: MxnetNode, data: Value, pads: tuple[int, ...]) -> Value:
    """Data with zeros around it."""
    rank = len(pads) // 2
    return node.step(ops.Pad(pads=(0, 0, *pads[:rank], 0, 0, *pads[rank:])), data) if any(pads) else data


def _sums(node: MxnetNode, settings: WindowSettings, data: Value, strides: tuple[int, ...], ceil_mode: bool) -> Value:
    """Sums over windows: averages of data with zeros around them, times the size of a window."""
    ends = settings.pads
    if ceil_mode:
        spatial = static_extents(data.type.shape[2:], "data of a pool with pooling_convention 'full'")
        window = Window(settings.kernel, settings.strides, settings.both_pads, (1,) * len(settings.kernel))
        reached = [
            (count - 1) * stride + kernel - pad
            for count, stride, kernel, pad in zip(
                window.output(spatial, ceil_mode=True), settings.strides, settings.kernel, settings.pads, strict=True
            )
        ]
        ends = tuple(max(r - n, pad) for r, n, pad in zip(reached, spatial, settings.pads, strict=True))
    padded = _padded(node, data, (*settings.pads, *ends))
    average = node.step(ops.AveragePool(kernel=settings.kernel, strides=strides), padded)
    return node.step(ops.Multiply(), average, node.literal(prod(settings.kernel), data.type.dtype))


def _power(node: MxnetNode) -> int:
    power = node.optional_integer("p_value")
    if power not in {1, 2, 3}:
        raise FrontendError(f"expected a p_value of 1, 2 or 3, found {power}")
    return power


def _powered(node: MxnetNode, data: Value, power: int) -> Value:
    """x^p: MXNet takes no absolute values (lp_pooling of src/operator/nn/pool_utils.h)."""
    value = data
    for _ in range(power - 1):
        value = node.step(ops.Multiply(), value, data)
    return value


def _rooted(node: MxnetNode, settings: WindowSettings, total: Value, power: int) -> Operand:
    """The result: the root of order `power` of sums, which has the sum's sign."""
    if power == 1:
        return finished(node, settings, ops.Identity(), total)
    if power == 2:
        return finished(node, settings, ops.Sqrt(), total)
    root = node.step(ops.Power(), node.step(ops.Abs(), total), node.literal(1 / 3, total.type.dtype))
    return finished(node, settings, ops.Multiply(), root, node.step(ops.Sign(), total))


def _global_pooling(node: MxnetNode) -> Operand:
    """Over all of a channel; kernel, strides and pads don't matter."""
    rank = node.rank(0) - 2
    if rank not in FIRST:
        raise FrontendError(f"expected data of 3 to 5 axes, found {node.rank(0)}")
    settings = WindowSettings((1,) * rank, (1,) * rank, (0,) * rank, node.attribute("layout") == LAST[rank])
    data, axes = channels_first_data(node, settings), tuple(range(2, rank + 2))
    kind = node.choice("pool_type", "max", "avg", "sum", "lp")
    if kind == "max":
        return finished(node, settings, ops.GlobalMaxPool(), data)
    if kind == "avg":
        return finished(node, settings, ops.GlobalAveragePool(), data)
    power = _power(node) if kind == "lp" else 1
    total = node.step(ops.ReduceSum(axes=axes), _powered(node, data, power))
    return _rooted(node, settings, total, power)


_SETTINGS: Mapping[str, Any] = {
    "kernel": (),
    "pool_type": "max",
    "global_pool": False,
    "pooling_convention": "valid",
    "stride": (),
    "pad": (),
    "p_value": None,
    "count_include_pad": None,
    "layout": None,
}

_FIRST_SETTINGS = {name: default for name, default in _SETTINGS.items() if name not in {"p_value", "count_include_pad"}}

POOLING = {
    "Pooling": operator(_pooling, results="output workspace", **_SETTINGS),
    "Pooling_v1": operator(_first_pooling, **_FIRST_SETTINGS),
}
