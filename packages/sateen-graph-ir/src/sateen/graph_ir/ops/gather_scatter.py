"""Operators whose indices are data: gather reads at them, scatter writes. Negative indices count from the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops.element_kinds import ANY, INTEGERS, NUMBERS
from sateen.graph_ir.ops.shape import require_axis
from sateen.topi.computations import gather_scatter
from sateen.topi.dimensions import may_be_at_least
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def _require_elements(op: Operator, data: TensorType, axes: Sequence[int], result: TensorType) -> None:
    """Raise InferenceError if an element of the result would come from an axis without elements."""
    empty = any(data.shape[axis] == 0 for axis in axes) and 0 not in result.shape
    require(not empty, op, f"data {data} has no elements to choose from")


@dataclass(frozen=True, slots=True)
class Gather(Operator):
    """Slices of data along an axis, at the indices, whose axes take its place. Inputs: data, indices."""

    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        INTEGERS.check(self, "indices", indices)
        require_axis(self, self.axis, data.rank)
        shape = (*data.shape[: self.axis], *indices.shape, *data.shape[self.axis + 1 :])
        result = TensorType(data.dtype, shape)
        _require_elements(self, data, [self.axis], result)
        return (result,)

    def compute(self, data: View, indices: View, *, outputs: Sequence[TensorType]) -> Computation:
        return gather_scatter.gather(data, indices, self.axis, outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class GatherElements(Operator):
    """output[a…, j, b…] = data[a…, indices[a…, j, b…], b…], the index at `axis`. Inputs: data, indices."""

    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        INTEGERS.check(self, "indices", indices)
        require_axis(self, self.axis, data.rank)
        _require_within(self, data, indices, self.axis)
        result = TensorType(data.dtype, indices.shape)
        _require_elements(self, data, [self.axis], result)
        return (result,)

    def compute(self, data: View, indices: View, *, outputs: Sequence[TensorType]) -> Computation:
        return gather_scatter.gather_elements(data, indices, self.axis, outputs[0].memory_layout)


def _require_within(op: Operator, data: TensorType, indices: TensorType, axis: int) -> None:
    """Raise InferenceError if `indices` reaches further than data along another axis than `axis`."""
    require(data.rank == indices.rank, op, f"data {data} and indices {indices} expect as many axes")
    for d, (extent, reach) in enumerate(zip(data.shape, indices.shape, strict=True)):
        fits = d == axis or may_be_at_least(extent - reach, 0)
        require(fits, op, f"indices {indices} reach beyond data {data} along axis {d}")


@dataclass(frozen=True, slots=True)
class GatherND(Operator):
    """Slices of data at indices into its first axes after a batch: the last axis of `indices` holds them. Inputs: data,
    indices."""

    batch_dims: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        INTEGERS.check(self, "indices", indices)
        batch = self.batch_dims
        require(batch >= 0, self, f"expects batch_dims of at least 0, found {batch}")
        require(indices.rank > batch, self, f"indices expect more than {batch} axes, found {indices}")
        require(data.rank > batch, self, f"data expects more than {batch} axes, found {data}")
        same = data.shape[:batch] == indices.shape[:batch]
        require(same, self, f"the first {batch} axes of data {data} and indices {indices} differ")
        depth = _depth(self, indices, data.rank - batch)
        result = TensorType(data.dtype, (*indices.shape[:-1], *data.shape[batch + depth :]))
        _require_elements(self, data, range(batch, batch + depth), result)
        return (result,)

    def compute(self, data: View, indices: View, *, outputs: Sequence[TensorType]) -> Computation:
        return gather_scatter.gather_nd(data, indices, self.batch_dims, outputs[0].memory_layout)


def _depth(op: Operator, indices: TensorType, most: int) -> int:
    """The number of axes that an index in the last axis of `indices` selects in."""
    require(indices.rank >= 1, op, f"indices expect at least one axis, found {indices}")
    depth = indices.shape[-1]
    known = isinstance(depth, int) and 1 <= depth <= most
    require(known, op, f"the last axis of indices expects 1 to {most} elements, found {depth}")
    assert isinstance(depth, int)
    return depth


class Scatter(Operator):
    """A copy of data with elements updated, those of one element in order. Inputs: data, indices, updates."""

    __slots__ = ()

    def check_scatter(self, reduction: str, data: TensorType, indices: TensorType, updates: TensorType) -> None:
        """Raise InferenceError on an unknown reduction, or operands that don't fit together."""
        known = reduction in gather_scatter.REDUCTIONS
        require(known, self, f"reduction expects one of {', '.join(gather_scatter.REDUCTIONS)}, found {reduction!r}")
        (ANY if reduction == "none" else NUMBERS).check(self, "data", data)
        INTEGERS.check(self, "indices", indices)
        require(data.dtype == updates.dtype, self, f"data and updates expect one type, found {data} and {updates}")


@dataclass(frozen=True, slots=True)
class ScatterElements(Scatter):
    """Element [a…, indices[a…, j, b…], b…] is updated by updates[a…, j, b…], the index at `axis`."""

    axis: int = 0
    reduction: str = "none"

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> tuple[TensorType, ...]:
        self.check_scatter(self.reduction, data, indices, updates)
        require_axis(self, self.axis, data.rank)
        _require_within(self, data, indices, self.axis)
        require(updates.shape == indices.shape, self, f"updates {updates} and indices {indices} expect one shape")
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, indices: View, updates: View, *, outputs: Sequence[TensorType]) -> Computation:
        return gather_scatter.scatter_elements(data, indices, updates, self.axis, self.reduction)


@dataclass(frozen=True, slots=True)
class ScatterND(Scatter):
    """The slice at [*indices[i…]] is updated by updates[i…]; the last axis of `indices` holds an index into data."""

    reduction: str = "none"

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> tuple[TensorType, ...]:
        self.check_scatter(self.reduction, data, indices, updates)
        depth = _depth(self, indices, data.rank)
        expected = (*indices.shape[:-1], *data.shape[depth:])
        fits = updates.shape == expected
        require(fits, self, f"updates expect the shape {TensorType(data.dtype, expected)}, found {updates}")
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, indices: View, updates: View, *, outputs: Sequence[TensorType]) -> Computation:
        return gather_scatter.scatter_nd(data, indices, updates, self.reduction)


@dataclass(frozen=True, slots=True)
class TensorScatter(Operator):
    """A cache with consecutive updates written along an axis (ONNX TensorScatter).

    Inputs: cache, update of the same extents except along `axis`, perhaps starts [batch], the positions of the first
    updates. With `circular`, writing continues at the beginning of the axis after its end; otherwise updates beyond the
    end are left out.
    """

    axis: int = 1
    circular: bool = False

    def infer(self, cache: TensorType, update: TensorType, starts: TensorType | None = None) -> tuple[TensorType, ...]:
        ANY.check(self, "cache", cache)
        require(cache.dtype == update.dtype, self, f"cache and update expect one type, found {cache} and {update}")
        require_axis(self, self.axis, cache.rank)
        require(self.axis >= 1, self, "expects an axis after the batch, found 0")
        extents = cache.shape
        fits = cache.rank == update.rank and all(
            may_be_at_least(m - n, 0) if d == self.axis else n == m
            for d, (n, m) in enumerate(zip(update.shape, extents, strict=True))
        )
        require(fits, self, f"update {update} does not fit cache {cache} along axis {self.axis}")
        if starts is not None:
            INTEGERS.check(self, "starts", starts)
            require(starts.shape == extents[:1], self, f"expects starts [{extents[0]}], found {starts}")
        return (TensorType(cache.dtype, cache.shape),)

    def compute(
        self, cache: View, update: View, starts: View | None = None, *, outputs: Sequence[TensorType]
    ) -> Computation:
        return gather_scatter.tensor_scatter(cache, update, starts, self.axis, self.circular, outputs[0].memory_layout)


OPS = (Gather, GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter)
"""The operators of this file."""
