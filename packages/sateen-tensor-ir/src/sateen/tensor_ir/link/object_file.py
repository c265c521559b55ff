"""Reads one relocatable ELF object of 32 or 64 bits, trusting nothing in it.

The layout is that of the System V ABI, chapters 4 and 5. Every offset, size and index is checked before use, and the
contents of sections may not overlap, so that a hostile file of n bytes takes O(n) memory and time.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sateen.runtime.elf_records import ELF32, ELF64, Records
from sateen.runtime.errors import LinkError
from sateen.runtime.processor import PROCESSORS

SHT_PROGBITS, SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 1, 2, 4, 8, 9
SHT_INIT_ARRAY, SHT_FINI_ARRAY = 14, 15
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS = 0x1, 0x2, 0x4, 0x400
STB_LOCAL = 0
STT_FUNC, STT_SECTION, STT_COMMON, STT_TLS, STT_GNU_IFUNC = 2, 3, 5, 6, 10

_IDENT = ("class", "data", "version")
_ET_REL = 1
_EM_ARM = PROCESSORS["arm"].elf_machine
_SHN_UNDEF, _SHN_LORESERVE, _SHN_COMMON = 0, 0xFF00, 0xFFF2


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One section; `data` is empty if the section occupies no space in the file (.bss)."""

    name: str
    type: int
    flags: int
    size: int
    alignment: int
    data: memoryview

    @property
    def is_loaded(self) -> bool:
        """Whether a running program sees it. Unwind tables and notes are left out: generated code never unwinds."""
        loadable = self.type in (SHT_PROGBITS, SHT_NOBITS, SHT_INIT_ARRAY, SHT_FINI_ARRAY)
        return bool(self.flags & SHF_ALLOC) and loadable and not self.name.startswith(".eh_frame")


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A name for `section` + `value`; `section` is None if the object leaves it undefined."""

    name: str
    binding: int
    type: int
    section: Section | None
    value: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Relocation:
    """The field at `offset` of a section depends on the address of `symbol` plus `addend`, as `type` says.

    The addend is what the field holds where it is None.
    """

    offset: int
    type: int
    symbol: Symbol
    addend: int | None


@dataclass(frozen=True, slots=True, eq=False)
class ObjectFile:
    """A relocatable object: its machine (an ELF `EM_` number), the bytes of an address, the machine's flags, loaded
    sections, their relocations, all symbols."""

    machine: int
    word: int
    flags: int
    relocations: Mapping[Section, tuple[Relocation, ...]]
    symbols: tuple[Symbol, ...]


def read_object(content: bytes, *, thumb: bool = False) -> ObjectFile:
    """The object in `content`; LinkError if it is not a well-formed little-endian relocatable.

    Functions of ARM are in its own instruction set, or in that of Thumb if `thumb`.
    """
    view = memoryview(content)
    if content[:4] != b"\x7fELF":
        raise LinkError(f"expected an ELF object, found {len(content)} bytes that begin with {content[:4]!r}")
    records = next((records for records in (ELF32, ELF64) if content[4:7] == records.ident), None)
    if records is None:
        found = ", ".join(f"{name} {value}" for name, value in zip(_IDENT, content[4:7], strict=False))
        raise LinkError(f"expected a little-endian ELF object of version 1, class 1 or 2, found {found or 'its end'}")
    _, kind, machine, _, _, _, headers_at, flags, _, _, _, entry, count, names_index = _read(
        records.file_header, view, 0
    )
    if kind != _ET_REL:
        raise LinkError(f"expected a relocatable ELF object, which is of type {_ET_REL}, found type {kind}")
    if entry != records.section_header.size or not names_index < count:
        raise LinkError(f"malformed object: {count} section headers of {entry} bytes, names in section {names_index}")
    headers = [_read(records.section_header, view, headers_at + index * entry) for index in range(count)]
    sections = _read_sections(view, headers, names_index)
    symbols = _read_symbols(records, machine, headers, sections, thumb=thumb)
    return ObjectFile(machine, records.word, flags, _read_relocations(records, headers, sections, symbols), symbols)


def _read(layout: struct.Struct, view: memoryview, offset: int) -> tuple[Any, ...]:
    if offset + layout.size > len(view):
        raise LinkError(f"truncated object: {layout.size} bytes at offset {offset} of {len(view)}")
    return layout.unpack_from(view, offset)


def _name(table: memoryview, offset: int) -> str:
    """The zero-terminated string at `offset` of a string table."""
    raw = bytes(table[offset : offset + 4096]).partition(b"\0")[0]
    return raw.decode("utf-8", "backslashreplace")


def _read_sections(view: memoryview, headers: list[tuple[Any, ...]], names_index: int) -> list[Section]:
    contents = [_content(view, header) for header in headers]
    if sum(map(len, contents)) > len(view):
        raise LinkError("malformed object: its sections overlap")
    sections = []
    for header, data in zip(headers, contents, strict=True):
        name_at, kind, flags, _, _, size, _, _, alignment, _ = header
        name = _name(contents[names_index], name_at)
        if alignment & (alignment - 1):
            raise LinkError(f"malformed object: section {name!r} is aligned to {alignment}, not to a power of two")
        sections.append(Section(name, kind, flags, size, max(alignment, 1), data))
    return sections


def _content(view: memoryview, header: tuple[Any, ...]) -> memoryview:
    _, kind, _, _, offset, size, _, _, _, _ = header
    if kind in (0, SHT_NOBITS):
        return view[:0]
    if offset + size > len(view):
        raise LinkError(f"truncated object: a section of {size} bytes at offset {offset} of {len(view)}")
    return view[offset : offset + size]


def _read_symbols(
    records: Records, machine: int, headers: list[tuple[Any, ...]], sections: list[Section], *, thumb: bool
) -> tuple[Symbol, ...]:
    tables = [index for index, section in enumerate(sections) if section.type == SHT_SYMTAB]
    if len(tables) != 1:
        raise LinkError(f"malformed object: expected one symbol table, found {len(tables)}")
    table, names_index = sections[tables[0]], headers[tables[0]][6]
    if table.size % records.symbol.size or names_index >= len(sections):
        raise LinkError(f"malformed object: a symbol table of {table.size} bytes, names in section {names_index}")
    names = sections[names_index].data
    return tuple(
        _symbol(records.symbol_fields(entry), names, sections, is_arm=machine == _EM_ARM, thumb=thumb)
        for entry in records.symbol.iter_unpack(table.data)
    )


def _symbol(entry: tuple[int, ...], names: memoryview, sections: list[Section], *, is_arm: bool, thumb: bool) -> Symbol:
    name_at, info, _, section_index, value, size = entry
    name, binding, kind = _name(names, name_at), info >> 4, info & 0xF
    if section_index == _SHN_COMMON or kind in (STT_COMMON, STT_TLS, STT_GNU_IFUNC):
        raise LinkError(f"symbol {name!r} is common, thread-local or indirect, which generated code never uses")
    if section_index == _SHN_UNDEF or section_index >= _SHN_LORESERVE:
        return Symbol(name, binding, kind, None, value, size)
    if section_index >= len(sections):
        raise LinkError(f"malformed object: symbol {name!r} is in section {section_index} of {len(sections)}")
    section = sections[section_index]
    if is_arm and kind == STT_FUNC and value & 1:  # marks Thumb
        if not thumb:
            raise LinkError(
                f"symbol {name!r} is code of Thumb, expected code of ARM: compile for a triple that begins with arm"
            )
        value -= 1
    if value + size > section.size:
        raise LinkError(f"malformed object: symbol {name!r} lies outside its section {section.name!r}")
    return Symbol(name, binding, kind, section, value, size)


def _read_relocations(
    records: Records, headers: list[tuple[Any, ...]], sections: list[Section], symbols: tuple[Symbol, ...]
) -> dict[Section, tuple[Relocation, ...]]:
    relocations: dict[Section, tuple[Relocation, ...]] = {section: () for section in sections if section.is_loaded}
    for header, table in zip(headers, sections, strict=True):
        if table.type not in (SHT_RELA, SHT_REL):
            continue
        target_index = header[7]
        record = records.relocation if table.type == SHT_RELA else records.relocation_in_place
        if target_index >= len(sections) or table.size % record.size:
            raise LinkError(f"malformed object: relocation section {table.name!r} for section {target_index}")
        target = sections[target_index]
        if target.is_loaded:
            relocations[target] += tuple(
                _relocation(records.type_bits, entry, target, symbols) for entry in record.iter_unpack(table.data)
            )
    return relocations


def _relocation(type_bits: int, entry: tuple[int, ...], target: Section, symbols: tuple[Symbol, ...]) -> Relocation:
    offset, info, *addend = entry
    symbol_index, kind = info >> type_bits, info & (1 << type_bits) - 1
    if symbol_index >= len(symbols):
        raise LinkError(
            f"malformed object: a relocation of {target.name!r} names symbol {symbol_index} of {len(symbols)}"
        )
    return Relocation(offset, kind, symbols[symbol_index], addend[0] if addend else None)
