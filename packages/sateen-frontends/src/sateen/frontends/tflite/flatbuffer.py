"""Messages of FlatBuffers, read within bounds by descriptions of their tables.

The Python runtime of FlatBuffers verifies nothing, and its generated classes follow any offset. So tables are described
as values (`Kind`), and this file, the only one that follows offsets, checks each against the bytes. Tables may share
parts, which a hostile file uses to describe far more than it holds: `Reader` counts what one reading gives.

Source: flatbuffers.dev, "FlatBuffer Internals".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

Table = Mapping[str, Any]
"""The fields of a table by name; those that the file leaves out have their defaults."""
MOST_TABLES = 1 << 20
"""The most tables of a file."""
MOST_DESCRIBED = 1 << 25
"""The most bytes of tables, numbers and texts; data is far more, but stays where it is."""
SHARED = 4
"""How often a file may describe what it holds: few writers let tables share parts."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `code` is its format as `struct` has it."""

    code: str
    default: float = 0


@dataclass(frozen=True, slots=True)
class Flag:
    """False or true."""

    default: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several names; the file holds its number, by default 0."""

    names: tuple[str, ...]
    code: str = "b"


@dataclass(frozen=True, slots=True)
class Numbers:
    """A vector of numbers, as a tuple; None if it is absent."""

    code: str


@dataclass(frozen=True, slots=True)
class Data:
    """A vector of numbers, perhaps a long one, as an array in the memory of the file; None if it is absent."""

    code: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """A vector of bytes, as a view of the file; None if it is absent."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text; '' if it is absent."""


@dataclass(frozen=True, slots=True)
class One:
    """A table; None if it is absent."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Many:
    """A vector of tables, as a tuple; empty if it is absent."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Union:
    """A table whose kind another field of the same table, its number, decides, as (kind, table); None if it is absent
    or of a kind that is not described."""

    number: str
    kinds: Mapping[int, Kind]


@dataclass(frozen=True, slots=True)
class Unread:
    """A field that nobody reads."""


Field = Number | Flag | Choice | Numbers | Data | Bytes | Text | One | Many | Union | Unread


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table: its name in errors, and its fields in the order of their slots."""

    name: str
    fields: Mapping[str, Field]


def kind(name: str, /, **fields: Field) -> Kind:
    return Kind(name, fields)


def defaults_of(kind: Kind) -> Table:
    """The fields of a table that the file leaves out."""
    reader = Reader(b"")
    return {name: reader.field(field, None, {}) for name, field in kind.fields.items()}


_OFFSET, _VTABLE, _SLOT = struct.Struct("<I"), struct.Struct("<i"), struct.Struct("<H")


class Reader:
    """Reads tables of one file. `read` counts the bytes of their fields and vectors, `described` those of them that
    become values of Python."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.view = memoryview(data)
        self.read = self.described = self.tables = 0

    def root(self, kind: Kind) -> Table:
        """The table that the file begins with. Raises FrontendError if the file is damaged."""
        return self.table(kind, self._follow(0))

    def table(self, kind: Kind, position: int) -> Table:
        self.tables += 1
        if self.tables > MOST_TABLES:
            raise FrontendError(f"expected a file of at most {MOST_TABLES} tables, found more")
        (back,) = self._unpack(_VTABLE, position)
        vtable = position - back
        (length,) = self._unpack(_SLOT, vtable)
        (extent,) = self._unpack(_SLOT, vtable + 2)
        self._require(vtable, length)
        self._require(position, extent)
        places = {
            name: offset
            for slot, name in enumerate(kind.fields)
            if 6 + 2 * slot <= length and (offset := self._unpack(_SLOT, vtable + 4 + 2 * slot)[0])
        }
        self._describe(_VTABLE.size + len(places))
        for name, offset in places.items():
            if not 4 <= offset < extent:
                raise FrontendError(f"field {name} of {kind.name} lies outside its table: {offset} of {extent} bytes")
        found: dict[str, Any] = {}
        for name, field in kind.fields.items():
            try:
                place = position + places[name] if name in places else None
                found[name] = self.field(field, place, found)
            except FrontendError as error:
                error.add_note(f"in field {name} of {kind.name}")
                raise
        return found

    def field(self, field: Field, place: int | None, before: Table) -> Any:
        """The value of a field; `place` is None if the file leaves it out."""
        match field:
            case Number(code, default):
                return default if place is None else self._unpack(struct.Struct(f"<{code}"), place)[0]
            case Flag(default):
                return default if place is None else bool(self._unpack(struct.Struct("<B"), place)[0])
            case Choice(names, code):
                number = 0 if place is None else self._unpack(struct.Struct(f"<{code}"), place)[0]
                if not 0 <= number < len(names):
                    raise FrontendError(f"expected 0 to {len(names) - 1} ({', '.join(names)}), found {number}")
                return names[number]
            case Numbers(code):
                return None if place is None else self._numbers(code, self._follow(place))
            case Data(code):
                return None if place is None else self._data(code, self._follow(place))
            case Bytes():
                return None if place is None else self._bytes(self._follow(place))
            case Text():
                return "" if place is None else self._text(self._follow(place))
            case One(kind):
                return None if place is None else self.table(kind, self._follow(place))
            case Many(kind):
                return () if place is None else self._tables(kind, self._follow(place))
            case Union(number, kinds):
                chosen = None if place is None else kinds.get(before[number])
                return None if place is None or chosen is None else (chosen, self.table(chosen, self._follow(place)))
            case Unread():
                return None

    def _numbers(self, code: str, position: int) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{code}")
        count, start = self._vector(position, size)
        self._describe(count * size)
        return struct.unpack_from(f"<{count}{code}", self.data, start)

    def _data(self, code: str, position: int) -> Array:
        dtype = np.dtype(f"<{code}")
        count, start = self._vector(position, dtype.itemsize)
        self._count(count * dtype.itemsize)
        return np.frombuffer(self.data, dtype, count, start)

    def _bytes(self, position: int) -> memoryview:
        count, start = self._vector(position, 1)
        return self.view[start : start + count]

    def _text(self, position: int) -> str:
        count, start = self._vector(position, 1)
        self._describe(count)
        try:
            return str(self.view[start : start + count], "utf-8")
        except UnicodeDecodeError:
            raise FrontendError("expected text in UTF-8, found other bytes") from None

    def _tables(self, kind: Kind, position: int) -> tuple[Table, ...]:
        count, start = self._vector(position, _OFFSET.size)
        self._describe(count * _OFFSET.size)
        return tuple(self.table(kind, self._follow(start + _OFFSET.size * i)) for i in range(count))

    def _vector(self, position: int, size: int) -> tuple[int, int]:
        """The number of elements of a vector, each of `size` bytes, and where the first is."""
        (count,) = self._unpack(_OFFSET, position)
        start = position + _OFFSET.size
        self._require(start, count * size)
        return count, start

    def _follow(self, place: int) -> int:
        (offset,) = self._unpack(_OFFSET, place)
        return place + int(offset)

    def _unpack(self, layout: struct.Struct, position: int) -> tuple[Any, ...]:
        self._require(position, layout.size)
        return layout.unpack_from(self.data, position)

    def _require(self, position: int, size: int) -> None:
        if not 0 <= position <= len(self.data) - size:
            raise FrontendError(
                f"the file is damaged or cut short: {size} bytes at byte {position} of {len(self.data)} are announced"
            )

    def _describe(self, size: int) -> None:
        self.described += size
        if self.described > MOST_DESCRIBED:
            raise FrontendError(f"expected at most {MOST_DESCRIBED} bytes of tables, numbers and names, found more")
        self._count(size)

    def _count(self, size: int) -> None:
        self.read += size
        if self.read > SHARED * len(self.data):
            raise FrontendError("the file is damaged: its tables share parts, and describe more than it holds")
