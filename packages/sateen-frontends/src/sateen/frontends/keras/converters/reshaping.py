"""Layers that move, repeat, pad or cut elements.

Sources: keras/src/layers/reshaping, keras/src/backend/tensorflow/image.py (resize).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.channels import to_channels_first
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape
from sateen.frontends.keras.converters.convolution import channels_first
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import BroadcastTo, Pad, Reshape, Resize, Slice, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _flatten(node: KerasNode) -> Operand:
    """All axes behind the batch as one; channels first are moved behind the others before."""
    data = node.value(0)
    shape, rank = data.type.shape, data.type.rank
    if not node.is_channels_last and rank > 2:
        data = node.step(Transpose((0, *range(2, rank), 1)), data)
    return node.result(Reshape((shape[0], product(shape[1:]))), data)


def _reshape(node: KerasNode) -> Operand:
    """The axes behind the batch in another shape, one of whose extents may be -1."""
    data, given = node.value(0), node.integers("target_shape")
    return node.result(Reshape((data.type.shape[0], *filled_shape(given, data.type.shape[1:]))), data)


def _permute(node: KerasNode) -> Operand:
    """Axes behind the batch are counted from 1."""
    return node.result(Transpose((0, *node.integers("dims"))), node.value(0))


def _repeat_vector(node: KerasNode) -> Operand:
    data, count = node.value(0), node.integer("n")
    batch, features = data.type.shape
    return node.result(BroadcastTo((batch, count, features)), node.step(Reshape((batch, 1, features)), data))


def _margins(node: KerasNode, name: str, rank: int) -> list[tuple[int, int]]:
    """A number for all spatial axes, one for each, or two for each."""
    given = node.attribute(name)
    whole = [given] * rank if isinstance(given, int) else given
    if rank == 1 and isinstance(whole, list) and len(whole) == 2:
        whole = [whole]
    pairs = [(one, one) if isinstance(one, int) else one for one in whole] if isinstance(whole, list) else []
    fits = len(pairs) == rank and all(len(pair) == 2 and all(type(n) is int and n >= 0 for n in pair) for pair in pairs)
    if not fits:
        raise FrontendError(f"expected one number or two for each of {rank} axes as {name!r}, found {given!r}")
    return [(begin, end) for begin, end in pairs]


def _spatial(node: KerasNode, rank: int) -> range:
    data = node.rank(0)
    if data != rank + 2:
        raise FrontendError(f"expected data of {rank + 2} dimensions, found {data}")
    return range(1, rank + 1) if node.is_channels_last else range(2, rank + 2)


def _zero_padding(rank: int) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        axes = _spatial(node, rank)
        margins = dict(zip(axes, _margins(node, "padding", rank), strict=True))
        both = [margins.get(axis, (0, 0)) for axis in range(rank + 2)]
        return node.result(Pad(pads=(*(begin for begin, _ in both), *(end for _, end in both))), node.value(0))

    return convert


def _cropping(rank: int) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        axes = _spatial(node, rank)
        margins = dict(zip(axes, _margins(node, "cropping", rank), strict=True))
        starts = tuple(margins.get(axis, (0, 0))[0] for axis in range(rank + 2))
        ends = tuple(extent - margins.get(axis, (0, 0))[1] for axis, extent in enumerate(node.shape(0)))
        return node.result(Slice(starts, ends, (1,) * (rank + 2)), node.value(0))

    return convert


def _up_sampling(rank: int) -> Converter[KerasNode]:
    """Elements repeated, or interpolated between the centres of elements; before Keras 2.3 between their corners, which
    depended on the backend."""

    def convert(node: KerasNode) -> Operand:
        _spatial(node, rank)
        sizes = node.per_axis("size", rank)
        if min(sizes) < 1:
            raise FrontendError(f"expected a size of 1 or more, found {list(sizes)}")
        mode = node.setting("interpolation", "nearest")
        if mode not in MODES:
            raise UnsupportedError(f"interpolation {mode!r} is not supported", f"use {', '.join(MODES)}")
        if mode != "nearest" and node.version.is_alone:
            raise UnsupportedError(
                f"{mode} of Keras up to 2.3 depends on its backend", "save the model with a later Keras"
            )
        data = channels_first(node)
        extents = data.type.shape
        wanted = tuple(extent * size for extent, size in zip(extents[2:], sizes, strict=True))
        return resized(node, data, wanted, mode)

    return convert


MODES = {"nearest": "nearest", "bilinear": "linear"}
"""Interpolations, by their names in Keras."""


def resized(node: KerasNode, data: Value, wanted: Sequence[Dim], mode: str) -> Operand:
    """[N, C, …] with other spatial extents, as the node's result in the layout of the file. Element i of n comes from
    (i + 1/2) * extent / n - 1/2, the nearest one rounded down from (i + 1/2) * extent / n in float32 (tf.image.resize;
    for some extents that is another element than the exact position gives)."""
    is_nearest = mode == "nearest"
    op = Resize(
        sizes=(*data.type.shape[:2], *wanted),
        mode=MODES[mode],
        coordinate_transformation="tf_half_pixel_for_nn" if is_nearest else "half_pixel",
        nearest_mode="floor",
        float32_positions=is_nearest,
    )
    if not node.is_channels_last:
        return node.result(op, data)
    return node.result(Transpose((0, *range(2, data.type.rank), 1)), node.step(op, data))


def _resizing(node: KerasNode) -> Operand:
    return _stretched(node, (node.integer("height"), node.integer("width")))


def resize(node: KerasNode) -> Operand:
    """keras.ops.image.resize."""
    height, width = node.integers("size")
    return _stretched(node, (height, width))


def _stretched(node: KerasNode, wanted: tuple[int, int]) -> Operand:
    """Pictures in other extents; of those of another aspect ratio first the middle, or all with borders, if the layer
    says so."""
    if node.layer.config.get("antialias"):
        raise UnsupportedError("antialias is not supported", "resize pictures before the network")
    mode = node.text("interpolation")
    if mode not in MODES:
        raise UnsupportedError(f"interpolation {mode!r} is not supported", f"use {', '.join(MODES)}")
    if node.rank(0) != 4:
        raise UnsupportedError("a picture without a batch is not supported", "give it a batch of 1")
    data = to_channels_first(node, node.value(0)) if node.is_channels_last else node.value(0)
    crops, pads = (bool(node.layer.config.get(f"{how}_to_aspect_ratio")) for how in ("crop", "pad"))
    if crops and pads:
        raise FrontendError("expected crop_to_aspect_ratio or pad_to_aspect_ratio, found both")
    if crops or pads:
        data = _in_proportion(node, data, wanted, crops)
    return resized(node, data, wanted, mode)


def _in_proportion(node: KerasNode, data: Value, wanted: tuple[int, int], crops: bool) -> Value:
    """[N, C, H, W] in the proportion of other extents, rounded down, in float32 (`resize` of
    keras/src/backend/tensorflow/image.py): the middle, or with as many rows or columns before as behind."""
    height, width = static_extents(data.type.shape[2:], node.described(0))
    fitting = (
        int(np.float32(width * wanted[0]) / np.float32(wanted[1])),
        int(np.float32(height * wanted[1]) / np.float32(wanted[0])),
    )
    if crops:
        parts = [max(min(extent, fit), 1) for extent, fit in zip((height, width), fitting, strict=True)]
        before = [(extent - part) // 2 for extent, part in zip((height, width), parts, strict=True)]
        ends = (start + part for start, part in zip(before, parts, strict=True))
        return node.step(Slice((0, 0, *before), (*data.type.shape[:2], *ends), (1,) * 4), data)
    borders = [max(fit - extent, 0) // 2 for extent, fit in zip((height, width), fitting, strict=True)]
    fill = node.layer.config.get("fill_value", 0)
    if not isinstance(fill, (int, float)):
        raise FrontendError(f"expected a number as 'fill_value', found {fill!r}")
    return node.step(Pad(pads=(0, 0, *borders) * 2, value=float(fill)), data)


def _center_crop(node: KerasNode) -> Operand:
    """The middle of pictures; the odd row stays at the end (keras/src/layers/preprocessing/image_preprocessing)."""
    axes = _spatial(node, 2)
    shape = node.shape(0)
    extents = static_extents([shape[axis] for axis in axes], node.described(0))
    wanted = (node.integer("height"), node.integer("width"))
    if any(part > extent for part, extent in zip(wanted, extents, strict=True)):
        raise UnsupportedError("pictures that are smaller than the crop are resized, which is not supported")
    offsets = {axis: (n - part) // 2 for axis, n, part in zip(axes, extents, wanted, strict=True)}
    parts = dict(zip(axes, wanted, strict=True))
    starts = tuple(offsets.get(axis, 0) for axis in range(4))
    ends = tuple(starts[axis] + parts[axis] if axis in parts else extent for axis, extent in enumerate(shape))
    return node.result(Slice(starts, ends, (1,) * 4), node.value(0))


RESHAPING: Mapping[str, Converter[KerasNode]] = {
    "CenterCrop": _center_crop,
    "Cropping1D": _cropping(1),
    "Cropping2D": _cropping(2),
    "Cropping3D": _cropping(3),
    "Flatten": _flatten,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "Reshape": _reshape,
    "Resizing": _resizing,
    "UpSampling1D": _up_sampling(1),
    "UpSampling2D": _up_sampling(2),
    "UpSampling3D": _up_sampling(3),
    "ZeroPadding1D": _zero_padding(1),
    "ZeroPadding2D": _zero_padding(2),
    "ZeroPadding3D": _zero_padding(3),
}
