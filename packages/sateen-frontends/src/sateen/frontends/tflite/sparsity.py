"""Sparse constants of a TensorFlow Lite file as dense ones.

Source: SparsityParameters in schema.fbs, and "The Sparse Tensor Algebra Compiler" (taco), whose format this is: an
order in which dimensions, then blocks of some of them, are walked, each dense or as compressed rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from sateen.frontends.tflite.flatbuffer import Table
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError


def dense(table: Table, shape: tuple[int, ...], elements: Callable[[int], Array]) -> Array:
    """The dense array of a shape; `elements` gives the data, of a number of elements. Raises FrontendError if the
    description does not fit, or names a place twice."""
    order, block_map = table["traversal_order"] or (), table["block_map"] or ()
    levels = table["dimensions"]
    rank = len(shape)
    fits = len(levels) == rank + len(block_map) and sorted(order) == list(range(len(levels)))
    if not fits or not all(0 <= axis < rank for axis in block_map) or len(set(block_map)) < len(block_map):
        raise FrontendError(f"expected an order of {rank} dimensions and their blocks, found {list(order)}")
    if not prod(shape):
        return elements(0).reshape(shape)
    blocks = {axis: int(levels[order.index(rank + number)]["dense_size"]) for number, axis in enumerate(block_map)}
    places = np.zeros(1, np.int64)  # of the elements so far, in the dense array as one row
    for level, part in zip(levels, order, strict=True):
        axis = part if part < rank else block_map[part - rank]
        extent, stride = blocks.get(axis, 1), prod(shape[axis + 1 :])
        if extent < 1 or shape[axis] % extent:
            raise FrontendError(f"expected blocks that divide dimension {axis} of {list(shape)}, found {extent}")
        if part < rank:
            extent, stride = shape[axis] // extent, stride * extent
        places = _descended(places, level, extent, stride, prod(shape))
    found = elements(len(places))
    is_held = np.zeros(prod(shape), np.bool_)
    is_held[places] = True
    if np.count_nonzero(is_held) < len(places):
        raise FrontendError("expected a sparse constant with each place once, found one twice")
    result = np.zeros(prod(shape), found.dtype)
    result[places] = found
    return result.reshape(shape)


def _descended(places: Array, level: Table, extent: int, stride: int, most: int) -> Array:
    """The places one level further down, at most `most`: the level's indices are `stride` apart."""
    if level["format"] == "DENSE":
        if level["dense_size"] != extent:
            raise FrontendError(f"expected a dense level of {extent}, found {level['dense_size']}")
        _require_places(len(places) * extent, most)
        return (places[:, None] + stride * np.arange(extent)).reshape(-1)
    segments, indices = (_indices(level[name]) for name in ("segments", "indices"))
    _require_places(len(indices), most)
    fits = len(segments) == len(places) + 1 and segments[0] == 0 and segments[-1] == len(indices)
    counts: Array = np.diff(segments.astype(np.int64)) if fits else segments
    if not fits or np.any(counts < 0) or np.any((indices < 0) | (indices >= extent)):
        raise FrontendError("expected compressed rows within the tensor, found others")
    return np.repeat(places, counts) + stride * indices.astype(np.int64)


def _require_places(count: int, most: int) -> None:
    """Raises FrontendError for more places than the dense array has, of which some must be the same."""
    if count > most:
        raise FrontendError(f"expected a sparse constant of at most {most} places, found {count}")


def _indices(vector: tuple[object, Table] | None) -> Array:
    values = None if vector is None else vector[1]["values"]
    return np.zeros(0, np.int64) if values is None else values
