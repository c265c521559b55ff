"""Normalisations and softmax, as at inference."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir import ops
from sateen.graph_ir.ops import (
    Add,
    Cast,
    LogSoftmax,
    Multiply,
    Reciprocal,
    ReduceMean,
    Reshape,
    Softmax,
    Sqrt,
    Subtract,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator


def _batch_normalization(node: OnnxNode) -> Operand | Sequence[Operand]:
    """With the running mean and variance, or those of the batch where training_mode asks for them (opset 14), as
    standardised weights do. Up to opset 13 outputs beyond the first, and is_test of opset 1 to 6, concern training."""
    if node.flag("training_mode"):
        return _batch_normalization_of_batch(node)
    _require_single_output(node)
    if node.knows("spatial") and not node.flag("spatial") and node.rank(0) > 2:
        raise UnsupportedError("statistics per element (spatial=0) are not supported", "export with spatial=1")
    op = ops.BatchNormalization(epsilon=node.number("epsilon"))
    return node.result(op, *node.values())


def _batch_normalization_of_batch(node: OnnxNode) -> Sequence[Operand]:
    """With mean and variance over all axes but the channels; then the running ones, moved towards these."""
    data, scale, bias, *running = node.values()
    others = tuple(axis for axis in range(data.type.rank) if axis != 1)
    mean = node.step(ReduceMean(axes=others), data)
    distance = node.step(Subtract(), data, mean)
    square = node.step(Multiply(), distance, distance)
    statistics = [
        node.step(Reshape(shape=node.shape(1)), mean),
        node.step(ReduceMean(axes=others, keepdims=False), square),
    ]
    results = [node.result(ops.BatchNormalization(epsilon=node.number("epsilon")), data, scale, bias, *statistics)]
    momentum = node.number("momentum")
    for output, (old, new) in enumerate(zip(running, statistics, strict=True), start=1):
        if output < len(node.outputs) and node.outputs[output]:
            dtype = old.type.dtype
            kept = node.step(Multiply(), old, node.literal(momentum, dtype))
            moved = new if new.type.dtype == dtype else node.step(Cast(dtype=dtype), new)
            added = node.step(Multiply(), moved, node.literal(1 - momentum, dtype))
            results.append(node.result(Add(), kept, added, output=output))
        else:
            results.append(old)
    return results


def _require_single_output(node: OnnxNode) -> None:
    extra = [name for name in node.outputs[1:] if name]
    if extra:
        raise UnsupportedError(
            f"output {extra[0]!r}, a statistic, is not supported", "drop the outputs beyond the first"
        )


def _instance_normalization(node: OnnxNode) -> Operand:
    return node.result(ops.InstanceNormalization(epsilon=node.number("epsilon")), *node.values())


def _layer_normalization(node: OnnxNode) -> Operand | tuple[Operand, ...]:
    """The mean and the inverse of the standard deviation, where asked for, are computed as float32 (stash_type)."""
    axis = node.axis(node.rank(0))
    op = ops.LayerNormalization(axis=axis, epsilon=node.number("epsilon"))
    normalised = node.result(op, *node.present_values())
    if not any(node.outputs[1:]):
        return normalised
    stash = dtype_of(node.integer("stash_type"), "stash_type")
    over = ReduceMean(axes=tuple(range(axis, node.rank(0))), keepdims=True)
    data = node.value(0) if node.dtype(0) == stash else node.step(Cast(dtype=stash), node.value(0))
    mean = node.result(over, data, output=1)
    apart = node.step(Subtract(), data, mean)
    variance = node.step(over, node.step(Multiply(), apart, apart))
    spread = node.step(Sqrt(), node.step(Add(), variance, node.literal(node.number("epsilon"), stash)))
    return (normalised, mean, node.result(Reciprocal(), spread, output=2))[: len(node.outputs)]


def rms_normalization(node: OnnxNode) -> Operand:
    """Means are in float32 at least (stash_type); the scale has the type of the result."""
    op = ops.RmsNormalization(axis=node.axis(node.rank(0)), epsilon=node.number("epsilon"))
    if node.dtype(0) == node.dtype(1):
        return node.result(op, node.value(0), node.value(1))
    normalised = node.step(Cast(dtype=node.dtype(1)), node.step(op, node.value(0)))
    return node.result(Multiply(), normalised, node.value(1))


def _group_normalization(node: OnnxNode) -> Operand:
    """Scale and bias are per channel; opset 18 to 20 have them per group."""
    if node.version < 21:
        raise UnsupportedError("scale and bias per group are not supported", "convert the model to opset 21")
    op = ops.GroupNormalization(groups=node.integer("num_groups"), epsilon=node.number("epsilon"))
    return node.result(op, *node.values())


def _local_response_normalization(node: OnnxNode) -> Operand:
    op = ops.LRN(
        size=node.integer("size"), alpha=node.number("alpha"), beta=node.number("beta"), bias=node.number("bias")
    )
    return node.result(op, node.value(0))


def _lp_normalization(node: OnnxNode) -> Operand:
    p = node.integer("p")
    if p not in {1, 2}:
        raise FrontendError(f"expected a norm of order 1 or 2, found {p}")
    return node.result(ops.LpNormalization(axis=node.axis(node.rank(0)), p=p), node.value(0))


def _softmax(node: OnnxNode) -> Operand:
    """Over one axis as of opset 13. Up to opset 12 over all axes from `axis` on, as if they were one."""

    def over(axis: int) -> Operator:
        return LogSoftmax(axis=axis) if node.operator == "LogSoftmax" else Softmax(axis=axis)

    data, rank = node.value(0), node.rank(0)
    axis = normal_axis(node.integer("axis"), rank)
    if node.version >= 13 or axis == rank - 1:
        return node.result(over(axis), data)
    extents = node.shape(0)
    if product(extents[axis + 1 :]) == 1:
        return node.result(over(axis), data)
    flat = node.step(Reshape(shape=(product(extents[:axis]), product(extents[axis:]))), data)
    return node.result(Reshape(shape=extents), node.step(over(1), flat))


NORMALIZATION: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _local_response_normalization,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _softmax,
    "LpNormalization": _lp_normalization,
    "RMSNormalization": rms_normalization,
    "Softmax": _softmax,
}
