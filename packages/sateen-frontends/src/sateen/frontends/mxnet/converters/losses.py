"""Softmax, and loss layers, which at inference give predictions and don't read labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.dimensions import product


def _softmax_along(node: MxnetNode) -> Operand:
    """softmax, log_softmax or softmin along an axis, of data divided by a temperature."""
    data = node.value(0)
    axis = node.axis(data.type.rank)
    dtype = node.element_type("dtype")
    if dtype is not None:
        data = node.cast(data, dtype)
    temperature = node.attribute("temperature")
    if node.operator == "softmin":
        data = node.step(ops.Negative(), data)
    if temperature not in (None, 1):
        data = node.step(ops.Divide(), data, node.like(node.number("temperature"), data))
    if node.flag("use_length"):
        return _masked_softmax(node, data, axis)
    kind = ops.LogSoftmax if node.operator == "log_softmax" else ops.Softmax
    return node.result(kind(axis=axis), data)


def _masked_softmax(node: MxnetNode, data: Value, axis: int) -> Operand:
    """Over the first `length` elements along the axis; 0 behind them. Lengths have the shape of data without it."""
    if node.operator != "softmax":
        raise UnsupportedError(f"use_length of {node.operator} is not supported")
    shape = data.type.shape
    lengths = node.value(1)
    column = node.reshaped(lengths, (*shape[:axis], 1, *shape[axis + 1 :]))
    steps = node.positions(shape[axis], DType.of("int64"), trailing=len(shape) - axis - 1)
    inside = node.step(ops.Less(), steps, node.cast(column, DType.of("int64")))
    lowest = node.literal(float("-inf"), data.type.dtype)
    masked = node.step(ops.Softmax(axis=axis), node.step(ops.Where(), inside, data, lowest))
    return node.result(ops.Where(), inside, masked, node.like(0, data))


def _flat_softmax(node: MxnetNode) -> Operand:
    """Over all axes but the first, as if they were one."""
    data, shape = node.value(0), node.shape(0)
    if len(shape) == 2:
        return node.result(ops.Softmax(axis=1), data)
    flat = node.step(ops.Reshape(shape=(shape[0], product(shape[1:]))), data)
    return node.finished(flat, ops.Softmax(axis=1), ops.Reshape(shape=shape))


def _softmax_output(node: MxnetNode) -> Operand:
    """Over the channels with multi_output, the last axis with preserve_shape, else all of an image
    (src/operator/softmax_output-inl.h)."""
    if node.flag("multi_output"):
        return node.result(ops.Softmax(axis=1), node.value(0))
    if node.flag("preserve_shape"):
        return node.result(ops.Softmax(axis=node.rank(0) - 1), node.value(0))
    return _flat_softmax(node)


def _softmax_activation(node: MxnetNode) -> Operand:
    if node.choice("mode", "instance", "channel") == "channel":
        return node.result(ops.Softmax(axis=1), node.value(0))
    return _flat_softmax(node)


def _cross_entropy(node: MxnetNode) -> Operand:
    """-Σ log softmax(data)[label], of one element."""
    data, labels = node.values()
    logarithms = node.step(ops.LogSoftmax(axis=1), data)
    rows = node.reshaped(node.cast(labels, DType.of("int64")), (*labels.type.shape, 1))
    chosen = node.step(ops.GatherElements(axis=1), logarithms, rows)
    total = node.step(ops.ReduceSum(axes=(0,), keepdims=False), chosen)
    return node.result(ops.Negative(), total)


_PREDICTION = operator(lambda node: node.operand(0), "data label", labels=1, grad_scale=1.0)
_SOFTMAX: Mapping[str, Any] = {"axis": -1, "temperature": None, "dtype": None, "use_length": False}

LOSSES = {
    "LinearRegressionOutput": _PREDICTION,
    "LogisticRegressionOutput": operator(
        lambda node: node.result(ops.Sigmoid(), node.value(0)), "data label", labels=1, grad_scale=1.0
    ),
    "MAERegressionOutput": _PREDICTION,
    "MakeLoss": operator(lambda node: node.operand(0), grad_scale=1.0, valid_thresh=0.0, normalization="null"),
    "SVMOutput": operator(
        lambda node: node.operand(0),
        "data label",
        labels=1,
        margin=1.0,
        regularization_coefficient=1.0,
        use_linear=False,
    ),
    "SoftmaxActivation": operator(_softmax_activation, mode="instance"),
    "SoftmaxOutput": operator(
        _softmax_output,
        "data label",
        labels=1,
        grad_scale=1.0,
        ignore_label=-1.0,
        multi_output=False,
        use_ignore=False,
        preserve_shape=False,
        normalization="null",
        out_grad=False,
        smooth_alpha=0.0,
    ),
    "log_softmax": operator(_softmax_along, "data length", **_SOFTMAX),
    "make_loss": operator(lambda node: node.operand(0), results="loss"),
    "softmax": operator(_softmax_along, "data length", **_SOFTMAX),
    "softmax_cross_entropy": operator(_cross_entropy, "data label"),
    "softmin": operator(_softmax_along, "data length", **_SOFTMAX),
}
