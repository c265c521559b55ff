"""Scaled dot-product attention: checks, its result, and the method that computes it."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.tensor_ir import te
from sateen.topi.computations.arguments import require, require_broadcast, require_floats, require_views
from sateen.topi.computations.attention.key_tiles import key_tiles
from sateen.topi.computations.attention.methods import KeyTiles, QueryTiles, default_tiles
from sateen.topi.computations.attention.operands import Masking, Operands, attention_shape
from sateen.topi.computations.attention.query_tiles import query_tiles
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, compute


def attention(
    q: View, k: View, v: View, mask: View | None = None, masking: Masking = Masking(),  # noqa: B008  # a value
    layout: Layout | None = None, method: QueryTiles | KeyTiles | None = None,
) -> Computation:  # fmt: skip
    """softmax(q · kᵀ · scale, masked) · v for stacks of matrices [..., queries, depth], [..., keys, depth] and
    [..., keys, columns].

    Each extent of the stack of keys and values divides that of the queries, whose neighbours share a matrix. Sums are
    in float32 if operands are shorter. A row without keys, or whose scores are all -inf, is NaN, as 0 / 0 is.
    """
    require_views("attention", q=q, k=k, v=v)
    require_floats("attention", q=q, k=k, v=v)
    same = q.dtype == k.dtype == v.dtype
    require(same, "attention", "operands of one type", f"{q.dtype}, {k.dtype} and {v.dtype}")
    require(q.ndim >= 3 and q.ndim == k.ndim == v.ndim, "attention", "stacks of matrices of one rank", _shapes(q, k, v))
    fits = q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
    require(fits, "attention", "queries and keys of one depth, as many values as keys", _shapes(q, k, v))
    require(k.shape[-2] > 0, "attention", "keys", _shapes(k, v))
    for x in (k, v):
        pairs = list(zip(q.shape[:-2], x.shape[:-2], strict=True))
        fits = all(whole == own or (own > 0 and whole % own == 0) for whole, own in pairs)
        require(fits, "attention", "stacks whose extents divide those of q", _shapes(q, k, v))
    if mask is not None:
        require_views("attention", mask=mask)
        require_broadcast("attention", "mask", mask, (*q.shape[:-1], k.shape[-2]))
        fits = mask.dtype.is_bool or mask.dtype == q.dtype
        require(fits, "attention", f"a mask of bool or {q.dtype}", mask.dtype)
    shape = attention_shape(q.shape, v.shape)
    layout = layout or Layout.row_major(len(shape))
    if 0 in shape:
        return Computation((compute(shape, lambda *_: te.const(0, q.dtype), "attention", layout),))
    operands = Operands(q, k, v, mask, masking)
    tiles = method or default_tiles(operands.queries, operands.keys, operands.columns, q.dtype)
    given = [x.tensor for x in (q, k, v, *([] if mask is None else [mask]))]

    def body(ins: Sequence[te.Buffer], outs: Sequence[te.Buffer]) -> te.Stmt:
        if isinstance(tiles, KeyTiles):
            return key_tiles(operands, layout, tiles, ins, outs[0])
        return query_tiles(operands, layout, tiles, ins, outs[0])

    (result,) = te.extern([layout.physical_shape(shape)], given, body, name="attention", dtype=[q.dtype])
    return Computation((View(result, shape, layout),))


def _shapes(*views: View) -> str:
    return " and ".join(str(list(v.shape)) for v in views)
