"""Operators of torchvision for detectors: regions of pictures, and convolutions at places that the data decide.

Sources: torchvision/csrc/ops/cpu/roi_align_kernel.cpp, roi_pool_kernel.cpp and deform_conv2d_kernel.cpp.
"""

from __future__ import annotations

from sateen.frontends.core.deformable import deformable_product
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import INT64
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _regions(node: TorchNode) -> tuple[Value, Value]:
    """Regions [K, 5] as their corners and the images, which are the first of the five."""
    rois = node.tensor("rois")
    count = rois.type.shape[0]
    corners = node.step(ops.Slice((0, 1), (count, 5), (1, 1)), rois)
    images = node.step(ops.Slice((0, 0), (count, 1), (1, 1)), rois)
    return corners, node.reshaped(node.cast(images, INT64), (count,))


def _pooled_shape(node: TorchNode) -> tuple[int, int]:
    return node.integer("pooled_height"), node.integer("pooled_width")


def _roi_align(node: TorchNode) -> Operand:
    """A sampling_ratio of 0 or less stands for as many points as a bin has elements."""
    op = ops.RoiAlign(
        shape=_pooled_shape(node),
        samples=max(node.integer("sampling_ratio"), 0),
        scale=node.number("spatial_scale"),
        half_pixel=node.flag("aligned"),
    )
    return node.result(op, node.tensor("input"), *_regions(node))


def _deformable_convolution(node: TorchNode) -> Operand:
    """Bias is always given; a mask counts only with use_mask."""
    data, weight, offset, mask = (node.tensor(name) for name in ("input", "weight", "offset", "mask"))
    groups = node.integer("groups")
    kernel = static_extents(weight.type.shape[2:], "a kernel")
    strides, pads, dilations = (
        (node.integer(f"{name}_h"), node.integer(f"{name}_w")) for name in ("stride", "pad", "dilation")
    )
    if groups < 1 or weight.type.shape[0] % groups or weight.type.shape[1] * groups != data.type.shape[1]:
        raise FrontendError(f"expected a weight for {data.type} in {groups} groups, found {weight.type}")
    op = ops.DeformableColumns(
        kernel=kernel, strides=strides, pads=(*pads, *pads), dilations=dilations,
        offset_groups=node.integer("offset_groups"),
    )  # fmt: skip
    inputs = [data, offset, mask] if node.flag("use_mask") else [data, offset]
    return deformable_product(node, node.step(op, *inputs), weight, groups, node.tensor("bias"))


DETECTION: dict[str, Converter] = {
    "torchvision.deform_conv2d": _deformable_convolution,
    "torchvision.roi_align": _roi_align,
}
