"""The operands that names of a model stand for while it is read: values of the graph, and known data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array, Dim, TensorType, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import symbols_of

Operand = Value | Array
"""A value of the graph, or data known while importing; data of shapes may contain Dimensions, in an array of
objects."""
MOST_MADE = 1 << 24
"""The most elements of data that a converter makes by itself."""


def type_of(operand: Operand) -> TensorType:
    """The type of a value or of data; dimensions are int64."""
    if isinstance(operand, Value):
        return operand.type
    return TensorType.of("int64" if operand.dtype == object else DType.of(operand.dtype), operand.shape)


def open_dimensions_of(operand: Operand) -> tuple[str, ...]:
    """The names of the symbols that must be bound before the data of an operand is known."""
    return () if isinstance(operand, Value) or operand.dtype != object else symbols_of(*operand.flat)


def extents_array(extents: Sequence[Dim]) -> Array:
    """Dimensions as data: int64, or objects if some are open."""
    known = all(isinstance(extent, int) for extent in extents)
    result = np.empty(len(extents), np.int64 if known else object)
    result[:] = extents
    return result


def require_bound(names: Iterable[str], what: str) -> None:
    """Raises UnsupportedError if there are names of symbols, which decide a value that must be known."""
    listed = sorted(set(names))
    if listed:
        reason = f"{what} depends on dimensions without a number: {', '.join(listed)}"
        raise UnsupportedError(reason, binding_of(listed))


def binding_of(names: Iterable[str]) -> str:
    """What to write to give symbols of these names their sizes; '' if there are none."""
    listed = sorted(set(names))
    binding = ", ".join(f"{name!r}: ..." for name in listed)
    options = " ".join(f"--dim {name}=..." for name in listed)
    return f"bind them: dims={{{binding}}}, or {options}" if listed else ""


def static_extents(shape: Sequence[Dim], what: str) -> tuple[int, ...]:
    """The dimensions as numbers. Raises UnsupportedError if one is open."""
    require_bound(symbols_of(*shape), what)
    return tuple(extent for extent in shape if isinstance(extent, int))


def require_few(*extents: int) -> None:
    """Raises UnsupportedError if data of this shape are too large to be made while importing, or the shape is none.

    Even a small file can ask for positions along a huge axis, so this is asked before they are made.
    """
    if min(extents, default=0) < 0 or prod(extents) > MOST_MADE:
        raise UnsupportedError(f"expected to make data of at most {MOST_MADE} elements, found {list(extents)}")


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front. Raises FrontendError if there is no such axis."""
    if not -rank <= axis < rank:
        raise FrontendError(f"expected an axis of {-rank} to {rank - 1}, found {axis}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order. Raises FrontendError if one is given twice."""
    result = sorted(normal_axis(axis, rank) for axis in axes)
    if len(set(result)) < len(result):
        raise FrontendError(f"expected each axis once, found {list(axes)}")
    return tuple(result)
