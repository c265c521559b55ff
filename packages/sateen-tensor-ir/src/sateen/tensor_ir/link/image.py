"""The sections of an ELF shared object: their layout in memory and in the file, and the file's bytes.

Segments (read-only, code, read-only once relocated, variable) follow each other in the file without gaps and start on
separate pages in memory. Source: System V ABI, chapters 4 and 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sateen.runtime.elf_records import ELF32, ELF64, Records
from sateen.runtime.errors import LinkError
from sateen.tensor_ir.link.object_file import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
)
from sateen.tensor_ir.targets import Linking

_SHT_STRTAB, _SHT_HASH, _SHT_DYNAMIC, _SHT_DYNSYM = 3, 5, 6, 11
_PT_NULL, _PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK, _PT_GNU_RELRO = 0, 1, 2, 0x6474E551, 0x6474E552
_PF_X, _PF_W, _PF_R = 1, 2, 4
_ET_DYN = 3
_LARGEST_SECTION = 1 << 30
_LARGEST_IMAGE = 1 << 31
"""For addresses of 32 bits."""


@dataclass(slots=True)
class Output:
    """A section of the library. `size` exceeds len(data) only for .bss, which occupies no space in the file."""

    name: str
    type: int
    flags: int
    alignment: int = 1
    entry_size: int = 0
    link: str = ""
    data: bytearray = field(default_factory=bytearray)
    size: int = 0
    address: int = 0
    offset: int = 0

    def reserve(self, size: int, alignment: int) -> int:
        """Make room for `size` aligned bytes and return their offset; LinkError if the section grows past 1 GiB."""
        start = align(self.size, alignment)
        if start + size > _LARGEST_SECTION:
            raise LinkError(f"section {self.name} would take {start + size} bytes, more than {_LARGEST_SECTION}")
        self.size = start + size
        self.alignment = max(self.alignment, alignment)
        if self.type != SHT_NOBITS:
            self.data.extend(bytes(self.size - len(self.data)))
        return start


@dataclass(frozen=True, slots=True)
class _Segment:
    """Sections that are mapped together with one protection, in the order of their addresses."""

    protection: int
    outputs: tuple[str, ...]


_RELOCATED = _Segment(_PF_R | _PF_W, (".data.rel.ro", ".init_array", ".fini_array", ".dynamic", ".got"))
_SEGMENTS = (
    _Segment(_PF_R, (".hash", ".dynsym", ".dynstr", ".rel.dyn", ".rela.dyn", ".rodata")),
    _Segment(_PF_R | _PF_X, (".text", ".plt")),
    _RELOCATED,
    _Segment(_PF_R | _PF_W, (".data", ".bss")),
)


class Image:
    """A shared object of an architecture, with the flags of its objects: fill the outputs, lay out, relocate, then take
    the bytes."""

    def __init__(self, linking: Linking, flags: int) -> None:
        self.linking = linking
        self.flags = flags | linking.flags
        self.page = linking.page
        self.records = ELF64 if linking.word == ELF64.word else ELF32
        self.relocation_record = (
            self.records.relocation_in_place if linking.addends_in_place else self.records.relocation
        )
        self.outputs: Mapping[str, Output] = MappingProxyType(
            {output.name: output for output in _empty_outputs(self.records, self.relocation_record.size)}
        )
        self._program: list[tuple[int, ...]] = []  # program headers

    @property
    def relocations(self) -> Output:
        """The section of what the loader has to relocate."""
        return self.outputs[".rel.dyn" if self.linking.addends_in_place else ".rela.dyn"]

    def __getitem__(self, name: str) -> Output:
        return self.outputs[name]

    def present(self) -> list[Output]:
        """The sections that are not empty, in the order of the file; their headers are numbered from 1."""
        outputs = (self.outputs[name] for segment in _SEGMENTS for name in segment.outputs)
        return [output for output in outputs if output.size]

    def lay_out(self) -> None:
        """Give every section its address and its offset in the file. Sizes are final from here on."""
        present = self.present()
        segments = [segment for segment in _SEGMENTS if any(output.name in segment.outputs for output in present)]
        offset = self.records.file_header.size + self.records.program_header.size * (len(segments) + 4)
        start, address, end = 0, 0, offset
        for segment in segments:
            for output in (output for output in present if output.name in segment.outputs):
                output.address = align(end, output.alignment)
                output.offset = offset + output.address - end if output.data else offset
                offset = output.offset + len(output.data)
                end = output.address + output.size
            if segment is _RELOCATED:
                end = align(end, self.page)
                self._add_header(_PT_GNU_RELRO, _PF_R, start, address, offset - start, end - address, 1)
            self._add_header(_PT_LOAD, segment.protection, start, address, offset - start, end - address, self.page)
            start, address = offset, align(end, self.page) + offset % self.page
            end = address
        dynamic = self.outputs[".dynamic"]
        self._add_header(
            _PT_DYNAMIC, _PF_R, dynamic.offset, dynamic.address, dynamic.size, dynamic.size, self.records.word
        )
        self._add_header(_PT_NULL, 0, 0, 0, 0, 0, 0)  # room for the segment of parameters that an export adds
        self._add_header(_PT_GNU_STACK, _PF_R | _PF_W, 0, 0, 0, 0, 1)

        if self.records is ELF32 and end > _LARGEST_IMAGE:
            raise LinkError(f"the library would take {end} bytes of addresses, more than {_LARGEST_IMAGE}")

    def _add_header(self, *entry: int) -> None:
        kind, protection, offset, address, file_size, memory_size, alignment = entry
        self._program.append((kind, protection, offset, address, address, file_size, memory_size, alignment))

    def to_bytes(self) -> bytes:
        """The file: headers, segments, and the section headers, which debuggers, profilers and Android read."""
        present = self.present()
        names = [output.name for output in present]
        texts = b"".join(name.encode() + b"\0" for name in ("", *names, ".shstrtab"))
        texts_offset = max(output.offset + len(output.data) for output in present)
        headers_offset = align(texts_offset + len(texts), 8)
        image = bytearray(headers_offset)
        for output in present:
            image[output.offset : output.offset + len(output.data)] = output.data
        image[texts_offset : texts_offset + len(texts)] = texts
        section_header = self.records.section_header
        image += bytes(section_header.size)
        for output in present:
            name = texts.index(f"\0{output.name}\0".encode()) + 1
            link = names.index(output.link) + 1 if output.link else 0
            first_global = int(output.type == _SHT_DYNSYM)  # sh_info of a symbol table
            image += section_header.pack(
                name, output.type, output.flags, output.address, output.offset, output.size,
                link, first_global, output.alignment, output.entry_size,
            )  # fmt: skip
        image += section_header.pack(texts.index(b".shstrtab"), _SHT_STRTAB, 0, 0, texts_offset, len(texts), 0, 0, 1, 0)
        program = b"".join(self.records.program(*entry) for entry in sorted(self._program, key=lambda entry: entry[0]))
        file_header = self.records.file_header
        header = file_header.pack(
            b"\x7fELF" + self.records.ident, _ET_DYN, self.linking.machine, 1, 0, file_header.size, headers_offset,
            self.flags, file_header.size, self.records.program_header.size, len(self._program),
            section_header.size, len(present) + 2, len(present) + 1,
        )  # fmt: skip
        image[: len(header) + len(program)] = header + program
        return bytes(image)


def align(value: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not below `value`."""
    return (value + alignment - 1) // alignment * alignment


def _empty_outputs(records: Records, relocation_size: int) -> tuple[Output, ...]:
    word, symbol_size = records.word, records.symbol.size
    constant, variable, code = SHF_ALLOC, SHF_ALLOC | SHF_WRITE, SHF_ALLOC | SHF_EXECINSTR
    return (
        Output(".hash", _SHT_HASH, constant, 8, 4, ".dynsym"),
        Output(".dynsym", _SHT_DYNSYM, constant, 8, symbol_size, ".dynstr"),
        Output(".dynstr", _SHT_STRTAB, constant),
        Output(".rel.dyn", SHT_REL, constant, 8, relocation_size, ".dynsym"),
        Output(".rela.dyn", SHT_RELA, constant, 8, relocation_size, ".dynsym"),
        Output(".rodata", SHT_PROGBITS, constant),
        Output(".text", SHT_PROGBITS, code),
        Output(".plt", SHT_PROGBITS, code, 16),
        Output(".data.rel.ro", SHT_PROGBITS, variable),
        Output(".init_array", SHT_INIT_ARRAY, variable, word, word),
        Output(".fini_array", SHT_FINI_ARRAY, variable, word, word),
        Output(".dynamic", _SHT_DYNAMIC, variable, word, 2 * word, ".dynstr"),
        Output(".got", SHT_PROGBITS, variable, word, word),
        Output(".data", SHT_PROGBITS, variable),
        Output(".bss", SHT_NOBITS, variable),
    )
