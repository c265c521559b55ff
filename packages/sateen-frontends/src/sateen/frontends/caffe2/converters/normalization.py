"""Normalisations, softmax, and pictures as they come from cameras."""

from __future__ import annotations

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    LRN,
    Add,
    BatchNormalization,
    BroadcastTo,
    Cast,
    Clip,
    Concat,
    Divide,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LogSoftmax,
    Maximum,
    Multiply,
    ReduceL2,
    Reshape,
    Slice,
    Softmax,
    Subtract,
    Transpose,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

FLOAT, BYTE = DType.of("float32"), DType.of("uint8")


def _spatial_bn(node: Caffe2Node) -> Operand:
    """With the running mean and variance (spatial_batch_norm_op.h)."""
    node.require_inputs(5, 5)
    if not node.whole("is_test", 0):
        raise UnsupportedError("batch normalisation in training is not supported", "export with is_test=1")
    op = BatchNormalization(epsilon=node.real("epsilon", 1e-5))
    return node.pictured(op, node.picture(), *(node.value(i) for i in range(1, 5)))


def _instance_norm(node: Caffe2Node) -> Operand:
    node.require_inputs(3, 3)
    node.require_one_result()
    op = InstanceNormalization(epsilon=node.real("epsilon", 1e-5))
    return node.pictured(op, node.picture(), node.value(1), node.value(2))


def _group_norm(node: Caffe2Node) -> Operand:
    """Over the channels of each group, 32 by default (group_norm_op.h)."""
    node.require_inputs(3, 3)
    node.require_one_result()
    op = GroupNormalization(node.whole("group", 32), epsilon=node.real("epsilon", 1e-5))
    return node.pictured(op, node.picture(), node.value(1), node.value(2))


def _layer_norm(node: Caffe2Node) -> Operand:
    """Over all axes from `axis` on; scale and bias have their shape (layer_norm_op.h)."""
    node.require_one_result()
    data, affine = node.value(0), node.whole("elementwise_affine", 0)
    axis = normal_axis(node.whole("axis", 1), data.type.rank)
    node.require_inputs(3 if affine else 1, 3 if affine else 1)
    op = LayerNormalization(axis=axis, epsilon=node.real("epsilon", 1e-3))
    if affine:
        return node.result(op, data, node.value(1), node.value(2))
    shape = data.type.shape[axis:]
    ones = node.step(BroadcastTo(shape), node.literal(1, FLOAT, (1,) * len(shape)))
    return node.result(op, data, ones)


def _response_normalization(node: Caffe2Node) -> Operand:
    """alpha is divided by the size; a second output is for training (local_response_normalization_op.cc)."""
    node.require_one_result()
    size = node.whole("size", 0)
    if size < 1 or size % 2 == 0:
        raise FrontendError(f"expected an odd size, found {size}")
    op = LRN(size=size, alpha=node.real("alpha", 0.0), beta=node.real("beta", 0.0), bias=node.real("bias", 1.0))
    return node.pictured(op, node.picture())


def _softmax(node: Caffe2Node) -> Operand:
    """Over all axes from `axis` on, as if they were one (softmax_op.h)."""
    data, axis = node.the_value(), node.whole("axis", 1)
    axis = normal_axis(axis, data.type.rank)
    kind = LogSoftmax if node.operator == "LogSoftmax" else Softmax
    shape = data.type.shape
    if product(shape[axis + 1 :]) == 1:
        return node.result(kind(axis), data)
    flat = node.step(Reshape((product(shape[:axis]), product(shape[axis:]))), data)
    return node.result(Reshape(shape), node.step(kind(1), flat))


def _normalize(node: Caffe2Node) -> Operand:
    """Divided by the 2-norm along an axis, which is 1e-12 at least (normalize_op.h)."""
    data = node.the_value()
    axis = normal_axis(node.whole("axis", -1), data.type.rank)
    norm = node.step(Maximum(), node.step(ReduceL2(axes=(axis,)), data), node.literal(1e-12, FLOAT))
    return node.result(Divide(), data, norm)


def _normalize_planes(node: Caffe2Node) -> Operand:
    """Less a mean and divided by a deviation of each channel, [1, C] (norm_planar_yuv_op.cc)."""
    node.require_inputs(3, 3)
    data = node.value(0)
    mean, deviation = (_of_channels(node, node.value(i), data) for i in (1, 2))
    return node.result(Divide(), node.step(Subtract(), data, mean), deviation)


def _affine_channel(node: Caffe2Node) -> Operand:
    """Times a scale and plus a bias of each channel (affine_channel_op.h)."""
    node.require_inputs(3, 3)
    data = node.picture()
    scale, bias = (_of_channels(node, node.value(i), data) for i in (1, 2))
    return node.pictured(Add(), node.step(Multiply(), data, scale), bias)


def _of_channels(node: Caffe2Node, value: Value, data: Value) -> Value:
    """Numbers of the channels, aligned with data [N, C, …]."""
    channels = data.type.shape[1]
    if product(value.type.shape) != channels:
        raise FrontendError(f"expected a number for each of {channels} channels, found {value.type}")
    return node.step(Reshape((1, channels, *(1,) * (data.type.rank - 2))), value)


def _from_camera(node: Caffe2Node) -> Operand:
    """Bytes BGRA [1, H, W, 4] as floats BGR [1, 3, H, W] less the mean.

    Caffe2 adds noise of the deviation `noise_std`, at random, which is left out here: it hides steps of flat areas, and
    its mean is 0 (caffe2/mobile/contrib/ulp2 and operators/stylizer_ops.cc).
    """
    node.require_inputs(2, 2)
    data, mean = node.value(0), node.value(1)
    if data.type.rank != 4 or data.type.shape[3] != 4 or mean.type.shape != (3,):
        raise FrontendError(
            f"expected a picture [N, H, W, 4] and a mean of 3 channels, found {data.type} and {mean.type}"
        )
    batch, height, width, _ = data.type.shape
    colours = node.step(Slice((0, 0, 0, 0), (batch, height, width, 3), (1, 1, 1, 1)), data)
    less = node.step(Subtract(), node.step(Cast(FLOAT), colours), mean)
    return node.result(Transpose((0, 3, 1, 2)), less)


def _to_camera(node: Caffe2Node) -> Operand:
    """Floats BGR [N, 3, H, W] plus the mean as bytes BGRA [N, H, W, 4], cut off to integers (stylizer_ops.cc)."""
    node.require_inputs(2, 2)
    data, mean = node.value(0), node.value(1)
    if data.type.rank != 4 or data.type.shape[1] != 3 or mean.type.shape != (3,):
        raise FrontendError(
            f"expected a picture [N, 3, H, W] and a mean of 3 channels, found {data.type} and {mean.type}"
        )
    last = node.step(Add(), node.step(Transpose((0, 2, 3, 1)), data), mean)
    colours = node.step(Cast(BYTE), node.step(Clip(low=0.0, high=255.0), last))
    opaque = node.step(BroadcastTo((*last.type.shape[:3], 1)), node.literal(255, BYTE, (1, 1, 1, 1)))
    return node.result(Concat(3), colours, opaque)


NORMALIZATION: dict[str, Converter] = {
    "AffineChannel": _affine_channel,
    "BRGNCHWCToPackedInt8BGRAStylizerDeprocess": _to_camera,
    "GroupNorm": _group_norm,
    "InstanceNorm": _instance_norm,
    "LRN": _response_normalization,
    "LayerNorm": _layer_norm,
    "LogSoftmax": _softmax,
    "Normalize": _normalize,
    "NormalizePlanarYUV": _normalize_planes,
    "PackedInt8BGRANHWCToNCHWCStylizerPreprocess": _from_camera,
    "Softmax": _softmax,
    "SpatialBN": _spatial_bn,
}
