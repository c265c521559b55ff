"""The symbols and sizes of relocatable ELF objects, and objects that are made of others: renamed, or of data alone.

Source: System V ABI, chapter 4. Raises ArtifactError for what is no such object.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sateen.runtime.elf_records import ELF32, ELF64, Records, aligned
from sateen.runtime.errors import ArtifactError

_CLASSES = {b"\x7fELF" + records.ident: records for records in (ELF32, ELF64)}
_RELOCATABLE = 1
_PROGRAM_BITS, _SYMBOL_TABLE, _STRINGS = 1, 2, 3
_WRITE, _ALLOCATED = 1, 2
_LOCAL, _GLOBAL, _OBJECT, _HIDDEN = 0, 1, 1, 2


@dataclass(frozen=True, slots=True)
class ObjectSymbols:
    """The names that an object shares with others: those that it defines, and those that it leaves undefined."""

    defined: tuple[str, ...]
    undefined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectSizes:
    """The bytes that a program takes of an object: those that it only reads, and those that it writes."""

    constant: int
    written: int


@dataclass(frozen=True, slots=True)
class _Tables:
    """The parts of an object that name things: its sections, the number of the symbol table, and its symbols."""

    records: Records
    headers: tuple[tuple[int, ...], ...]
    headers_at: int
    symbols_in: int
    symbols: tuple[tuple[int, ...], ...]

    @property
    def names_in(self) -> int:
        """The number of the section with the names of symbols."""
        return self.headers[self.symbols_in][6]


def symbols_of(content: bytes) -> ObjectSymbols:
    """The names that other objects see."""
    tables = _read(content)
    names = {True: dict[str, None](), False: dict[str, None]()}
    for name_at, info, _, section, _, _ in tables.symbols[1:]:
        if info >> 4 != _LOCAL:
            names[section != 0][_name(content, tables, name_at)] = None
    return ObjectSymbols(tuple(names[True]), tuple(names[False]))


def sizes_of(content: bytes) -> ObjectSizes:
    """The bytes that a program takes of an object."""
    allocated = [(header[2], header[5]) for header in _read(content).headers if header[2] & _ALLOCATED]
    written = sum(size for flags, size in allocated if flags & _WRITE)
    return ObjectSizes(sum(size for _, size in allocated) - written, written)


def with_names(content: bytes, names: Mapping[str, str]) -> bytes:
    """The object with other names for its global symbols. Their table moves to the end, behind it the new texts."""
    tables = _read(content)
    header = tables.headers[tables.names_in]
    strings = bytearray(content[header[4] : header[4] + header[5]])
    symbols = bytearray()
    for name_at, info, *rest in tables.symbols:
        new = names.get(_name(content, tables, name_at)) if info >> 4 != _LOCAL else None
        symbols += tables.records.symbol_bytes(name_at if new is None else len(strings), info, *rest)
        strings += b"" if new is None else new.encode() + b"\0"
    image = bytearray(content)
    for number, part in ((tables.symbols_in, symbols), (tables.names_in, strings)):
        fields = list(tables.headers[number])
        image += bytes(-len(image) % tables.records.word)
        fields[4:6] = len(image), len(part)
        image += part
        place = tables.headers_at + number * tables.records.section_header.size
        tables.records.section_header.pack_into(image, place, *fields)
    return bytes(image)


def object_of_data(like: bytes, symbol: str, data: bytes | memoryview, alignment: int) -> bytes:
    """An object for the machine of `like`, with constant data that a hidden symbol of this name begins."""
    _read(like)
    records = _CLASSES[like[:7]]
    ident, _, machine, version, _, _, _, flags, _, _, _, entry, _, _ = records.file_header.unpack_from(like)
    size = records.file_header.size
    names = [".rodata." + symbol, ".note.GNU-stack", ".symtab", ".strtab", symbol]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    at = [1 + sum(len(name.encode()) + 1 for name in names[:i]) for i in range(len(names))]
    shared = _GLOBAL << 4 | _OBJECT
    symbols = bytes(records.symbol.size) + records.symbol_bytes(at[4], shared, _HIDDEN, 1, 0, len(data))
    data_at = aligned(size, alignment)
    symbols_at = aligned(data_at + len(data), records.word)
    strings_at = symbols_at + len(symbols)
    headers_at = aligned(strings_at + len(strings), records.word)
    sections = (
        (0,) * 10,
        (at[0], _PROGRAM_BITS, _ALLOCATED, 0, data_at, len(data), 0, 0, alignment, 0),
        (at[1], _PROGRAM_BITS, 0, 0, symbols_at, 0, 0, 0, 1, 0),
        (at[2], _SYMBOL_TABLE, 0, 0, symbols_at, len(symbols), 4, 1, records.word, records.symbol.size),
        (at[3], _STRINGS, 0, 0, strings_at, len(strings), 0, 0, 1, 0),
    )
    head = (ident, _RELOCATABLE, machine, version, 0, 0, headers_at, flags, size, 0, 0, entry, len(sections), 4)
    image = bytearray(records.file_header.pack(*head).ljust(data_at, b"\0"))
    image += data
    image += bytes(symbols_at - len(image)) + symbols + strings
    image += bytes(headers_at - len(image))
    image += b"".join(records.section_header.pack(*section) for section in sections)
    return bytes(image)


def _read(content: bytes) -> _Tables:
    try:
        return _tables(content)
    except (struct.error, IndexError, ValueError, OverflowError):
        raise ArtifactError("expected a whole ELF object, found tables that lie outside of it") from None


def _tables(content: bytes) -> _Tables:
    records = _CLASSES.get(content[:7])
    if records is None or int.from_bytes(content[16:18], "little") != _RELOCATABLE:
        raise ArtifactError(f"expected a relocatable ELF object, found {len(content)} bytes of another kind")
    headers_at, count = (records.file_header.unpack_from(content)[i] for i in (6, 12))
    size = records.section_header.size
    headers = tuple(records.section_header.unpack_from(content, headers_at + i * size) for i in range(count))
    number = next((i for i, header in enumerate(headers) if header[1] == _SYMBOL_TABLE), None)
    if number is None or any(h[4] + h[5] > len(content) for h in (headers[number], headers[headers[number][6]])):
        raise ArtifactError("expected an ELF object with symbols, found one without")
    table = content[headers[number][4] : headers[number][4] + headers[number][5]]
    if len(table) % records.symbol.size:
        raise ArtifactError(f"expected symbols of {records.symbol.size} bytes, found a table of {len(table)}")
    symbols = tuple(records.symbol_fields(entry) for entry in records.symbol.iter_unpack(table))
    return _Tables(records, headers, headers_at, number, symbols)


def _name(content: bytes, tables: _Tables, place: int) -> str:
    header = tables.headers[tables.names_in]
    start = header[4] + place
    end = content.find(b"\0", start, header[4] + header[5])
    if end < 0:
        raise ArtifactError(f"expected a name at {place} among those of an ELF object, found its end")
    return content[start:end].decode("utf-8", "backslashreplace")


def renaming(objects: Sequence[bytes], rename: Callable[[str], str]) -> dict[str, str]:
    """New names for all that the objects define; what they need of others keeps its name."""
    return {name: rename(name) for content in objects for name in symbols_of(content).defined}
