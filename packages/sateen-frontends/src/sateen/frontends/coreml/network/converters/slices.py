"""Layers that take parts of blobs: slices, crops, windows, axes in reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.slices import turned
from sateen.frontends.coreml.network.converters.windows import border
from sateen.frontends.coreml.network.node import CHANNEL, HEIGHT, WIDTH, Converter, LayerNode
from sateen.frontends.coreml.shapes import resolved, windows_along
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError


def _slice(node: LayerNode) -> Operand:
    given, rank = node.parameters, node.rank(0)
    if given.axis not in (0, 1, 2):
        raise FrontendError(f"expected an axis of 0 to 2, found {given.axis}")
    axis = normal_axis((CHANNEL, HEIGHT, WIDTH)[given.axis], rank)
    full: list[slice] = [slice(None)] * rank
    full[axis] = slice(given.startIndex, given.endIndex, given.stride or 1)
    return node.result(resolved(node, full), node.value(0))


def _slice_static(node: LayerNode) -> Operand:
    given = node.parameters
    return _masked_slice(
        node, given.beginIds, given.endIds, given.strides, given.beginMasks, given.endMasks, given.squeezeMasks
    )


def _slice_dynamic(node: LayerNode) -> Operand:
    """As sliceStatic; inputs, which must be known, take the place of parameters from the second on."""
    given = node.parameters
    names = ("endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")
    found = [
        node.integers_of(index) if len(node.inputs) > index else tuple(getattr(given, name))
        for index, name in enumerate(names, 2)
    ]
    return _masked_slice(node, node.integers_of(1), *found)


def _masked_slice(
    node: LayerNode,
    begins: Sequence[int],
    ends: Sequence[int],
    strides: Sequence[int],
    begin_masks: Sequence[int],
    end_masks: Sequence[int],
    squeeze_masks: Sequence[int],
) -> Operand:
    """A masked begin or end is that of the axis; a squeezed axis is taken at its begin and left out."""
    rank = node.rank(0)
    squeezes = list(squeeze_masks) or [False] * rank
    for name, values in (("begins", begins), ("ends", ends), ("strides", strides), ("squeezeMasks", squeezes)):
        if len(values) != rank:
            raise FrontendError(f"expected {rank} numbers as {name}, one per axis, found {len(values)}")
    begin_masks = list(begin_masks) or [False] * rank
    end_masks = list(end_masks) or [False] * rank
    full = []
    for axis in range(rank):
        if squeezes[axis]:
            begin = begins[axis]
            full.append(slice(begin, begin + 1 if begin != -1 else None, 1))
        else:
            begin_at = None if begin_masks[axis] else begins[axis]
            full.append(slice(begin_at, None if end_masks[axis] else ends[axis], strides[axis]))
    op = resolved(node, full)
    if not any(squeezes):
        return node.result(op, node.value(0))
    part = node.step(op, node.value(0))
    left = tuple(extent for extent, squeezed in zip(part.type.shape, squeezes, strict=True) if not squeezed)
    return node.result(ops.Reshape(left or (1,)), part)


def _slice_by_size(node: LayerNode) -> Operand:
    given = node.parameters
    begin = node.integers_of(1)
    axis = node.normal_parameter()
    if len(begin) != 1:
        raise FrontendError(f"expected one number as the begin, found {list(begin)}")
    full: list[slice] = [slice(None)] * node.rank(0)
    start = begin[0] if begin[0] >= 0 else begin[0] + node.static_shape(0)[axis]
    full[axis] = slice(start, start + given.size, 1)
    return node.result(resolved(node, full), node.value(0))


def _crop(node: LayerNode) -> Operand:
    """By amounts, or to the extents of a second blob from an offset on."""
    given, rank = node.parameters, node.rank(0)
    node.require_rank(3)
    full: list[slice] = [slice(None)] * rank
    height, width = static_extents(node.shape(0)[-2:], "the cropped axes")
    if len(node.inputs) > 1:
        node.require_rank(3, 1)
        offsets = tuple(given.offset) or (0, 0)
        extents = static_extents(node.shape(1)[-2:], "the extents of the second input")
        if len(offsets) != 2:
            raise FrontendError(f"expected two offsets, found {list(offsets)}")
        full[-2:] = [slice(o, o + n, 1) for o, n in zip(offsets, extents, strict=True)]
    else:
        top, left, bottom, right = border(given.cropAmounts)
        full[-2:] = [slice(top, height - bottom, 1), slice(left, width - right, 1)]
    for part, extent in zip(full[-2:], (height, width), strict=True):
        if not 0 <= part.start < part.stop <= extent:
            raise FrontendError(f"expected a part of [0, {extent}), found [{part.start}, {part.stop})")
    return node.result(resolved(node, full), node.value(0))


def _sliding_windows(node: LayerNode) -> Operand:
    given = node.parameters
    return windows_along(node, node.normal_parameter(), given.windowSize, given.step)


def _reverse(node: LayerNode) -> Operand:
    flags = tuple(node.parameters.reverseDim)
    if len(flags) != node.rank(0):
        raise FrontendError(f"expected {node.rank(0)} flags, one per axis, found {len(flags)}")
    axes = [axis for axis, is_reversed in enumerate(flags) if is_reversed]
    return node.result(turned(node.shape(0), axes), node.value(0))


SLICES: Mapping[str, Converter] = {
    "crop": _crop,
    "reverse": _reverse,
    "slice": _slice,
    "sliceBySize": _slice_by_size,
    "sliceDynamic": _slice_dynamic,
    "sliceStatic": _slice_static,
    "slidingWindows": _sliding_windows,
}
