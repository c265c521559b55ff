"""A network in one library: parameters put into the ELF file that the compiler linked (docs/c.md)."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass

from sateen.runtime.elf_records import ELF32, ELF64, aligned, hash_table
from sateen.runtime.errors import ArtifactError

_CLASSES = {b"\x7fELF" + records.ident: records for records in (ELF32, ELF64)}
_UNUSED, _LOAD, _DYNAMIC_SEGMENT, _READ = 0, 1, 2, 4
_PROGRAM_BITS, _HASH, _DYNAMIC_SYMBOLS, _ALLOCATED = 1, 5, 11, 2
_STRING_TABLE, _STRING_SIZE, _SONAME = 5, 10, 14
_SLOT = "sateen_parameters_offset"
_SECTION = b".parameters\0"
_ALIGNMENT = 64
_LARGEST_PAGE = 1 << 21


def with_parameters(
    library: bytes, parameters: bytes | memoryview, soname: str, rename: Callable[[str], str] = str
) -> bytes:
    """The ELF library under another name, its symbols under those that `rename` gives, with a read-only segment of the
    parameters, aligned to 64 bytes.

    The segment takes the program header that the linker left unused, and holds the texts of the dynamic linker too,
    since the new names are among them; the table that finds a symbol by its name is made anew. What the library needs
    of others keeps its name. `sateen_parameters_offset` in the library is set to the distance from itself to the
    parameters, so that `sateen_parameters` finds them. Source: System V ABI, chapters 4 and 5. Raises ArtifactError for
    any other library.
    """
    try:
        return _with_parameters(library, parameters, soname, rename)
    except (struct.error, IndexError, StopIteration, ValueError):
        raise ArtifactError("expected a whole ELF library to export, found tables that lie outside of it") from None


@dataclass(slots=True)
class _FileHeader:
    """Where the other headers are."""

    ident: bytes
    kind: int
    machine: int
    version: int
    entry: int
    segments_at: int
    sections_at: int
    flags: int
    size: int
    segment_size: int
    segment_count: int
    section_size: int
    section_count: int
    names_at: int


@dataclass(slots=True)
class _Segment:
    """A program header: which bytes of the file are where in memory."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    size: int
    memory: int
    alignment: int


@dataclass(slots=True)
class _Section:
    """A section header: what the bytes of a part of the file are."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int

    @property
    def place(self) -> slice:
        """Its bytes in the file."""
        return slice(self.offset, self.offset + self.size)


@dataclass(frozen=True, slots=True)
class _DynamicSymbol:
    """A symbol: its name, its other fields, and whether the library defines it."""

    name: str
    fields: tuple[int, ...]

    @property
    def is_defined(self) -> bool:
        return self.fields[2] != 0


class _Library:
    """The headers of an ELF library and its dynamic symbols. Raises ArtifactError for what is none, and for one without
    room for parameters."""

    def __init__(self, content: bytes) -> None:
        records = _CLASSES.get(content[:7])
        if records is None or len(content) < records.file_header.size:
            raise ArtifactError(
                "expected an ELF library to export, found another kind; for macOS, iOS and Windows a network is C text "
                "(target c, --as c)"
            )
        self.content, self.records = content, records
        self.header = header = _FileHeader(*records.file_header.unpack_from(content))
        programs = _table(content, records.program_header, header.segments_at, header.segment_count)
        self.segments = [_Segment(*records.program_fields(program)) for program in programs]
        sections = _table(content, records.section_header, header.sections_at, header.section_count)
        self.sections = [_Section(*section) for section in sections]
        symbols = next((s for s in self.sections if s.kind == _DYNAMIC_SYMBOLS), None)
        hashes = next((s for s in self.sections if s.kind == _HASH), None)
        unused = next((s for s in self.segments if s.kind == _UNUSED), None)
        self.loads = [s for s in self.segments if s.kind == _LOAD]
        if symbols is None or hashes is None or unused is None or not self.loads:
            raise ArtifactError(
                "expected a library of a network, found one without room for parameters; compile it again"
            )
        self.symbols, self.hashes, self.unused = symbols, hashes, unused
        self.texts = self.sections[symbols.link]

    def end(self, more: int) -> _Segment:
        """A segment for so many more bytes behind all others, in the file and in memory."""
        page = max(segment.alignment for segment in self.loads)
        if not 0 < page <= _LARGEST_PAGE:
            raise ArtifactError(f"expected segments on pages of up to {_LARGEST_PAGE} bytes, found {page}")
        address = aligned(max(segment.address + segment.memory for segment in self.loads), page)
        if (address + more).bit_length() > 8 * self.records.word:
            raise ArtifactError(f"expected parameters that addresses of 32 bits reach, found {more} bytes")
        return _Segment(_LOAD, _READ, aligned(len(self.content), page), address, address, more, more, page)

    def dynamic_symbols(self) -> list[_DynamicSymbol]:
        strings, found = self.content[self.texts.place], []
        for record in self.records.symbol.iter_unpack(self.content[self.symbols.place]):
            name_at, *fields = self.records.symbol_fields(record)
            found.append(_DynamicSymbol(strings[name_at : strings.index(b"\0", name_at)].decode(), tuple(fields)))
        return found

    def place_of(self, address: int) -> int:
        """Where in the file the bytes at an address are."""
        return next(s.offset + address - s.address for s in self.loads if s.address <= address < s.address + s.size)

    def write_headers(self, image: bytearray) -> None:
        """Put the headers as they are now into a file whose sections' headers are to be its end."""
        header, records = self.header, self.records
        image += bytes(aligned(len(image), 8) - len(image))
        header.sections_at, header.section_count = len(image), len(self.sections)
        image += b"".join(records.section_header.pack(*astuple(section)) for section in self.sections)
        records.file_header.pack_into(image, 0, *astuple(header))
        programs = b"".join(records.program(*astuple(segment)) for segment in self.segments)
        image[header.segments_at : header.segments_at + len(programs)] = programs


def _with_parameters(
    content: bytes, parameters: bytes | memoryview, soname: str, rename: Callable[[str], str]
) -> bytes:
    library = _Library(content)
    added = library.end(len(parameters))
    dynamic = library.dynamic_symbols()
    slot = next((symbol.fields[3] for symbol in dynamic if symbol.name == _SLOT), None)
    if slot is None:
        raise ArtifactError(f"expected a library of a network, found one without {_SLOT}; compile it again")
    slot_place = library.place_of(slot)

    strings = bytearray(content[library.texts.place])
    new_names = [rename(symbol.name) if symbol.is_defined else symbol.name for symbol in dynamic]
    name_places = [_appended(strings, name.encode()) if name else 0 for name in new_names]
    changed = {_SONAME: _appended(strings, os.fsencode(soname))}
    symbols, hashes = library.symbols, library.hashes
    table = b"".join(library.records.symbol_bytes(n, *s.fields) for n, s in zip(name_places, dynamic, strict=True))
    finding = hash_table(new_names)
    if len(finding) != hashes.size or len(table) != symbols.size or max(hashes.offset, symbols.offset) > len(content):
        raise ArtifactError("expected a table of names for all dynamic symbols of a library, found another")

    names = library.sections[library.header.names_at]
    section_names = content[names.place]
    of_section = [_PROGRAM_BITS, _ALLOCATED, added.address, added.offset, len(parameters), 0, 0, _ALIGNMENT, 0]
    library.sections.append(_Section(len(section_names), *of_section))
    texts = library.texts
    texts.address, texts.offset = added.address + len(parameters), added.offset + len(parameters)
    texts.size = len(strings)
    changed |= {_STRING_TABLE: texts.address, _STRING_SIZE: texts.size}
    added.size = added.memory = len(parameters) + len(strings)
    library.segments.remove(library.unused)
    library.segments.insert(library.segments.index(library.loads[-1]) + 1, added)
    names.offset, names.size = added.offset + added.size, len(section_names) + len(_SECTION)

    image = bytearray(content).ljust(added.offset, b"\0")
    for part in (parameters, strings, section_names, _SECTION):
        image += part
    library.write_headers(image)
    for segment in library.segments:
        if segment.kind == _DYNAMIC_SEGMENT:
            _change_entries(image, segment, library.records.dynamic_entry, changed)
    struct.pack_into("<q", image, slot_place, added.address - slot)
    image[symbols.place] = table
    image[hashes.place] = finding
    return bytes(image)


def _change_entries(image: bytearray, dynamic: _Segment, entry: struct.Struct, changed: Mapping[int, int]) -> None:
    """Give entries of the dynamic segment other values, by their tags."""
    for at in range(dynamic.offset, dynamic.offset + dynamic.size, entry.size):
        tag, value = entry.unpack_from(image, at)
        entry.pack_into(image, at, tag, changed.get(tag, value))


def _appended(strings: bytearray, text: bytes) -> int:
    """The place of a text that is added to a table of texts."""
    place = len(strings)
    strings += text + b"\0"
    return place


def _table(library: bytes, form: struct.Struct, at: int, count: int) -> list[tuple[int, ...]]:
    return [form.unpack_from(library, at + i * form.size) for i in range(count)]
