"""Shapes as formats state them: with -1 for what remains, and axes of extent 1 that come or go."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sateen.frontends.core.operands import normal_axes, require_bound
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import divided, least, listed, product, symbols_of
from sateen.topi.types import MOST_DIMENSIONS


def filled_shape(wanted: Sequence[Dim], source: Sequence[Dim]) -> tuple[Dim, ...]:
    """A shape for the elements of a source; -1 stands for what remains. Raises FrontendError if it can't hold them."""
    if wanted.count(-1) > 1 or any(isinstance(extent, int) and extent < -1 for extent in wanted):
        raise FrontendError(f"expected a shape with at most one -1, found {listed(wanted)}")
    count, known = product(source), product(extent for extent in wanted if extent != -1)
    rest = divided(count, known) if -1 in wanted else 1 if known == count else None
    if rest is None:
        require_bound(symbols_of(count, known), f"whether shape {listed(wanted)} holds {count} elements")
        raise FrontendError(f"shape {listed(wanted)} can't hold the {count} elements of {listed(source)}")
    if len(wanted) > MOST_DIMENSIONS:
        raise FrontendError(f"expected a shape of at most {MOST_DIMENSIONS} dimensions, found {len(wanted)}")
    return tuple(rest if extent == -1 else extent for extent in wanted)


def squeezed_axes(shape: Sequence[Dim], given: Sequence[int] | None, what: str) -> tuple[int, ...]:
    """The given axes, which must have extent 1, or all that have it. Raises FrontendError for another extent, and
    UnsupportedError, which begins with `what`, if open dimensions decide."""
    if given is None:  # what may be 1 decides the rank
        require_bound(symbols_of(*(extent for extent in shape if (least(extent) or 0) < 2)), what)
        return tuple(axis for axis, extent in enumerate(shape) if extent == 1)
    axes = normal_axes(given, len(shape))
    for axis in axes:
        if shape[axis] != 1:
            require_bound(symbols_of(shape[axis]), f"whether axis {axis} has extent 1")
            raise FrontendError(f"expected axis {axis} to have extent 1, found {shape[axis]}")
    return axes


def without_axes(shape: Sequence[Dim], axes: Collection[int]) -> tuple[Dim, ...]:
    """The extents of the other axes."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def with_axes(shape: Sequence[Dim], given: Sequence[int]) -> tuple[Dim, ...]:
    """The shape with extents of 1 at the given axes of the result."""
    rank = len(shape) + len(given)
    axes, extents = normal_axes(given, rank), iter(shape)
    return tuple(1 if axis in axes else next(extents) for axis in range(rank))
