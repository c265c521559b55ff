"""Functions that move elements, and reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    ArgMax,
    ArgMin,
    BroadcastTo,
    Cast,
    Concat,
    Gather,
    GatherND,
    Identity,
    Pad,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reshape,
    Slice,
    Split,
    Transpose,
)
from sateen.graph_ir.sym.axes import axis_of, chosen_axes, moved
from sateen.graph_ir.sym.function import Function, Site
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator


@Function
def flatten(at: Site, data: Value) -> Value:
    """[batch, all other elements]."""
    batch, *rest = data.type.shape
    return at.result(Reshape((batch, product(rest))), data)


@Function
def reshape(at: Site, data: Value, *, shape: tuple[int, ...]) -> Value:
    """The elements in another shape, in which 0 keeps an extent, -1 is what is left, -2 is all extents that are left,
    -3 is the product of two, and -4 splits one into the two that follow it (MXNet's Reshape)."""
    return at.result(Reshape(_reshaped(at, data.type.static_shape, list(shape))), data)


def _reshaped(at: Site, extents: Sequence[int], codes: list[int]) -> tuple[int, ...]:
    result: list[int] = []
    left = list(extents)
    try:
        while codes:
            code = codes.pop(0)
            if code == 0:
                result.append(left.pop(0))
            elif code == -2:
                result += left
                left = []
            elif code == -3:
                result.append(left.pop(0) * left.pop(0))
            elif code == -4:
                whole, a, b = left.pop(0), codes.pop(0), codes.pop(0)
                a, b = (whole // b if a == -1 else a), (whole // a if b == -1 else b)
                result += [a, b]
            else:
                result.append(code)
                left = left[1:]
    except (IndexError, ZeroDivisionError):
        raise ArgumentError(f"{at.name}: a shape with more extents than the data's, {list(extents)}") from None
    if result.count(-1) == 1:
        rest = -prod(result)
        result[result.index(-1)] = prod(extents) // rest if rest else 0
    return tuple(result)


@Function
def reshape_like(at: Site, data: Value, shape_like: Value) -> Value:
    """The elements in the shape of another value."""
    return at.result(Reshape(shape_like.type.shape), data)


@Function
def transpose(at: Site, data: Value, *, axes: tuple[int, ...] = ()) -> Value:
    """Axes in another order, by default reversed."""
    rank = data.type.rank
    order = tuple(axis_of(at, axis, rank) for axis in axes) or tuple(reversed(range(rank)))
    return at.result(Transpose(order), data)


@Function
def expand_dims(at: Site, data: Value, *, axis: int, num_newaxis: int = 1) -> Value:
    """New axes of one element."""
    shape = data.type.shape
    place = axis_of(at, axis, len(shape) + 1)
    return at.result(Reshape((*shape[:place], *(1,) * num_newaxis, *shape[place:])), data)


@Function
def squeeze(at: Site, data: Value, *, axis: tuple[int, ...] = ()) -> Value:
    """Without axes of one element, by default without all of them."""
    shape = data.type.static_shape
    gone = chosen_axes(at, axis, len(shape)) if axis else tuple(d for d, n in enumerate(shape) if n == 1)
    if any(shape[d] != 1 for d in gone):
        raise ArgumentError(f"{at.name}: axis expects axes of one element of {list(shape)}, found {list(gone)}")
    return at.result(Reshape(tuple(n for d, n in enumerate(shape) if d not in gone)), data)


@Function
def concatenate(at: Site, *data: Value, axis: int = 1) -> Value:
    """The inputs one after the other along an axis."""
    return at.result(Concat(axis_of(at, axis, data[0].type.rank)), *data)


def _pieces(attributes: Mapping[str, Any]) -> int:
    given = attributes["indices_or_sections"]
    return given if isinstance(given, int) else len(given) + 1


def _split(at: Site, data: Value, *, indices_or_sections: int | tuple[int, ...], axis: int = 1) -> tuple[Value, ...]:
    """So many equal pieces along an axis, or the pieces between places."""
    place = axis_of(at, axis, data.type.rank)
    extent = data.type.static_shape[place]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1 or extent % count:
            raise ArgumentError(f"{at.name}: expected a number of pieces that divides {extent}, found {count}")
        sizes = [extent // count] * count
    else:
        ends = [*indices_or_sections, extent]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return at.results(Split(place, tuple(sizes)), data, count=len(sizes))


split = Function(_split, "split", _pieces)


@Function
def pad(at: Site, data: Value, *, pad_width: tuple[tuple[int, int], ...], pad_value: float = 0.0) -> Value:
    """The data with a number before and after it along each axis."""
    before, after = ([ends[i] for ends in pad_width] for i in (0, 1))
    return at.result(Pad("constant", (*before, *after), pad_value), data)


@Function
def strided_slice(
    at: Site, data: Value, *, begin: tuple[int | None, ...], end: tuple[int | None, ...], stride: tuple[int, ...] = ()
) -> Value:
    """Every stride-th element of [begin, end) along the first axes, by the rules of Python's slices."""
    shape = data.type.static_shape
    if len(begin) != len(end) or len(begin) > len(shape):
        raise ArgumentError(f"{at.name}: expected at most {len(shape)} begins and ends, found {len(begin)}, {len(end)}")
    ranges = []
    for d, extent in enumerate(shape):
        step = stride[d] if d < len(stride) else 1
        ends = (begin[d], end[d]) if d < len(begin) else (None, None)
        ranges.append(slice(*ends, step).indices(extent))
    starts, stops, steps = (tuple(r[i] for r in ranges) for i in range(3))
    return at.result(Slice(starts, stops, steps), data)


@Function
def slice_like(at: Site, data: Value, slice_like: Value, *, axis: tuple[int, ...] = ()) -> Value:
    """The beginning of the data, as long as another value along axes, by default all."""
    axes = chosen_axes(at, axis, data.type.rank) if axis else tuple(range(slice_like.type.rank))
    ends = list(data.type.shape)
    for d in axes:
        ends[d] = slice_like.type.shape[d]
    return at.result(Slice((0,) * len(ends), tuple(ends), (1,) * len(ends)), data)


@Function
def flip(at: Site, data: Value, *, axis: int = 0) -> Value:
    """The elements in reversed order along an axis."""
    shape, place = data.type.static_shape, axis_of(at, axis, data.type.rank)
    starts = tuple(n - 1 if d == place else 0 for d, n in enumerate(shape))
    ends = tuple(-1 if d == place else n for d, n in enumerate(shape))
    return at.result(Slice(starts, ends, tuple(-1 if d == place else 1 for d in range(len(shape)))), data)


@Function
def take(at: Site, data: Value, indices: Value, *, axis: int | None = None) -> Value:
    """Slices at the indices along an axis, by default elements of the flat data."""
    if axis is None:
        data = at.step(Reshape((prod(data.type.static_shape),)), data)
    return at.result(Gather(0 if axis is None else axis_of(at, axis, data.type.rank)), data, indices)


@Function
def gather_nd(at: Site, data: Value, indices: Value) -> Value:
    """Elements or slices at indices whose first axis is over the axes of the data."""
    return at.result(GatherND(), data, moved(at, indices, 0, -1))


@Function
def broadcast_to(at: Site, data: Value, *, shape: tuple[int, ...]) -> Value:
    """The data repeated along axes of one element; 0 keeps an extent."""
    own = (1,) * (len(shape) - data.type.rank) + data.type.static_shape
    return at.result(BroadcastTo(tuple(n or m for n, m in zip(shape, own, strict=True))), data)


@Function
def expand_like(
    at: Site, data: Value, shape_like: Value, *, axis: tuple[int, ...] = (), exclude: bool = False
) -> Value:
    """The data repeated along axes that another value has in addition."""
    shape = shape_like.type.shape
    axes = chosen_axes(at, axis, len(shape), exclude=exclude)
    kept = iter(data.type.shape)
    if data.type.rank + len(axes) != len(shape):
        raise ArgumentError(f"{at.name}: expected {len(shape) - data.type.rank} axes to add, found {list(axes)}")
    opened = at.step(Reshape(tuple(1 if d in axes else next(kept) for d in range(len(shape)))), data)
    return at.result(BroadcastTo(shape), opened)


@Function
def collapse_sum(at: Site, data: Value, as_like: Value) -> Value:
    """The sum over the axes along which another value would be repeated to have the data's shape."""
    lead = data.type.rank - as_like.type.rank
    axes = [d for d in range(data.type.rank) if d < lead or as_like.type.shape[d - lead] != data.type.shape[d]]
    return at.result(Reshape(as_like.type.shape), at.step(ReduceSum(tuple(axes)), data))


def _reduction(name: str, make: Callable[..., Operator]) -> Function:
    def apply(
        at: Site,
        data: Value,
        *,
        axis: int | tuple[int, ...] = (),
        keepdims: bool = False,
        exclude: bool = False,
        dtype: str | None = None,
    ) -> Value:
        op = make(chosen_axes(at, axis, data.type.rank, exclude=exclude), keepdims)
        if dtype is None or DType.of(dtype) == data.type.dtype:
            return at.result(op, data)
        return at.result(op, at.step(Cast(DType.of(dtype)), data))

    apply.__doc__ = f"{make.__doc__} Over axes, none: all; with `exclude` all others."
    return Function(apply, name)


def _position(name: str, make: Callable[..., Operator]) -> Function:
    def apply(
        at: Site,
        data: Value,
        *,
        axis: int | tuple[int, ...] = (),
        keepdims: bool = False,
        exclude: bool = False,
        dtype: str = "int32",
    ) -> Value:
        shape = data.type.static_shape
        axes = chosen_axes(at, axis, len(shape), exclude=exclude)
        if len(axes) == 1:
            return at.result(Cast(DType.of(dtype)), at.step(make(axes[0], keepdims), data))
        if len(axes) != len(shape):
            raise ArgumentError(f"{at.name}: expected one axis or all {len(shape)}, found {list(axes)}")
        place = at.step(make(0, False), at.step(Reshape((prod(shape),)), data))
        cast = at.step(Cast(DType.of(dtype)), place)
        return at.result(Reshape((1,) * len(shape)), cast) if keepdims else at.result(Identity(), cast)

    apply.__doc__ = f"{make.__doc__} Along an axis, or in the flat data."
    return Function(apply, name)


FUNCTIONS = (
    flatten, reshape, reshape_like, transpose, expand_dims, squeeze, concatenate, split, pad, strided_slice, slice_like,
    flip, take, gather_nd, broadcast_to, expand_like, collapse_sum,
    _reduction("sum", ReduceSum), _reduction("max", ReduceMax), _reduction("min", ReduceMin),
    _reduction("mean", ReduceMean), _reduction("prod", ReduceProd),
    _position("argmax", ArgMax), _position("argmin", ArgMin),
)  # fmt: skip
"""The functions of this file."""
