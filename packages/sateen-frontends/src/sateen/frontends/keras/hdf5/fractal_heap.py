"""Fractal heaps: the members and attributes of groups that have many (section III.G)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.trees import records_of_new_tree

_MANAGED, _HUGE = 0, 1
"""Where an object lies: in a block of the heap, or alone."""


@dataclass(frozen=True)
class FractalHeap:
    """The head of a heap. Its blocks lie in rows of `width`; those of the first two rows have `first` bytes, and those
    of each other row twice the bytes of the row before. Up to `largest` bytes they are blocks of objects, beyond they
    are blocks of blocks. `offset_bytes` and `length_bytes` are those in the identifiers of objects."""

    file: FileBytes
    width: int
    first: int
    largest: int
    root: int
    rows: int
    offset_bytes: int
    length_bytes: int
    huge: int

    @classmethod
    def at(cls, file: FileBytes, address: int) -> FractalHeap:
        head = file.reader(address, 22 + 12 * file.lengths + 3 * file.offsets, b"FRHP")
        version, _, filters, _ = (head.number(n) for n in (1, 2, 2, 1))
        if version or filters:
            raise file.unusual("compressed heaps")
        most = head.number(4)
        head.length()
        huge = head.address()
        head.length(), head.address()
        for _ in range(8):
            head.length()
        width, first, largest, bits = head.number(2), head.length(), head.length(), head.number(2)
        head.number(2)
        root, rows = head.address(), head.number(2)
        if not width or not first or largest < first or bits > 64 or rows > 64:
            raise file.damaged(f"expected a heap at {address}")
        lengths = (((largest.bit_length() - 1) + 7) // 8, (most.bit_length() - 1) // 8 + 1 if most else 1)
        return cls(file, width, first, largest, root, rows, (bits + 7) // 8, min(lengths), huge)

    def object(self, identifier: Fields) -> Fields:
        """The object that an identifier names."""
        kind = identifier.number(1) >> 4 & 3
        if kind == _HUGE:
            number = identifier.number(min(identifier.left, self.file.lengths))
            if number not in self._huge_objects:
                raise self.file.damaged(f"a heap has no object {number}")
            return Fields(self.file, self.file.at(*self._huge_objects[number]))
        if kind != _MANAGED:
            raise self.file.unusual("objects within the identifiers of a heap")
        offset, length = identifier.number(self.offset_bytes), identifier.number(self.length_bytes)
        address, rest = self._block(offset)
        return Fields(self.file, self.file.at(address + rest, length))

    @cached_property
    def _huge_objects(self) -> dict[int, tuple[int, int]]:
        """The address and the bytes of objects that are too large for blocks, by number."""
        if self.huge == self.file.undefined:
            return {}
        found = {}
        for record in records_of_new_tree(self.file, self.huge):
            address, length, number = record.address(), record.length(), record.length()
            found[number] = address, length
        return found

    def _block(self, offset: int) -> tuple[int, int]:
        """The address of the block of objects that has an offset of the heap, and the offset within it."""
        address, rows = self.root, self.rows
        while rows:
            row, size = 0, self.first
            while row < rows and offset >= size * self.width:
                offset -= size * self.width
                row += 1
                size = self._size(row)
            if row == rows:
                raise self.file.damaged("an object lies outside its heap")
            index, offset = row * self.width + offset // size, offset % size
            before = 5 + self.file.offsets + self.offset_bytes
            entries = self.file.reader(address, before + (index + 1) * self.file.offsets, b"FHIB")
            entries.take(before - 4 + index * self.file.offsets)
            address = entries.address()
            rows = 0 if size <= self.largest else (size // (self.first * self.width)).bit_length()
        return address, offset

    def _size(self, row: int) -> int:
        return self.first << max(row - 1, 0)
