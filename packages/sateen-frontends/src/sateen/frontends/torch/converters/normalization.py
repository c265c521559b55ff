"""Normalisations and softmax, as at inference."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.torch.converters.reductions import moments
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.dimensions import product


def _vector(node: TorchNode, name: str, number: float, data: Value) -> Value:
    """An optional vector over channels; one of a number where there is none."""
    found = node.optional(name)
    if found is not None:
        return found
    return node.broadcast(node.literal(number, data.type.dtype), data.type.shape[1:2])


def _batch_norm(node: TorchNode) -> Sequence[Operand]:
    """With the running statistics; in training, or without any, with those of the batch. In training the running ones
    as they are then are further results."""
    data = node.tensor("input")
    running = _running(node)
    if running is None or node.flag("training"):
        found, mean, variance = _normalized(node, data)
        return [found] if running is None else [found, *_updated(node, data, running, (mean, variance), 1)]
    node.ignore("momentum")
    return [_applied(node, data, *running)]


def _native_batch_norm(functional: bool) -> Converter:
    """The operators of the core set. Further results are the mean and 1 / √(variance + eps) of the batch, which are
    empty at inference (batch_norm_cpu in aten/src/ATen/native/Normalization.cpp), and the running statistics as they
    are then, `functional` also at inference."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        data = node.tensor("input")
        running = _running(node)
        if running is not None and not node.flag("training"):
            node.ignore("momentum")
            kept = [node.result(ops.Identity(), v, output=i) for i, v in enumerate(running, 3)] if functional else []
            empty = node.broadcast(node.literal(0, DType.of("float32")), (0,))
            return [_applied(node, data, *running), *[empty] * (len(node.outputs) - 1 - len(kept)), *kept]
        found, mean, variance = _normalized(node, data)
        spread = node.step(ops.Add(), variance, node.literal(node.number("eps"), data.type.dtype))
        batch = [mean, node.step(ops.Reciprocal(), node.step(ops.Sqrt(), spread))]
        return [found, *batch, *(_updated(node, data, running, (mean, variance), 3) if running is not None else ())]

    return convert


def _running(node: TorchNode) -> tuple[Value, Value] | None:
    mean, variance = node.optional("running_mean"), node.optional("running_var")
    return None if mean is None or variance is None else (mean, variance)


def _applied(node: TorchNode, data: Value, mean: Value, variance: Value) -> Operand:
    scale, bias = _vector(node, "weight", 1, data), _vector(node, "bias", 0, data)
    return node.result(ops.BatchNormalization(epsilon=node.number("eps", 1e-5)), data, scale, bias, mean, variance)


def _normalized(node: TorchNode, data: Value) -> tuple[Operand, Value, Value]:
    """With the statistics of the batch, which are the other results."""
    node.ignore("momentum", "training")
    others = [axis for axis in range(data.type.rank) if axis != 1]
    mean, variance = (node.reshaped(v, data.type.shape[1:2]) for v in moments(node, data, others, 0))
    return _applied(node, data, mean, variance), mean, variance


def _updated(
    node: TorchNode, data: Value, running: tuple[Value, Value], found: tuple[Value, Value], output: int
) -> list[Operand]:
    """The running statistics after a batch: (1 - momentum)·before + momentum·found, of which the variance has the
    correction 1, while that of `found` has none (batch_norm_cpu_update_stats_template)."""
    momentum = node.number("momentum", 0.1)
    (count,) = static_extents([product((data.type.shape[0], *data.type.shape[2:]))], "the extent of a batch")
    factors = (momentum, momentum * (count / (count - 1) if count > 1 else inf))
    return [
        _mixed(node, before, now, momentum, factor, output + i)
        for i, (before, now, factor) in enumerate(zip(running, found, factors, strict=True))
    ]


def _mixed(node: TorchNode, before: Value, now: Value, momentum: float, factor: float, output: int) -> Operand:
    kept = node.step(ops.Multiply(), before, node.literal(1 - momentum, before.type.dtype))
    added = node.step(ops.Multiply(), now, node.literal(factor, now.type.dtype))
    return node.result(ops.Add(), kept, added, output=output)


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


def _instance_norm(node: TorchNode) -> Sequence[Operand]:
    """Statistics of each channel of each element of the batch, or running ones. With both the running ones as they are
    then, on the average of the batch, are further results (instance_norm in aten/src/ATen/native/Normalization.cpp)."""
    data = node.tensor("input")
    running = _running(node)
    if not node.flag("use_input_stats", True) and running is not None:
        node.ignore("momentum")
        return [_applied(node, data, *running)]
    scale, bias = _vector(node, "weight", 1, data), _vector(node, "bias", 0, data)
    found = node.result(ops.InstanceNormalization(epsilon=node.number("eps", 1e-5)), data, scale, bias)
    momentum = node.number("momentum", 0.1)
    if running is None:
        return [found]
    mean, variance = moments(node, data, range(2, data.type.rank), 0)
    (count,) = static_extents([product(data.type.shape[2:])], "the extent of a picture")
    factors = (momentum, momentum * (count / (count - 1) if count > 1 else inf))
    over_batch = ops.ReduceMean(axes=tuple(a for a in range(data.type.rank) if a != 1), keepdims=False)
    return [
        found,
        *(
            _mixed(node, before, node.step(over_batch, now), momentum, factor, i)
            for i, (before, now, factor) in enumerate(zip(running, (mean, variance), factors, strict=True), 1)
        ),
    ]


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
    "_batch_norm_no_update": _native_batch_norm(functional=False),
    "_log_softmax": _softmax(logarithm=True),
    "_native_batch_norm_legit": _native_batch_norm(functional=False),
    "_native_batch_norm_legit_functional": _native_batch_norm(functional=True),
    "_native_batch_norm_legit_no_training": _native_batch_norm(functional=False),
    "_softmax": _softmax(logarithm=False),
    "_weight_norm": _normalized_weight,
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "layer_norm": _layer_norm,
    "log_softmax": _softmax(logarithm=True),
    "native_batch_norm": _native_batch_norm(functional=False),
    "native_group_norm": _group_norm_with_statistics,
    "native_layer_norm": _layer_norm_with_statistics,
    "rms_norm": _rms_norm,
    "softmax": _softmax(logarithm=False),
    "special_log_softmax": _softmax(logarithm=True),
    "special_softmax": _softmax(logarithm=False),
}
