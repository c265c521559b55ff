"""Rotary position embedding, and attention of groups with a cache, which uses it (Su et al., RoFormer, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import numpy as np

from sateen.frontends.core.attention import attended, joined_heads, repeated_heads, split_heads
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.microsoft.attention import LEAST
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import applied, part
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    And,
    Cast,
    Concat,
    Greater,
    LessEqual,
    MatMul,
    Multiply,
    Reshape,
    Softmax,
    Subtract,
    Tanh,
    TensorScatter,
    Transpose,
    Where,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_INDEX = DType.of("int64")


def rotated(node: OnnxNode, data: Value, cosine: Value, sine: Value, *, interleaved: bool) -> Value:
    """Data [batch, heads, rows, width] whose rows have pairs of elements turned by angles [batch, 1, rows, half].

    A pair is (i, half + i), or with `interleaved` (2 · i, 2 · i + 1).
    """
    batch, heads, rows, width = data.type.shape
    half = static_extents(cosine.type.shape, "the angles")[3]
    if interleaved:
        left, right = (part(node, data, 3, i, 2 * half, 2) for i in (0, 1))
    else:
        left, right = part(node, data, 3, 0, half), part(node, data, 3, half, 2 * half)
    first = node.step(Subtract(), node.step(Multiply(), left, cosine), node.step(Multiply(), right, sine))
    second = node.step(Add(), node.step(Multiply(), left, sine), node.step(Multiply(), right, cosine))
    if interleaved:
        pairs = [node.step(Reshape((batch, heads, rows, half, 1)), value) for value in (first, second)]
        turned = [node.step(Reshape((batch, heads, rows, 2 * half)), node.step(Concat(axis=4), *pairs))]
    else:
        turned = [first, second]
    rest = [part(node, data, 3, 2 * half, width)] if isinstance(width, int) and 2 * half < width else []
    parts = [*turned, *rest]
    return node.step(Concat(axis=3), *parts) if len(parts) > 1 else parts[0]


def _angles(node: OnnxNode, cache: Value, places: Value) -> Value:
    """Rows of a cache [positions, half] at places [batch, rows], as [batch, 1, rows, half]."""
    found = applied(node, "Gather", [cache, places], {"axis": 0})
    batch, rows, half = found.type.shape
    return node.step(Reshape((batch, 1, rows, half)), found)


def _rotary(node: OnnxNode) -> Operand:
    """Position ids are those of each row [batch, rows], or one offset for all."""
    if node.attribute("is_packed_batching"):
        raise UnsupportedError("packed batches are not supported", "export with is_packed_batching=0")
    data, rank = node.value(0), node.rank(0)
    scale = node.attribute("scale")
    if scale not in (None, 1.0) or rank not in (3, 4):
        raise UnsupportedError(f"data of {rank} dimensions with scale {scale} is not supported")
    if rank == 3:
        heads = node.attribute("num_heads") or 0
        size = 2 * node.static_shape(2)[1]
        data = split_heads(node, data, heads or node.static_shape(0)[2] // size)
    rows = static_extents(data.type.shape, "the data")[2]
    places = node.value(1)
    if node.static_shape(1) in ((), (1,)):
        places = node.step(Add(), places, node.positions(rows))
        places = node.step(Reshape((1, rows)), places)
    angles = [_angles(node, node.value(i), places) for i in (2, 3)]
    turned = rotated(node, data, *angles, interleaved=node.flag("interleaved"))
    if rank == 4:
        return turned
    turn, flat = joined_heads(turned)
    return node.result(flat, node.step(turn, turned))


def _group_query(node: OnnxNode) -> Sequence[Operand]:
    """Attention whose heads share keys and values in groups, and that keeps those of what was before.

    `seqlens_k` is the number of tokens in the cache after this step, less one, for each of the batch; the new ones are
    the last of them.
    """
    _check_group_query(node)
    heads, groups = node.integer("num_heads"), node.integer("kv_num_heads")
    query, key, value = _projections(node, heads, groups)
    batch, _, rows, width = static_extents(query.type.shape, "the query")
    totals = node.step(Add(), _as_index(node, node.value(5)), node.literal(1, _INDEX))
    totals = node.step(Reshape((batch, 1)), totals)
    before = node.step(Subtract(), totals, node.literal(rows, _INDEX))
    first_is_empty = not node.has(3) or node.static_shape(3)[2] == 0
    if first_is_empty:  # shorter sequences of a batch end before the last row
        before = node.literal(0, _INDEX, (batch, 1))
    places = node.step(Add(), before, node.positions(rows))
    if node.attribute("do_rotary"):
        angles = [_angles(node, node.value(i), places) for i in (7, 8)]
        pairs = bool(node.attribute("rotary_interleaved"))
        query, key = (rotated(node, side, *angles, interleaved=pairs) for side in (query, key))
    if not first_is_empty:
        key, value = (_cached(node, index, new, before) for index, new in ((3, key), (4, value)))
    columns = static_extents(key.type.shape, "the key")[2]
    bias = _visible(node, places, columns)
    if node.has(10):
        bias = node.step(Add(), bias, node.value(10))
    scale = node.attribute("scale") or 1 / sqrt(width)
    all_key, all_value = (repeated_heads(node, side, heads) for side in (key, value))
    mixed = _capped(node, query, all_key, all_value, scale, bias)
    turn_back, flat = joined_heads(mixed)
    result = node.result(flat, node.step(turn_back, mixed))
    return (result, key, value)[: len(node.outputs)]


def _check_group_query(node: OnnxNode) -> None:
    unusual = [
        name
        for name in ("smooth_softmax", "qk_output", "sliding_window_cache", "kv_cache_bit_width")
        if node.attribute(name) not in (None, 0, -1)
    ]
    quantised = [name for name in ("k_quant_type", "v_quant_type") if node.text(name) != "NONE"]
    if not node.flag("causal"):
        unusual.append("causal=0")
    names = [node.input_name(i) for i in (9, 11, 12, 13, 14, 15, 16) if node.has(i)]
    if unusual or quantised or names or len(node.outputs) > 3:
        found = ", ".join([*unusual, *quantised, *names]) or "the output of scores"
        raise UnsupportedError(f"GroupQueryAttention with {found} is not supported", "export without it")
    if node.static_shape(5) and len(node.static_shape(5)) > 2:
        raise FrontendError(f"expected seqlens_k [batch], found {list(node.static_shape(5))}")


def _projections(node: OnnxNode, heads: int, groups: int) -> tuple[Value, Value, Value]:
    """Query, key and value in heads; they may be packed in the query."""
    if groups < 1 or heads % groups:
        raise FrontendError(f"expected num_heads to be a multiple of kv_num_heads, found {heads} and {groups}")
    data = node.value(0)
    if node.has(1):
        sides = [data, node.value(1), node.value(2)]
    else:
        size = node.static_shape(0)[2] // (heads + 2 * groups)
        ends = [0, heads * size, (heads + groups) * size, (heads + 2 * groups) * size]
        sides = [part(node, data, 2, begin, end) for begin, end in pairwise(ends)]
    query, key, value = (
        split_heads(node, side, count) for side, count in zip(sides, (heads, groups, groups), strict=True)
    )
    return query, key, value


def _cached(node: OnnxNode, index: int, new: Value, before: Value) -> Value:
    """The cache in input `index` with the new rows behind those that are there. It is as long as the whole sequence, or
    grows to that."""
    past, rows = node.value(index), static_extents(new.type.shape, "the key")[2]
    held = node.static_shape(index)[2]
    whole = int(node.scalar(6)) if node.is_known(6) else None
    if whole is None:
        raise UnsupportedError("total_sequence_length must be known while compiling", node.binding(6))
    if whole > held:
        batch, groups, _, width = past.type.shape
        empty = node.literal(0, past.type.dtype, static_extents((batch, groups, whole - held, width), "the cache"))
        past = node.step(Concat(axis=2), past, empty)
    if whole < rows:
        raise FrontendError(f"expected total_sequence_length of at least {rows}, found {whole}")
    starts = node.step(Reshape((before.type.shape[0],)), before)
    return node.step(TensorScatter(axis=2), past, new, starts)


def _visible(node: OnnxNode, places: Value, columns: int) -> Value:
    """The bias [batch, 1, rows, columns] that hides what comes later, and with a window, what is too far back."""
    batch, rows = places.type.shape
    here = node.step(Reshape((batch, 1, rows, 1)), places)
    there = node.positions(columns)
    seen = node.step(LessEqual(), there, here)
    window = node.integer("local_window_size")
    if window > 0:
        oldest = node.step(Subtract(), here, node.literal(window, _INDEX))
        seen = node.step(And(), seen, node.step(Greater(), there, oldest))
    dtype = node.dtype(0)
    least = max(LEAST, float(np.finfo(dtype.numpy).min))
    return node.step(Where(), seen, node.literal(0, dtype), node.literal(least, dtype))


def _capped(node: OnnxNode, query: Value, key: Value, value: Value, scale: float, bias: Value) -> Value:
    """Attention; `softcap` limits scores smoothly before the bias."""
    cap = node.attribute("softcap") or 0.0
    if not cap:
        return attended(node, query, key, value, scale, bias)[0]
    dtype = query.type.dtype
    turned = node.step(Transpose((0, 1, 3, 2)), key)
    scaled = node.step(Multiply(), query, node.literal(scale / cap, dtype))
    scores = node.step(Tanh(), node.step(MatMul(), scaled, turned))
    limited = node.step(Add(), node.step(Multiply(), scores, node.literal(cap, dtype)), bias)
    return node.step(MatMul(), node.step(Softmax(axis=3), limited), value)


def _as_index(node: OnnxNode, value: Value) -> Value:
    return value if value.type.dtype == _INDEX else node.step(Cast(_INDEX), value)


ROTARY: dict[str, Description] = {
    "GroupQueryAttention": Description(
        _group_query,
        "query key? value? past_key? past_value? seqlens_k:index total_sequence_length:index cos_cache? sin_cache? "
        "position_ids:index? attention_bias? head_sink? k_scale? v_scale? q_norm_weight? k_norm_weight? "
        "query_seqlens:index?",
        4,
        {
            "causal": 1,
            "do_rotary": 0,
            "k_quant_type": "NONE",
            "kv_cache_bit_width": int,
            "kv_num_heads": int,
            "local_window_size": -1,
            "num_heads": int,
            "qk_norm_epsilon": 1e-6,
            "qk_output": 0,
            "rotary_interleaved": 0,
            "scale": float,
            "sliding_window_cache": 0,
            "smooth_softmax": int,
            "softcap": float,
            "v_quant_type": "NONE",
        },
    ),
    "RotaryEmbedding": Description(
        _rotary,
        "input position_ids:index cos_cache sin_cache",
        1,
        {
            "interleaved": 0,
            "is_packed_batching": 0,
            "num_heads": 0,
            "rotary_embedding_dim": 0,
            "scale": 1.0,
        },
    ),
}
