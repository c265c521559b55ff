"""The view that choices of methods have of a product: its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.targets import WIDEST_VECTOR
from sateen.topi.computations.broadcast import broadcast_shape

PANEL_WIDTH = WIDEST_VECTOR // 2
"""The columns of a panel that is packed at run time: whole vectors of float32 on any machine."""


@dataclass(frozen=True, slots=True)
class ProductShapes:
    """A batch of products of `rows` by `columns`, sums of `terms`, whose left operand is of type `dtype`."""

    batch: int
    rows: int
    columns: int
    terms: int
    dtype: DType

    @staticmethod
    def of(a: Sequence[int], b: Sequence[int], dtype: DType) -> ProductShapes:
        """The loops of a [..., m, k] · b [..., k, n]."""
        *batch, rows, columns = matmul_shape(a, b)
        if is_one_matrix(a, b):
            return ProductShapes(1, prod(batch) * rows, columns, a[-1], dtype)
        return ProductShapes(prod(batch), rows, columns, a[-1], dtype)

    def bytes_of(self, elements: int) -> int:
        """The bytes of elements of the operands."""
        return elements * self.dtype.bytes


def matmul_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape of a product of stacks of matrices. Raises ArgumentError if they don't fit."""
    if len(a) < 2 or len(b) < 2:
        raise ArgumentError(f"matmul: expected operands of 2 or more axes, found {list(a)} and {list(b)}")
    if a[-1] != b[-2]:
        raise ArgumentError(f"matmul: expected {a[-1]} rows on the right, one per column on the left, found {b[-2]}")
    return (*broadcast_shape(a[:-2], b[:-2]), a[-2], b[-1])


def is_one_matrix(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether one right operand serves a whole stack, all rows of which are then one matrix."""
    return max(len(a), len(b)) > 2 and prod(b[:-2]) == 1
