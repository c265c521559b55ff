"""Buffers: named memory that loop IR loads from and stores to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from weft.runtime.dtype import DType
from weft.tensor_ir.ir.expr import Const, Expr, as_expr, const


class Scope(Enum):
    """Where a buffer lives, by rank: the threads that share it grow with the rank."""

    REGISTER = "register"
    LOCAL = "local"
    SHARED = "shared"
    GLOBAL = "global"

    @property
    def rank(self) -> int:
        return _RANK[self]


_RANK = {Scope.REGISTER: 0, Scope.LOCAL: 0, Scope.SHARED: 1, Scope.GLOBAL: 2}


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory of `shape` elements of `dtype`; element (i, j, …) is at offset Σ index·stride.

    `strides` are in elements (None: compact row-major). `alignment` of the first element is in bytes. A buffer with
    `data` is constant: its loads fold where their indices are constant.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    scope: Scope = Scope.GLOBAL
    strides: tuple[Expr, ...] | None = None
    alignment: int = 64
    data: np.ndarray[Any, Any] | None = None

    def stride_exprs(self) -> tuple[Expr, ...]:
        """The stride of each dimension, in elements."""
        if self.strides is not None:
            return self.strides
        strides: list[Expr] = []
        step: Expr = const(1)
        for extent in reversed(self.shape):
            strides.append(step)
            step = step * extent
        return tuple(reversed(strides))

    def offset(self, indices: tuple[Expr, ...]) -> Expr:
        """The flat offset of an element, in elements."""
        total: Expr = const(0)
        for index, stride in zip(indices, self.stride_exprs(), strict=True):
            total = total + index * stride
        return total

    def size(self) -> int | None:
        """The number of elements that storage must hold, or None where an extent is symbolic."""
        if not self.shape:
            return 1
        last = self.offset(tuple(extent - 1 for extent in self.shape))
        return int(last.value) + 1 if isinstance(last, Const) else None


def decl_buffer(
    shape: tuple[Any, ...],
    dtype: DType | str = "float32",
    name: str = "buffer",
    *,
    strides: tuple[Any, ...] | None = None,
    scope: Scope | str = Scope.GLOBAL,
    alignment: int = 64,
) -> Buffer:
    """A buffer to be bound to an argument or an extern operand: shape and strides in elements, alignment in bytes."""
    return Buffer(
        name,
        tuple(as_expr(extent) for extent in shape),
        DType.of(dtype),
        Scope(scope),
        tuple(as_expr(stride) for stride in strides) if strides is not None else None,
        alignment,
    )
