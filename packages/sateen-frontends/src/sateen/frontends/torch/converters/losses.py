"""Losses, which compare a result with a target."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value


def _reduced(node: TorchNode, losses: Value) -> Operand:
    """The mean (1) or sum (2) of all losses, or each of them (0)."""
    reduction = node.integer("reduction", 1)
    axes = tuple(range(losses.type.rank))
    if reduction == 0:
        return node.result(ops.Identity(), losses)
    op = ops.ReduceMean(axes=axes, keepdims=False) if reduction == 1 else ops.ReduceSum(axes=axes, keepdims=False)
    return node.result(op, losses)


def _apart(node: TorchNode) -> Value:
    return node.step(ops.Subtract(), node.tensor("self"), node.tensor("target"))


def _squared(node: TorchNode) -> Operand:
    apart = _apart(node)
    return _reduced(node, node.step(ops.Multiply(), apart, apart))


def _absolute(node: TorchNode) -> Operand:
    return _reduced(node, node.step(ops.Abs(), _apart(node)))


def _smooth(huber: bool) -> Converter:
    """Quadratic below beta (delta of huber_loss, which is not divided by it), linear above."""

    def convert(node: TorchNode) -> Operand:
        beta = node.number("delta" if huber else "beta", 1.0)
        apart = node.step(ops.Abs(), _apart(node))
        dtype = apart.type.dtype
        square = node.step(ops.Multiply(), node.step(ops.Multiply(), apart, apart), node.literal(0.5, dtype))
        if not huber and beta:
            square = node.step(ops.Divide(), square, node.literal(beta, dtype))
        line = node.step(ops.Subtract(), apart, node.literal(0.5 * beta, dtype))
        line = node.step(ops.Multiply(), line, node.literal(beta, dtype)) if huber else line
        is_near = node.step(ops.Less(), apart, node.literal(beta, dtype))
        return _reduced(node, node.step(ops.Where(), is_near, square, line))

    return convert


def _binary_cross_entropy(node: TorchNode) -> Operand:
    """-(t·log x + (1 - t)·log(1 - x)), logarithms limited to -100 (aten/src/ATen/native/Loss.cpp)."""
    data, target = node.tensor("self"), node.tensor("target")
    dtype = data.type.dtype
    one = node.literal(1, dtype)
    limit = ops.Clip(low=-100.0)
    hit = node.step(limit, node.step(ops.Log(), data))
    miss = node.step(limit, node.step(ops.Log1p(), node.step(ops.Negative(), data)))
    kept = node.step(ops.Multiply(), node.step(ops.Subtract(), target, one), miss)
    return _reduced(node, _weighted(node, node.step(ops.Subtract(), kept, node.step(ops.Multiply(), target, hit))))


def _cross_entropy_of_logits(node: TorchNode) -> Operand:
    """(1 - t)·x + log(1 + e^-x)·(1 + (pos_weight - 1)·t)."""
    data, target = node.tensor("self"), node.tensor("target")
    one = node.literal(1, data.type.dtype)
    soft = node.step(ops.Softplus(), node.step(ops.Negative(), data))
    positive = node.optional("pos_weight")
    if positive is not None:
        more = node.step(ops.Multiply(), node.step(ops.Subtract(), positive, one), target)
        soft = node.step(ops.Multiply(), node.step(ops.Add(), more, one), soft)
    kept = node.step(ops.Multiply(), node.step(ops.Subtract(), one, target), data)
    return _reduced(node, _weighted(node, node.step(ops.Add(), kept, soft)))


def _weighted(node: TorchNode, losses: Value) -> Value:
    weight = node.optional("weight")
    return losses if weight is None else node.step(ops.Multiply(), losses, weight)


def _divergence(node: TorchNode) -> Operand:
    """kl_div: t·(log t - x), 0 where t is 0; or e^t·(t - x) of a logarithmic target."""
    data, target = node.tensor("self"), node.tensor("target")
    if node.flag("log_target"):
        apart = node.step(ops.Subtract(), target, data)
        return _reduced(node, node.step(ops.Multiply(), node.step(ops.Exp(), target), apart))
    zero = node.literal(0, target.type.dtype)
    own = node.step(ops.Multiply(), target, node.step(ops.Log(), target))
    own = node.step(ops.Where(), node.step(ops.Equal(), target, zero), zero, own)
    return _reduced(node, node.step(ops.Subtract(), own, node.step(ops.Multiply(), target, data)))


def _cosine_similarity(node: TorchNode) -> Operand:
    """x·y / (max(‖x‖, eps)·max(‖y‖, eps)) (aten/src/ATen/native/Distance.cpp)."""
    one, other = node.tensor("x1"), node.tensor("x2")
    eps = node.number("eps", 1e-8)
    axis = node.one_axis(max(one.type.rank, other.type.rank), default=1)
    if one.type.rank != other.type.rank:
        raise UnsupportedError("cosine_similarity of tensors of different ranks is not supported")

    def unit(value: Value) -> Value:
        norm = node.step(ops.ReduceL2(axes=(axis,)), value)
        return node.step(ops.Divide(), value, node.step(ops.Clip(low=eps), norm))

    products = node.step(ops.Multiply(), unit(one), unit(other))
    return node.result(ops.ReduceSum(axes=(axis,), keepdims=False), products)


def _class_loss(node: TorchNode) -> Operand:
    """nll_loss: -weight·x of the class that a target names; a mean divides by the weights. Classes are axis 1, or 0 of
    a vector; targets of `ignore_index` count for nothing."""
    data = node.tensor("self")
    losses, weights = _of_classes(node, data, node.tensor("target"))
    return _averaged(node, losses, weights)


def _class_loss_with_weight(node: TorchNode) -> Sequence[Operand]:
    """nll_loss_forward: also the sum of the weights, 0 if nothing is summed (nll_loss_out_frame in
    aten/src/ATen/native/LossNLL.cpp)."""
    data = node.tensor("self")
    losses, weights = _of_classes(node, data, node.tensor("target"))
    total = node.step(ops.ReduceSum(axes=tuple(range(weights.type.rank)), keepdims=False), weights)
    if node.integer("reduction", 1) == 0:
        total = node.literal(0, data.type.dtype)
    return [_averaged(node, losses, weights), node.result(ops.Identity(), total, output=1)]


def _cross_entropy(node: TorchNode) -> Operand:
    """The class loss of the logarithm of softmax, or -Σ t·log of targets that are probabilities; smoothing mixes the
    target with the mean of all classes (cross_entropy_loss in aten/src/ATen/native/LossNLL.cpp)."""
    data, target = node.tensor("self"), node.tensor("target")
    axis = min(1, data.type.rank - 1)
    smoothing = node.number("label_smoothing", 0.0)
    logs = node.step(ops.LogSoftmax(axis=axis), data)
    if target.type.dtype.is_float:
        return _soft_targets(node, logs, target, axis, smoothing)
    losses, weights = _of_classes(node, logs, target)
    if not smoothing:
        return _averaged(node, losses, weights)
    weight = _per_class(node, logs, axis)
    weighted = logs if weight is None else node.step(ops.Multiply(), logs, weight)
    smooth = node.step(ops.Negative(), node.step(ops.ReduceSum(axes=(axis,), keepdims=False), weighted))
    smooth = node.step(ops.Where(), _is_counted(node, target), smooth, node.literal(0, logs.type.dtype))
    (classes,) = static_extents(data.type.shape[axis : axis + 1], "the number of classes")
    kept = node.step(ops.Multiply(), losses, node.literal(1 - smoothing, logs.type.dtype))
    spread = node.step(ops.Multiply(), smooth, node.literal(smoothing / classes, logs.type.dtype))
    return _averaged(node, node.step(ops.Add(), kept, spread), weights)


def _soft_targets(node: TorchNode, logs: Value, target: Value, axis: int, smoothing: float) -> Operand:
    """A mean divides by the number of targets, whatever their weights."""
    node.ignore("ignore_index")
    if smoothing:
        (classes,) = static_extents(logs.type.shape[axis : axis + 1], "the number of classes")
        target = node.step(ops.Multiply(), target, node.literal(1 - smoothing, target.type.dtype))
        target = node.step(ops.Add(), target, node.literal(smoothing / classes, target.type.dtype))
    terms = node.step(ops.Multiply(), logs, target)
    weight = _per_class(node, logs, axis)
    terms = terms if weight is None else node.step(ops.Multiply(), terms, weight)
    losses = node.step(ops.Negative(), node.step(ops.ReduceSum(axes=(axis,), keepdims=False), terms))
    return _reduced(node, losses)


def _per_class(node: TorchNode, logs: Value, axis: int) -> Value | None:
    """The weights of classes along their axis."""
    weight = node.optional("weight")
    return weight and node.reshaped(weight, (*weight.type.shape, *(1,) * (logs.type.rank - axis - 1)))


def _is_counted(node: TorchNode, target: Value) -> Value:
    ignored = node.literal(node.integer("ignore_index", -100), target.type.dtype)
    return node.step(ops.NotEqual(), target, ignored)


def _of_classes(node: TorchNode, logs: Value, target: Value) -> tuple[Value, Value]:
    """-weight·x of each target's class, and its weight; both 0 where the target is ignored."""
    dtype = logs.type.dtype
    axis = min(1, logs.type.rank - 1)
    counted = _is_counted(node, target)
    place = node.step(ops.Where(), counted, target, node.literal(0, target.type.dtype))
    shape = target.type.shape
    wide = node.reshaped(place, (*shape[:axis], 1, *shape[axis:]))
    chosen = node.reshaped(node.step(ops.GatherElements(axis=axis), logs, wide), shape)
    weight = node.optional("weight")
    given = node.literal(1, dtype) if weight is None else node.step(ops.Gather(axis=0), weight, place)
    weights = node.step(ops.Where(), counted, given, node.literal(0, dtype))
    losses = node.step(ops.Multiply(), node.step(ops.Negative(), chosen), weights)
    return node.step(ops.Where(), counted, losses, node.literal(0, dtype)), weights


def _averaged(node: TorchNode, losses: Value, weights: Value) -> Operand:
    """As the reduction says, where a mean divides by the sum of the weights."""
    if node.integer("reduction", 1) != 1:
        return _reduced(node, losses)
    if losses.type.rank:
        total = ops.ReduceSum(axes=tuple(range(losses.type.rank)), keepdims=False)
        losses, weights = node.step(total, losses), node.step(total, weights)
    return node.result(ops.Divide(), losses, weights)


LOSSES: dict[str, Converter] = {
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _cross_entropy_of_logits,
    "cosine_similarity": _cosine_similarity,
    "cross_entropy_loss": _cross_entropy,
    "huber_loss": _smooth(huber=True),
    "kl_div": _divergence,
    "l1_loss": _absolute,
    "mse_loss": _squared,
    "nll_loss": _class_loss,
    "nll_loss2d": _class_loss,
    "nll_loss2d_forward": _class_loss_with_weight,
    "nll_loss_forward": _class_loss_with_weight,
    "nll_loss_nd": _class_loss,
    "smooth_l1_loss": _smooth(huber=False),
}
