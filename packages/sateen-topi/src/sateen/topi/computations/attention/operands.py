"""The operands of attention: stacks of matrices of queries, keys and values, and what takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.topi.schedules import accumulator_type
from sateen.topi.types import View


@dataclass(frozen=True, slots=True)
class Masking:
    """What becomes of scores before the softmax: they are scaled, then masked.

    A mask of floats is added; where one of bools is false, the score is `fill`. Query i reaches keys up to i + reach
    only; None: all. A row whose scores are all -inf is NaN, as 0 / 0 is, or 0 if `empty_is_zero`.
    """

    scale: float = 1.0
    reach: int | None = None
    fill: float = -inf
    empty_is_zero: bool = False


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
        own = [*stack, query, key][len(stack) + 2 - self.mask.ndim :]
        return [te.const(0) if extent == 1 else i for i, extent in zip(own, self.mask.shape, strict=True)]


class Reader:
    """The elements of operands in buffers, in the type of sums."""

    def __init__(self, operands: Operands, buffers: Sequence[BufferPointer]) -> None:
        self.operands = operands
        self.kind = accumulator_type(operands.q.dtype)
        self._views = {"q": operands.q, "k": operands.k, "v": operands.v}
        self._buffers = dict(zip(("q", "k", "v", "mask"), buffers, strict=False))

    def element(self, name: str, place: Sequence[Expr], row: Expr, column: Expr) -> Expr:
        """An element of q, k or v in the matrix at a place of its stack."""
        index = self._views[name].layout.physical_index([*place, row, column])
        return self._buffers[name][index].astype(self.kind)

    def finite(self, largest: Expr) -> Expr:
        """What powers are relative to, given the largest score: 0 where there is none but -inf, so that powers are 0,
        and not those of -inf + inf."""
        return te.select(largest.equal(te.const(-inf, self.kind)), te.const(0, self.kind), largest)

    def inverse(self, total: Expr) -> Expr:
        """What weighted sums are multiplied by; a total of 0 is that of a row without scores."""
        value = te.const(1, self.kind) / total
        if not self.operands.masking.empty_is_zero:
            return value
        return te.select(total.equal(te.const(0, self.kind)), te.const(0, self.kind), value)

    def masked(self, score: Expr, stack: Sequence[Expr], query: Expr, key: Expr) -> Expr:
        """The score of a query and a key, as the mask and the reach leave it."""
        mask, masking = self.operands.mask, self.operands.masking
        if mask is not None:
            index = self.operands.place_in_mask(stack, query, key)
            value = self._buffers["mask"][mask.layout.physical_index(index)]
            fill = te.const(masking.fill, self.kind)
            score = te.select(value, score, fill) if mask.dtype.is_bool else score + value.astype(self.kind)
        if masking.reach is not None:
            score = te.select(key <= query + masking.reach, score, te.const(-inf, self.kind))
        return score


def attention_shape(q: Sequence[int], v: Sequence[int]) -> tuple[int, ...]:
    """The shape of the result."""
    return (*q[:-1], v[-1])
