"""The types of expressions: those of elements in memory, and `index`.

Loop variables, extents, subscripts and arithmetic on them are indices; elements of memory never are. An index does not
overflow, while an int64 of data wraps (docs/semantics.md, 2), so the two are different types: an index becomes data as
int64, and data becomes an index, by a conversion that is a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import ExpressionError


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class IndexType(DType):
    """A signed integer that programs must not let overflow; `bits` is the largest width in which a target computes
    it."""

    def __str__(self) -> str:
        return "index"


INDEX = IndexType(TypeCode.INT, 64)
"""The type of loop variables, extents and subscripts."""
INT64 = DType.of("int64")
UINT64 = DType.of("uint64")
FLOAT32 = DType.of("float32")
BOOL = DType.of("bool")


def element_type(dtype: DType | str) -> DType:
    """The type of an element of memory. Raises ArgumentError for an invalid type, ExpressionError for a type that
    memory can't have (an index, several lanes) and for what is no type."""
    if not isinstance(dtype, (DType, str, np.dtype, type)):
        raise ExpressionError(
            f"expected an element type such as 'float32', found {type(dtype).__name__}: {dtype!s:.80}"
        )
    if _is_index(dtype):
        raise ExpressionError("expected an element type such as 'int64', found index, which memory does not hold")
    kind = DType.of(dtype)
    if kind.lanes != 1:
        single = DType(kind.code, kind.bits)
        raise ExpressionError(
            f"expected an element type of one lane, found {kind}; the lanes are a last dimension of {kind.lanes} of "
            f"{single}, whose loop may be vectorized, and a literal is the same in all"
        )
    return kind


def value_type(dtype: DType | str) -> DType:
    """The type of a single value: that of an element, or `index`. Raises the errors of `element_type`."""
    return INDEX if _is_index(dtype) else element_type(dtype)


def _is_index(dtype: object) -> bool:
    return isinstance(dtype, IndexType) or (isinstance(dtype, str) and dtype == "index")


@cache
def int_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    if str(dtype).startswith("uint"):
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def wrap(value: int, dtype: DType) -> int:
    """`value` modulo 2^bits, in the range of `dtype` (docs/semantics.md: integers wrap)."""
    low, high = int_range(dtype)
    return value if low <= value <= high else (value - low) % (1 << dtype.bits) + low
