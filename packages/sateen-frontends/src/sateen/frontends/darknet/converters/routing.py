"""Layers that combine the results of others, and that move elements."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.activations import finished
from sateen.frontends.darknet.node import Converter, DarknetNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Add, BroadcastTo, Concat, Identity, Multiply, Pad, Reshape, Sigmoid, Slice, Transpose
from sateen.runtime.errors import FrontendError, printable


def _route(node: DarknetNode) -> Operand:
    """Channels side by side; with `groups`, part `group_id` of those of each layer (route_layer.c)."""
    groups, part = node.section.integer("groups", 1), node.section.integer("group_id", 0)
    if not 0 <= part < groups:
        raise FrontendError(f"expected group_id of 0 to {groups - 1}, found {part}")
    if groups == 1 and len(node.inputs) == 1:
        return node.operand(0)
    values = [node.picture(i) for i in range(len(node.inputs))]
    if groups > 1 and len(values) == 1:
        return node.result(_channels(values[0], part, groups), values[0])
    if groups > 1:
        values = [node.step(_channels(value, part, groups), value) for value in values]
    return node.result(Concat(1), *values)


def _channels(value: Value, part: int, groups: int) -> Slice:
    batch, channels, *spatial = value.type.shape
    (count,) = static_extents((channels,), "the channels")
    size = count // groups
    return Slice((0, part * size, 0, 0), (batch, (part + 1) * size, *spatial), (1, 1, 1, 1))


def _shortcut(node: DarknetNode) -> Operand:
    """The sum of layers. Of one with more channels the first are added, one with fewer is added to the first
    (shortcut_layer.c, blas.c shortcut_cpu and shortcut_multilayer_cpu); other sizes the two darknets add differently.
    """
    first, *others = [node.picture(i) for i in range(len(node.inputs))]
    values = [first, *(_fitted(node, other, first) for other in others)]
    factors = _factors(node)
    if factors is not None:
        weights = [node.parameter(factor.reshape(1, -1, 1, 1), "weight") for factor in factors]
        values = [node.step(Multiply(), value, weight) for value, weight in zip(values, weights, strict=True)]
    total = values[0]
    for value in values[1:-1]:
        total = node.step(Add(), total, value)
    return finished(node, Add(), total, values[-1])


def _factors(node: DarknetNode) -> Array | None:
    """The weight of each layer of a sum, for all of its channels or for each of them, normalised as `shortcut` asks;
    None without weights (AlexeyAB/darknet, blas.c, shortcut_multilayer_cpu)."""
    kind = node.section.text("weights_type", "none")
    if kind not in {"none", "per_channel", "per_feature", "per_layer"}:
        raise FrontendError(f"expected weights_type none, per_feature or per_channel, found {printable(kind)}")
    if kind == "none":
        return None
    weights, norm = node.array("weights"), node.section.text("weights_normalization", "none")
    match norm:
        case "none":
            return weights
        case "relu" | "avg_relu":
            positive = np.maximum(weights, 0)
        case "softmax":
            positive = np.exp(weights - weights.max(0))
        case _:
            raise FrontendError(f"expected weights_normalization none, relu or softmax, found {printable(norm)}")
    normalized: Array = (positive / (np.float32(1e-4) + positive.sum(0))).astype(np.float32)
    return normalized


def _fitted(node: DarknetNode, value: Value, to: Value) -> Value:
    """A value with the channels of another: cut, or filled with 0."""
    if value.type.shape == to.type.shape:
        return value
    if value.type.shape[2:] != to.type.shape[2:]:
        raise UnsupportedError(
            f"a shortcut between pictures of {value.type} and {to.type} is not supported", "make them of one size"
        )
    given, wanted = static_extents((value.type.shape[1], to.type.shape[1]), "the channels")
    if given > wanted:
        batch, _, *spatial = value.type.shape
        return node.step(Slice((0, 0, 0, 0), (batch, wanted, *spatial), (1, 1, 1, 1)), value)
    return node.step(Pad(pads=(0, 0, 0, 0, 0, wanted - given, 0, 0)), value)


def _scale_channels(node: DarknetNode) -> Operand:
    """Another layer times a number for each channel, or with `scale_wh` for each place (scale_channels_layer.c)."""
    factor, data = node.picture(0), node.picture(1)
    batch, channels, *spatial = data.type.shape
    wanted = (batch, 1, *spatial) if node.section.flag("scale_wh") else (batch, channels, 1, 1)
    if factor.type.shape != wanted:
        raise FrontendError(f"expected factors {list(wanted)}, found {factor.type}")
    return finished(node, Multiply(), data, factor)


def _sam(node: DarknetNode) -> Operand:
    """The product with another layer of the same size (sam_layer.c)."""
    first, second = node.picture(0), node.picture(1)
    if first.type.shape != second.type.shape:
        raise FrontendError(f"expected pictures of one size, found {first.type} and {second.type}")
    return finished(node, Multiply(), first, second)


def _reorg(node: DarknetNode) -> Operand:
    """The elements of squares become channels, but in an order that takes the picture for one of fewer channels and
    more places: reorg_cpu gets the size of the input where it expects that of the output (reorg_layer.c)."""
    return _reorganized(node, *_known_picture(node))


def _reorg3d(node: DarknetNode) -> Operand:
    """The same with the size of the output, so that channel `offset · C + c` holds channel c at an offset in the
    square; reversed, it has the fault of the other (AlexeyAB/darknet, reorg_layer.c)."""
    stride = node.section.integer("stride", 1)
    channels, height, width = _known_picture(node)
    if node.section.flag("reverse"):
        return _reorganized(node, channels // stride**2, height * stride, width * stride)
    return _reorganized(node, channels * stride**2, height // stride, width // stride)


def _known_picture(node: DarknetNode) -> tuple[int, int, int]:
    channels, height, width = static_extents(node.picture().type.shape[1:], node.described(0))
    return channels, height, width


def _reorganized(node: DarknetNode, channels: int, height: int, width: int) -> Operand:
    """What reorg_cpu does with these sizes: between pictures [C, H, W] and [C / s², H·s, W·s] (blas.c)."""
    section, data = node.section, node.picture()
    section.require_zero({"flatten": "flattening is not supported", "extra": "extra numbers are not supported"})
    stride = section.integer("stride", 1)
    batch = data.type.shape[0]
    given = _known_picture(node)
    if channels % stride**2 or channels * height * width != given[0] * given[1] * given[2] or section.text("extra"):
        raise UnsupportedError(f"{list(given)} can't be divided into squares of {stride}", "use a divisor")
    if section.flag("reverse"):
        wanted = (given[0] // stride**2, given[1] * stride, given[2] * stride)
        parts = node.step(Reshape((batch, stride, stride, channels // stride**2, height, width)), data)
        moved = node.step(Transpose((0, 3, 4, 1, 5, 2)), parts)
    else:
        wanted = (given[0] * stride**2, given[1] // stride, given[2] // stride)
        parts = node.step(Reshape((batch, channels // stride**2, height, stride, width, stride)), data)
        moved = node.step(Transpose((0, 3, 5, 1, 2, 4)), parts)
    return node.result(Reshape((batch, *wanted)), moved)


def _activation(node: DarknetNode) -> Operand:
    return finished(node, Identity(), node.value(0))


def _implicit(node: DarknetNode) -> Operand:
    """Weights as a value, whatever the layer before it gives (AlexeyAB/darknet, representation_layer.c)."""
    weight = node.weight("weights")
    return node.result(BroadcastTo((node.shape(0)[0], *weight.type.shape[1:])), weight)


ROUTING: dict[str, Converter] = {
    "activation": _activation,
    "cost": lambda node: node.operand(0),
    "dropout": lambda node: node.operand(0),
    "empty": lambda node: node.operand(0),
    "implicit": _implicit,
    "logistic": lambda node: node.result(Sigmoid(), node.value(0)),
    "reorg": _reorg,
    "reorg3d": _reorg3d,
    "route": _route,
    "sam": _sam,
    "scale_channels": _scale_channels,
    "shortcut": _shortcut,
}
