"""Normalisations and softmax, as at inference."""

from __future__ import annotations

from math import prod

from sateen.frontends.onnx.emitter import Operand
from sateen.frontends.onnx.node import Converter, ImportedNode, UnsupportedError, normal_axis
from sateen.graph_ir.op import Op
from sateen.graph_ir.ops import norm as ops
from sateen.graph_ir.ops.shape import Reshape
from sateen.graph_ir.ops.softmax import LogSoftmax, Softmax
from sateen.runtime.errors import FrontendError

TRAINING_HELP = "export the model for inference"


def _batch_normalization(node: ImportedNode) -> Operand:
    """With the running mean and variance. Outputs beyond the first, and is_test of opset 1 to 6, concern training."""
    if node.flag("training_mode"):
        raise UnsupportedError("batch normalisation in training is not supported", TRAINING_HELP)
    _require_single_output(node)
    if node.knows("spatial") and not node.flag("spatial") and node.rank(0) > 2:
        raise UnsupportedError("statistics per element (spatial=0) are not supported", "export with spatial=1")
    op = ops.BatchNormalization(epsilon=node.number("epsilon"))
    return node.result(op, *node.values())


def _require_single_output(node: ImportedNode) -> None:
    extra = [name for name in node.outputs[1:] if name]
    if extra:
        raise UnsupportedError(
            f"output {extra[0]!r}, a statistic, is not supported", "drop the outputs beyond the first"
        )


def _instance_normalization(node: ImportedNode) -> Operand:
    return node.result(ops.InstanceNormalization(epsilon=node.number("epsilon")), *node.values())


def _layer_normalization(node: ImportedNode) -> Operand:
    _require_single_output(node)
    op = ops.LayerNormalization(axis=node.axis(node.rank(0)), epsilon=node.number("epsilon"))
    return node.result(op, *node.present_values())


def _group_normalization(node: ImportedNode) -> Operand:
    """Scale and bias are per channel; opset 18 to 20 have them per group."""
    if node.version < 21:
        raise UnsupportedError("scale and bias per group are not supported", "convert the model to opset 21")
    op = ops.GroupNormalization(groups=node.integer("num_groups"), epsilon=node.number("epsilon"))
    return node.result(op, *node.values())


def _local_response_normalization(node: ImportedNode) -> Operand:
    op = ops.LRN(
        size=node.integer("size"), alpha=node.number("alpha"), beta=node.number("beta"), bias=node.number("bias")
    )
    return node.result(op, node.value(0))


def _lp_normalization(node: ImportedNode) -> Operand:
    p = node.integer("p")
    if p not in {1, 2}:
        raise FrontendError(f"expected a norm of order 1 or 2, found {p}")
    return node.result(ops.LpNormalization(axis=node.axis(node.rank(0)), p=p), node.value(0))


def _softmax(node: ImportedNode) -> Operand:
    """Over one axis as of opset 13. Up to opset 12 over all axes from `axis` on, as if they were one."""

    def over(axis: int) -> Op:
        return LogSoftmax(axis=axis) if node.operator == "LogSoftmax" else Softmax(axis=axis)

    data, rank = node.value(0), node.rank(0)
    axis = normal_axis(node.integer("axis"), rank)
    if node.version >= 13 or axis == rank - 1:
        return node.result(over(axis), data)
    extents = node.static_shape(0)
    if prod(extents[axis + 1 :]) == 1:
        return node.result(over(axis), data)
    flat = node.step(Reshape(shape=(prod(extents[:axis]), prod(extents[axis:]))), data)
    return node.result(Reshape(shape=extents), node.step(over(1), flat))


NORMALIZATION: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _local_response_normalization,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _softmax,
    "LpNormalization": _lp_normalization,
    "Softmax": _softmax,
}
