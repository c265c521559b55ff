"""Axes by numbers from either end, and in other orders."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Transpose
from sateen.graph_ir.sym.function import Site
from sateen.runtime.errors import ArgumentError


def axis_of(at: Site, axis: int, rank: int) -> int:
    """The axis counted from the front. Raises ArgumentError if there is none."""
    if not -rank <= axis < rank:
        raise ArgumentError(f"{at.name}: axis expects {-rank} to {rank - 1}, found {axis}")
    return axis % rank


def chosen_axes(at: Site, axes: int | Sequence[int], rank: int, *, exclude: bool = False) -> tuple[int, ...]:
    """The axes in order; none: all; with `exclude` all others."""
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    found = {axis_of(at, axis, rank) for axis in listed} or set(range(rank))
    if exclude and listed:
        found = set(range(rank)) - found
    return tuple(sorted(found))


def moved(at: Site, value: Value, source: int, target: int) -> Value:
    """The value with an axis in another place."""
    rank = value.type.rank
    order = [axis for axis in range(rank) if axis != source % rank]
    order.insert(target % rank, source % rank)
    return at.step(Transpose(tuple(order)), value)


def ordered(at: Site, value: Value, given: str, wanted: str) -> Value:
    """The value with its axes, named by letters, in another order. Raises ArgumentError for other letters."""
    if given == wanted:
        return value
    if sorted(given) != sorted(wanted):
        raise ArgumentError(f"{at.name}: layout expects an order of {wanted}, found {given!r}")
    return at.step(Transpose(tuple(given.index(axis) for axis in wanted)), value)
