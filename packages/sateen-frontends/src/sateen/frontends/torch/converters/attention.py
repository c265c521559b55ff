"""Attention."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value


def _attention(node: TorchNode) -> Operand:
    """softmax(q·kᵀ·scale + mask)·v; a query that may look at nothing gives 0, not NaN (_safe_softmax in
    aten/src/ATen/native/transformers/attention.cpp). The mask is added, or bool: where it holds, keys take part."""
    query, key, value = (node.tensor(name) for name in ("query", "key", "value"))
    if node.number("dropout_p", 0.0):
        raise UnsupportedError("dropout of training is not supported", "export the module after eval()")
    if node.flag("enable_gqa"):
        key, value = (_per_head(node, v, query) for v in (key, value))
    dtype = query.type.dtype
    (width,) = static_extents(query.type.shape[-1:], "the width of a query")
    scale = node.number("scale") if node.gives("scale") else width**-0.5
    rank = key.type.rank
    columns = node.step(ops.Transpose(permutation=(*range(rank - 2), rank - 1, rank - 2)), key)
    scores = node.step(ops.MatMul(), node.step(ops.Multiply(), query, node.literal(scale, dtype)), columns)
    mask = node.optional("attn_mask")
    if node.flag("is_causal"):
        queries, keys = static_extents(scores.type.shape[-2:], "a causal mask")
        node.require_table(queries + keys)
        rows, places = node.parameter(np.arange(queries)[:, None], "rows"), node.parameter(np.arange(keys), "keys")
        mask = node.step(ops.GreaterEqual(), rows, places)
        scores = _masked(node, scores, mask)
        weights = node.step(ops.Softmax(axis=scores.type.rank - 1), scores)
    elif mask is not None:
        scores = _masked(node, scores, mask)
        weights = _safe_softmax(node, scores, scores.type.rank - 1)
    else:
        weights = node.step(ops.Softmax(axis=scores.type.rank - 1), scores)
    return node.result(ops.MatMul(), weights, value)


def _per_head(node: TorchNode, value: Value, query: Value) -> Value:
    """A key or value whose heads each serve several of the query's."""
    *batch, heads, length, width = value.type.shape
    count, fewer = static_extents((query.type.shape[-3], heads), "the heads of an attention")
    apart = node.reshaped(value, (*batch, heads, 1, length, width))
    spread = node.broadcast(apart, (*batch, heads, count // fewer, length, width))
    return node.reshaped(spread, (*batch, count, length, width))


def _masked(node: TorchNode, scores: Value, mask: Value) -> Value:
    if mask.type.dtype.is_bool:
        return node.step(ops.Where(), mask, scores, node.literal(float("-inf"), scores.type.dtype))
    return node.step(ops.Add(), scores, mask)


def _safe_softmax(node: TorchNode, scores: Value, axis: int) -> Value:
    dtype = scores.type.dtype
    largest = node.step(ops.ReduceMax(axes=(axis,)), scores)
    nothing = node.step(ops.Equal(), largest, node.literal(float("-inf"), dtype))
    return node.step(ops.Where(), nothing, node.literal(0, dtype), node.step(ops.Softmax(axis=axis), scores))


def _safe(node: TorchNode) -> Operand:
    data = node.tensor("self")
    node.ignore("dtype")
    data = node.cast(data, node.result_dtype())
    axis = node.one_axis(data.type.rank)
    if data.type.rank:
        return node.result(ops.Identity(), _safe_softmax(node, data, axis))
    return node.result(ops.Reshape(shape=()), _safe_softmax(node, node.reshaped(data, (1,)), 0))


ATTENTION: dict[str, Converter] = {
    "_safe_softmax": _safe,
    "scaled_dot_product_attention": _attention,
}
