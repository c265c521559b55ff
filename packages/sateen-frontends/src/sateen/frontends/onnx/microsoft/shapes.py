"""Moving elements about, and transforms of signals."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, require_few
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.converters.signal import transformed
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import applied, as_standard
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ops import Cast, Gather, ReduceSum, Reshape, Transpose
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _expand_dims(node: OnnxNode) -> Operand:
    axis = normal_axis(int(node.scalar(1)), node.rank(0) + 1)
    shape = node.shape(0)
    return node.result(Reshape((*shape[:axis], 1, *shape[axis:])), node.value(0))


def _unfold(node: OnnxNode) -> Operand:
    """Slices of `size` elements along an axis, `step` apart, which become the last axis."""
    shape, size, step = node.static_shape(0), node.integer("size"), node.integer("step")
    axis = node.axis(len(shape), "dim")
    if not 1 <= size <= shape[axis] or step < 1:
        raise FrontendError(f"expected a size of 1 to {shape[axis]} and a step of at least 1, found {size}, {step}")
    require_few((shape[axis] - size) // step + 1, size)
    starts = np.arange(0, shape[axis] - size + 1, step)
    places = node.evaluated(starts[:, None] + node.counted(size))
    windows = node.step(Gather(axis=axis), node.value(0), node.parameter(places, "windows"))
    order = [d for d in range(len(shape) + 1) if d != axis + 1]
    return node.result(Transpose((*order, axis + 1)), windows)


def _embedding(node: OnnxNode) -> Operand:
    """padding_idx and scale_grad_by_freq concern training."""
    return applied(node, "Gather", node.values()[:2], {"axis": 0}, result=True)


def _sum_of_integers(node: OnnxNode) -> Operand:
    axes = tuple(normal_axis(axis, node.rank(0)) for axis in node.integers("axes"))
    whole = node.step(Cast(DType.of("int32")), node.value(0))
    return node.result(ReduceSum(axes=axes, keepdims=node.flag("keepdims")), whole)


def _real_transform(node: OnnxNode) -> Operand:
    """Of the last axis; the result's last axis is real and imaginary part. Irfft goes back, and divides by the length
    unless `normalized`."""
    if node.integer("signal_ndim") != 1 or not node.flag("onesided") or node.flag("normalized"):
        raise UnsupportedError("only one-sided transforms of one axis, not normalised, are supported")
    shape, data = node.static_shape(0), node.value(0)
    if node.operator == "Rfft":
        parts = node.step(Reshape((*shape, 1)), data)
        result = transformed(node, parts, shape[-1], inverse=False, onesided=True)
        return node.result(Reshape(result.type.shape), result)
    if shape[-1:] != (2,) or len(shape) < 2:
        raise FrontendError(f"expected a last axis of real and imaginary part, found {list(shape)}")
    result = transformed(node, data, 2 * (shape[-2] - 1), inverse=True, onesided=True)
    return node.result(Reshape((*shape[:-2], prod(result.type.static_shape[len(shape) - 2 :]))), result)


_TRANSFORM = {"normalized": 0, "onesided": 1, "signal_ndim": 1}
_REDUCTION = {"axes": list[int], "keepdims": 1}
SHAPES: dict[str, Description] = {
    "ExpandDims": Description(_expand_dims, "X:any axis:index"),
    "GatherND": Description(as_standard("GatherND"), "data:any indices:index"),
    "GridSample": Description(
        as_standard("GridSample", opset=16),
        "X Grid",
        1,
        {"align_corners": 0, "mode": "bilinear", "padding_mode": "zeros"},
    ),
    "Irfft": Description(_real_transform, "X", 1, _TRANSFORM),
    "Pad": Description(as_standard("Pad", opset=11), "data:any pads:index value:any?", 1, {"mode": "constant"}),
    "Range": Description(as_standard("Range"), "start:any limit:any delta:any?"),
    "ReduceSumInteger": Description(_sum_of_integers, "data:byte", 1, _REDUCTION),
    "Rfft": Description(_real_transform, "X", 1, _TRANSFORM),
    "TorchEmbedding": Description(_embedding, "weight:any indices:index padding_idx:index? scale_grad_by_freq:any?"),
    "Trilu": Description(as_standard("Trilu"), "X:any k:index?", 1, {"upper": 1}),
    "UnfoldTensor": Description(_unfold, "input:any", 1, {"dim": -1, "size": int, "step": 1}),
}
