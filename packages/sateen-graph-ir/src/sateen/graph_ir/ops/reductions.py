"""Reductions along axes, positions of extrema, running sums, the largest elements, search in sorted ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops.element_kinds import ANY, NUMBERS, ElementKind
from sateen.graph_ir.ops.shape import require_axis
from sateen.tensor_ir import Machine
from sateen.topi.computations import ordered, reductions
from sateen.topi.dimensions import may_be_at_least
from sateen.topi.operators import LayoutChoice, Operator, Transposed, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def _spatial_layouts(axes: Sequence[int], keepdims: bool, inputs: Sequence[TensorType]) -> Iterable[LayoutChoice]:
    """The layout of the input if no blocked axis is reduced; the result keeps it if it keeps the axes."""
    layout = inputs[0].layout
    if layout is not None and all(layout.block_of(axis) == 1 for axis in axes):
        yield LayoutChoice((layout,), (layout if keepdims else None,))
    yield LayoutChoice((None,), (None,))


class Reduce(Operator):
    """A reduction over `axes` (none: of each element alone); `keepdims` leaves extents of 1 in their place."""

    __slots__ = ()
    takes: ClassVar[ElementKind] = NUMBERS
    kind: ClassVar[str]
    needs_terms: ClassVar[bool] = False
    """Whether the reduction of nothing is undefined."""
    axes: tuple[int, ...]
    keepdims: bool

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        self.takes.check(self, "data", data)
        for axis in self.axes:
            require_axis(self, axis, data.rank)
        require(len(set(self.axes)) == len(self.axes), self, f"axes expects each axis once, found {list(self.axes)}")
        empty = [axis for axis in self.axes if data.shape[axis] == 0]
        require(not (self.needs_terms and empty), self, f"data {data} has no elements along axes {empty}")
        return (TensorType(data.dtype, reductions.reduced_shape(data.shape, self.axes, self.keepdims)),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return reductions.reduce(data, self.axes, self.keepdims, self.kind, outputs[0].memory_layout)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        axes = tuple(sorted(permutation[axis] for axis in self.axes))
        op: Reduce = replace(self, axes=axes)  # type: ignore[type-var]  # subclasses are dataclasses
        if self.keepdims:
            return Transposed(op, permutation)
        left = [axis for axis in range(len(permutation)) if axis not in axes]
        return Transposed(op, tuple(left.index(axis) for axis in permutation if axis not in axes))

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        return _spatial_layouts(self.axes, self.keepdims, inputs)


@dataclass(frozen=True, slots=True)
class ReduceSum(Reduce):
    """Σ x."""

    kind = "sum"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceMean(Reduce):
    """Σ x / n; of integers rounded towards zero."""

    kind = "mean"
    needs_terms = True
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceMax(Reduce):
    """The largest element, NaN if one is; of bool, whether any holds."""

    kind = "max"
    takes = ANY
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceMin(Reduce):
    """The smallest element, NaN if one is; of bool, whether all hold."""

    kind = "min"
    takes = ANY
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceProd(Reduce):
    """The product."""

    kind = "prod"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceSumSquare(Reduce):
    """Σ x²."""

    kind = "sum_square"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceL1(Reduce):
    """Σ |x|."""

    kind = "l1"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceL2(Reduce):
    """√Σ x²."""

    kind = "l2"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceLogSum(Reduce):
    """log Σ x."""

    kind = "log_sum"
    axes: tuple[int, ...] = ()
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class ReduceLogSumExp(Reduce):
    """log Σ e^x."""

    axes: tuple[int, ...] = ()
    keepdims: bool = True

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return reductions.reduce_log_sum_exp(data, self.axes, self.keepdims, outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class ArgExtremum(Operator):
    """The position of an extremum along an axis (int64): the first of equal ones, or the last. NaN counts as the
    extremum."""

    largest: ClassVar[bool]
    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "data", data)
        require_axis(self, self.axis, data.rank)
        extent = data.shape[self.axis]
        fits = may_be_at_least(extent, 1) and may_be_at_least(-extent, 1 - (1 << 31))
        require(fits, self, f"axis {self.axis} expects 1 to 2^31 - 1 elements, found {data}")
        return (TensorType.of("int64", reductions.reduced_shape(data.shape, (self.axis,), self.keepdims)),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        last, layout = self.select_last_index, outputs[0].memory_layout
        return reductions.arg_extremum(data, self.axis, self.keepdims, self.largest, last, layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        return _spatial_layouts((self.axis,), self.keepdims, inputs)


@dataclass(frozen=True, slots=True)
class ArgMax(ArgExtremum):
    """The position of the largest element."""

    largest = True


@dataclass(frozen=True, slots=True)
class ArgMin(ArgExtremum):
    """The position of the smallest element."""

    largest = False


@dataclass(frozen=True, slots=True)
class Cumulative(Operator):
    """For each element the combination of those up to it along an axis; without itself if `exclusive`, backwards if
    `reverse`."""

    kind: ClassVar[str]
    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "data", data)
        require_axis(self, self.axis, data.rank)
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return ordered.cumulative(data, self.kind, self.axis, self.exclusive, self.reverse)


@dataclass(frozen=True, slots=True)
class CumSum(Cumulative):
    """The sum up to each element."""

    kind = "sum"


@dataclass(frozen=True, slots=True)
class CumProd(Cumulative):
    """The product up to each element."""

    kind = "product"


@dataclass(frozen=True, slots=True)
class TopK(Operator):
    """The k largest (or smallest) elements along an axis and their places (int64); of equal ones the first comes first.

    `sorted` requests them in order, which they always are.
    """

    k: int = 1
    axis: int = 0
    largest: bool = True
    sorted: bool = True

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "data", data)
        require_axis(self, self.axis, data.rank)
        extent = data.shape[self.axis]
        fits = self.k >= 1 and may_be_at_least(extent, self.k)
        require(fits, self, f"k expects 1 to {extent}, the extent of axis {self.axis}, found {self.k}")
        chosen = (*data.shape[: self.axis], self.k, *data.shape[self.axis + 1 :])
        return TensorType(data.dtype, chosen), TensorType.of("int64", chosen)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return ordered.top_k(data, self.k, self.axis, self.largest)


@dataclass(frozen=True, slots=True)
class SearchSorted(Operator):
    """Where each value belongs in an ascending sequence: the number of its elements below it, with `right` of those up
    to it (int64); NaN belongs at the end.

    Inputs: sequence, values. The sequence has one axis, or those of the values before the last, along which it is
    searched.
    """

    right: bool = False

    def infer(self, sequence: TensorType, values: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "sequence", sequence)
        same = sequence.dtype == values.dtype
        require(same, self, f"expects values of the sequence's type, {sequence.dtype}, found {values.dtype}")
        fits = sequence.rank == 1 or (sequence.rank > 1 and sequence.shape[:-1] == values.shape[:-1])
        require(fits, self, f"expects a sequence of one axis, or as many as values {values}, found {sequence}")
        require(may_be_at_least(sequence.shape[-1], 1), self, f"expects a sequence with elements, found {sequence}")
        return (TensorType.of("int64", values.shape),)

    def compute(self, sequence: View, values: View, *, outputs: Sequence[TensorType]) -> Computation:
        return ordered.search_sorted(sequence, values, self.right, outputs[0].memory_layout)


OPS = (
    ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceSumSquare, ReduceL1, ReduceL2, ReduceLogSum,
    ReduceLogSumExp, ArgMax, ArgMin, CumProd, CumSum, TopK, SearchSorted,
)  # fmt: skip
"""The operators of this file."""
