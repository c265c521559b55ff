"""A network in one library: parameters put into the ELF file that the compiler linked (docs/c.md)."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.runtime.elf_records import ELF32, ELF64, Records, aligned, hash_table
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


@dataclass(frozen=True, slots=True)
class _DynamicSymbol:
    """A symbol: its name, its other fields, and whether the library defines it."""

    name: str
    fields: tuple[int, ...]

    @property
    def is_defined(self) -> bool:
        return self.fields[2] != 0


def _with_parameters(
    library: bytes, parameters: bytes | memoryview, soname: str, rename: Callable[[str], str]
) -> bytes:
    records = _CLASSES.get(library[:7])
    if records is None or len(library) < records.file_header.size:
        raise ArtifactError(
            "expected an ELF library to export, found another kind; for macOS, iOS and Windows a network is C text "
            "(target c, --as c)"
        )
    *head, segments_at, sections_at, flags, size, segment_size, segment_count, section_size, section_count, names_at = (
        records.file_header.unpack_from(library)
    )
    headers = _table(library, records.program_header, segments_at, segment_count)
    segments = [list(records.program_fields(header)) for header in headers]
    sections = [list(header) for header in _table(library, records.section_header, sections_at, section_count)]
    loads = [segment for segment in segments if segment[0] == _LOAD]
    symbols = next((section for section in sections if section[1] == _DYNAMIC_SYMBOLS), None)
    found_by = next((section for section in sections if section[1] == _HASH), None)
    unused = next((segment for segment in segments if segment[0] == _UNUSED), None)
    if symbols is None or found_by is None or unused is None or not loads:
        raise ArtifactError("expected a library of a network, found one without room for parameters; compile it again")
    page = max(segment[7] for segment in loads)
    if not 0 < page <= _LARGEST_PAGE:
        raise ArtifactError(f"expected segments on pages of up to {_LARGEST_PAGE} bytes, found {page}")
    place = aligned(len(library), page)
    address = aligned(max(segment[3] + segment[6] for segment in loads), page)
    if (address + len(parameters)).bit_length() > 8 * records.word:
        raise ArtifactError(f"expected parameters that addresses of 32 bits reach, found {len(parameters)} bytes")
    dynamic = _dynamic_symbols(library, records, sections, symbols)
    slot = next((symbol.fields[3] for symbol in dynamic if symbol.name == _SLOT), None)
    if slot is None:
        raise ArtifactError(f"expected a library of a network, found one without {_SLOT}; compile it again")
    slot_place = next(s[2] + slot - s[3] for s in loads if s[3] <= slot < s[3] + s[5])

    texts = sections[symbols[6]]
    strings = bytearray(library[texts[4] : texts[4] + texts[5]])
    new_names = [rename(symbol.name) if symbol.is_defined else symbol.name for symbol in dynamic]
    name_places = [_appended(strings, name.encode()) if name else 0 for name in new_names]
    renamed = {_SONAME: _appended(strings, os.fsencode(soname))}
    texts[3:6] = address + len(parameters), place + len(parameters), len(strings)
    renamed |= {_STRING_TABLE: texts[3], _STRING_SIZE: texts[5]}
    names = sections[names_at]
    section_names = library[names[4] : names[4] + names[5]]
    data = [_PROGRAM_BITS, _ALLOCATED, address, place, len(parameters), 0, 0, _ALIGNMENT, 0]
    sections.append([len(section_names), *data])
    length = len(parameters) + texts[5]
    names[4:6] = place + length, len(section_names) + len(_SECTION)
    sections_at = aligned(names[4] + names[5], 8)
    segments.remove(unused)
    segments.insert(segments.index(loads[-1]) + 1, [_LOAD, _READ, place, address, address, length, length, page])

    image = bytearray(library) + bytes(place - len(library))
    image += parameters
    image += strings
    image += section_names + _SECTION
    image += bytes(sections_at - len(image))
    image += b"".join(records.section_header.pack(*section) for section in sections)
    fields = (segments_at, sections_at, flags, size, segment_size, segment_count, section_size, len(sections), names_at)
    records.file_header.pack_into(image, 0, *head, *fields)
    for index, segment in enumerate(segments):
        at = segments_at + index * records.program_header.size
        image[at : at + records.program_header.size] = records.program(*segment)
        if segment[0] == _DYNAMIC_SEGMENT:
            entry = records.dynamic_entry
            for at in range(segment[2], segment[2] + segment[5], entry.size):
                tag, value = entry.unpack_from(image, at)
                entry.pack_into(image, at, tag, renamed.get(tag, value))
    struct.pack_into("<q", image, slot_place, address - slot)
    table = b"".join(
        records.symbol_bytes(name_at, *symbol.fields) for name_at, symbol in zip(name_places, dynamic, strict=True)
    )
    finding = hash_table(new_names)
    if len(finding) != found_by[5] or len(table) != symbols[5] or max(found_by[4], symbols[4]) > len(library):
        raise ArtifactError("expected a table of names for all dynamic symbols of a library, found another")
    image[symbols[4] : symbols[4] + symbols[5]] = table
    image[found_by[4] : found_by[4] + found_by[5]] = finding
    return bytes(image)


def _appended(strings: bytearray, text: bytes) -> int:
    """The place of a text that is added to a table of texts."""
    place = len(strings)
    strings += text + b"\0"
    return place


def _table(library: bytes, form: struct.Struct, at: int, count: int) -> list[tuple[int, ...]]:
    return [form.unpack_from(library, at + i * form.size) for i in range(count)]


def _dynamic_symbols(
    library: bytes, records: Records, sections: Sequence[Sequence[int]], symbols: Sequence[int]
) -> list[_DynamicSymbol]:
    texts = sections[symbols[6]]
    strings = library[texts[4] : texts[4] + texts[5]]
    found = []
    for record in records.symbol.iter_unpack(library[symbols[4] : symbols[4] + symbols[5]]):
        name_at, *fields = records.symbol_fields(record)
        found.append(_DynamicSymbol(strings[name_at : strings.index(b"\0", name_at)].decode(), tuple(fields)))
    return found
