"""Operators that read images between their elements, and regions of images."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from sateen.frontends.core.deformable import deformable_product
from sateen.frontends.core.operands import Operand, require_few
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_MOST_POINTS = 1 << 22
"""The most points of a grid."""


def _points(shape: tuple[int, ...], what: str) -> Array:
    """The positions of a grid in [-1, 1], x and y, [2, height, width]. Raises FrontendError if it is too large."""
    if len(shape) != 2 or min(shape) < 1 or prod(shape) > _MOST_POINTS:
        raise FrontendError(f"expected {what} of two extents and at most {_MOST_POINTS} points, found {list(shape)}")
    height, width = (np.linspace(-1, 1, n) if n > 1 else np.full(1, -1.0) for n in shape)
    return np.stack(np.broadcast_arrays(width[None, :], height[:, None]))


def _affine_grid(node: MxnetNode, transforms: Value, shape: tuple[int, ...]) -> Value:
    """The positions that transforms [N, 6] give those of a grid, [N, 2, height·width] (grid_generator-inl.h)."""
    points = _points(shape, "target_shape")
    homogeneous = np.stack([*points, np.ones(shape)]).reshape(3, -1)
    matrices = node.reshaped(transforms, (transforms.type.shape[0], 2, 3))
    positions = node.parameter(homogeneous.astype(transforms.type.dtype.numpy), "points")
    return node.step(ops.MatMul(), matrices, positions)


def _grid_generator(node: MxnetNode) -> Operand:
    """Positions from affine transforms, or from the distances by which each element of an image moves."""
    batch = node.shape(0)[0]
    if node.choice("transform_type", "affine", "warp") == "affine":
        shape = node.integers("target_shape")
        return node.result(ops.Reshape(shape=(batch, 2, *shape)), _affine_grid(node, node.value(0), shape))
    flow, shape = node.value(0), node.static_shape(0)[2:]
    points = node.parameter(_points(shape, "flow").astype(flow.type.dtype.numpy), "points")
    steps = np.array([2 / max(n - 1, 1) for n in shape[::-1]], flow.type.dtype.numpy).reshape(2, 1, 1)
    moved = node.step(ops.Multiply(), flow, node.parameter(steps, "steps"))
    return node.result(ops.Add(), moved, points)


def _sampled(node: MxnetNode, data: Value, grid: Value) -> Operand:
    """Data at the positions of a grid [N, 2, height, width]; the corners of an image are at -1 and 1, and around it are
    zeros (bilinear_sampler-inl.h)."""
    op = ops.GridSample(mode="linear", padding="zeros", align_corners=True)
    return node.result(op, data, node.transposed(grid, 0, 2, 3, 1))


def _bilinear_sampler(node: MxnetNode) -> Operand:
    return _sampled(node, node.value(0), node.value(1))


def _spatial_transformer(node: MxnetNode) -> Operand:
    node.choice("transform_type", "affine")
    node.choice("sampler_type", "bilinear")
    shape = node.integers("target_shape")
    grid = _affine_grid(node, node.value(1), shape)
    return _sampled(node, node.value(0), node.reshaped(grid, (node.shape(0)[0], 2, *shape)))


def _regions(node: MxnetNode) -> tuple[Value, Value]:
    """The corners of regions, and their images, of rows [image, x1, y1, x2, y2]."""
    count, columns = node.static_shape(1)
    if columns != 5:
        raise FrontendError(f"expected regions of 5 numbers, found {list(node.shape(1))}")
    images, corners = node.steps(ops.Split(axis=1, sizes=(1, 4)), node.value(1), count=2)
    return corners, node.cast(node.reshaped(images, (count,)), DType.of("int64"))


def _pooled_size(node: MxnetNode) -> tuple[int, ...]:
    size = node.integers("pooled_size")
    return size * 2 if len(size) == 1 else size


def _region_pooling(node: MxnetNode) -> Operand:
    op = ops.RoiPool(shape=_pooled_size(node), scale=node.number("spatial_scale"))
    return node.result(op, node.value(0), *_regions(node))


def _position_sensitive_pooling(node: MxnetNode) -> Operand:
    """Averages of parts of regions, each of channels of its own (src/operator/contrib/psroi_pooling.cu)."""
    size, channels = node.integer("pooled_size"), node.integer("output_dim")
    groups = node.integer("group_size") or size
    if min(size, channels, groups) < 1 or node.shape(0)[1:2] != (channels * groups**2,):
        raise FrontendError(f"expected {channels} channels for each of {groups}² parts, found {node.value(0).type}")
    op = ops.PsRoiPool(shape=(size, size), groups=groups, scale=node.number("spatial_scale"))
    return node.result(op, node.value(0), *_regions(node))


def _region_align(node: MxnetNode) -> Operand:
    """With `aligned` the centres of elements are at 0.5."""
    if node.flag("position_sensitive"):
        raise UnsupportedError("position-sensitive regions are not supported")
    op = ops.RoiAlign(
        shape=_pooled_size(node),
        samples=max(node.integer("sample_ratio"), 0),
        scale=node.number("spatial_scale"),
        half_pixel=node.flag("aligned"),
    )
    return node.result(op, node.value(0), *_regions(node))


def _kept_inside(node: MxnetNode, op: ops.DeformableColumns) -> tuple[Value, Value]:
    """Offsets that lead to the nearest elements, and a mask of those that led to within the image: around it are zeros,
    which take no part in interpolation, as they do in later versions (contrib/nn/deformable_im2col.h)."""
    offset = node.value(1)
    batch, _, *output = offset.type.static_shape
    taps = prod(op.kernel)
    shape = (batch, op.offset_groups, taps, 2, *output)
    require_few(*shape[2:])
    strides, dilations = op.strides or (1, 1), op.dilations or (1, 1)
    extents = node.static_shape(0)[2:]
    starts = np.meshgrid(
        *(np.arange(k) * d - p for k, d, p in zip(op.kernel, dilations, op.pads, strict=False)), indexing="ij"
    )
    steps = np.meshgrid(*(np.arange(n) * s for n, s in zip(output, strides, strict=True)), indexing="ij")
    places = np.stack(starts, -1).reshape(taps, 2, 1, 1) + np.stack(steps)
    base = node.parameter(places.astype(offset.type.dtype.numpy), "positions")
    position = node.step(ops.Add(), node.reshaped(offset, shape), base)
    nearest = node.step(ops.Maximum(), position, node.like(0, position))
    ends = np.array(extents, offset.type.dtype.numpy).reshape(2, 1, 1)
    nearest = node.step(ops.Minimum(), nearest, node.parameter(ends - 1, "last"))
    begun = node.step(ops.GreaterEqual(), position, node.like(0, position))
    inside = node.step(ops.And(), begun, node.step(ops.Less(), position, node.parameter(ends, "ends")))
    mask = node.step(ops.ReduceMin(axes=(3,), keepdims=False), node.cast(inside, offset.type.dtype))
    moved = node.step(ops.Subtract(), nearest, base)
    return node.reshaped(moved, offset.type.shape), node.reshaped(mask, (batch, op.offset_groups * taps, *output))


def _deformable_convolution(node: MxnetNode) -> Operand:
    """The elements under the kernel, moved by offsets and times a mask where there is one, times the weight."""
    has_mask = "Modulated" in node.operator
    weight = 3 if has_mask else 2
    channels = node.static_shape(0)[1]
    kernel, groups, filters = node.integers("kernel"), node.integer("num_group"), node.integer("num_filter")
    if len(kernel) != 2 or groups < 1 or channels % groups or filters % groups:
        raise FrontendError(
            f"expected a kernel of two extents, {channels} and {filters} channels in whole groups, found kernel "
            f"{list(kernel)} and {groups} groups"
        )
    terms = channels // groups * prod(kernel)
    if node.shape(weight) != (filters, channels // groups, *kernel):
        raise FrontendError(f"expected a weight for {filters} channels and {terms} terms, found {node.shape(weight)}")
    pads = node.integers("pad") or (0, 0)
    op = ops.DeformableColumns(
        kernel=kernel,
        strides=node.integers("stride"),
        pads=(*pads, *pads),
        dilations=node.integers("dilate"),
        offset_groups=node.integer("num_deformable_group"),
    )
    inputs = [node.value(i) for i in range(weight)] if has_mask else [node.value(0), *_kept_inside(node, op)]
    bias = None if node.flag("no_bias") else node.value(weight + 1)
    return deformable_product(node, node.step(op, *inputs), node.value(weight), groups, bias)


_DEFORMABLE: Mapping[str, Any] = {
    "kernel": REQUIRED,
    "stride": (),
    "dilate": (),
    "pad": (),
    "num_filter": REQUIRED,
    "num_group": 1,
    "num_deformable_group": 1,
    "no_bias": False,
    "layout": None,
}

SAMPLING = {
    "BilinearSampler": operator(_bilinear_sampler, "data grid"),
    "GridGenerator": operator(_grid_generator, transform_type=REQUIRED, target_shape=(0, 0)),
    "ROIPooling": operator(_region_pooling, "data rois", pooled_size=REQUIRED, spatial_scale=REQUIRED),
    "SpatialTransformer": operator(
        _spatial_transformer, "data loc", target_shape=(0, 0), transform_type=REQUIRED, sampler_type=REQUIRED
    ),
    "_contrib_DeformableConvolution": operator(_deformable_convolution, "data offset weight bias", **_DEFORMABLE),
    "_contrib_ModulatedDeformableConvolution": operator(
        _deformable_convolution, "data offset mask weight bias", **_DEFORMABLE, im2col_step=64
    ),
    "_contrib_PSROIPooling": operator(
        _position_sensitive_pooling,
        "data rois",
        spatial_scale=REQUIRED,
        output_dim=REQUIRED,
        pooled_size=REQUIRED,
        group_size=0,
    ),
    "_contrib_ROIAlign": operator(
        _region_align,
        "data rois",
        pooled_size=REQUIRED,
        spatial_scale=REQUIRED,
        sample_ratio=-1,
        position_sensitive=False,
        aligned=False,
    ),
}
