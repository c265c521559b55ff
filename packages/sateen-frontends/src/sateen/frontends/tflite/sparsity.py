"""Sparse constants of a TensorFlow Lite file as dense ones.

Source: SparsityParameters in schema.fbs, and "The Sparse Tensor Algebra Compiler" (taco), whose format this is: an
order in which dimensions, then blocks of some of them, are walked, each dense or as compressed rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sateen.frontends.tflite.flatbuffer import Table
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError


def dense(table: Table, shape: tuple[int, ...], elements: Callable[[int], Array]) -> Array:
    """The dense array of a shape; `elements` gives the data, of a number of elements. Raises FrontendError if the
    description does not fit."""
    order, block_map = table["traversal_order"] or (), table["block_map"] or ()
    levels = table["dimensions"]
    rank = len(shape)
    fits = len(levels) == rank + len(block_map) and sorted(order) == list(range(len(levels)))
    if not fits or not all(0 <= axis < rank for axis in block_map) or len(set(block_map)) < len(block_map):
        raise FrontendError(f"expected an order of {rank} dimensions and their blocks, found {list(order)}")
    extents = _extents(shape, order, block_map, levels)
    places = np.zeros((1, 0), np.int64)  # a row per element so far: its index at each level
    for level, extent in zip(levels, extents, strict=True):
        places = _descended(places, level, extent)
    by_part = np.empty_like(places)
    by_part[:, list(order)] = places
    index = by_part[:, :rank].copy()
    for number, axis in enumerate(block_map):
        index[:, axis] = index[:, axis] * _block(order, levels, rank + number) + by_part[:, rank + number]
    result_of = elements(len(places))
    result = np.zeros(shape, result_of.dtype)
    result[tuple(index.T)] = result_of
    return result


def _block(order: tuple[int, ...], levels: tuple[Table, ...], part: int) -> int:
    """The extent of a block."""
    return int(levels[order.index(part)]["dense_size"])


def _extents(
    shape: tuple[int, ...], order: tuple[int, ...], block_map: tuple[int, ...], levels: tuple[Table, ...]
) -> list[int]:
    """The extent of each level: of a dimension, in blocks, or of a block."""
    rank = len(shape)
    parts = list(shape)
    for number, axis in enumerate(block_map):
        block = _block(order, levels, rank + number)
        if block < 1 or parts[axis] % block:
            raise FrontendError(f"expected blocks that divide dimension {axis} of {list(shape)}, found {block}")
        parts[axis] //= block
        parts.append(block)
    return [parts[part] for part in order]


def _descended(places: Array, level: Table, extent: int) -> Array:
    """The places one level further down."""
    if level["format"] == "DENSE":
        if level["dense_size"] != extent:
            raise FrontendError(f"expected a dense level of {extent}, found {level['dense_size']}")
        counts = np.full(len(places), extent, np.int64)
        found = np.tile(np.arange(extent), len(places))
    else:
        segments, indices = (_indices(level[name]) for name in ("segments", "indices"))
        counts = np.diff(segments)
        fits = len(segments) == len(places) + 1 and segments[0] == 0 and segments[-1] == len(indices)
        if not fits or np.any(counts < 0) or np.any((indices < 0) | (indices >= extent)):
            raise FrontendError("expected compressed rows within the tensor, found others")
        found = indices
    return np.concatenate([np.repeat(places, counts, axis=0), found[:, None]], axis=1)


def _indices(vector: tuple[object, Table] | None) -> Array:
    return np.array(() if vector is None else vector[1]["values"] or (), np.int64)
