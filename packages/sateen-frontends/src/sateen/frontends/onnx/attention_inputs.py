"""What ONNX's Attention asks of its inputs (onnx, docs/Operators.md). It is checked here, since the operator's standard
body would report a mismatch at nodes that the model's author never wrote."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError

_MASK, _PAST_KEY, _PAST_VALUE = 3, 4, 5
_PADDED_MASKS = 24
"""The first operator set whose masks may be shorter than keys."""


def require_attention(node: OnnxNode) -> None:
    """Raises FrontendError where inputs of an Attention contradict each other. Open dimensions fit anything."""
    ranks = [node.rank(i) for i in range(3)]
    if set(ranks) not in ({3}, {4}):
        raise FrontendError(f"expected Q, K and V of 3 dimensions each or of 4 each, found {_listed(ranks)}")
    q, k, v = (_by_heads(node, i, heads) for i, heads in enumerate(("q_num_heads", "kv_num_heads", "kv_num_heads")))
    _require_equal("batches of Q, K and V", q[0], k[0], v[0])
    _require_equal("heads of K and V", k[1], v[1])
    if isinstance(q[1], int) and isinstance(k[1], int) and k[1] and q[1] % k[1]:
        raise FrontendError(f"expected heads of Q as a multiple of those of K and V, found {q[1]} and {k[1]}")
    _require_equal("elements of a head in Q and K", q[3], k[3])
    _require_equal("tokens of K and V", k[2], v[2])
    tokens = k[2]
    if node.has(_PAST_KEY) != node.has(_PAST_VALUE):
        found, other = ("past_key", "past_value") if node.has(_PAST_KEY) else ("past_value", "past_key")
        raise FrontendError(f"expected past_key and past_value together, found {found} without {other}")
    if node.has(_PAST_KEY):
        past = [node.shape(i) for i in (_PAST_KEY, _PAST_VALUE)]
        for name, own, (batch, heads, _, size) in zip(("past_key", "past_value"), past, (k, v), strict=True):
            if len(own) != 4 or any(
                _differ(*pair) for pair in zip((*own[:2], own[3]), (batch, heads, size), strict=True)
            ):
                raise FrontendError(f"expected {name} [{batch}, {heads}, past, {size}], found {_listed(own)}")
        _require_equal("tokens of past_key and past_value", past[0][2], past[1][2])
        tokens = past[0][2] + tokens
    if node.has(_MASK):
        _require_mask(node, (q[0], q[1], q[2], tokens))


def _by_heads(node: OnnxNode, index: int, attribute: str) -> tuple[Dim, Dim, Dim, Dim]:
    """The batch, heads, tokens and elements of a head of Q, K or V."""
    shape = node.shape(index)
    if len(shape) == 4:
        batch, heads, tokens, size = shape
        return batch, heads, tokens, size
    batch, tokens, columns = shape
    count, name = node.attribute(attribute), node.input_name(index)
    if not count or count < 0:
        raise FrontendError(f"expected {attribute}, which parts the columns of {name} {_listed(shape)}, found {count}")
    if isinstance(columns, int) and columns % count:
        raise FrontendError(f"expected {name} of a multiple of {attribute} = {count} columns, found {columns}")
    return batch, count, tokens, columns // count


def _require_mask(node: OnnxNode, scores: Sequence[Dim]) -> None:
    mask = node.shape(_MASK)
    fits = len(mask) <= len(scores)
    for axis, (own, wanted) in enumerate(zip(reversed(mask), reversed(scores), strict=False)):
        is_shorter = axis == 0 and node.opset >= _PADDED_MASKS and isinstance(own, int) and isinstance(wanted, int)
        fits = fits and (own == 1 or not _differ(own, wanted) or (is_shorter and own < wanted))
    if not fits:
        raise FrontendError(
            f"expected attn_mask that broadcasts to the scores {_listed(scores)}, found {_listed(mask)}"
        )


def _differ(one: Dim, other: Dim) -> bool:
    return isinstance(one, int) and isinstance(other, int) and one != other


def _require_equal(what: str, first: Dim, *others: Dim) -> None:
    if any(_differ(first, other) for other in others):
        raise FrontendError(f"expected one number of {what}, found {', '.join(map(str, (first, *others)))}")


def _listed(extents: Sequence[object]) -> str:
    return f"[{', '.join(map(str, extents))}]"
