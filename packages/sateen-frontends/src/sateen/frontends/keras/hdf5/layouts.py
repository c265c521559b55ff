"""The elements of a dataset, wherever its layout puts them: in its header, in one piece, or in chunks
(section IV.A.2.i)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.chunks import Chunk, Grid, chunks_of_index, chunks_of_old_index
from sateen.frontends.keras.hdf5.filters import filters_of, unfiltered
from sateen.frontends.keras.hdf5.headers import DATASPACE, DATATYPE, EXTERNAL, FILTERS, LAYOUT, Message
from sateen.frontends.keras.hdf5.values import ElementType, Extents, element_type, extents, numbers, require_fit
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

_COMPACT, _WHOLE, _CHUNKED = 0, 1, 2
_OF_OLD_INDEX, _NEWER = 3, (4, 5)
"""Versions of layouts whose chunks are in a tree of version 1, and in one of several indexes."""
_UNFILTERED_AT_EDGES = 1
"""The flag of chunks that are not filtered where the dataset ends within them."""


def array_of(file: FileBytes, messages: Mapping[int, Message], what: str) -> Array:
    """The numbers of a dataset. Raises FrontendError if it is no array within the file."""
    if EXTERNAL in messages:
        raise FrontendError(f"{what}: expected data in this file, found data that is stored in others")
    if not {DATATYPE, DATASPACE, LAYOUT} <= messages.keys():
        raise FrontendError(f"{what}: expected a dataset, found a group")
    kind = element_type(messages[DATATYPE].fields(file))
    shape = extents(messages[DATASPACE].fields(file))
    layout = messages[LAYOUT].fields(file)
    version, where = layout.number(1), layout.number(1)
    if version not in {_OF_OLD_INDEX, *_NEWER} or where > _CHUNKED:
        raise file.unusual(f"a layout of version {version} and kind {where}")
    if where == _CHUNKED:
        return _of_chunks(file, kind, shape, layout, version, messages.get(FILTERS), what)
    return numbers(file, _in_one_piece(layout, where, what), kind, shape.now, what)


def _in_one_piece(layout: Fields, where: int, what: str) -> memoryview:
    if where == _COMPACT:
        return layout.take(layout.number(2))
    address, size = layout.address(), layout.length()
    if address == layout.file.undefined and size:
        raise FrontendError(f"{what}: expected {size} bytes of data, which were never written")
    return layout.file.at(address, size) if size else memoryview(b"")


def _of_chunks(
    file: FileBytes,
    kind: ElementType,
    shape: Extents,
    layout: Fields,
    version: int,
    pipeline: Message | None,
    what: str,
) -> Array:
    dtype = require_fit(file, kind, shape.now, what)
    flags = 0 if version == _OF_OLD_INDEX else layout.number(1)
    rank = layout.number(1) - 1  # the bytes of an element count as an extent, too
    old_index = layout.address() if version == _OF_OLD_INDEX else 0
    width = 4 if version == _OF_OLD_INDEX else layout.number(1)
    sizes = tuple(layout.number(width) for _ in range(rank))
    layout.take(width)
    if rank != len(shape.now) or 0 in sizes or width > 8:
        raise FrontendError(f"{what}: expected chunks of {len(shape.now)} dimensions, found {list(sizes)}")
    filters = () if pipeline is None else filters_of(pipeline.fields(file))
    grid = Grid(file, sizes, prod(sizes) * kind.bytes, shape)
    file.take_room(prod(grid.counts) * grid.chunk_bytes, what)
    found = np.empty(shape.now, dtype.newbyteorder("="))
    missing = prod(grid.counts)
    filled: set[tuple[int, ...]] = set()
    for chunk in _chunks(grid, layout, version, old_index, flags, bool(filters)) if missing else ():
        if chunk.address == file.undefined or any(map(int.__ge__, chunk.place, grid.counts)):
            continue
        if chunk.place in filled:
            raise FrontendError(f"{what}: chunk {list(chunk.place)} is there twice")
        filled.add(chunk.place)
        starts = tuple(map(int.__mul__, chunk.place, sizes))
        ends = tuple(min(start + size, n) for start, size, n in zip(starts, sizes, shape.now, strict=True))
        is_whole = all(end - start == size for start, end, size in zip(starts, ends, sizes, strict=True))
        used = () if flags & _UNFILTERED_AT_EDGES and not is_whole else filters
        data = unfiltered(file.at(chunk.address, chunk.bytes), used, chunk.skipped, grid.chunk_bytes, what)
        part = np.frombuffer(data, dtype).reshape(sizes)
        inside = tuple(slice(0, end - start) for start, end in zip(starts, ends, strict=True))
        found[tuple(map(slice, starts, ends))] = part[inside]
    if len(filled) < missing:
        raise FrontendError(f"{what}: expected {missing} chunks of data, {missing - len(filled)} were never written")
    return found


def _chunks(grid: Grid, layout: Fields, version: int, old_index: int, flags: int, is_filtered: bool) -> Iterator[Chunk]:
    if version == _OF_OLD_INDEX:
        return iter(()) if old_index == grid.file.undefined else chunks_of_old_index(grid, old_index)
    return chunks_of_index(grid, layout, flags, is_filtered)
