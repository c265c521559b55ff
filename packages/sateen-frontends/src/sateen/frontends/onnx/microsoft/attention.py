"""Attention in its fused forms (onnxruntime, docs/ContribOperators.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from sateen.frontends.core.attention import attended, joined_heads, split_heads
from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import applied, part
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, And, Concat, Greater, GreaterEqual, Less, Reshape, Transpose, Where
from sateen.runtime.errors import FrontendError

LEAST = -3.4028234663852886e38
"""The least float32, which onnxruntime adds to the scores that a causal network must not see."""


@dataclass(frozen=True, slots=True)
class Projected:
    """Query [batch, heads, rows, width], and key and value [batch, heads, columns, width] with what was before."""

    query: Value
    key: Value
    value: Value


def _with_past(node: OnnxNode, projected: Projected, past_key: Value | None, past_value: Value | None) -> Projected:
    if past_key is None or past_value is None:
        return projected
    joined = Concat(axis=2)
    key, value = node.step(joined, past_key, projected.key), node.step(joined, past_value, projected.value)
    return Projected(projected.query, key, value)


def _result(node: OnnxNode, projected: Projected, bias: Value | None) -> Value:
    """The node's result [batch, rows, heads · width]."""
    width = static_extents(projected.query.type.shape, "the query")[3]
    given = node.attribute("scale")
    mixed, _ = attended(node, projected.query, projected.key, projected.value, given or 1 / sqrt(width), bias)
    turn, flat = joined_heads(mixed)
    return node.result(flat, node.step(turn, mixed))


def _total(node: OnnxNode, terms: Sequence[Value | None]) -> Value | None:
    present = [term for term in terms if term is not None]
    total = present[0] if present else None
    for term in present[1:]:
        assert total is not None
        total = node.step(Add(), total, term)
    return total


def _bias_of(node: OnnxNode, is_seen: Value, least: float) -> Value:
    """Zeros where a column is seen, and a number that softmax makes 0 elsewhere."""
    dtype = node.dtype(0)
    return node.step(Where(), is_seen, node.literal(0, dtype), node.literal(least, dtype))


def _causal(node: OnnxNode, projected: Projected) -> Value:
    """A row sees the columns before it; the rows are the last ones."""
    rows, columns = (static_extents(v.type.shape, "attention")[2] for v in (projected.query, projected.key))
    require_few(rows, columns)
    seen = node.counted(columns)[None, :] <= node.counted(rows)[:, None] + columns - rows
    bias = np.where(seen, 0.0, max(LEAST, float(np.finfo(node.dtype(0).numpy).min)))
    return node.parameter(bias.astype(node.dtype(0).numpy)[None, None], "causal")


def _masked(node: OnnxNode, index: int, projected: Projected) -> Value | None:
    """The bias of a mask: lengths [batch], ends and starts [2 · batch], or 0 and 1 over columns, perhaps per row."""
    if not node.has(index):
        return None
    batch, _, rows, _ = static_extents(projected.query.type.shape, "the query")
    columns = static_extents(projected.key.type.shape, "the key")[2]
    mask, shape, dtype = node.value(index), node.static_shape(index), node.dtype(index)
    least = node.number("mask_filter_value") if node.attribute("mask_filter_value") is not None else -10000.0
    places = node.positions(columns, dtype)
    if shape == (batch,) or shape == (2 * batch,):
        ends = node.step(
            Reshape((batch, 1)), part(node, mask, 0, 0, batch) if len(mask.type.shape) and shape != (batch,) else mask
        )
        seen = node.step(Less(), places, ends)
        if shape == (2 * batch,) and batch:
            starts = node.step(Reshape((batch, 1)), part(node, mask, 0, batch, 2 * batch))
            seen = node.step(And(), seen, node.step(GreaterEqual(), places, starts))
        return _bias_of(node, node.step(Reshape((batch, 1, 1, columns)), seen), least)
    by_shape = {(batch, columns): (batch, 1, 1, columns), (batch, rows, columns): (batch, 1, rows, columns)}
    if shape not in by_shape:
        raise UnsupportedError(f"a mask of shape {list(shape)} is not supported")
    seen = node.step(Greater(), mask, node.literal(0, dtype))
    return _bias_of(node, node.step(Reshape(by_shape[shape]), seen), least)


def _attention(node: OnnxNode) -> Sequence[Operand]:
    """Input [batch, rows, in] times weights [in, query + key + value], in heads."""
    if node.attribute("do_rotary") or node.attribute("past_present_share_buffer") or node.has(6):
        raise UnsupportedError("rotary embedding and shared buffers within Attention are not supported")
    heads, (_, whole) = node.integer("num_heads"), node.static_shape(1)
    widths = node.optional_integers("qkv_hidden_sizes") or (whole // 3,) * 3
    if len(widths) != 3 or sum(widths) != whole or any(width % heads for width in widths):
        raise FrontendError(f"expected widths of query, key and value that {heads} heads divide, found {list(widths)}")
    product = applied(node, "MatMul", [node.value(0), node.value(1)])
    if node.has(2):
        product = node.step(Add(), product, node.value(2))
    ends = np.cumsum(widths)
    query, key, value = (
        split_heads(node, part(node, product, 2, int(end - width), int(end)), heads)
        for width, end in zip(widths, ends, strict=True)
    )
    past: list[Value | None] = [None, None]
    if node.has(4):
        _, *rest = node.shape(4)
        past = [node.step(Reshape(tuple(rest)), part(node, node.value(4), 0, i, i + 1)) for i in (0, 1)]
    projected = _with_past(node, Projected(query, key, value), *past)
    causal = _causal(node, projected) if node.flag("unidirectional") else None
    bias = _total(node, [_masked(node, 3, projected), causal, node.value(5) if node.has(5) else None])
    result = _result(node, projected, bias)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return (result,)
    both = [node.step(Reshape((1, *v.type.shape)), v) for v in (projected.key, projected.value)]
    return result, node.result(Concat(axis=0), *both, output=1)


def _multi_head(node: OnnxNode) -> Sequence[Operand]:
    """Query, key and value apart, packed together, or in heads already."""
    if node.has(8) or node.has(9) or len(node.outputs) > 3:
        raise UnsupportedError("shared buffers, beams and the output of scores are not supported")
    heads = node.integer("num_heads")
    projected = _with_past(node, _heads_of(node, heads), *(node.value(i) if node.has(i) else None for i in (6, 7)))
    causal = _causal(node, projected) if node.flag("unidirectional") else None
    bias = _total(node, [_masked(node, 4, projected), causal, node.value(5) if node.has(5) else None])
    return (_result(node, projected, bias), projected.key, projected.value)[: max(len(node.outputs), 1)]


def _heads_of(node: OnnxNode, heads: int) -> Projected:
    """What MultiHeadAttention projects, with the bias that belongs to each."""
    if node.rank(0) == 5:  # [batch, rows, heads, 3, width]
        packed = node.step(Transpose((3, 0, 2, 1, 4)), node.value(0))
        query, key, value = (
            node.step(Reshape(tuple(packed.type.shape[1:])), part(node, packed, 0, i, i + 1)) for i in range(3)
        )
        if node.has(3):
            raise UnsupportedError("a bias of packed query, key and value is not supported", "export without fusions")
        return Projected(query, key, value)
    if not node.has(1):
        raise FrontendError("expected a key, or query, key and value in one of five dimensions")
    width = node.static_shape(0)[2]
    query_bias, key_bias, value_bias = _biases(node, width)
    query = split_heads(node, _plus(node, node.value(0), query_bias), heads)
    if node.rank(1) == 5:  # [batch, columns, heads, 2, width]
        packed = node.step(Transpose((3, 0, 2, 1, 4)), node.value(1))
        key, value = (node.step(Reshape(tuple(packed.type.shape[1:])), part(node, packed, 0, i, i + 1)) for i in (0, 1))
        return Projected(query, key, value)
    if node.rank(1) == 4:
        return Projected(query, node.value(1), node.value(2))
    key, value = (
        split_heads(node, _plus(node, node.value(i), bias), heads) for i, bias in ((1, key_bias), (2, value_bias))
    )
    return Projected(query, key, value)


def _biases(node: OnnxNode, width: int) -> list[Value | None]:
    """The parts of the bias for query, key and value."""
    if not node.has(3):
        return [None] * 3
    (whole,) = node.static_shape(3)
    ends = (0, width, 2 * width, whole)
    return [part(node, node.value(3), 0, begin, end) for begin, end in pairwise(ends)]


def _plus(node: OnnxNode, data: Value, bias: Value | None) -> Value:
    return data if bias is None else node.step(Add(), data, bias)


def _relative_position_bias(node: OnnxNode) -> Operand:
    """The bias [1, heads, rows, columns] of T5: a row of the table by the logarithm of the distance
    (Raffel et al., 2020, section 2.1; transformers, T5Attention._relative_position_bucket)."""
    buckets, _ = node.static_shape(0)
    rows, columns = int(node.scalar(1)), int(node.scalar(2))
    most = node.integer("max_distance")
    require_few(rows, columns)
    distance = node.counted(rows)[:, None] - node.counted(columns)[None, :]
    places = np.zeros((rows, columns), np.int64)
    if node.flag("is_bidirectional"):
        buckets //= 2
        places += (distance < 0) * buckets
        distance = np.abs(distance)
    else:
        distance = np.maximum(distance, 0)
    exact = buckets // 2
    with np.errstate(divide="ignore"):
        ratio = np.log(distance.astype(np.float32) / np.float32(exact)) / np.float32(np.log(most / exact))
        far = exact + (np.where(distance < exact, 0, ratio) * np.float32(buckets - exact)).astype(np.int64)
    places += np.where(distance < exact, distance, np.minimum(far, buckets - 1))
    rows_of = applied(node, "Gather", [node.value(0), node.parameter(places, "buckets")], {"axis": 0})
    turned = node.step(Transpose((2, 0, 1)), rows_of)
    return node.result(Reshape((1, *turned.type.shape)), turned)


_HEADS = {"mask_filter_value": float, "num_heads": int, "scale": float, "unidirectional": 0}
ATTENTION: dict[str, Description] = {
    "Attention": Description(
        _attention,
        "input weights bias? mask_index:index? past? attention_bias? past_sequence_length:index?",
        2,
        {
            **_HEADS,
            "do_rotary": 0,
            "past_present_share_buffer": 0,
            "qkv_hidden_sizes": list[int],
            "rotary_embedding_dim": 0,
        },
    ),
    "MultiHeadAttention": Description(
        _multi_head,
        "query key? value? bias? key_padding_mask:index? attention_bias? past_key? past_value? "
        "past_sequence_length:index? cache_indirection:index?",
        4,
        _HEADS,
    ),
    "RelativePositionBias": Description(
        _relative_position_bias,
        "bias_table query_length:index key_length:index",
        1,
        {"is_bidirectional": 0, "max_distance": int},
    ),
}
