"""Normalisations and softmax, as at inference."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.reduce import moments
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.dimensions import product

_EVAL = "export the module after eval()"


def _vector(node: TorchNode, name: str, number: float, data: Value) -> Value:
    """An optional vector over channels; one of a number where there is none."""
    found = node.optional(name)
    if found is not None:
        return found
    return node.broadcast(node.literal(number, data.type.dtype), data.type.shape[1:2])


def _batch_norm(node: TorchNode) -> Operand:
    """With the running statistics; without any, with those of the batch."""
    data = node.tensor("input")
    scale, bias = _vector(node, "weight", 1, data), _vector(node, "bias", 0, data)
    mean, variance = node.optional("running_mean"), node.optional("running_var")
    node.ignore("momentum")
    if node.flag("training") and mean is not None:
        raise UnsupportedError("batch normalisation in training, which changes its statistics, is not supported", _EVAL)
    if mean is None or variance is None:
        others = [axis for axis in range(data.type.rank) if axis != 1]
        found = moments(node, data, others, 0)
        mean, variance = (node.reshaped(v, data.type.shape[1:2]) for v in found)
    return node.result(ops.BatchNormalization(epsilon=node.number("eps", 1e-5)), data, scale, bias, mean, variance)


def _batch_norm_with_statistics(node: TorchNode) -> Sequence[Operand]:
    """The operator of the core set, whose further results, statistics of training, are empty at inference
    (batch_norm_cpu in aten/src/ATen/native/Normalization.cpp)."""
    first = _batch_norm(node)
    return [first, *[node.broadcast(node.literal(0, DType.of("float32")), (0,))] * (len(node.outputs) - 1)]


def _batch_norm_of_batch(node: TorchNode) -> Sequence[Operand]:
    """With the statistics of the batch, which are further results: the mean, and 1 / √(variance + eps)."""
    data, epsilon = node.tensor("input"), node.number("eps")
    node.ignore("momentum", "training")
    scale, bias = _vector(node, "weight", 1, data), _vector(node, "bias", 0, data)
    others = [axis for axis in range(data.type.rank) if axis != 1]
    mean, variance = (node.reshaped(v, data.type.shape[1:2]) for v in moments(node, data, others, 0))
    first = node.result(ops.BatchNormalization(epsilon=epsilon), data, scale, bias, mean, variance)
    spread = node.step(ops.Add(), variance, node.literal(epsilon, data.type.dtype))
    return [first, mean, node.step(ops.Reciprocal(), node.step(ops.Sqrt(), spread))]


def _layer_norm(node: TorchNode) -> Operand:
    data, scale, bias = node.tensor("input"), node.optional("weight"), node.optional("bias")
    axis = data.type.rank - len(node.dims("normalized_shape"))
    return node.result(_layer_operator(node, axis), data, _scale(node, data, axis, scale), bias)


def _layer_operator(node: TorchNode, axis: int) -> ops.LayerNormalization:
    return ops.LayerNormalization(axis=axis, epsilon=node.number("eps", 1e-5))


def _scale(node: TorchNode, data: Value, axis: int, given: Value | None) -> Value:
    if given is not None:
        return given
    return node.broadcast(node.literal(1, data.type.dtype), data.type.shape[axis:])


def _layer_norm_with_statistics(node: TorchNode) -> Sequence[Operand]:
    """Also the mean and the inverse deviation, which keep the axes."""
    data, scale, bias = node.tensor("input"), node.optional("weight"), node.optional("bias")
    axis = data.type.rank - len(node.dims("normalized_shape"))
    first = node.result(_layer_operator(node, axis), data, _scale(node, data, axis, scale), bias)
    return [first, *_statistics(node, data, range(axis, data.type.rank))]


def _statistics(node: TorchNode, data: Value, axes: Sequence[int]) -> list[Value]:
    mean, variance = moments(node, data, axes, 0)
    spread = node.step(ops.Add(), variance, node.literal(node.number("eps", 1e-5), data.type.dtype))
    return [mean, node.step(ops.Reciprocal(), node.step(ops.Sqrt(), spread))]


def _group_norm(node: TorchNode) -> Operand:
    data = node.tensor("input")
    op = ops.GroupNormalization(groups=node.integer("num_groups"), epsilon=node.number("eps", 1e-5))
    return node.result(op, data, _vector(node, "weight", 1, data), _vector(node, "bias", 0, data))


def _group_norm_with_statistics(node: TorchNode) -> Sequence[Operand]:
    """native_group_norm: also the mean and the inverse deviation of each group, [N, groups]."""
    data, groups = node.tensor("input"), node.integer("group")
    node.ignore("N", "C", "HxW")
    op = ops.GroupNormalization(groups=groups, epsilon=node.number("eps"))
    first = node.result(op, data, _vector(node, "weight", 1, data), _vector(node, "bias", 0, data))
    batch = data.type.shape[0]
    flat = node.reshaped(data, (batch, groups, product(data.type.shape[1:]) // groups))
    return [first, *(node.reshaped(v, (batch, groups)) for v in _statistics(node, flat, (2,)))]


def _instance_norm(node: TorchNode) -> Operand:
    """Statistics of each channel of each element of the batch, or running ones."""
    data = node.tensor("input")
    node.ignore("momentum")
    scale, bias = _vector(node, "weight", 1, data), _vector(node, "bias", 0, data)
    epsilon = node.number("eps", 1e-5)
    if node.flag("use_input_stats", True):
        if node.gives("running_mean"):
            raise UnsupportedError("instance normalisation that changes its statistics is not supported", _EVAL)
        node.ignore("running_var")
        return node.result(ops.InstanceNormalization(epsilon=epsilon), data, scale, bias)
    mean, variance = node.tensor("running_mean"), node.tensor("running_var")
    return node.result(ops.BatchNormalization(epsilon=epsilon), data, scale, bias, mean, variance)


def _rms_norm(node: TorchNode) -> Operand:
    """x / √(mean of x² + eps) · weight; eps is by default that of the element type."""
    data, weight = node.tensor("input"), node.optional("weight")
    axis = data.type.rank - len(node.dims("normalized_shape"))
    dtype = data.type.dtype
    by_default = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[str(dtype)]
    epsilon = node.number("eps") if node.gives("eps") else by_default
    square = node.step(ops.Multiply(), data, data)
    mean = node.step(ops.ReduceMean(axes=tuple(range(axis, data.type.rank))), square)
    spread = node.step(ops.Sqrt(), node.step(ops.Add(), mean, node.literal(epsilon, dtype)))
    if weight is None:
        return node.result(ops.Divide(), data, spread)
    return node.result(ops.Multiply(), node.step(ops.Divide(), data, spread), weight)


def _softmax(logarithm: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        given = node.tensor("self")
        dtype = node.element_type() or floating(given.type.dtype)
        node.ignore("half_to_float")
        data = node.cast(given, dtype)
        rank = data.type.rank
        axis = node.one_axis(rank)
        op = ops.LogSoftmax(axis=axis) if logarithm else ops.Softmax(axis=axis)
        if rank:
            return node.result(op, data)
        return node.result(ops.Reshape(shape=()), node.step(op, node.reshaped(data, (1,))))

    return convert


def _normalized_weight(node: TorchNode) -> Operand:
    """_weight_norm: v · g / ‖v‖, the norm over all axes but one."""
    v, g = node.tensor("v"), node.tensor("g")
    axis = node.one_axis(v.type.rank, default=0)
    others = tuple(d for d in range(v.type.rank) if d != axis)
    norm = node.step(ops.ReduceL2(axes=others), v)
    return node.result(ops.Multiply(), v, node.step(ops.Divide(), g, norm))


NORMALIZATION: dict[str, Converter] = {
    "_batch_norm_no_update": _batch_norm_with_statistics,
    "_log_softmax": _softmax(logarithm=True),
    "_native_batch_norm_legit.no_stats": _batch_norm_of_batch,
    "_native_batch_norm_legit": _batch_norm_with_statistics,
    "_native_batch_norm_legit_no_training": _batch_norm_with_statistics,
    "_softmax": _softmax(logarithm=False),
    "_weight_norm": _normalized_weight,
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "layer_norm": _layer_norm,
    "log_softmax": _softmax(logarithm=True),
    "native_batch_norm": _batch_norm_with_statistics,
    "native_group_norm": _group_norm_with_statistics,
    "native_layer_norm": _layer_norm_with_statistics,
    "rms_norm": _rms_norm,
    "softmax": _softmax(logarithm=False),
    "special_log_softmax": _softmax(logarithm=True),
    "special_softmax": _softmax(logarithm=False),
}
