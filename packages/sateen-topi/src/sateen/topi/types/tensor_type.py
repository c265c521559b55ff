"""Types of values: element type, logical dimensions, layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from sateen.runtime.dtype import DType
from sateen.runtime.errors import InferenceError
from sateen.topi.dimensions import Dim, bind, symbols_of
from sateen.topi.types.layout import Layout

BFLOAT16, FLOAT32, INT32 = map(DType.of, ("bfloat16", "float32", "int32"))
MOST_DIMENSIONS = 32
"""The most dimensions of a tensor, which every NumPy supports."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor of `dtype` with logical dimensions `shape`, kept in `layout` (None: row-major).

    Raises InferenceError for more dimensions than MOST_DIMENSIONS.
    """

    dtype: DType
    shape: tuple[Dim, ...]
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if len(self.shape) > MOST_DIMENSIONS:
            raise InferenceError(f"expected a tensor of at most {MOST_DIMENSIONS} dimensions, found {len(self.shape)}")

    @staticmethod
    def of(dtype: DType | str, shape: Sequence[Dim], layout: Layout | None = None) -> TensorType:
        return TensorType(DType.of(dtype), tuple(shape), None if layout is None or layout.is_row_major else layout)

    def __str__(self) -> str:
        """Such as float32[1, ?n*2 + 1, 16]@aBc16b."""
        suffix = f"@{self.layout}" if self.layout is not None else ""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]{suffix}"

    def __repr__(self) -> str:
        return f"TensorType({self})"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return all(isinstance(d, int) for d in self.shape)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols among the dimensions, each once."""
        return symbols_of(*self.shape)

    def bind(self, sizes: Mapping[str, Dim]) -> TensorType:
        """The type with sizes for the symbols in `sizes`; the others stay."""
        return self if self.is_static else replace(self, shape=tuple(bind(d, sizes) for d in self.shape))

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The dimensions, as numbers. Raises InferenceError if one is open."""
        if not self.is_static:
            raise InferenceError(f"expected known dimensions, found {self}")
        return cast(tuple[int, ...], self.shape)

    @property
    def memory_layout(self) -> Layout:
        return self.layout if self.layout is not None else Layout.row_major(self.rank)

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """Extents in memory, including blocks that are not full."""
        return tuple(self.memory_layout.physical_shape(self.static_shape))

    @property
    def bytes(self) -> int:
        """The bytes of a static tensor."""
        return prod(self.physical_shape) * self.dtype.bytes


def takes_weight(data: DType, weight: DType) -> bool:
    """Whether products of data and a weight are supported: both of one type, or int32 and integers that it can
    represent."""
    return data == weight or (data == INT32 and weight.is_int and weight.bits <= 16)
