"""Where the chunks of a dataset are: indexes of all kinds (sections III.A, VII.A to VII.D; IV.A.2.i)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.trees import children_of_old_tree, records_of_new_tree
from sateen.frontends.keras.hdf5.values import Extents

_CHECKSUM = 4


def ceil_div(total: int, part: int) -> int:
    return -(-total // part)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: its place in the grid of chunks, where its bytes are, and which filters it skipped."""

    place: tuple[int, ...]
    address: int
    bytes: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """Chunks of a dataset: their extents, the bytes of each, and how far the dataset reaches and may."""

    file: FileBytes
    chunk: tuple[int, ...]
    chunk_bytes: int
    extents: Extents

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of chunks along each axis."""
        return tuple(ceil_div(extent, size) for extent, size in zip(self.extents.now, self.chunk, strict=True))

    def places(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The number and the place of each chunk. They are numbered as elements of an array are, up to the extents that
        the dataset may reach; an axis without end comes first."""
        most = [
            None if extent is None else ceil_div(extent, size)
            for extent, size in zip(self.extents.most, self.chunk, strict=True)
        ]
        order = sorted(range(len(most)), key=lambda axis: (most[axis] is not None, axis))
        if most.count(None) > 1:
            raise self.file.damaged("chunks of several axes without end have no numbers")
        strides, stride = [0] * len(most), 1
        for axis in reversed(order):
            strides[axis] = stride
            stride *= most[axis] or 1
        place = [0] * len(most)
        for _ in range(prod(self.counts)):
            yield sum(map(int.__mul__, place, strides)), tuple(place)
            for axis in reversed(range(len(place))):
                place[axis] += 1
                if place[axis] < self.counts[axis]:
                    break
                place[axis] = 0


def chunks_of_old_index(grid: Grid, address: int) -> Iterator[Chunk]:
    """A tree of version 1; keys have offsets of elements."""
    rank = len(grid.chunk)
    for key, child in children_of_old_tree(grid.file, address, 8 + 8 * (rank + 1)):
        size, skipped = key.number(4), key.number(4)
        starts = [key.number(8) for _ in range(rank)]
        yield Chunk(tuple(map(int.__floordiv__, starts, grid.chunk)), child, size, skipped)


def chunks_of_index(grid: Grid, fields: Fields, flags: int, is_filtered: bool) -> Iterator[Chunk]:
    """An index of the newer layout: of one chunk, of chunks one after the other, an array of fixed or growing length,
    or a tree."""
    file, kind = grid.file, fields.number(1)
    match kind:
        case 1:
            size = fields.length() if flags & 2 else grid.chunk_bytes
            skipped = fields.number(4) if flags & 2 else 0
            yield Chunk((0,) * len(grid.chunk), fields.address(), size, skipped)
        case 2:
            start = fields.address()
            for number, place in grid.places():
                yield Chunk(place, start + number * grid.chunk_bytes, grid.chunk_bytes)
        case 3:
            fields.take(1)
            yield from _numbered(grid, _fixed_array(file, fields.address()), is_filtered)
        case 4:
            fields.take(5)
            yield from _numbered(grid, _growing_array(file, fields.address()), is_filtered)
        case 5:
            fields.take(6)
            for record in records_of_new_tree(file, fields.address()):
                width = record.left - 8 * len(grid.chunk)
                chunk = _entry(grid, Fields(file, record.take(width)), is_filtered)
                yield Chunk(tuple(record.number(8) for _ in grid.chunk), *chunk)
        case _:
            raise file.unusual(f"an index of chunks of kind {kind}")


def _numbered(grid: Grid, blocks: Sequence[_Block], is_filtered: bool) -> Iterator[Chunk]:
    """The chunks whose entries lie in blocks, by their numbers; blocks are in order."""
    starts = [block.first for block in blocks]
    for number, place in grid.places():
        index = bisect_right(starts, number) - 1
        if index >= 0 and number < starts[index] + blocks[index].count:
            yield Chunk(place, *_entry(grid, blocks[index].entry(grid.file, number), is_filtered))


def _entry(grid: Grid, fields: Fields, is_filtered: bool) -> tuple[int, int, int]:
    """The address, the bytes and the skipped filters of a chunk."""
    address = fields.address()
    if not is_filtered:
        return address, grid.chunk_bytes, 0
    return address, fields.number(max(fields.left - 4, 0)), fields.number(4)


@dataclass(frozen=True, slots=True)
class _Block:
    """Entries of `width` bytes from number `first` on. A block of pages has them one after the other, with a checksum
    behind each; `paged` is the number of entries of a page, or 0."""

    first: int
    count: int
    address: int
    width: int
    paged: int = 0

    def entry(self, file: FileBytes, number: int) -> Fields:
        index = number - self.first
        pages = index // self.paged if self.paged else 0
        return file.reader(self.address + index * self.width + pages * _CHECKSUM, self.width)


def _fixed_array(file: FileBytes, address: int) -> list[_Block]:
    head = file.reader(address, 8 + file.lengths + file.offsets, b"FAHD")
    head.take(2)
    width, bits, count, block = head.number(1), head.number(1), head.length(), head.address()
    if block == file.undefined:
        return []
    file.reader(block, 6 + file.offsets, b"FADB")
    page = 1 << bits
    if count <= page:
        return [_Block(0, count, block + 6 + file.offsets, width)]
    start = block + 6 + file.offsets + ceil_div(ceil_div(count, page), 8) + _CHECKSUM
    return [_Block(0, count, start, width, page)]


def _growing_array(file: FileBytes, address: int) -> list[_Block]:
    """The blocks of an extensible array: entries in the index itself, then blocks that it names, then blocks that
    blocks name. The blocks of group g are 2^(g/2) of 2^((g+1)/2) times the least number of entries."""
    head = file.reader(address, 12 + 6 * file.lengths + file.offsets, b"EAHD")
    head.take(2)
    width, bits, inside, least, pointers, page_bits = (head.number(1) for _ in range(6))
    for _ in range(6):
        head.length()
    index = head.address()
    if index == file.undefined:
        return []
    if not least or least & least - 1 or not pointers or pointers & pointers - 1 or bits > 64 or page_bits > 64:
        raise file.damaged(f"expected an array of chunks at {address}")
    groups = [(1 << group // 2, least << (group + 1) // 2) for group in range(1 + bits - (least.bit_length() - 1))]
    direct = 2 * (pointers.bit_length() - 1)
    start = index + 6 + file.offsets
    named = start + inside * width
    count = sum(blocks for blocks, _ in groups[:direct]) + len(groups[direct:])
    names = file.reader(named, count * file.offsets)
    file.reader(index, 6, b"EAIB")
    found, first = [_Block(0, inside, start, width)], inside
    before = 6 + file.offsets + ceil_div(bits, 8)
    for group, (blocks, entries) in enumerate(groups):
        paged = 1 << page_bits if entries > 1 << page_bits else 0
        listed = names
        if group >= direct:
            outer = names.address()
            if outer == file.undefined:
                first += blocks * entries
                continue
            written = blocks * ceil_div(entries // paged, 8) if paged else 0
            listed = file.reader(outer, before + written + blocks * file.offsets, b"EASB")
            listed.take(before - 4 + written)
        for _ in range(blocks):
            block = listed.address()
            if block != file.undefined:
                found.append(_Block(first, entries, block + before + _CHECKSUM * bool(paged), width, paged))
            first += entries
    return found
