"""Attention with several heads, and with groups of heads.

Sources: keras/src/layers/attention/multi_head_attention.py and grouped_query_attention.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axes
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.attention import all_of, causal, widened
from sateen.frontends.keras.converters.element_wise import truth
from sateen.frontends.keras.node import KerasNode
from sateen.frontends.keras.steps import Tensor
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import (
    Add,
    BroadcastTo,
    Cast,
    MatMul,
    Multiply,
    Reshape,
    Sigmoid,
    Softmax,
    Subtract,
    Transpose,
    Where,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


@dataclass(frozen=True, slots=True)
class _Call:
    """The tensors that a layer of several heads is called with, by their names; the key is the value if there is no
    other."""

    node: KerasNode

    def tensor(self, position: int, name: str) -> Value | None:
        index = self._index(position, name)
        return None if index is None else self.node.value(index)

    def mask(self, position: int, name: str) -> Value | None:
        """The mask of a tensor: given by name, or what comes with it."""
        given = self.node.argument(99, f"{name}_mask")
        if isinstance(given, Value):
            return given
        index = self._index(position, name)
        return None if index is None else self.node.mask(index)

    def _index(self, position: int, name: str) -> int | None:
        given = self.node.step_call.arguments
        found = given.positional[position] if position < len(given.positional) else given.named.get(name)
        return self.node.step_call.inputs.index(found.name) if isinstance(found, Tensor) else None


@dataclass(frozen=True, slots=True)
class _Rows:
    """[batch, …, features] as [batch * others, places, features], where places are those that attention is over."""

    value: Value
    batch: Dim
    others: tuple[Dim, ...]
    places: tuple[Dim, ...]


def _rows(node: KerasNode, data: Value, axes: Sequence[int]) -> _Rows:
    rank, shape = data.type.rank, data.type.shape
    others = [axis for axis in range(1, rank - 1) if axis not in axes]
    order = (0, *others, *axes, rank - 1)
    moved = data if order == tuple(range(rank)) else node.step(Transpose(order), data)
    other, places = tuple(shape[axis] for axis in others), tuple(shape[axis] for axis in axes)
    flat = (shape[0] * product(other), product(places), shape[-1])
    return _Rows(moved if rank == 3 else node.step(Reshape(flat), moved), shape[0], other, places)


def _multi_head(node: KerasNode) -> tuple[Operand, ...]:
    """Projections of query, key and value to heads, attention in each, and a projection of all of them."""
    call = _Call(node)
    query, value, key = (call.tensor(i, name) for i, name in enumerate(("query", "value", "key")))
    if query is None or value is None:
        raise FrontendError("expected a query and a value, found none")
    key = value if key is None else key
    if node.setting("sliding_window", None) is not None:
        raise UnsupportedError("attention within a window is not supported", "give the window as attention_mask")
    rank = query.type.rank
    axes = normal_axes(given, rank) if (given := node.setting("attention_axes", None)) else tuple(range(1, rank - 1))
    masks = _masks_of_heads(node, call, query, value)
    if masks is not None and rank != 3:
        raise UnsupportedError("a mask for attention along several axes is not supported", "leave it out")
    rows = [_rows(node, one, axes) for one in (query, key, value)]
    heads = [_heads(node, role, one.value) for role, one in zip(("query", "key", "value"), rows, strict=True)]
    _, count, width = map(int, node.variable("query/kernel", 3).shape)
    heads[1:] = [_repeated(node, one, count) for one in heads[1:]]
    scaled = node.step(Multiply(), heads[0], node.number_like(float(1 / np.sqrt(width))))
    scores = node.step(MatMul(), scaled, node.step(Transpose((0, 1, 3, 2)), heads[1]))
    weights = _masked_softmax(node, scores, masks)
    found = node.step(Transpose((0, 2, 1, 3)), node.step(MatMul(), weights, heads[2]))
    joined = node.step(Reshape((*found.type.shape[:2], count * found.type.shape[3])), found)
    if node.setting("use_gate", False):
        gate = _projected(node, "gate", rows[0].value)
        joined = node.step(Multiply(), joined, node.step(Sigmoid(), gate))
    result = _output(node, joined, rows[0], axes, rank)
    if not node.argument(99, "return_attention_scores", default=False):
        return (result,)
    shape = (rows[0].batch, *rows[0].others, count, *rows[0].places, *rows[1].places)
    return result, node.result(Reshape(shape), weights, output=1)


def _projected(node: KerasNode, role: str, data: Value) -> Value:
    """[batch, places, features] times a kernel [features, heads, width], with heads and width as one."""
    kernel = node.weight(f"{role}/kernel", 3)
    features, heads, width = kernel.type.static_shape
    found = node.step(MatMul(), data, node.step(Reshape((features, heads * width)), kernel))
    if not node.has_weight(f"{role}/bias"):
        return found
    return node.step(Add(), found, node.step(Reshape((heads * width,)), node.weight(f"{role}/bias", 2)))


def _heads(node: KerasNode, role: str, data: Value) -> Value:
    """The projection as [batch, heads, places, width]."""
    _, heads, width = node.variable(f"{role}/kernel", 3).shape
    found = _projected(node, role, data)
    split = node.step(Reshape((*found.type.shape[:2], heads, width)), found)
    return node.step(Transpose((0, 2, 1, 3)), split)


def _repeated(node: KerasNode, heads: Value, count: int) -> Value:
    """Each of fewer heads of keys and values for several heads of queries."""
    batch, own, places, width = heads.type.shape
    if own == count:
        return heads
    if not isinstance(own, int) or count % own:
        raise FrontendError(f"expected a number of heads that {own} divides, found {count}")
    spread = node.step(BroadcastTo((batch, own, count // own, places, width)), widened(node, heads, 2))
    return node.step(Reshape((batch, count, places, width)), spread)


def _masks_of_heads(node: KerasNode, call: _Call, query: Value, value: Value) -> Value | None:
    """The masks of query, value and key, the causal one, and the one of the call, as [batch, 1 or heads, queries,
    keys]."""
    masks = [causal(node, query, value)]
    for position, (name, axis) in enumerate((("query", 2), ("value", 1), ("key", 1))):
        own = call.mask(position, name)
        masks.append(None if own is None else widened(node, truth(node, own), axis))
    given = node.argument(99, "attention_mask")
    if isinstance(given, Value) and given.type.rank == 4:
        combined = all_of(node, masks)
        return all_of(node, [None if combined is None else widened(node, combined, 1), truth(node, given)])
    if isinstance(given, Value):
        is_alone = not any(masks) and node.generation < 3  # Keras 2 computes with its numbers
        masks.append(given if is_alone else truth(node, given))
    total = all_of(node, masks)
    return None if total is None else widened(node, total, 1)


def _masked_softmax(node: KerasNode, scores: Value, mask: Value | None) -> Value:
    """Keras 2 lowers scores where the mask is false; Keras 3 replaces them, and gives 0 there if it computes scores
    for the caller (the layer Softmax), but not in its fused path."""
    softmax = Softmax(axis=3)
    if mask is None:
        return node.step(softmax, scores)
    lowest = node.number_like(-3e4 if scores.type.dtype.bits == 16 else -1e9)
    if node.generation < 3:
        hidden = node.step(Subtract(), node.number_like(1), node.step(Cast(scores.type.dtype), mask))
        return node.step(softmax, node.step(Add(), scores, node.step(Multiply(), hidden, lowest)))
    weights = node.step(softmax, node.step(Where(), mask, scores, lowest))
    is_fused = not node.setting("dropout", 0.0) and not node.argument(99, "return_attention_scores", default=False)
    return weights if is_fused else node.step(Where(), mask, weights, node.number_like(0))


def _output(node: KerasNode, joined: Value, rows: _Rows, axes: Sequence[int], rank: int) -> Operand:
    """The projection of all heads, with the axes of the query in their places."""
    kernel = node.variable("attention_output/kernel")
    shape = tuple(map(int, kernel.shape[2:]))
    if kernel.ndim < 3:
        raise FrontendError(f"expected a kernel [heads, width, …], found shape {list(kernel.shape)}")
    flat = (kernel.shape[0] * kernel.shape[1], prod(shape))
    found = node.step(MatMul(), joined, node.step(Reshape(flat), node.weight("attention_output/kernel")))
    if node.has_weight("attention_output/bias"):
        bias = node.step(Reshape((prod(shape),)), node.weight("attention_output/bias"))
        found = node.step(Add(), found, bias)
    parted = (rows.batch, *rows.others, *rows.places, *shape)
    others = [axis for axis in range(1, rank - 1) if axis not in axes]
    order = [0, *others, *axes]
    back = (*(order.index(axis) for axis in range(rank - 1)), *range(rank - 1, rank - 1 + len(shape)))
    if back == tuple(range(len(back))):
        return node.result(Reshape(parted), found)
    return node.result(Transpose(back), node.step(Reshape(parted), found))


MULTI_HEAD_ATTENTION: Mapping[str, Converter[KerasNode]] = {
    "GroupQueryAttention": _multi_head,
    "GroupedQueryAttention": _multi_head,
    "MultiHeadAttention": _multi_head,
}
