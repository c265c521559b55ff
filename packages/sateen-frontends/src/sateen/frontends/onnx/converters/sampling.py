"""Operators that read data between its elements, and those that put windows back to their places."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.core.deformable import deformable_product
from sateen.frontends.core.operands import Operand, require_few
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    BroadcastTo,
    Cast,
    DeformableColumns,
    GridSample,
    Pad,
    Reshape,
    RoiAlign,
    RoiPool,
    ScatterElements,
    Slice,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic", "bicubic": "cubic"}


def _grid_sample(node: OnnxNode) -> Operand:
    """Modes are called bilinear and bicubic up to opset 19."""
    mode = node.text("mode")
    if mode not in _MODES:
        raise FrontendError(f"expected mode nearest, linear or cubic, found {mode!r}")
    op = GridSample(mode=_MODES[mode], padding=node.text("padding_mode"), align_corners=node.flag("align_corners"))
    return node.result(op, node.value(0), node.value(1))


def _roi_align(node: OnnxNode) -> Operand:
    """Opset 10 has no half pixel."""
    known = node.knows("coordinate_transformation_mode")
    transformation = node.text("coordinate_transformation_mode") if known else "output_half_pixel"
    if transformation not in {"half_pixel", "output_half_pixel"}:
        raise FrontendError(f"expected half_pixel or output_half_pixel, found {transformation!r}")
    op = RoiAlign(
        shape=(node.integer("output_height"), node.integer("output_width")),
        kind=node.text("mode"),
        samples=node.integer("sampling_ratio"),
        scale=node.number("spatial_scale"),
        half_pixel=transformation == "half_pixel",
    )
    return node.result(op, node.value(0), node.value(1), node.value(2))


def _max_roi_pool(node: OnnxNode) -> Operand:
    """Regions are rows [image, x1, y1, x2, y2]."""
    regions, columns = node.static_shape(1)
    if columns != 5:
        raise FrontendError(f"expected regions of 5 numbers, found {list(node.shape(1))}")
    shape = node.integers("pooled_shape")
    image = node.step(Slice(starts=(0, 0), ends=(regions, 1), steps=(1, 1)), node.value(1))
    batch = node.step(Cast(dtype=DType.of("int64")), node.step(Reshape(shape=(regions,)), image))
    rois = node.step(Slice(starts=(0, 1), ends=(regions, 5), steps=(1, 1)), node.value(1))
    return node.result(RoiPool(shape=shape, scale=node.number("spatial_scale")), node.value(0), rois, batch)


def _deformable_convolution(node: OnnxNode) -> Operand:
    """The elements under the kernel, moved, times the weight as a matrix."""
    _, channels, *spatial = node.static_shape(0)
    outputs, per_group, *kernel = node.static_shape(1)
    groups = node.integer("group")
    if len(kernel) != 2 or len(spatial) != 2:
        raise UnsupportedError("deformable convolutions of other than two dimensions are not supported")
    if groups < 1 or per_group * groups != channels or outputs % groups:
        raise FrontendError(
            f"expected a weight for {channels} channels in {groups} groups, found {list(node.shape(1))}"
        )
    op = DeformableColumns(
        kernel=tuple(kernel),
        strides=node.optional_integers("strides") or (),
        pads=node.optional_integers("pads") or (),
        dilations=node.optional_integers("dilations") or (),
        offset_groups=node.integer("offset_group"),
    )
    inputs = [node.value(0), node.value(2), *([node.value(4)] if node.has(4) else [])]
    bias = node.value(3) if node.has(3) else None
    return deformable_product(node, node.step(op, *inputs), node.value(1), groups, bias)


def _columns_to_image(node: OnnxNode) -> Operand:
    """Blocks added up where they overlap, in float32 where they are shorter floats."""
    batch, depth, count = node.static_shape(0)
    image = tuple(int(i) for i in node.constant(1).flat)
    block = tuple(int(i) for i in node.constant(2).flat)
    rank = len(image)
    strides = node.optional_integers("strides") or (1,) * rank
    dilations = node.optional_integers("dilations") or (1,) * rank
    pads = node.optional_integers("pads") or (0,) * (2 * rank)
    if min((*image, *block), default=0) < 1 or len(block) != rank or depth % prod(block) or len(pads) != 2 * rank:
        raise FrontendError(f"expected blocks {list(block)} of an image {list(image)}, found {list(node.shape(0))}")
    rooms = [image[d] + pads[d] + pads[rank + d] - (block[d] - 1) * dilations[d] - 1 for d in range(rank)]
    positions = tuple(room // stride + 1 for room, stride in zip(rooms, strides, strict=True))
    if min(positions) < 1 or prod(positions) != count:
        raise FrontendError(f"expected {prod(positions)} blocks in an image {list(image)}, found {count}")
    padded = tuple(image[d] + pads[d] + pads[rank + d] for d in range(rank))
    require_few(*block, *positions)
    lines = [
        np.add.outer(np.arange(block[d]) * dilations[d], np.arange(positions[d]) * strides[d]) for d in range(rank)
    ]  # of each element of a block, and each block, along one axis
    axes = [line.reshape(*(n if i in {d, rank + d} else 1 for i, n in enumerate((*block, *positions))))
            for d, line in enumerate(lines)]  # fmt: skip
    places = np.ravel_multi_index(tuple(np.broadcast_arrays(*axes)), padded).reshape(1, -1)
    rows, own = batch * depth // prod(block), node.dtype(0)
    wide = DType.of("float32") if own.is_float and own.bits < 32 else own
    data = node.step(Reshape(shape=(rows, places.size)), node.value(0))
    data = data if wide == own else node.step(Cast(dtype=wide), data)
    at = node.step(BroadcastTo(shape=(rows, places.size)), node.parameter(places, "places"))
    zeros = node.step(BroadcastTo(shape=(rows, prod(padded))), node.literal(0, wide))
    added = node.step(ScatterElements(axis=1, reduction="add"), zeros, at, data)
    added = added if wide == own else node.step(Cast(dtype=own), added)
    whole = node.step(Reshape(shape=(batch, rows // batch, *padded)), added)
    starts = (0, 0, *pads[:rank])
    ends = (batch, rows // batch, *(pads[d] + image[d] for d in range(rank)))
    return node.result(Slice(starts=starts, ends=ends, steps=(1,) * len(starts)), whole)


def _max_unpool(node: OnnxNode) -> Operand:
    """Maxima at the positions that MaxPool gives, zeros elsewhere; a larger output_shape adds zeros at the ends."""
    batch, channels, *spatial = node.static_shape(0)
    kernel = node.integers("kernel_shape")
    rank = len(kernel)
    strides = node.optional_integers("strides") or (1,) * rank
    pads = node.optional_integers("pads") or (0,) * (2 * rank)
    if not len(spatial) == len(strides) == len(pads) // 2 == rank:
        raise FrontendError(f"expected strides and pads of {rank} dimensions, found {list(strides)}, {list(pads)}")
    natural = [(extent - 1) * strides[d] - pads[d] - pads[rank + d] + kernel[d] for d, extent in enumerate(spatial)]
    shape = (batch, channels, *natural)
    wanted = tuple(int(i) for i in node.constant(2).flat) if node.has(2) else shape
    if min(natural) < 1 or len(wanted) != len(shape) or any(w < n for w, n in zip(wanted, shape, strict=True)):
        raise FrontendError(f"expected an output_shape of at least {list(shape)}, found {list(wanted)}")
    zeros = node.step(BroadcastTo(shape=(prod(shape),)), node.literal(0, node.dtype(0)))
    flat: list[Value] = [node.step(Reshape(shape=(prod(node.static_shape(i)),)), node.value(i)) for i in (1, 0)]
    filled = node.step(ScatterElements(axis=0), zeros, *flat)
    if wanted == shape:
        return node.result(Reshape(shape=shape), filled)
    ends = tuple(w - n for w, n in zip(wanted, shape, strict=True))
    return node.result(Pad(pads=(*[0] * len(shape), *ends)), node.step(Reshape(shape=shape), filled))


SAMPLING: dict[str, Converter] = {
    "Col2Im": _columns_to_image,
    "DeformConv": _deformable_convolution,
    "GridSample": _grid_sample,
    "MaxRoiPool": _max_roi_pool,
    "MaxUnpool": _max_unpool,
    "RoiAlign": _roi_align,
}
