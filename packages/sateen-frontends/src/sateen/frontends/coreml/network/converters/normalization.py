"""Normalisations and softmaxes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.network.converters.activations import EPSILON
from sateen.frontends.coreml.network.node import CHANNEL, Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

BATCH_EPSILON = 1e-5
"""The epsilon of a batch normalisation that leaves it out."""


def _batch_normalization(node: LayerNode) -> Operand:
    """With given statistics, or with those of each image, or of the batch."""
    given, images = node.parameters, node.images()
    shape = (given.channels,)
    epsilon = node.number("epsilon", BATCH_EPSILON)
    scale, shift = node.weight("gamma", shape), node.weight("beta", shape)
    if not given.computeMeanVar:
        statistics = node.weight("mean", shape), node.weight("variance", shape)
        return node.of_images(ops.BatchNormalization(epsilon), images, scale, shift, *statistics)
    if given.instanceNormalization:
        return node.of_images(ops.InstanceNormalization(epsilon), images, scale, shift)
    mean = node.step(ops.ReduceMean(axes=(0, 2, 3), keepdims=False), images)
    centred = _centred(node, images, (0, 2, 3))
    variance = node.step(ops.ReduceMean(axes=(0, 2, 3), keepdims=False), node.step(ops.Multiply(), centred, centred))
    return node.of_images(ops.BatchNormalization(epsilon), images, scale, shift, mean, variance)


def _centred(node: LayerNode, data: Value, axes: tuple[int, ...]) -> Value:
    return node.step(ops.Subtract(), data, node.step(ops.ReduceMean(axes=axes, keepdims=True), data))


def _mean_variance(node: LayerNode) -> Operand:
    """(x - mean) / sqrt(variance + epsilon) over a channel, or over all channels of an image."""
    given, images = node.parameters, node.images()
    axes = (1, 2, 3) if given.acrossChannels else (2, 3)
    centred = _centred(node, images, axes)
    if not given.normalizeVariance:
        return node.of_images(ops.Identity(), centred)
    variance = node.step(ops.ReduceMean(axes=axes, keepdims=True), node.step(ops.Multiply(), centred, centred))
    moved = node.step(ops.Add(), variance, node.scalar_literal(node.number("epsilon", EPSILON)))
    return node.of_images(ops.Divide(), centred, node.step(ops.Sqrt(), moved))


def _l2_normalize(node: LayerNode) -> Operand:
    """x / sqrt(Σ x² + epsilon), the sum over the image."""
    images = node.images()
    total = node.step(ops.ReduceSumSquare(axes=(1, 2, 3), keepdims=True), images)
    moved = node.step(ops.Add(), total, node.scalar_literal(node.number("epsilon", EPSILON)))
    return node.of_images(ops.Divide(), images, node.step(ops.Sqrt(), moved))


def _local_response(node: LayerNode) -> Operand:
    """The specification's α / C has the size of the window as C, as in Caffe (test_numpy_nn_layers.py, test_LRN)."""
    size = node.parameters.localSize
    if size % 2 == 0:
        raise UnsupportedError(
            f"a window of {size} channels has no centre, and the format does not say where it begins"
        )
    op = ops.LRN(size=size, alpha=node.parameters.alpha, beta=node.parameters.beta, bias=node.number("k", 1.0))
    return node.of_images(op, node.images())


def _softmax(node: LayerNode) -> Operand:
    node.require_rank(3)
    return node.result(ops.Softmax(axis=node.normal(CHANNEL)), node.value(0))


def _softmax_nd(node: LayerNode) -> Operand:
    return node.result(ops.Softmax(axis=node.normal_parameter()), node.value(0))


def _layer_normalization(node: LayerNode) -> Operand:
    given = node.parameters
    shape = tuple(given.normalizedShape)
    if not 0 < len(shape) <= node.rank(0):
        raise FrontendError(f"expected a normalizedShape of 1 to {node.rank(0)} dimensions, found {list(shape)}")
    last = static_extents(node.shape(0)[-len(shape) :], "the normalised dimensions")
    if last != shape:
        raise FrontendError(
            f"expected normalizedShape {list(last)}, the last dimensions of the input, found {list(shape)}"
        )
    scale = node.weight("gamma", shape) if _has_data(given.gamma) else _ones(node, shape)
    operands = [scale, *([node.weight("beta", shape)] if _has_data(given.beta) else [])]
    op = ops.LayerNormalization(axis=node.rank(0) - len(shape), epsilon=given.eps)
    return node.result(op, node.value(0), *operands)


def _has_data(weights: object) -> bool:
    return any(getattr(weights, name) for name in ("floatValue", "float16Value", "rawValue"))


def _ones(node: LayerNode, shape: tuple[int, ...]) -> Value:
    return node.parameter(np.ones(shape, np.float32), "gamma")


NORMALIZATION: Mapping[str, Converter] = {
    "batchnorm": _batch_normalization,
    "l2normalize": _l2_normalize,
    "layerNormalization": _layer_normalization,
    "lrn": _local_response,
    "mvn": _mean_variance,
    "softmax": _softmax,
    "softmaxND": _softmax_nd,
}
