"""Links relocatable objects into an ELF shared object for x86-64, AArch64, ARM or RISC-V Linux.

The library binds its own symbols to itself, defines only the exports and needs only the C library's calls that it uses.
All dynamic relocations are applied when it is loaded; code and constants are then read-only, and writable memory is
never executable. Equal arguments give equal bytes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sateen.runtime.elf_records import hash_table
from sateen.runtime.errors import LinkError
from sateen.tensor_ir.link.c_libraries import C_LIBRARY
from sateen.tensor_ir.link.image import Image, Output
from sateen.tensor_ir.link.merge import merge_objects
from sateen.tensor_ir.link.object_file import (
    SHF_EXECINSTR,
    SHF_TLS,
    SHF_WRITE,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_NOBITS,
    STB_LOCAL,
    ObjectFile,
    Relocation,
    Section,
    Symbol,
    read_object,
)
from sateen.tensor_ir.targets import ARCHITECTURES
from sateen.tensor_ir.targets.relocation import Addressing, Linking, Reference, Rule

_STB_GLOBAL = 1


def link_shared(
    object_code: bytes | Sequence[bytes],
    exports: Sequence[str],
    soname: str,
    imports: Mapping[str, str] = C_LIBRARY,
) -> bytes:
    """The shared object named `soname` that holds one or more objects and defines `exports`, for their machine.

    `imports` maps each symbol that the objects may leave undefined to the library that defines it. LinkError if an
    object is malformed, was not compiled as position-independent code, uses an unknown relocation or section, lacks an
    export, or leaves another symbol undefined.
    """
    if not soname or "\0" in soname:
        raise LinkError(f"expected a name for the library, found {soname!r}")
    objects = [object_code] if isinstance(object_code, bytes) else object_code
    source = merge_objects([read_object(content) for content in objects])
    known = {a.linking.machine: (a.title, a.linking) for a in ARCHITECTURES.values() if a.linking}
    if source.machine not in known:
        names = ", ".join(f"{title} ({machine})" for machine, (title, _) in known.items())
        raise LinkError(f"expected an object for {names}, found ELF machine {source.machine}")
    linking = known[source.machine][1]
    if source.word != linking.word:
        raise LinkError(f"expected an object with addresses of {linking.word} bytes, found {source.word}")
    library = _Library(*known[source.machine], source, imports)
    library.place_sections()
    library.collect_references()
    library.collect_exports(exports)
    library.reserve_dynamic_sections(soname)
    library.image.lay_out()
    library.relocate()
    library.fill_dynamic_sections()
    return library.image.to_bytes()


class _Library:
    """The library under construction; `link_shared` calls the public methods in their order here."""

    def __init__(self, title: str, linking: Linking, source: ObjectFile, importable: Mapping[str, str]) -> None:
        self.title = title
        self.linking = linking
        self.source = source
        self.importable = importable
        self.image = Image(linking, source.flags)
        self.places: dict[Section, tuple[Output, int]] = {}
        self.imports: dict[str, int] = {}  # name: number among the dynamic symbols, of which 0 is void
        self.exports: dict[str, Symbol] = {}
        self.slots: dict[Symbol, int] = {}  # symbol: offset of its entry in .got
        self.stubs: dict[Symbol, int] = {}  # symbol: offset of its stub in .plt
        self.uppers: dict[tuple[Section, int], tuple[Relocation, Rule]] = {}  # by the place of the upper part
        self.pointers = 0  # addresses in data, each of which takes a dynamic relocation
        self.dynamic_relocations: list[tuple[int, int, int, int]] = []  # symbol, address, type, addend
        self.strings: dict[str, int] = {}  # text: its offset in .dynstr
        self.soname = ""

    def place_sections(self) -> None:
        """Give each loaded section of the object its place in an output section."""
        for section in sorted(self.source.relocations, key=_constructor_priority):
            if section.alignment > self.linking.page:
                raise LinkError(
                    f"section {section.name!r} is aligned to {section.alignment} bytes, "
                    f"more than a page of {self.linking.page}"
                )
            output = self.image[_output_name(section)]
            start = output.reserve(section.size, section.alignment)
            output.data[start : start + len(section.data)] = section.data
            self.places[section] = output, start

    def collect_references(self) -> None:
        """Find the imported symbols, and those that need an entry of .got, a stub of .plt or a dynamic relocation."""
        differences: dict[tuple[Section, int], int] = {}  # addends of addresses of the library in a word
        for section, relocation, rule in self._relocations():
            symbol, where = relocation.symbol, (section, relocation.offset)
            self._check_reference(section, symbol, rule)
            match rule.addressing:
                case Addressing.UPPER:
                    self.uppers[where] = relocation, rule
                case Addressing.ADDED:
                    differences[where] = differences.get(where, 0) + 1
                case Addressing.SUBTRACTED:
                    differences[where] = differences.get(where, 0) - 1
            is_import = symbol.section is None
            if is_import:
                self.imports.setdefault(symbol.name, len(self.imports) + 1)
            needs_stub = is_import and rule.reference is Reference.CALL
            if needs_stub and symbol not in self.stubs:
                self.stubs[symbol] = self.image[".plt"].reserve(self.linking.stub_size, 1)
            if (needs_stub or rule.reference is Reference.SLOT) and symbol not in self.slots:
                self.slots[symbol] = self.image[".got"].reserve(self.linking.word, self.linking.word)
            self.pointers += rule.addressing is Addressing.ABSOLUTE
        for (section, offset), sum_of_signs in differences.items():
            if sum_of_signs:
                raise LinkError(f"expected a difference of addresses at {section.name}+{offset:#x}, found one address")

    def _relocations(self) -> Iterator[tuple[Section, Relocation, Rule]]:
        for section, relocations in self.source.relocations.items():
            for relocation in relocations:
                rule = self.linking.rules.get(relocation.type)
                if rule is None:
                    name = self.linking.refused.get(relocation.type, "unknown")
                    raise LinkError(
                        f"relocation type {relocation.type} ({name}) of {self.title} in section "
                        f"{section.name!r} is not supported: compile with reloc='pic' and codemodel='default'"
                    )
                if relocation.offset + rule.field.size > len(section.data):
                    raise LinkError(f"malformed object: {rule.name} lies outside its section {section.name!r}")
                yield section, relocation, rule

    def _check_reference(self, section: Section, symbol: Symbol, rule: Rule) -> None:
        if symbol.section is not None and symbol.section not in self.places:
            raise LinkError(f"{rule.name} in section {section.name!r} refers to {symbol.section.name!r}, not loaded")
        if symbol.section is None and symbol.name not in self.importable:
            raise LinkError(f"undefined symbol {symbol.name!r}: a library may import only {_list(self.importable)}")
        if symbol.section is None and rule.reference is Reference.SYMBOL and rule.addressing is not Addressing.ABSOLUTE:
            raise LinkError(f"{rule.name} reaches import {symbol.name!r} directly: compile with reloc='pic'")
        if rule.addressing is Addressing.ABSOLUTE and not section.flags & SHF_WRITE:
            raise LinkError(f"{rule.name} in read-only section {section.name!r}: compile with reloc='pic'")

    def collect_exports(self, exports: Sequence[str]) -> None:
        """Find the symbols that the library defines for others."""
        defined: dict[str, Symbol] = {}
        for symbol in self.source.symbols:
            if symbol.binding == STB_LOCAL or symbol.section not in self.places:
                continue
            if symbol.name in defined:
                raise LinkError(f"symbol {symbol.name!r} is defined twice")
            defined[symbol.name] = symbol
        for name in exports:
            if name in self.exports:
                raise LinkError(f"export {name!r} is listed twice")
            if name not in defined:
                raise LinkError(f"export {name!r} is not among the object's global symbols: {_list(defined)}")
            self.exports[name] = defined[name]

    def reserve_dynamic_sections(self, soname: str) -> None:
        """Fix the sizes of the sections that the dynamic loader reads, and all text in them."""
        self.soname = soname
        strings = self.image[".dynstr"]
        for text in ("", *self.imports, *self.exports, soname, *self._needed()):
            if text not in self.strings:
                self.strings[text] = strings.size
                strings.data += os.fsencode(text) + b"\0"
                strings.size = len(strings.data)
        symbols = 1 + len(self.imports) + len(self.exports)
        self.image[".hash"].reserve(4 * (2 + 2 * symbols), 8)
        self.image[".dynsym"].reserve(self.image.records.symbol.size * symbols, 8)
        self.image.relocations.reserve(self.image.relocation_record.size * (self.pointers + len(self.slots)), 8)
        self.image[".dynamic"].reserve(2 * self.linking.word * len(self._dynamic_entries()), self.linking.word)

    def _needed(self) -> Iterable[str]:
        return dict.fromkeys(self.importable[name] for name in self.imports)

    def relocate(self) -> None:
        """Resolve every relocation of the object; addresses in data are left to the loader."""
        self._fill_slots()
        for section, relocation, rule in self._relocations():
            output, start = self.places[section]
            offset = start + relocation.offset
            place = output.address + offset
            addend = _addend(section, relocation, rule)
            if rule.addressing is Addressing.ABSOLUTE:
                self._add_dynamic(output, offset, relocation.symbol, addend, self.linking.dynamic_pointer)
                continue
            if rule.reference is Reference.UPPER:
                target, place = self._target_of_upper(rule, relocation.symbol)
            else:
                target = self._target_address(rule, relocation.symbol) + addend
            try:
                word = rule.field.word(output.data, offset)
                rule.field.insert(output.data, offset, rule.addressing.compute(target, place, word))
            except LinkError as error:
                error.add_note(f"in {rule.name} at {section.name}+{relocation.offset:#x}")
                raise

    def _fill_slots(self) -> None:
        got, plt = self.image[".got"], self.image[".plt"]
        for symbol, offset in self.slots.items():
            self._add_dynamic(got, offset, symbol, 0, self.linking.dynamic_slot)
        for symbol, offset in self.stubs.items():
            stub = self.linking.stub(plt.address + offset, got.address + self.slots[symbol])
            plt.data[offset : offset + len(stub)] = stub

    def _add_dynamic(self, output: Output, offset: int, symbol: Symbol, addend: int, import_type: int) -> None:
        """Let the loader write the address of `symbol` plus `addend` to a place of an output section."""
        if symbol.section is None:
            number, kind = self.imports[symbol.name], import_type
        else:
            number, kind, addend = 0, self.linking.dynamic_relative, self._address(symbol) + addend
        self.dynamic_relocations.append((number, output.address + offset, kind, addend))
        if self.linking.addends_in_place:
            word = self.linking.word
            output.data[offset : offset + word] = (addend & (1 << 8 * word) - 1).to_bytes(word, "little")

    def _target_of_upper(self, rule: Rule, label: Symbol) -> tuple[int, int]:
        """The target and the place of the upper part at a label."""
        if label.section is None or (label.section, label.value) not in self.uppers:
            raise LinkError(f"{rule.name} refers to {label.name!r}, where no upper part is")
        relocation, upper = self.uppers[label.section, label.value]
        addend = _addend(label.section, relocation, upper)
        return self._target_address(upper, relocation.symbol) + addend, self._address(label)

    def _target_address(self, rule: Rule, symbol: Symbol) -> int:
        if rule.reference is Reference.SLOT:
            return self.image[".got"].address + self.slots[symbol]
        if symbol in self.stubs:
            return self.image[".plt"].address + self.stubs[symbol]
        return self._address(symbol)

    def _address(self, symbol: Symbol) -> int:
        assert symbol.section is not None, symbol.name
        output, start = self.places[symbol.section]
        return output.address + start + symbol.value

    def fill_dynamic_sections(self) -> None:
        """Write the data of the dynamic loader: symbols and their hash table, relocations, and their places."""
        self.image[".dynsym"].data[:] = b"".join(self._dynamic_symbols())
        self.image[".hash"].data[:] = hash_table(("", *self.imports, *self.exports))
        records, in_place = self.image.records, self.linking.addends_in_place
        self.image.relocations.data[:] = b"".join(
            records.relocation_bytes(place, symbol, kind, None if in_place else addend)
            for symbol, place, kind, addend in sorted(self.dynamic_relocations)
        )
        self.image[".dynamic"].data[:] = b"".join(
            records.dynamic_entry.pack(*entry) for entry in self._dynamic_entries()
        )

    def _dynamic_symbols(self) -> Iterator[bytes]:
        records = self.image.records
        section_numbers = {output.name: number for number, output in enumerate(self.image.present(), start=1)}
        yield bytes(records.symbol.size)
        for name in self.imports:
            yield records.symbol_bytes(self.strings[name], _STB_GLOBAL << 4, 0, 0, 0, 0)
        for name, symbol in self.exports.items():
            assert symbol.section is not None, name
            section = section_numbers[self.places[symbol.section][0].name]
            info = _STB_GLOBAL << 4 | symbol.type
            yield records.symbol_bytes(self.strings[name], info, 0, section, self._address(symbol), symbol.size)

    def _dynamic_entries(self) -> list[tuple[int, int]]:
        """Tags and values of .dynamic. The number of entries does not depend on addresses."""
        image = self.image
        entries = [(1, self.strings[name]) for name in self._needed()]  # DT_NEEDED
        entries += [
            (14, self.strings[self.soname]),  # DT_SONAME
            (4, image[".hash"].address),  # DT_HASH
            (5, image[".dynstr"].address),  # DT_STRTAB
            (10, image[".dynstr"].size),  # DT_STRSZ
            (6, image[".dynsym"].address),  # DT_SYMTAB
            (11, image.records.symbol.size),  # DT_SYMENT
        ]
        if relocations := image.relocations.size:
            first = 17 if self.linking.addends_in_place else 7  # DT_REL, SZ, ENT, or DT_RELA, SZ, ENT
            values = image.relocations.address, relocations, image.relocation_record.size
            entries += [(first + number, value) for number, value in enumerate(values)]
        if constructors := image[".init_array"].size:
            entries += [(25, image[".init_array"].address), (27, constructors)]  # DT_INIT_ARRAY, SZ
        if destructors := image[".fini_array"].size:
            entries += [(26, image[".fini_array"].address), (28, destructors)]  # DT_FINI_ARRAY, SZ
        return [*entries, (30, 8), (0x6FFFFFFB, 1), (0, 0)]  # DT_FLAGS BIND_NOW, DT_FLAGS_1 NOW, DT_NULL


def _addend(section: Section, relocation: Relocation, rule: Rule) -> int:
    """What is added to the address of the symbol: in the record of the relocation, or in the field of the object."""
    if relocation.addend is not None:
        return relocation.addend
    return rule.field.extract(section.data, relocation.offset)


def _list(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = [f"and {len(shown) - 8} more"] if len(shown) > 8 else []
    return ", ".join(shown[:8] + more) or "nothing"


def _constructor_priority(section: Section) -> int:
    """The number in `.init_array.NUMBER`: lower ones come first. A section without a number comes last."""
    number = section.name.rpartition(".")[2]
    is_array = section.type in (SHT_INIT_ARRAY, SHT_FINI_ARRAY)
    return int(number) if is_array and number.isascii() and number.isdigit() else 1 << 16


def _output_name(section: Section) -> str:
    """The output section for a section of the object: by its type and flags; by its name for relocated constants."""
    is_written, is_code = section.flags & SHF_WRITE, section.flags & SHF_EXECINSTR
    if section.flags & SHF_TLS:
        raise LinkError(f"section {section.name!r} is thread-local, which generated code never uses")
    if section.name.startswith((".ctors", ".dtors")):
        raise LinkError(f"section {section.name!r} is not supported: put the function into .init_array or .fini_array")
    if is_written and is_code:
        raise LinkError(f"section {section.name!r} is both writable and executable")
    if section.type == SHT_NOBITS:
        return ".bss"
    if is_code or not is_written:
        return ".text" if is_code else ".rodata"
    if section.type in (SHT_INIT_ARRAY, SHT_FINI_ARRAY):
        return ".init_array" if section.type == SHT_INIT_ARRAY else ".fini_array"
    return ".data.rel.ro" if section.name.startswith(".data.rel.ro") else ".data"
