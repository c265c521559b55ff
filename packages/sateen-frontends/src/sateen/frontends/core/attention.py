"""Scaled dot-product attention (Vaswani et al., Attention Is All You Need, 2017, section 3.2.1)."""

from __future__ import annotations

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import Add, BroadcastTo, MatMul, Multiply, Reshape, Softmax, Transpose


def attended(
    node: ModelNode, query: Value, key: Value, value: Value, scale: float, bias: Value | None = None
) -> tuple[Value, Value]:
    """softmax(scale · query · keyᵀ + bias) · value, and the scores that softmax takes.

    Shapes: query [batch, heads, rows, width], key [batch, heads, columns, width], value [batch, heads, columns, width
    of values]; bias broadcasts to [batch, heads, rows, columns].
    """
    turned = node.step(Transpose((0, 1, 3, 2)), key)
    scores = node.step(MatMul(), node.step(Multiply(), query, node.literal(scale, query.type.dtype)), turned)
    if bias is not None:
        scores = node.step(Add(), scores, bias)
    return node.step(MatMul(), node.step(Softmax(axis=3), scores), value), scores


def split_heads(node: ModelNode, data: Value, heads: int) -> Value:
    """[batch, rows, heads · width] as [batch, heads, rows, width]."""
    batch, rows, width = data.type.shape
    apart = node.step(Reshape((batch, rows, heads, width // heads)), data)
    return node.step(Transpose((0, 2, 1, 3)), apart)


def joined_heads(data: Value) -> tuple[Transpose, Reshape]:
    """The steps from [batch, heads, rows, width] to [batch, rows, heads · width]."""
    batch, heads, rows, width = data.type.shape
    return Transpose((0, 2, 1, 3)), Reshape((batch, rows, heads * width))


def repeated_heads(node: ModelNode, data: Value, heads: int) -> Value:
    """[batch, groups, rows, width] as [batch, heads, rows, width], each group for as many heads in a row."""
    batch, groups, rows, width = data.type.shape
    if groups == heads:
        return data
    assert isinstance(groups, int)
    each: Dim = heads // groups
    apart = node.step(Reshape((batch, groups, 1, rows, width)), data)
    spread = node.step(BroadcastTo((batch, groups, each, rows, width)), apart)
    return node.step(Reshape((batch, heads, rows, width)), spread)
