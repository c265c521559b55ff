"""Operators that move elements: each element of the output is one of the input, or a constant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.broadcast import broadcast_types
from sateen.graph_ir.ops.element_kinds import ANY, NUMBERS, require_literal
from sateen.tensor_ir import Machine
from sateen.topi.computations import broadcast, shape
from sateen.topi.dimensions import listed, may_be_at_least, numbers, product, rounded_up
from sateen.topi.operators import LayoutChoice, Operator, Transposed, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View

V = TypeVar("V")


def require_axis(op: Operator, axis: int, rank: int) -> None:
    """Raise InferenceError unless `axis` is a non-negative axis of a tensor of that rank."""
    require(0 <= axis < rank, op, f"axis expects 0 to {rank - 1}, found {axis}")


def require_extents(op: Operator, name: str, values: Sequence[Dim]) -> None:
    """Raise InferenceError if a value is below 0 for all sizes."""
    fits = all(may_be_at_least(value, 0) for value in values)
    require(fits, op, f"{name} expects extents of at least 0, found {listed(values)}")


def require_per_axis(op: Operator, name: str, values: Sequence[object], rank: int) -> None:
    """Raise InferenceError unless there is a value per axis."""
    require(len(values) == rank, op, f"{name} expects {rank} values, one per axis, found {len(values)}")


def untransposed(values: Sequence[V], permutation: Sequence[int]) -> tuple[V, ...]:
    """Values for the axes of a transpose, reordered for the axes of its input."""
    by_axis = dict(zip(permutation, values, strict=True))
    return tuple(by_axis[axis] for axis in range(len(permutation)))


@dataclass(frozen=True, slots=True)
class Reshape(Operator):
    """The elements of data in row-major order, in another shape with as many elements."""

    shape: tuple[Dim, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        require_extents(self, "shape", self.shape)
        count, found = product(data.shape), product(self.shape)
        require(found == count, self, f"shape {listed(self.shape)} has {found} elements, data {data} has {count}")
        return (TensorType(data.dtype, self.shape),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.reshape(data, outputs[0].static_shape, outputs[0].memory_layout)

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        return (0,) if inputs[0].layout is None and outputs[0].layout is None else None


@dataclass(frozen=True, slots=True)
class Transpose(Operator):
    """Axis d of the output is axis permutation[d] of data."""

    permutation: tuple[int, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        whole = sorted(self.permutation) == list(range(data.rank))
        require(whole, self, f"permutation expects the axes of data {data}, found {list(self.permutation)}")
        return (TensorType(data.dtype, tuple(data.shape[axis] for axis in self.permutation)),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.transpose(data, self.permutation, outputs[0].memory_layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The same memory under other axes: any layout of data, and the one that makes the result row-major."""
        found = inputs[0].memory_layout.transposed(self.permutation)
        yield LayoutChoice((inputs[0].layout,), (None if found.is_row_major else found,), 0.0)
        if not found.is_row_major:
            yield LayoutChoice((Layout(self.permutation),), (None,), 0.0)

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        same = inputs[0].memory_layout.transposed(self.permutation) == outputs[0].memory_layout
        return (0,) if same else None


@dataclass(frozen=True, slots=True)
class Concat(Operator):
    """The inputs one after the other along an axis."""

    axis: int = 0

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        require(len(inputs) > 0, self, "expects at least one input, found none")
        first = inputs[0]
        ANY.check(self, "data", first)
        require_axis(self, self.axis, first.rank)
        total: Dim = 0
        for x in inputs:
            fits = x.dtype == first.dtype and x.rank == first.rank and self._others(x) == self._others(first)
            require(fits, self, f"inputs {first} and {x} differ in more than axis {self.axis}")
            total += x.shape[self.axis]
        return (TensorType(first.dtype, (*first.shape[: self.axis], total, *first.shape[self.axis + 1 :])),)

    def _others(self, x: TensorType) -> tuple[Dim, ...]:
        return (*x.shape[: self.axis], *x.shape[self.axis + 1 :])

    def parts_of_output(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        return _pieces(outputs[0], inputs, self.axis)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(Concat(permutation[self.axis]), permutation)

    def compute(self, *inputs: View, outputs: Sequence[TensorType]) -> Computation:
        return shape.concatenate(inputs, self.axis, outputs[0].memory_layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """Any layout of an input whose blocks divide all inputs along the axis."""
        found: dict[Layout | None, None] = {x.layout: None for x in inputs if x.layout is not None}
        for layout in found:
            if layout is not None and all(_divides(layout, self.axis, x) for x in inputs):
                yield LayoutChoice((layout,) * len(inputs), (layout,))
        yield LayoutChoice((None,) * len(inputs), (None,))


def _pieces(whole: TensorType, pieces: Sequence[TensorType], axis: int) -> Sequence[int] | None:
    """The byte offsets of pieces of a tensor along an axis."""
    offsets: list[int] = []
    start = 0
    for piece in pieces:
        offset = _byte_of(whole, piece, [start if d == axis else 0 for d in range(whole.rank)])
        if offset is None:
            return None
        offsets.append(offset)
        start += piece.static_shape[axis]
    return offsets


def _byte_of(whole: TensorType, part: TensorType, starts: Sequence[int]) -> int | None:
    """The byte offset of a box of a tensor, if the box is in memory in the order of its own type."""
    if part.layout != whole.layout:
        return None
    offset = whole.memory_layout.offset_of(whole.static_shape, starts, part.static_shape)
    return None if offset is None else offset * whole.dtype.bytes


def _divides(layout: Layout, axis: int, x: TensorType) -> bool:
    extent = x.shape[axis]
    return isinstance(extent, int) and extent % layout.block_of(axis) == 0


@dataclass(frozen=True, slots=True)
class Split(Operator):
    """Pieces of data along an axis, of the given sizes in order: an output per size."""

    axis: int = 0
    sizes: tuple[Dim, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        require_axis(self, self.axis, data.rank)
        require_extents(self, "sizes", self.sizes)
        fits = bool(self.sizes) and sum(self.sizes) == data.shape[self.axis]
        require(fits, self, f"sizes {listed(self.sizes)} do not add up to axis {self.axis} of data {data}")
        before, after = data.shape[: self.axis], data.shape[self.axis + 1 :]
        return tuple(TensorType(data.dtype, (*before, size, *after)) for size in self.sizes)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(Split(permutation[self.axis], self.sizes), permutation)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.split(data, self.axis, numbers(self.sizes), [o.memory_layout for o in outputs])

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        return _pieces(inputs[0], outputs, self.axis)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        layout = inputs[0].layout
        if layout is not None and all(_divides(layout, self.axis, piece) for piece in outputs):
            yield LayoutChoice((layout,), (layout,) * len(outputs))
        yield LayoutChoice((None,), (None,) * len(outputs))


@dataclass(frozen=True, slots=True)
class Slice(Operator):
    """Elements starts[d], starts[d] + steps[d], … of each axis d, before ends[d].

    Starts and ends are resolved: within [0, extent] for a positive step; for a negative one starts are within
    [-1, extent) and ends too, -1 being before the first element.
    """

    starts: tuple[Dim, ...] = ()
    ends: tuple[Dim, ...] = ()
    steps: tuple[int, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        for name, values in (("starts", self.starts), ("ends", self.ends), ("steps", self.steps)):
            require_per_axis(self, name, values, data.rank)
        extents: list[Dim] = []
        for axis, (start, end, step) in enumerate(zip(self.starts, self.ends, self.steps, strict=True)):
            require(step != 0, self, f"steps expects other numbers than 0, found {list(self.steps)}")
            least, most = (0, data.shape[axis]) if step > 0 else (-1, data.shape[axis] - 1)
            within = all(may_be_at_least(i, least) and may_be_at_least(most - i, 0) for i in (start, end))
            require(within, self, f"start {start} and end {end} of axis {axis} expect {least} to {most}")
            length = end - start if step > 0 else start - end
            extents.append(rounded_up(length, abs(step)) if length >= 0 else 0)
        return (TensorType(data.dtype, tuple(extents)),)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        starts, ends = (untransposed(values, permutation) for values in (self.starts, self.ends))
        steps = untransposed(self.steps, permutation)
        return Transposed(Slice(starts, ends, steps), permutation)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.strided_slice(data, numbers(self.starts), numbers(self.ends), self.steps, outputs[0].memory_layout)

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        if any(step != 1 for step in self.steps):
            return None
        offset = _byte_of(inputs[0], outputs[0], numbers(self.starts))
        return None if offset is None else (offset,)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The layout of data if blocked axes are taken whole."""
        layout = inputs[0].layout
        cut = [d for d, (a, b) in enumerate(zip(inputs[0].shape, outputs[0].shape, strict=True)) if a != b]
        if layout is not None and all(layout.block_of(d) == 1 for d in cut) and not any(s < 0 for s in self.steps):
            yield LayoutChoice((layout,), (layout,))
        yield LayoutChoice((None,), (None,))


@dataclass(frozen=True, slots=True)
class Pad(Operator):
    """Data with elements added before and after each axis, or removed where `pads` (all begins, then all ends) is
    negative. `mode`: constant (`value`), edge, reflect (at the centre of the outermost element), symmetric (at its
    outer edge), wrap."""

    mode: str = "constant"
    pads: tuple[Dim, ...] = ()
    value: float = 0.0

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        modes = ("constant", "edge", "reflect", "symmetric", "wrap")
        require(self.mode in modes, self, f"mode expects one of {', '.join(modes)}, found {self.mode!r}")
        require_literal(self, "value", self.value, data.dtype)
        fits = len(self.pads) == 2 * data.rank
        require(fits, self, f"pads expects {2 * data.rank} values, a begin and an end per axis, found {len(self.pads)}")
        before, after = self._ends()
        extents: list[Dim] = []
        for axis, (extent, low, high) in enumerate(zip(data.shape, before, after, strict=True)):
            total = extent + low + high
            enough = may_be_at_least(total, 0)
            require(enough, self, f"pads {low} and {high} take more from axis {axis} than data {data} has")
            made = self.mode == "constant" or may_be_at_least(extent, 1) or total == 0
            require(made, self, f"mode {self.mode!r} expects elements along axis {axis}, found {data}")
            extents.append(total)
        return (TensorType(data.dtype, tuple(extents)),)

    def _ends(self) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
        rank = len(self.pads) // 2
        return self.pads[:rank], self.pads[rank:]

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        before, after = (untransposed(values, permutation) for values in self._ends())
        return Transposed(Pad(self.mode, (*before, *after), self.value), permutation)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        before, after = map(numbers, self._ends())
        return shape.pad(data, before, after, self.mode, self.value, outputs[0].memory_layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The layout of data if blocked axes are not padded."""
        layout, before, after = inputs[0].layout, *self._ends()
        padded = [axis for axis in range(inputs[0].rank) if before[axis] or after[axis]]
        if layout is not None and all(layout.block_of(axis) == 1 for axis in padded):
            yield LayoutChoice((layout,), (layout,))
        yield LayoutChoice((None,), (None,))


@dataclass(frozen=True, slots=True)
class BroadcastTo(Operator):
    """Data broadcast with `shape`, both ways: an extent of 1 in `shape` keeps that of data."""

    shape: tuple[Dim, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        return (TensorType(data.dtype, broadcast_types(self, data, TensorType(data.dtype, self.shape))),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return broadcast.broadcast_to(data, outputs[0].static_shape, outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class Tile(Operator):
    """Data repeated along each axis."""

    repeats: tuple[Dim, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        require_per_axis(self, "repeats", self.repeats, data.rank)
        require_extents(self, "repeats", self.repeats)
        repeated = (extent * times for extent, times in zip(data.shape, self.repeats, strict=True))
        return (TensorType(data.dtype, tuple(repeated)),)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        return Transposed(Tile(untransposed(self.repeats, permutation)), permutation)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.tile(data, numbers(self.repeats), outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class DepthToSpace(Operator):
    """[n, c, h, w] to [n, c / block², h·block, w·block]. `mode` orders the depth: DCR [block, block, c'] or CRD."""

    block: int = 1
    mode: str = "DCR"

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        n, c, h, w = _picture(self, self.block, data)
        require(self.mode in ("DCR", "CRD"), self, f"mode expects 'DCR' or 'CRD', found {self.mode!r}")
        fits = c % self.block**2 == 0
        require(fits, self, f"channels expect a multiple of {self.block**2}, found {c}")
        return (TensorType(data.dtype, (n, c // self.block**2, h * self.block, w * self.block)),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.depth_to_space(data, self.block, self.mode, outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Operator):
    """[n, c, h, w] to [n, c·block², h / block, w / block], the depth being [block, block, c]."""

    block: int = 1

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        n, c, h, w = _picture(self, self.block, data)
        fits = h % self.block == 0 and w % self.block == 0
        require(fits, self, f"height and width expect multiples of {self.block}, found {h} and {w}")
        return (TensorType(data.dtype, (n, c * self.block**2, h // self.block, w // self.block)),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.space_to_depth(data, self.block, outputs[0].memory_layout)


def _picture(op: Operator, block: int, data: TensorType) -> tuple[Dim, Dim, Dim, Dim]:
    ANY.check(op, "data", data)
    require(data.rank == 4, op, f"data expects [n, c, h, w], found {data}")
    require(block >= 1, op, f"block expects at least 1, found {block}")
    n, c, h, w = data.shape
    return n, c, h, w


@dataclass(frozen=True, slots=True)
class Trilu(Operator):
    """The upper or lower triangle of the last two axes, from the k-th diagonal; zero elsewhere."""

    upper: bool = True
    k: int = 0

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        ANY.check(self, "data", data)
        require(data.rank >= 2, self, f"data expects at least 2 axes, found {data}")
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.trilu(data, self.upper, self.k, outputs[0].memory_layout)


@dataclass(frozen=True, slots=True)
class OneHot(Operator):
    """A new axis of extent `depth`: values[1] at the index and values[0] elsewhere. Inputs: indices, values."""

    depth: int = 1
    axis: int = 0

    def infer(self, indices: TensorType, values: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "indices", indices)
        ANY.check(self, "values", values)
        require(self.depth >= 1, self, f"depth expects at least 1, found {self.depth}")
        require_axis(self, self.axis, indices.rank + 1)
        require(values.shape == (2,), self, f"values expects 2 elements, found {values}")
        return (TensorType(values.dtype, (*indices.shape[: self.axis], self.depth, *indices.shape[self.axis :])),)

    def compute(self, indices: View, values: View, *, outputs: Sequence[TensorType]) -> Computation:
        return shape.one_hot(indices, values, self.depth, self.axis, outputs[0].memory_layout)


OPS = (
    Reshape, Transpose, Concat, Split, Slice, Pad, BroadcastTo, Tile, DepthToSpace, SpaceToDepth, Trilu, OneHot,
)  # fmt: skip
"""The operators of this file."""
