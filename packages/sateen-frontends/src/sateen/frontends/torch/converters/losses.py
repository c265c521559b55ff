"""Losses, which compare a result with a target."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
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


LOSSES: dict[str, Converter] = {
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _cross_entropy_of_logits,
    "cosine_similarity": _cosine_similarity,
    "huber_loss": _smooth(huber=True),
    "kl_div": _divergence,
    "l1_loss": _absolute,
    "mse_loss": _squared,
    "smooth_l1_loss": _smooth(huber=False),
}
