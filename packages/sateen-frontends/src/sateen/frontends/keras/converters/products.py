"""Functions of keras.ops that sum products: of matrices, and by letters.

Sources: keras/src/ops/numpy.py and keras/src/backend/tensorflow/numpy.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters

from sateen.frontends.core.attention import attended, repeated_heads
from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.attention import places_up_to
from sateen.frontends.keras.converters.element_wise import both, truth
from sateen.frontends.keras.converters.operands import integers, tensors
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ops import Minimum, Transpose, Where
from sateen.runtime.errors import FrontendError


def _einsum(node: KerasNode) -> Operand:
    equation = node.setting("subscripts", None)
    if not isinstance(equation, str):
        raise FrontendError(f"expected subscripts, found {equation!r}")
    return node.result(*einsum(node, equation, tensors(node, *(node.raw(i) for i in range(node.input_count)))))


def _matmul(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if min(left.type.rank, right.type.rank) < 2:
        raise UnsupportedError("a product with a vector is not supported", "make it a matrix")
    return node.result(ops.MatMul(), left, right)


def _dot(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if left.type.rank < 2 or right.type.rank != 2:
        raise UnsupportedError("a product of these dimensions is not supported", "use matmul or einsum")
    return node.result(ops.MatMul(), left, right)


def _tensor_dot(node: KerasNode) -> Operand:
    """Sums of products along axes of both: a number of the last and first ones, or a list of each."""
    left, right = tensors(node, *both(node))
    given, (rank, other_rank) = node.setting("axes", 2), (left.type.rank, right.type.rank)
    if type(given) is int:
        given = [list(range(rank - given, rank)), list(range(given))]
    pairs = [[one] if type(one) is int else one for one in given] if isinstance(given, (list, tuple)) else []
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise FrontendError(f"expected axes of both tensors, found {given!r}")
    summed = [
        [normal_axis(axis, n) for axis in integers(one, "axes")]
        for one, n in zip(pairs, (rank, other_rank), strict=True)
    ]
    first, second = list(ascii_letters[:rank]), list(ascii_letters[rank : rank + other_rank])
    for axis, other in zip(*summed, strict=True):
        second[other] = first[axis]
    kept = [one for one in first if one not in second] + [one for one in second if one not in first]
    return node.result(*einsum(node, f"{''.join(first)},{''.join(second)}->{''.join(kept)}", [left, right]))


def _dot_product_attention(node: KerasNode) -> Operand:
    """Query, key and value are [batch, places, heads, width]; keys may have fewer heads (keras/src/ops/nn.py)."""
    given = [node.argument(i, name) for i, name in enumerate(("query", "key", "value"))]
    if node.argument(3, "bias") is not None or node.setting("attn_logits_soft_cap", None) is not None:
        raise UnsupportedError("attention with a bias or a cap is not supported", "use MultiHeadAttention")
    query, key, value = (node.step(Transpose((0, 2, 1, 3)), one) for one in tensors(node, *given))
    heads, width = static_extents((query.type.shape[1], query.type.shape[3]), node.described(0))
    key, value = (repeated_heads(node, one, heads) for one in (key, value))
    scale = node.argument(5, "scale")
    mask = node.argument(4, "mask")
    masks = [truth(node, mask)] if mask is not None else []
    if node.setting("is_causal", False):
        masks.append(places_up_to(node, query.type.shape[2], key.type.shape[2]))
    bias = None
    for one in masks:
        dtype = query.type.dtype
        hidden = node.step(Where(), one, node.literal(0, dtype), node.literal(_LOWEST[dtype.bits], dtype))
        bias = hidden if bias is None else node.step(Minimum(), bias, hidden)
    if scale is not None and not isinstance(scale, (int, float)):
        raise UnsupportedError("a scale that is computed is not supported", "give a number")
    found, _ = attended(node, query, key, value, width**-0.5 if scale is None else float(scale), bias)
    return node.result(Transpose((0, 2, 1, 3)), found)


_LOWEST = {16: -0.7 * 65504, 32: -0.7 * 3.4028235e38, 64: -0.7 * 1.7976931348623157e308}
"""The scores of what is masked, by the bits of their type (`_get_large_negative`)."""


PRODUCTS: Mapping[str, Converter[KerasNode]] = {
    "ops.Dot": _dot,
    "ops.DotProductAttention": _dot_product_attention,
    "ops.Einsum": _einsum,
    "ops.Matmul": _matmul,
    "ops.Tensordot": _tensor_dot,
}
