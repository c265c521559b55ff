"""Convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.channels import to_channels_first
from sateen.frontends.core.columns import columns
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.mxnet.converters.windows import (
    WindowSettings,
    channels_first_data,
    finished,
    per_axis,
    settings_of,
)
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import product


def _weight(node: MxnetNode, settings: WindowSettings, first: int, second: int) -> Value:
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
    settings = settings_of(node)
    data, groups, channels = channels_first_data(node, settings), node.integer("num_group"), node.integer("num_filter")
    inner = _channels(data, channels, groups) // groups
    op = ops.Conv(
        strides=limited_strides(settings.strides, data.type.shape[2:], settings.both_pads),
        pads=settings.both_pads,
        dilations=per_axis(node, "dilate", len(settings.kernel), 1),
        groups=groups,
    )
    return finished(node, settings, op, data, _weight(node, settings, channels, inner), *_given(_bias(node, channels)))


def _given(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _deconvolution(node: MxnetNode) -> Operand:
    """target_shape decides pads and adj, where it is given (InferPad of src/operator/nn/deconvolution-inl.h)."""
    settings = settings_of(node)
    rank = len(settings.kernel)
    data, groups, channels = channels_first_data(node, settings), node.integer("num_group"), node.integer("num_filter")
    inner = _channels(data, channels, groups)
    dilations = per_axis(node, "dilate", rank, 1)
    pads, adjusted = settings.pads, per_axis(node, "adj", rank, 0, least=0)
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
    return finished(node, settings, op, data, weight, *_given(_bias(node, channels)))


def _columns(node: MxnetNode) -> Operand:
    """The elements that each window sees, as channels, with one axis for all places (im2col.h)."""
    settings = settings_of(node)
    dilations = per_axis(node, "dilate", len(settings.kernel), 1)
    seen = columns(node, node.value(0), Window(settings.kernel, settings.strides, settings.both_pads, dilations))
    batch, channels, taps, *places = seen.type.shape
    return node.result(ops.Reshape(shape=(batch, channels * taps, product(places))), seen)


_SETTINGS: Mapping[str, Any] = {
    "kernel": REQUIRED,
    "stride": (),
    "dilate": (),
    "pad": (),
    "num_filter": REQUIRED,
    "num_group": 1,
    "no_bias": False,
    "layout": None,
}

CONVOLUTION = {
    "Convolution": operator(_convolution, "data weight bias", **_SETTINGS),
    "Convolution_v1": operator(_convolution, "data weight bias", **_SETTINGS),
    "Deconvolution": operator(
        _deconvolution, "data weight bias", **{**_SETTINGS, "no_bias": True}, adj=(), target_shape=()
    ),
    "im2col": operator(_columns, kernel=REQUIRED, stride=(), dilate=(), pad=()),
}
