"""Attention of Luong and of Bahdanau, and the masks of all kinds of attention.

Sources: keras/src/layers/attention/attention.py and additive_attention.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import (
    Add,
    And,
    GreaterEqual,
    MatMul,
    Multiply,
    ReduceSum,
    Reshape,
    Softmax,
    Tanh,
    Transpose,
    Where,
)
from sateen.runtime.errors import FrontendError


def _attention(node: KerasNode) -> tuple[Operand, ...]:
    """Of a query and a value, and perhaps a key; the value is the key otherwise."""
    query, value, *keys = node.values()
    key = keys[0] if keys else value
    scores = _scores(node, query, key)
    masks = [node.mask(1), causal(node, query, key)]
    rows = [widened(node, mask, 1) if mask is not None and mask.type.rank == 2 else mask for mask in masks]
    mask = all_of(node, rows)
    if mask is not None:  # Keras moves scores far down, but does not replace them
        lowest = node.number_like(-65504.0 if scores.type.dtype.bits == 16 else -1e9)
        scores = node.step(Where(), mask, scores, node.step(Add(), scores, lowest))
    softmax, own = Softmax(axis=scores.type.rank - 1), node.mask(0)
    wanted = bool(node.argument(99, "return_attention_scores", default=False))
    weights = node.result(softmax, scores, output=1) if wanted else node.step(softmax, scores)
    if own is None:
        result = node.result(MatMul(), weights, value)
    else:
        found = node.step(MatMul(), weights, value)
        result = node.result(Where(), widened(node, own, 2), found, node.number_like(0))
    return (result, weights) if wanted else (result,)


def _scores(node: KerasNode, query: Value, key: Value) -> Value:
    """[batch, queries, keys]: products, or sums of tanh."""
    is_additive = node.layer.kind == "AdditiveAttention"
    mode = "concat" if is_additive else node.setting("score_mode", "dot")
    scale = node.weight("scale") if node.has_weight("scale") else None
    if mode == "dot":
        found = node.step(MatMul(), query, node.step(Transpose((0, 2, 1)), key))
        return found if scale is None else node.step(Multiply(), found, scale)
    if mode != "concat":
        raise FrontendError(f"expected score_mode dot or concat, found {mode!r}")
    total = node.step(Add(), widened(node, query, 2), widened(node, key, 1))
    if scale is not None and not is_additive:
        total = node.step(Multiply(), total, scale)
    curved = node.step(Tanh(), total)
    if scale is not None and is_additive:
        curved = node.step(Multiply(), curved, scale)
    found = node.step(ReduceSum(axes=(3,), keepdims=False), curved)
    return found if is_additive else node.step(Multiply(), found, node.weight("concat_score_weight"))


def widened(node: KerasNode, value: Value, axis: int) -> Value:
    shape = value.type.shape
    return node.step(Reshape((*shape[:axis], 1, *shape[axis:])), value)


def causal(node: KerasNode, query: Value, key: Value) -> Value | None:
    """Each query sees the keys up to its own place; as a mask [1, queries, keys]."""
    if not node.argument(99, "use_causal_mask", default=False):
        return None
    return widened(node, places_up_to(node, query.type.shape[1], key.type.shape[1]), 0)


def places_up_to(node: KerasNode, rows: Dim, columns: Dim) -> Value:
    """Where a column is not behind its row; [rows, columns]."""
    return node.step(GreaterEqual(), node.positions(rows, trailing=1), node.positions(columns))


def all_of(node: KerasNode, masks: Sequence[Value | None]) -> Value | None:
    """What all masks that there are let through."""
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    total = present[0]
    for mask in present[1:]:
        total = node.step(And(), total, mask)
    return total


ATTENTION: Mapping[str, Converter[KerasNode]] = {
    "AdditiveAttention": _attention,
    "Attention": _attention,
}
