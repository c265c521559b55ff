"""Slices by ranges along axes as NumPy has them, and axes turned around."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand
from sateen.graph_ir.ir import Dim
from sateen.graph_ir.ops import Reshape, Slice
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, may_be_at_least

FARTHEST = (1 << 31) - 1
"""A start or end of a slice that means the end of an axis of unknown extent, and the longest step there."""
_MOST_RANGES = 64

Range = tuple[Dim, Dim, int]
"""The start, end and step of a slice along an axis, within it."""


@dataclass(frozen=True, slots=True)
class Masks:
    """Bits that say of the ranges of a strided slice what they are: begin or end left out, `...`, a new axis, or one
    element, whose axis is left out."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink_axis: int

    @classmethod
    def of(cls, node: ModelNode) -> Masks:
        """Those in the attributes of a node."""
        return cls(*(node.integer(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")))

    def ranges(self, count: int, rank: int) -> list[tuple[int | None, str]]:
        """What each of `count` ranges of data of a rank is, with its number: `some` or `one` element of an axis, `all`
        of one, or a `new` axis."""
        kinds = [self._kind(index) for index in range(count)]
        taken = sum(kind in {"one", "some"} for kind in kinds)
        if kinds.count("dots") > 1 or taken > rank:
            raise FrontendError(f"expected ranges for {rank} axes, found {taken} and {kinds.count('dots')} ellipses")
        if "dots" not in kinds:
            kinds.append("dots")
        found: list[tuple[int | None, str]] = []
        for index, kind in enumerate(kinds):
            found += [(None, "all")] * (rank - taken) if kind == "dots" else [(index, kind)]
        return found

    def _kind(self, index: int) -> str:
        if self.ellipsis >> index & 1:
            return "dots"
        if self.new_axis >> index & 1:
            return "new"
        return "one" if self.shrink_axis >> index & 1 else "some"


def strided_slice(
    node: ModelNode, begins: Sequence[Dim], ends: Sequence[Dim], steps: Sequence[int], masks: Masks
) -> Operand:
    """x[begin:end:step, …] of the node's first input, its result (tensorflow/core/util/strided_slice_op.cc)."""
    shape = node.shape(0)
    if not len(begins) == len(ends) == len(steps) <= _MOST_RANGES:
        raise FrontendError(f"expected as many begins, ends and strides, found {listed(begins)} and {listed(ends)}")
    taken: list[Range] = []
    kept: list[bool | None] = []  # whether an axis stays; None: a new one
    for index, kind in masks.ranges(len(steps), len(shape)):
        if kind == "new":
            kept.append(None)
            continue
        extent = shape[len(taken)]
        if index is None:
            taken.append((0, extent, 1))
        elif kind == "one":
            taken.append(_element(begins[index], extent))
        else:
            begin = None if masks.begin >> index & 1 else begins[index]
            end = None if masks.end >> index & 1 else ends[index]
            taken.append(range_within(begin, end, steps[index], extent))
        kept.append(kind != "one")
    starts, stops, strides = zip(*taken, strict=True) if taken else ((), (), ())
    op = Slice(starts, stops, strides)
    if all(kept):
        return node.result(op, node.value(0))
    part = node.step(op, node.value(0))
    extents = iter(part.type.shape)
    wanted: list[Dim] = []
    for stays in kept:
        extent = 1 if stays is None else next(extents)
        if stays is not False:
            wanted.append(extent)
    return node.result(Reshape(shape=tuple(wanted)), part)


def _element(place: Dim, extent: Dim) -> Range:
    """One element of an axis, counted from the end if negative, as a range."""
    start = place + extent if place < 0 else place
    if not (may_be_at_least(start, 0) and may_be_at_least(extent - 1 - start, 0)):
        raise FrontendError(f"expected an index within extent {extent}, found {place}")
    return start, start + 1, 1


def range_within(begin: Dim | None, end: Dim | None, step: int, extent: Dim) -> Range:
    """A range of an axis, as a Python slice: counted from the end if negative, limited to the axis; None is the end of
    the axis in the direction of the step. Raises InferenceError if open dimensions decide it."""
    if not step:
        raise FrontendError("expected strides other than 0")
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    first, last = (low, high) if step > 0 else (high, low)
    start = first if begin is None else limited(begin, extent, low, high)
    return start, last if end is None else limited(end, extent, low, high), limited_step(step, extent)


def limited(place: Dim, extent: Dim, low: Dim, high: Dim) -> Dim:
    """A start or end of a slice, counted from the end if negative, limited to places of an axis of this extent. Raises
    InferenceError if open dimensions decide whether it is within."""
    if isinstance(place, int) and not isinstance(extent, int) and abs(place) >= FARTHEST:
        return high if place > 0 else low
    place = place + extent if place < 0 else place
    return low if place < low else min(place, high)


def limited_step(step: int, extent: Dim) -> int:
    """A step of a slice, no longer than the axis: a longer one takes one element, too."""
    longest = max(extent, 1) if isinstance(extent, int) else FARTHEST
    return max(-longest, min(step, longest))


def turned(shape: Sequence[Dim], axes: Collection[int]) -> Slice:
    """The operator that turns axes of data of a shape around."""
    back = [axis in axes for axis in range(len(shape))]
    starts = tuple(extent - 1 if is_back else 0 for extent, is_back in zip(shape, back, strict=True))
    ends = tuple(-1 if is_back else extent for extent, is_back in zip(shape, back, strict=True))
    return Slice(starts, ends, tuple(-1 if is_back else 1 for is_back in back))
