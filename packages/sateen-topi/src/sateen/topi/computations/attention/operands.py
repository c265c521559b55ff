"""The operands of attention: stacks of matrices of queries, keys and values, and what takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.topi.types import View


@dataclass(frozen=True, slots=True)
class Masking:
    """What becomes of scores before the softmax: they are scaled, then masked.

    A mask of floats is added; where one of bools is false, the score is `fill`. Query i reaches keys up to i + reach
    only; None: all.
    """

    scale: float = 1.0
    reach: int | None = None
    fill: float = -inf


@dataclass(frozen=True, slots=True, eq=False)
class Operands:
    """Queries [..., queries, depth], keys [..., keys, depth], values [..., keys, columns], and perhaps a mask that
    broadcasts to [..., queries, keys].

    Each extent of a stack of keys or values divides that of the queries: as many neighbours share a matrix.
    """

    q: View
    k: View
    v: View
    mask: View | None
    masking: Masking

    @property
    def stack(self) -> tuple[int, ...]:
        """The extents of the stack of matrices."""
        return self.q.shape[:-2]

    @property
    def queries(self) -> int:
        return self.q.shape[-2]

    @property
    def keys(self) -> int:
        return self.k.shape[-2]

    @property
    def depth(self) -> int:
        return self.q.shape[-1]

    @property
    def columns(self) -> int:
        return self.v.shape[-1]

    def place_of(self, x: View, stack: Sequence[Expr]) -> list[Expr]:
        """The index of the matrix of keys or values for one of queries."""
        extents = zip(stack, self.stack, x.shape[:-2], strict=True)
        return [te.const(0) if own == 1 else i // (whole // own) for i, whole, own in extents]

    def place_in_mask(self, stack: Sequence[Expr], query: Expr, key: Expr) -> list[Expr]:
        """The index of the mask's element for a score."""
        assert self.mask is not None
        own = [*stack, query, key][-self.mask.ndim :]
        return [te.const(0) if extent == 1 else i for i, extent in zip(own, self.mask.shape, strict=True)]


def attention_shape(q: Sequence[int], v: Sequence[int]) -> tuple[int, ...]:
    """The shape of the result."""
    return (*q[:-1], v[-1])
