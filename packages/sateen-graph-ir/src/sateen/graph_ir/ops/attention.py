"""Attention, which pass fuse_attention finds among products and softmaxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar

from sateen.graph_ir.ir import TensorType
from sateen.tensor_ir import Machine
from sateen.topi.computations import attention
from sateen.topi.computations.attention import KeyTiles, QueryTiles
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View


@dataclass(frozen=True, slots=True)
class Attention(Operator):
    """softmax(q · kᵀ · scale + mask) · v for stacks of q [..., queries, depth], k [..., keys, depth] and
    v [..., keys, columns].

    Each extent of the stack of k and v divides that of q, whose neighbours share a matrix. The mask, which may be
    absent, broadcasts to [..., queries, keys]: floats are added; where bools are false, the score is `fill`. Query i
    reaches keys up to i + reach; None: all. A row whose scores are all -inf is NaN, or 0 if `empty_is_zero`.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (QueryTiles, KeyTiles)
    scale: float = 1.0
    reach: int | None = None
    fill: float = -inf
    empty_is_zero: bool = False

    def infer(
        self, q: TensorType, k: TensorType, v: TensorType, mask: TensorType | None = None
    ) -> tuple[TensorType, ...]:
        given = [q, k, v, *([] if mask is None else [mask])]
        listed = ", ".join(map(str, given))
        require(all(t.is_static for t in given), self, f"expects known dimensions, found {listed}")
        floats = q.dtype.is_float and q.dtype == k.dtype == v.dtype
        require(floats, self, f"expects floating-point operands of one type, found {listed}")
        ranks = q.rank >= 3 and q.rank == k.rank == v.rank
        require(ranks, self, f"expects stacks of matrices of one rank, found {listed}")
        fits = q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
        require(fits, self, f"expects q and k of one depth and as many v as k, found {listed}")
        require(k.shape[-2] != 0, self, f"expects keys, found none in {k}")
        for x in (k, v):
            pairs = zip(q.static_shape[:-2], x.static_shape[:-2], strict=True)
            fits = all(whole == own or (own > 0 and whole % own == 0) for whole, own in pairs)
            require(fits, self, f"expects stacks whose extents divide those of q, found {listed}")
        if mask is not None:
            require(
                mask.dtype.is_bool or mask.dtype == q.dtype, self, f"expects a mask of bool or {q.dtype}, found {mask}"
            )
            own = (*q.shape[:-1], k.shape[-2])[max(0, q.rank - mask.rank) :]
            fits = mask.rank <= q.rank and all(n in (1, m) for n, m in zip(mask.shape, own, strict=True))
            require(fits, self, f"expects a mask that broadcasts to [..., {q.shape[-2]}, {k.shape[-2]}], found {mask}")
        return (TensorType(q.dtype, attention.attention_shape(q.static_shape, v.static_shape)),)

    def compute(
        self, q: View, k: View, v: View, mask: View | None = None, *,
        outputs: Sequence[TensorType], method: QueryTiles | KeyTiles | None = None,
    ) -> Computation:  # fmt: skip
        masking = attention.Masking(self.scale, self.reach, self.fill, self.empty_is_zero)
        return attention.attention(q, k, v, mask, masking, outputs[0].memory_layout, method)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        q, k, v = (t.static_shape for t in inputs[:3] if t is not None)
        return attention.attention_candidates(q, k, v, outputs[0].dtype, self.reach, machine)

    def layouts_by(
        self,
        method: QueryTiles | KeyTiles | None,
        inputs: Sequence[TensorType],
        outputs: Sequence[TensorType],
        machine: Machine,
    ) -> Iterable[LayoutChoice]:
        """Operands are read where they are; the result has the order of the queries' axes. In a mask with a row for
        each query, those are neighbours that are lanes of the method: queries, or keys."""
        q, k, v, *masks = inputs
        taken = tuple(t.layout if t.layout is not None and t.layout.is_unblocked else None for t in (q, k, v))
        turned = tuple(None if isinstance(method, KeyTiles) else _by_query(mask) for mask in masks)
        in_order = taken[0] is None or taken[0].is_in_order
        if not in_order:
            yield LayoutChoice((*taken, *turned), (taken[0],))
        yield LayoutChoice((*taken, *turned), (None,))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """Those of both products, of all keys."""
        q, k, v = (t.static_shape for t in inputs[:3])
        return 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def _by_query(mask: TensorType) -> Layout | None:
    """The layout of a mask whose neighbours in memory are queries; row-major if it has no row for each."""
    rank = mask.rank
    if rank < 2 or mask.shape[-2] == 1 or mask.shape[-1] == 1:
        return None
    return Layout((*range(rank - 2), rank - 1, rank - 2))


OPS = (Attention,)
"""The operators of this file."""
