"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.operators import Operator

_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
"""Layouts by the number of spatial axes, channels first and last."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """What convolutions and pools have in common, an entry per spatial axis; `pads` are at both ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    is_last: bool

    @property
    def both_pads(self) -> tuple[int, ...]:
        return (*self.pads, *self.pads)


def _settings(node: MxnetNode) -> _Settings:
    kernel = node.integers("kernel")
    rank = len(kernel)
    if rank not in _FIRST or node.rank(0) != rank + 2:
        raise FrontendError(
            f"expected a kernel of 1 to 3 extents and data of two axes more, found kernel {list(kernel)} and data of "
            f"{node.rank(0)} axes"
        )
    layout = node.attribute("layout")
    if layout not in {None, _FIRST[rank], _LAST[rank]}:
        raise FrontendError(f"expected layout {_FIRST[rank]} or {_LAST[rank]}, found {layout!r}")
    return _Settings(
        kernel, _per_axis(node, "stride", rank, 1), _per_axis(node, "pad", rank, 0, least=0), layout == _LAST[rank]
    )


def _per_axis(node: MxnetNode, name: str, rank: int, default: int, least: int = 1) -> tuple[int, ...]:
    """A number per spatial axis; () stands for the default at each."""
    given = node.integers(name) or (default,) * rank
    if len(given) != rank or min(given) < least:
        raise FrontendError(f"expected {rank} numbers of {least} or more as {name}, found {list(given)}")
    return given


def _data(node: MxnetNode, settings: _Settings) -> Value:
    """The data, channels first."""
    return to_channels_first(node, node.value(0)) if settings.is_last else node.value(0)


def _finished(node: MxnetNode, settings: _Settings, op: Operator, *inputs: Value | None) -> Operand:
    """The result of an operator with channels first, in the layout of the node."""
    if not settings.is_last:
        return node.result(op, *inputs)
    return result_channels_last(node, node.step(op, *inputs))


def _weight(node: MxnetNode, settings: _Settings, first: int, second: int) -> Value:
    """The weight [first, second, kernel…], which follows the layout of the data as if `first` was the batch."""
    weight = node.value(1)
    if settings.is_last:
        weight = to_channels_first(node, weight)
    expected = (first, second, *settings.kernel)
    if weight.type.shape != expected:
        raise FrontendError(f"expected a weight of {list(expected)}, found {list(weight.type.shape)}")
    return weight


def _bias(node: MxnetNode, channels: int) -> Value | None:
    if node.flag("no_bias"):
        return None
    bias = node.value(2)
    if bias.type.shape != (channels,):
        raise FrontendError(f"expected a bias of [{channels}], found {list(bias.type.shape)}")
    return bias


def _channels(data: Value, channels: int, groups: int) -> int:
    """The input's channels, which as those of the output must be whole groups."""
    (found,) = static_extents(data.type.shape[1:2], "the number of channels")
    if groups < 1 or found % groups or channels < 1 or channels % groups:
        raise FrontendError(f"expected {found} and {channels} channels to be whole multiples of {groups} groups")
    return found


def _convolution(node: MxnetNode) -> Operand:
    settings = _settings(node)
    data, groups, channels = _data(node, settings), node.integer("num_group"), node.integer("num_filter")
    inner = _channels(data, channels, groups) // groups
    op = ops.Conv(
        strides=limited_strides(settings.strides, data.type.shape[2:], settings.both_pads),
        pads=settings.both_pads,
        dilations=_per_axis(node, "dilate", len(settings.kernel), 1),
        groups=groups,
    )
    return _finished(node, settings, op, data, _weight(node, settings, channels, inner), *_given(_bias(node, channels)))


def _given(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _deconvolution(node: MxnetNode) -> Operand:
    """target_shape decides pads and adj, where it is given (InferPad of src/operator/nn/deconvolution-inl.h)."""
    settings = _settings(node)
    rank = len(settings.kernel)
    data, groups, channels = _data(node, settings), node.integer("num_group"), node.integer("num_filter")
    inner = _channels(data, channels, groups)
    dilations = _per_axis(node, "dilate", rank, 1)
    pads, adjusted = settings.pads, _per_axis(node, "adj", rank, 0, least=0)
    target = node.integers("target_shape")
    if any(target):
        spatial = static_extents(data.type.shape[2:], "data with a target_shape")
        reaches = ((k - 1) * d + 1 for k, d in zip(settings.kernel, dilations, strict=True))
        full = [(n - 1) * s + reach for n, s, reach in zip(spatial, settings.strides, reaches, strict=True)]
        if len(target) != rank or any(whole < wanted for whole, wanted in zip(full, target, strict=False)):
            raise FrontendError(f"expected a target_shape of at most {full}, found {list(target)}")
        totals = [whole - wanted for whole, wanted in zip(full, target, strict=True)]
        adjusted = tuple(total % 2 for total in totals)
        pads = tuple((total + 1) // 2 for total in totals)
    op = ops.ConvTranspose(
        strides=settings.strides, pads=(*pads, *pads), dilations=dilations, groups=groups, output_padding=adjusted
    )
    weight = _weight(node, settings, inner, channels // groups)
    return _finished(node, settings, op, data, weight, *_given(_bias(node, channels)))


def _pooling(node: MxnetNode) -> Operand:
    """With `full` the last window may exceed the padding, which does not count in averages (src/operator/nn/pool.h)."""
    if node.flag("global_pool"):
        return _global_pooling(node)
    settings = _settings(node)
    data, pads = _data(node, settings), settings.both_pads
    ceil_mode = node.choice("pooling_convention", "valid", "full", "same") == "full"
    if ceil_mode:
        _require_windows_on_data(settings, data)
    elif node.text("pooling_convention") == "same":
        raise UnsupportedError("pooling_convention 'same' is not supported; MXNet 1.9 itself runs no such pool")
    strides = limited_strides(settings.strides, data.type.shape[2:], pads)
    kind = node.choice("pool_type", "max", "avg", "sum", "lp")
    if kind == "max":
        op = ops.MaxPool(kernel=settings.kernel, strides=strides, pads=pads, ceil_mode=ceil_mode)
        return _finished(node, settings, op, data)
    if kind == "avg":
        counts = node.attribute("count_include_pad") is None or node.flag("count_include_pad")
        average = ops.AveragePool(settings.kernel, strides, pads, (), ceil_mode, counts)
        return _finished(node, settings, average, data)
    power = _power(node) if kind == "lp" else 1
    return _rooted(node, settings, _sums(node, settings, _powered(node, data, power), strides, ceil_mode), power)


def _first_pooling(node: MxnetNode) -> Operand:
    """The first version of pools: padding is zeros that take part in maxima, and averages divide by the whole kernel
    (src/operator/pooling_v1-inl.h)."""
    if node.flag("global_pool"):
        return _global_pooling(node)
    settings = _settings(node)
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


def _require_windows_on_data(settings: _Settings, data: Value) -> None:
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


def _sums(node: MxnetNode, settings: _Settings, data: Value, strides: tuple[int, ...], ceil_mode: bool) -> Value:
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


def _rooted(node: MxnetNode, settings: _Settings, total: Value, power: int) -> Operand:
    """The result: the root of order `power` of sums, which has the sum's sign."""
    if power == 1:
        return _finished(node, settings, ops.Identity(), total)
    if power == 2:
        return _finished(node, settings, ops.Sqrt(), total)
    root = node.step(ops.Power(), node.step(ops.Abs(), total), node.literal(1 / 3, total.type.dtype))
    return _finished(node, settings, ops.Multiply(), root, node.step(ops.Sign(), total))


def _global_pooling(node: MxnetNode) -> Operand:
    """Over all of a channel; kernel, strides and pads don't matter."""
    rank = node.rank(0) - 2
    if rank not in _FIRST:
        raise FrontendError(f"expected data of 3 to 5 axes, found {node.rank(0)}")
    settings = _Settings((1,) * rank, (1,) * rank, (0,) * rank, node.attribute("layout") == _LAST[rank])
    data, axes = _data(node, settings), tuple(range(2, rank + 2))
    kind = node.choice("pool_type", "max", "avg", "sum", "lp")
    if kind == "max":
        return _finished(node, settings, ops.GlobalMaxPool(), data)
    if kind == "avg":
        return _finished(node, settings, ops.GlobalAveragePool(), data)
    power = _power(node) if kind == "lp" else 1
    total = node.step(ops.ReduceSum(axes=axes), _powered(node, data, power))
    return _rooted(node, settings, total, power)


_CONVOLUTION: Mapping[str, Any] = {
    "kernel": REQUIRED,
    "stride": (),
    "dilate": (),
    "pad": (),
    "num_filter": REQUIRED,
    "num_group": 1,
    "no_bias": False,
    "layout": None,
}
_POOLING: Mapping[str, Any] = {
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

_FIRST_POOLING = {name: default for name, default in _POOLING.items() if name not in {"p_value", "count_include_pad"}}

WINDOW = {
    "Convolution": operator(_convolution, "data weight bias", **_CONVOLUTION),
    "Deconvolution": operator(
        _deconvolution, "data weight bias", **{**_CONVOLUTION, "no_bias": True}, adj=(), target_shape=()
    ),
    "Convolution_v1": operator(_convolution, "data weight bias", **_CONVOLUTION),
    "Pooling_v1": operator(_first_pooling, **_FIRST_POOLING),
    "Pooling": operator(_pooling, results="output workspace", **_POOLING),
}
