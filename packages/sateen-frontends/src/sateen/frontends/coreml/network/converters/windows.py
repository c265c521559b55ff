"""Layers that slide a window over images: convolutions and pools, in two and three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import same_pads, shared_pads
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.frontends.coreml.shapes import last_pixel_pads
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

BOTTOM_RIGHT_HEAVY, TOP_LEFT_HEAVY = 0, 1
"""Values of SamePaddingMode: where an odd element of padding is."""
MAX, AVERAGE, L2 = range(3)
"""Values of PoolingType."""
CUSTOM, VALID, SAME = range(3)
"""Values of PaddingType in three dimensions."""
_FARTHEST = 1 << 31


def border(amounts: Message) -> tuple[int, ...]:
    """Border amounts as pads (begin…, end…) of [H, W]; none are zeros."""
    edges = amounts.borderAmounts
    if len(edges) not in (0, 2):
        raise FrontendError(f"expected border amounts of height and width, found {len(edges)}")
    if not edges:
        return (0, 0, 0, 0)
    pads = (*(edge.startEdgeSize for edge in edges), *(edge.endEdgeSize for edge in edges))
    if max(pads) >= _FARTHEST:
        raise FrontendError(f"expected border amounts below {_FARTHEST}, found {list(pads)}")
    return pads


def _pads(
    node: LayerNode, spatial: Sequence[object], kernel: Sequence[int], strides: Sequence[int], kind: str
) -> tuple[int, ...]:
    """The pads of a window by the kind of its padding; valid if none is set."""
    if kind == "same":
        mode = node.parameters.same.asymmetryMode
        return same_pads(spatial, strides, kernel, "same padding", odd_at_end=mode == BOTTOM_RIGHT_HEAVY)  # type: ignore[arg-type]
    return border(node.parameters.valid.paddingAmounts)


def _convolution(node: LayerNode) -> Operand:
    given = node.parameters
    node.require_rank(4)
    kernel, strides = node.pair("kernelSize", 3), node.pair("stride", 1)
    groups = given.nGroups or 1
    if given.isDeconvolution:
        return _deconvolution(node, kernel, strides, groups)
    dilations = node.pair("dilationFactor", 1)
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    kind = given.WhichOneof("convolution_padding_type") or "valid"
    pads = _pads(node, node.shape(0)[-2:], reaches, strides, kind)
    shape = (given.outputChannels, given.kernelChannels, *kernel)
    op = ops.Conv(strides=strides, pads=pads, dilations=dilations, groups=groups)
    return node.of_images(op, node.images(), *_operands(node, shape, len(node.inputs) > 1))


def _operands(node: LayerNode, shape: tuple[int, ...], is_computed: bool, channel_axis: int = 0) -> list[Value]:
    """The weight, which a second input may give (specification 4), and the bias."""
    weight = node.value(1) if is_computed else node.weight("weights", shape, channel_axis)
    return [weight, *([node.weight("bias", (node.parameters.outputChannels,))] if node.parameters.hasBias else [])]


def _deconvolution(node: LayerNode, kernel: tuple[int, int], strides: tuple[int, int], groups: int) -> Operand:
    """A transposed convolution, which ignores dilations. `same` gives extent · stride; valid padding crops."""
    given = node.parameters
    spatial = node.shape(0)[-2:]
    kind = given.WhichOneof("convolution_padding_type") or "valid"
    more = (0, 0)
    if kind == "same":
        # (n - 1) · stride + kernel elements, of which n · stride are kept
        excess = [k - s for k, s in zip(kernel, strides, strict=True)]
        odd_at_end = given.same.asymmetryMode == BOTTOM_RIGHT_HEAVY
        pads = shared_pads([max(e, 0) for e in excess], odd_at_end=odd_at_end)
        more = (max(-excess[0], 0), max(-excess[1], 0))
    else:
        pads = border(given.valid.paddingAmounts)
    if given.outputShape:
        natural = [
            (n - 1) * s + k - pads[i] - pads[2 + i] + more[i]
            for i, (n, s, k) in enumerate(zip(static_extents(spatial, "the input"), strides, kernel, strict=True))
        ]
        if list(given.outputShape) != natural:
            raise UnsupportedError(
                f"outputShape {list(given.outputShape)} differs from {natural}, which the padding gives; the format "
                "does not say which side is cut",
                "crop the result of a deconvolution without outputShape",
            )
    shape = (given.kernelChannels, given.outputChannels // groups, *kernel)
    op = ops.ConvTranspose(strides=strides, pads=pads, groups=groups, output_padding=more)
    return node.of_images(op, node.images(), *_operands(node, shape, len(node.inputs) > 1, 1))


def _pooling(node: LayerNode) -> Operand:
    given = node.parameters
    node.require_rank(4)
    if given.type not in (MAX, AVERAGE, L2):
        raise FrontendError(f"expected a pool of type 0 to 2, found {given.type}")
    if given.globalPooling:
        return _global_pooling(node)
    kernel, strides = node.pair("kernelSize", 3), node.pair("stride", 1)
    spatial = node.shape(0)[-2:]
    kind = given.WhichOneof("pooling_padding_type") or "valid"
    counts = not given.avgPoolExcludePadding
    if kind == "includeLastPixel":
        extents = static_extents(spatial, "includeLastPixel")
        pads, extends = last_pixel_pads(_last_pixel_amounts(given), extents, kernel, strides)
        if extends and given.type != MAX and counts:
            raise UnsupportedError(
                "includeLastPixel makes windows reach beyond the padding, and the format does not say whether an "
                "average counts what is there",
                "set avgPoolExcludePadding",
            )
    else:
        pads = _pads(node, spatial, kernel, strides, kind)
    images = node.images()
    if given.type == MAX:
        return node.of_images(ops.MaxPool(kernel, strides, pads), images)
    if given.type == AVERAGE:
        return node.of_images(ops.AveragePool(kernel, strides, pads, count_include_pad=counts), images)
    mean = ops.AveragePool(kernel, strides, pads, count_include_pad=True)
    squares = node.step(mean, node.step(ops.Multiply(), images, images))
    total = node.step(ops.Multiply(), squares, node.scalar_literal(prod(kernel)))
    return node.of_images(ops.Sqrt(), total)


def _global_pooling(node: LayerNode) -> Operand:
    kind, images = node.parameters.type, node.images()
    if kind == MAX:
        return node.of_images(ops.GlobalMaxPool(), images)
    if kind == AVERAGE:
        return node.of_images(ops.GlobalAveragePool(), images)
    return node.of_images(ops.ReduceL2(axes=(2, 3), keepdims=True), images)


def _last_pixel_amounts(given: Message) -> tuple[int, ...]:
    amounts = tuple(given.includeLastPixel.paddingAmounts) or (0, 0)
    if len(amounts) != 2 or max(amounts) >= _FARTHEST:
        raise FrontendError(f"expected padding amounts of height and width, found {list(amounts)}")
    return amounts


_AXES = ("Depth", "Height", "Width")
_SIDES = (("Front", "Back"), ("Top", "Bottom"), ("Left", "Right"))


def _of_axes(given: Message, name: str, otherwise: int = 1) -> tuple[int, ...]:
    found = tuple(getattr(given, f"{name}{axis}") or otherwise for axis in _AXES)
    if min(found) < 1:
        raise FrontendError(f"expected {name} of 1 or more along each axis, found {list(found)}")
    return found


def _pads_3d(node: LayerNode, reaches: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Pads of [D, H, W]; an odd element of `same` is at the end, as in two dimensions by default."""
    given = node.parameters
    if given.paddingType == SAME:
        return same_pads(node.shape(0)[-3:], strides, reaches, "same padding")
    if given.paddingType == VALID:
        return (0,) * 6
    if given.paddingType != CUSTOM:
        raise FrontendError(f"expected a padding of type 0 to 2, found {given.paddingType}")
    pads = [getattr(given, f"customPadding{side}") for sides in zip(*_SIDES, strict=True) for side in sides]
    if min(pads) < 0:
        raise FrontendError(f"expected padding of 0 or more, found {pads}")
    return tuple(pads)


def _require_volume(node: LayerNode) -> Value:
    if node.rank(0) != 5:
        raise FrontendError(f"expected a blob [Batch, C, D, H, W], found {node.operand_text(0)}")
    return node.value(0)


def _convolution_3d(node: LayerNode) -> Operand:
    given, data = node.parameters, _require_volume(node)
    kernel, strides, dilations = (_of_axes(given, name) for name in ("kernel", "stride", "dilation"))
    groups = given.nGroups or 1
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if given.isDeconvolution:
        if given.outputShape or given.paddingType == SAME:
            raise UnsupportedError(
                "a deconvolution in three dimensions with outputShape or same padding",
                "give the padding as custom amounts",
            )
        shape = (given.inputChannels, given.outputChannels // groups, *kernel)
        transposed = ops.ConvTranspose(
            strides=strides, pads=_pads_3d(node, reaches, strides), dilations=dilations, groups=groups,
        )  # fmt: skip
        return node.result(transposed, data, *_operands(node, shape, False))
    shape = (given.outputChannels, given.inputChannels // groups, *kernel)
    op = ops.Conv(strides=strides, pads=_pads_3d(node, reaches, strides), dilations=dilations, groups=groups)
    return node.result(op, data, *_operands(node, shape, False))


def _pooling_3d(node: LayerNode) -> Operand:
    given, data = node.parameters, _require_volume(node)
    kernel, strides = _of_axes(given, "kernel"), _of_axes(given, "stride")
    pads = _pads_3d(node, kernel, strides)
    if given.type == MAX:
        return node.result(ops.MaxPool(kernel, strides, pads), data)
    return node.result(ops.AveragePool(kernel, strides, pads, count_include_pad=not given.countExcludePadding), data)


def _global_pooling_3d(node: LayerNode) -> Operand:
    op = ops.GlobalMaxPool() if node.parameters.type == MAX else ops.GlobalAveragePool()
    return node.result(op, _require_volume(node))


WINDOWS: Mapping[str, Converter] = {
    "convolution": _convolution,
    "convolution3d": _convolution_3d,
    "globalPooling3d": _global_pooling_3d,
    "pooling": _pooling,
    "pooling3d": _pooling_3d,
}
