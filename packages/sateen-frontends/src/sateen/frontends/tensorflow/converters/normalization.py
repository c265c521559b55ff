"""Normalisations, as at inference."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.converters.windows import channels_first, has_channels_first, in_format_of
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _batch_normalization(node: TensorflowNode) -> Operand | Sequence[Operand]:
    """With the given mean and variance, or with those of the batch if is_training says so (fused_batch_norm_op.cc);
    other outputs belong to training."""
    if len(node.outputs) > 1:
        raise UnsupportedError("statistics of a batch as results are not supported", "name outputs=, or --to NAME")
    data = channels_first(node, 0)
    scale, bias = node.value(1), node.value(2)
    if node.flag("is_training"):
        mean, variance = _moments(node, data)
    else:
        mean, variance = node.value(3), node.value(4)
    op = ops.BatchNormalization(epsilon=node.number("epsilon"))
    return in_format_of(node, op, data, scale, bias, mean, variance)


def _moments(node: TensorflowNode, data: Value) -> tuple[Value, Value]:
    """Mean and variance of each channel, over all else."""
    others = tuple(axis for axis in range(data.type.rank) if axis != 1)
    mean = node.step(ops.ReduceMean(axes=others, keepdims=True), data)
    distance = node.step(ops.Subtract(), data, mean)
    square = node.step(ops.Multiply(), distance, distance)
    variance = node.step(ops.ReduceMean(axes=others, keepdims=False), square)
    return node.step(ops.Reshape(shape=data.type.shape[1:2]), mean), variance


def _normalization_with_activation(node: TensorflowNode) -> Operand:
    """As optimised graphs have it: with another tensor added, and an activation."""
    data = channels_first(node, 0)
    if node.flag("is_training"):
        raise UnsupportedError(
            "normalisation with the statistics of the batch is not supported here", "freeze the graph"
        )
    op = ops.BatchNormalization(epsilon=node.number("epsilon"))
    value = node.step(op, data, *(node.value(index) for index in range(1, 5)))
    if node.has(5):
        value = node.step(ops.Add(), value, channels_first(node, 5))
    match node.text("activation_mode"):
        case "Identity":
            pass
        case "Relu":
            value = node.step(ops.Relu(), value)
        case other:
            raise UnsupportedError(f"activation {other} is not supported")
    return value if has_channels_first(node) else result_channels_last(node, value)


def _batch_normalization_of_2015(node: TensorflowNode) -> Operand:
    """Inputs: data [N, H, W, C], mean, variance, beta, gamma; gamma counts if scale_after_normalization says so."""
    data = to_channels_first(node, node.value(0))
    mean, variance, beta, gamma = (node.value(index) for index in range(1, 5))
    if not node.flag("scale_after_normalization"):
        gamma = node.literal(1, gamma.type.dtype, node.static_shape(4))
    op = ops.BatchNormalization(epsilon=node.number("variance_epsilon"))
    return result_channels_last(node, node.step(op, data, gamma, beta, mean, variance))


def _local_response_normalization(node: TensorflowNode) -> Operand:
    """x / (bias + alpha · Σ x²)^beta over depth_radius neighbours on both sides, alpha not divided by their number
    (lrn_op.cc)."""
    if node.rank(0) != 4:
        raise FrontendError(f"expected data of rank 4, found {node.rank(0)}")
    radius = node.integer("depth_radius")
    size = 2 * radius + 1
    op = ops.LRN(size=size, alpha=node.number("alpha") * size, beta=node.number("beta"), bias=node.number("bias"))
    return result_channels_last(node, node.step(op, to_channels_first(node, node.value(0))))


NORMALIZATION: dict[str, Converter] = {
    "BatchNormWithGlobalNormalization": _batch_normalization_of_2015,
    "FusedBatchNorm": _batch_normalization,
    "FusedBatchNormV2": _batch_normalization,
    "FusedBatchNormV3": _batch_normalization,
    "LRN": _local_response_normalization,
    "_FusedBatchNormEx": _normalization_with_activation,
}
