"""Normalisations and softmax, as at inference."""

from __future__ import annotations

import numpy as np

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.broadcast import aligned
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    LRN,
    Add,
    AveragePool,
    BatchNormalization,
    Divide,
    Multiply,
    Power,
    ReduceMean,
    ReduceSumSquare,
    Reshape,
    Softmax,
    Sqrt,
    Subtract,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")


def _batch_norm(node: CaffeNode) -> Operand:
    """With the mean and variance of the blobs, which are sums: the third blob says of how much, 0 of nothing.

    There is no scale and bias; a layer Scale has them. Source: batch_norm_layer.cpp, Forward_cpu.
    """
    data = node.the_value()
    (channels,) = static_extents(data.type.shape[1:2], node.described(0)) or (1,)
    if not node.flag("use_global_stats"):
        return _batch_norm_of_batch(node, data)
    total = float(node.blob(2, 1).data[0])
    share = np.float32(1 / total if total else 0)
    mean, variance = (_row(node, index, channels) * share for index in (0, 1))
    if data.type.rank < 2:
        raise FrontendError(f"expected data with channels, axis 1, found {data.type}")
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    roles = zip((ones, zeros, mean, variance), ("scale", "bias", "mean", "variance"), strict=True)
    parameters = [node.parameter(array, role) for array, role in roles]
    return node.result(BatchNormalization(epsilon=node.number("eps")), data, *parameters)


def _row(node: CaffeNode, index: int, channels: int) -> Array:
    return node.blob(index, channels).data


def _batch_norm_of_batch(node: CaffeNode, data: Value) -> Operand:
    """With the mean and variance of the data itself, over all axes except the channels."""
    axes = tuple(axis for axis in range(data.type.rank) if axis != 1)
    distance = node.step(Subtract(), data, node.step(ReduceMean(axes=axes), data))
    variance = node.step(ReduceMean(axes=axes), node.step(Multiply(), distance, distance))
    shifted = node.step(Add(), variance, node.literal(node.number("eps"), FLOAT))
    return node.result(Divide(), distance, node.step(Sqrt(), shifted))


def _batch_norm_of_forks(node: CaffeNode) -> Operand:
    """A scale and a shift of each channel: in SegNet's inference mode alone, else after normalisation.

    Sources: alexgkendall/caffe-segnet, bn_layer.cpp; yjxiong/caffe and hszhao/PSPNet, bn_layer.cpp. Layers BN of other
    forks have other blobs and parameters.
    """
    data = node.the_value()
    (channels,) = static_extents(data.type.shape[1:2], node.described(0)) or (1,)
    if data.type.rank < 2:
        raise FrontendError(f"expected data with channels, axis 1, found {data.type}")
    if node.text("bn_mode") == "INFERENCE":
        scale, shift = (aligned(node, _of_channels(node, i, channels), 1, data.type.rank) for i in (0, 1))
        return node.result(Add(), node.step(Multiply(), data, scale), shift)
    if all(node.attribute(name) is None for name in ("slope_filler", "bias_filler", "momentum", "eps", "frozen")):
        raise UnsupportedError(
            "forks of Caffe have several layers BN, and this file does not tell which", "give it eps, as PSPNet's has"
        )
    epsilon = 1e-5 if node.attribute("eps") is None else node.number("eps")
    blobs = [_of_channels(node, index, channels) for index in range(4)]
    return node.result(BatchNormalization(epsilon=epsilon), data, *blobs)


def _of_channels(node: CaffeNode, index: int, channels: int) -> Value:
    """A blob with a number for each channel, whose other axes are 1."""
    shapes = ((channels,), (1, channels), (1, channels, 1, 1))
    given = node.blobs[index].shape if index < len(node.blobs) else ()
    weight = node.weight(index, *(given if given in shapes else shapes[0]))
    return node.step(Reshape((channels,)), weight) if weight.type.rank > 1 else weight


def _response_normalization(node: CaffeNode) -> Operand:
    """Across channels as AlexNet has it. Within a channel the sum is an average over a padded window, and k is 1
    whatever the file says (lrn_layer.cpp, LayerSetUp)."""
    data, size = node.the_value(), node.integer("local_size")
    alpha, beta, k = (node.number(name) for name in ("alpha", "beta", "k"))
    if size < 1 or size % 2 == 0:
        raise FrontendError(f"expected an odd local_size, found {size}")
    if node.text("norm_region") == "ACROSS_CHANNELS":
        return node.result(LRN(size=size, alpha=alpha, beta=beta, bias=k), data)
    pool = AveragePool((size, size), pads=(size // 2,) * 4, count_include_pad=True)
    mean = node.step(pool, node.step(Multiply(), data, data))
    base = node.step(Add(), node.step(Multiply(), mean, node.literal(alpha, FLOAT)), node.literal(1, FLOAT))
    return node.result(Multiply(), data, node.step(Power(), base, node.literal(-beta, FLOAT)))


def _mean_variance(node: CaffeNode) -> Operand:
    """Over each channel, or each image; eps is added to the deviation, not to the variance (mvn_layer.cpp)."""
    data = node.the_value()
    axes = tuple(range(1 if node.flag("across_channels") else 2, data.type.rank))
    if data.type.rank < 2 or not axes:
        raise FrontendError(f"expected data with axes behind the channels, found {data.type}")
    mean = node.step(ReduceMean(axes=axes), data)
    if not node.flag("normalize_variance"):
        return node.result(Subtract(), data, mean)
    distance = node.step(Subtract(), data, mean)
    deviation = node.step(Sqrt(), node.step(ReduceMean(axes=axes), node.step(Multiply(), distance, distance)))
    divisor = node.step(Add(), deviation, node.literal(node.number("eps"), FLOAT))
    return node.result(Divide(), distance, divisor)


def _normalize(node: CaffeNode) -> Operand:
    """Divided by the 2-norm, of an image or of the channels at each place, times the weights of the channels.

    Source: weiliu89/caffe, branch ssd, normalize_layer.cpp.
    """
    data = node.the_value()
    rank, channels = data.type.rank, static_extents(data.type.shape[1:2], node.described(0))
    if rank < 2:
        raise FrontendError(f"expected data with channels, axis 1, found {data.type}")
    axes = tuple(range(1, rank)) if node.flag("across_spatial") else (1,)
    squares = node.step(Add(), node.step(ReduceSumSquare(axes=axes), data), node.literal(node.number("eps"), FLOAT))
    scaled = node.step(Divide(), data, node.step(Sqrt(), squares))
    shape = () if node.flag("channel_shared") else channels
    weight = node.weight(0, *shape)
    return node.result(Multiply(), scaled, aligned(node, weight, 1, rank) if shape else weight)


def _softmax(node: CaffeNode) -> Operand:
    data = node.the_value()
    return node.result(Softmax(axis=node.axis(data.type.rank)), data)


NORMALIZATION: dict[str, Converter] = {
    "BN": _batch_norm_of_forks,
    "BatchNorm": _batch_norm,
    "LRN": _response_normalization,
    "MVN": _mean_variance,
    "Normalize": _normalize,
    "Softmax": _softmax,
}
