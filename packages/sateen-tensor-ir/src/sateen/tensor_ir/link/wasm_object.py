"""Reads relocatable WebAssembly objects, as LLVM writes them.

The sources are the WebAssembly core specification, chapter 5 (binary format), and "WebAssembly Object File Linking" of
the tool conventions, version 2 (the custom sections linking and reloc).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from sateen.runtime.errors import LinkError
from sateen.runtime.wasm_records import WASM_HEADER, ExternalKind, SectionCode, WasmReader

_LINKING_VERSION = 2
_SEGMENT_INFO, _INITIAL_FUNCTIONS, _COMDATS, _SYMBOL_TABLE = 5, 6, 7, 8
_BINDING_LOCAL, _UNDEFINED, _EXPLICIT_NAME, _THREAD_LOCAL, _ABSOLUTE = 0x2, 0x10, 0x40, 0x100, 0x200
_I32_CONST, _END = 0x41, 0x0B
_LARGEST_ALIGNMENT = 16  # a page of memory


class SymbolKind(IntEnum):
    """What a symbol names."""

    FUNCTION = 0
    DATA = 1
    GLOBAL = 2
    SECTION = 3
    TAG = 4
    TABLE = 5


class RelocationType(IntEnum):
    """The relocations that code for one memory of 32 bits has; LEB and SLEB fields take five bytes."""

    FUNCTION_INDEX_LEB = 0
    TABLE_INDEX_SLEB = 1
    TABLE_INDEX_I32 = 2
    MEMORY_ADDR_LEB = 3
    MEMORY_ADDR_SLEB = 4
    MEMORY_ADDR_I32 = 5
    TYPE_INDEX_LEB = 6
    GLOBAL_INDEX_LEB = 7
    TABLE_NUMBER_LEB = 20

    @property
    def size(self) -> int:
        """The bytes of the field."""
        return 4 if self in (RelocationType.TABLE_INDEX_I32, RelocationType.MEMORY_ADDR_I32) else 5


_NAMED = {
    RelocationType.FUNCTION_INDEX_LEB: SymbolKind.FUNCTION,
    RelocationType.TABLE_INDEX_SLEB: SymbolKind.FUNCTION,
    RelocationType.TABLE_INDEX_I32: SymbolKind.FUNCTION,
    RelocationType.MEMORY_ADDR_LEB: SymbolKind.DATA,
    RelocationType.MEMORY_ADDR_SLEB: SymbolKind.DATA,
    RelocationType.MEMORY_ADDR_I32: SymbolKind.DATA,
    RelocationType.GLOBAL_INDEX_LEB: SymbolKind.GLOBAL,
    RelocationType.TABLE_NUMBER_LEB: SymbolKind.TABLE,
}
_RELOCATION_TYPES = frozenset(type_.value for type_ in RelocationType)
_WITH_ADDEND = (RelocationType.MEMORY_ADDR_LEB, RelocationType.MEMORY_ADDR_SLEB, RelocationType.MEMORY_ADDR_I32)


@dataclass(frozen=True, slots=True)
class WasmSymbol:
    """A symbol: `index` is that of a function, global or table of its object, or of the segment that holds data at
    `offset`."""

    kind: SymbolKind
    name: str
    index: int
    offset: int
    is_local: bool
    is_defined: bool


@dataclass(frozen=True, slots=True)
class WasmRelocation:
    """A field to fill at `offset` of its code or data: `index` is that of a symbol, or for TYPE_INDEX_LEB of a type."""

    type: RelocationType
    offset: int
    index: int
    addend: int


@dataclass(frozen=True, slots=True)
class WasmFunction:
    """A function that an object defines: its type as encoded, and its locals and instructions."""

    type: bytes
    body: bytes
    relocations: tuple[WasmRelocation, ...]


@dataclass(frozen=True, slots=True)
class WasmSegment:
    """Data that an object places in memory."""

    name: str
    alignment: int
    data: bytes
    relocations: tuple[WasmRelocation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WasmObject:
    """The contents of an object. Functions count from the imported ones, whose types are `imported`."""

    types: tuple[bytes, ...]
    imported: tuple[bytes, ...]
    functions: tuple[WasmFunction, ...]
    segments: tuple[WasmSegment, ...]
    symbols: tuple[WasmSymbol, ...]
    features: frozenset[str] = frozenset()
    """What the object uses of an engine, by LLVM's names."""

    def type_of(self, function: int) -> bytes:
        """The encoded type of a function, imported or defined."""
        count = len(self.imported)
        return self.imported[function] if function < count else self.functions[function - count].type


def read_wasm_object(content: bytes) -> WasmObject:
    """The relocatable object in `content`. Raises LinkError for anything malformed, or that sateen's code has not."""
    try:
        return _Object(content).read()
    except (IndexError, ValueError) as error:
        raise LinkError(f"malformed WebAssembly object: {error}") from None


class _Object:
    """An object that is being read, section by section."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.sections: list[int] = []
        self.types: list[bytes] = []
        self.imports: dict[ExternalKind, list[str]] = {kind: [] for kind in ExternalKind}
        self.imported: list[bytes] = []
        self.defined: list[bytes] = []
        self.bodies: list[tuple[int, bytes]] = []  # offset in its section, content
        self.data: list[tuple[int, bytes]] = []
        self.segments: list[tuple[str, int]] = []
        self.symbols: list[WasmSymbol] = []
        self.features: set[str] = set()
        self.relocations: dict[int, list[WasmRelocation]] = {SectionCode.CODE: [], SectionCode.DATA: []}

    def read(self) -> WasmObject:
        if self.content[: len(WASM_HEADER)] != WASM_HEADER:
            raise LinkError("expected a WebAssembly object of version 1, found other bytes")
        reader = WasmReader(self.content, len(WASM_HEADER))
        has_symbols = False
        while not reader.is_done:
            code, section = reader.byte(), reader.part()
            name = section.name() if code == SectionCode.CUSTOM else ""
            has_symbols |= name == "linking"
            self.sections.append(code)
            self._section(code, name, section)
        if not has_symbols:
            raise LinkError("expected a relocatable WebAssembly object, found a module without section linking")
        if not len(self.data) == len(self.segments) or not len(self.defined) == len(self.bodies):
            raise LinkError("malformed WebAssembly object: its tables differ in length")
        for symbol in self.symbols:
            self._check(symbol)
        functions = zip(self.defined, self.bodies, self._shared_out(SectionCode.CODE, self.bodies), strict=True)
        segments = zip(self.segments, self.data, self._shared_out(SectionCode.DATA, self.data), strict=True)
        return WasmObject(
            tuple(self.types),
            tuple(self.imported),
            tuple(WasmFunction(type_, body, relocations) for type_, (_, body), relocations in functions),
            tuple(WasmSegment(*told, data, relocations) for told, (_, data), relocations in segments),
            tuple(self.symbols),
            frozenset(self.features),
        )

    def _check(self, symbol: WasmSymbol) -> None:
        """Refuse a symbol of what its object does not have."""
        match symbol.kind:
            case SymbolKind.FUNCTION:
                defined = range(len(self.imported), len(self.imported) + len(self.defined))
                is_there = symbol.index in (defined if symbol.is_defined else range(len(self.imported)))
            case SymbolKind.DATA if symbol.is_defined:
                is_there = symbol.index < len(self.data) and symbol.offset <= len(self.data[symbol.index][1])
            case _:
                is_there = True
        if not is_there:
            raise LinkError(f"malformed WebAssembly object: symbol {symbol.name!r} names what is not there")

    def _section(self, code: int, name: str, section: WasmReader) -> None:
        match code:
            case SectionCode.TYPE:
                self.types = [_function_type(section) for _ in section.times()]
            case SectionCode.IMPORT:
                for _ in section.times():
                    self._import(section)
            case SectionCode.FUNCTION:
                self.defined = [self.types[section.unsigned()] for _ in section.times()]
            case SectionCode.CODE:
                start = section.place
                for _ in section.times():
                    size = section.unsigned()
                    self.bodies.append((section.place - start, section.bytes(size)))
            case SectionCode.DATA:
                start = section.place
                for _ in section.times():
                    self._segment(start, section)
            case SectionCode.CUSTOM if name == "linking":
                self._linking(section)
            case SectionCode.CUSTOM if name == "target_features":
                used = [(section.byte(), section.name()) for _ in section.times()]
                self.features |= {feature for sign, feature in used if sign == ord("+")}
            case SectionCode.CUSTOM if name.startswith("reloc."):
                self._relocations(section)
            case SectionCode.TABLE | SectionCode.MEMORY | SectionCode.GLOBAL:
                if section.unsigned():
                    raise LinkError(f"expected an object that defines functions and data, found a section {code}")

    def _import(self, section: WasmReader) -> None:
        section.name()
        name, kind = section.name(), ExternalKind(section.byte())
        self.imports[kind].append(name)
        match kind:
            case ExternalKind.FUNCTION:
                self.imported.append(self.types[section.unsigned()])
            case ExternalKind.TABLE:
                section.byte()
                _skip_limits(section)
            case ExternalKind.MEMORY:
                _skip_limits(section)
            case ExternalKind.GLOBAL:
                section.bytes(2)

    def _segment(self, start: int, section: WasmReader) -> None:
        if section.unsigned() != 0 or section.byte() != _I32_CONST:
            raise LinkError("expected data at a constant place of memory 0, found another segment")
        section.signed()
        if section.byte() != _END:
            raise LinkError("expected data at a constant place of memory 0, found an expression")
        size = section.unsigned()
        self.data.append((section.place - start, section.bytes(size)))

    def _linking(self, section: WasmReader) -> None:
        if (version := section.unsigned()) != _LINKING_VERSION:
            raise LinkError(f"expected a WebAssembly object of linking version {_LINKING_VERSION}, found {version}")
        while not section.is_done:
            kind, part = section.byte(), section.part()
            match kind:
                case _ if kind == _SEGMENT_INFO:
                    for _ in part.times():
                        name, exponent, _flags = part.name(), part.unsigned(), part.unsigned()
                        if exponent > _LARGEST_ALIGNMENT:
                            raise LinkError(f"expected alignments up to 2^{_LARGEST_ALIGNMENT}, found 2^{exponent}")
                        self.segments.append((name, 1 << exponent))
                case _ if kind == _SYMBOL_TABLE:
                    self.symbols = [self._symbol(part) for _ in part.times()]
                case _ if kind in (_INITIAL_FUNCTIONS, _COMDATS):
                    raise LinkError("expected an object without constructors and groups, found some")

    def _symbol(self, part: WasmReader) -> WasmSymbol:
        kind, flags = SymbolKind(part.byte()), part.unsigned()
        is_local, is_defined = bool(flags & _BINDING_LOCAL), not flags & _UNDEFINED
        if flags & (_THREAD_LOCAL | _ABSOLUTE):
            raise LinkError("expected symbols of functions and data, found a thread's own or an absolute one")
        match kind:
            case SymbolKind.DATA:
                name = part.name()
                index, offset, _size = [part.unsigned() for _ in range(3)] if is_defined else (0, 0, 0)
                return WasmSymbol(kind, name, index, offset, is_local, is_defined)
            case SymbolKind.SECTION:
                return WasmSymbol(kind, "", part.unsigned(), 0, is_local, is_defined)
            case SymbolKind.TAG:
                raise LinkError("expected an object without exceptions, found a tag")
        index = part.unsigned()
        if is_defined or flags & _EXPLICIT_NAME:
            return WasmSymbol(kind, part.name(), index, 0, is_local, is_defined)
        imports = self.imports[_EXTERNAL_KINDS[kind]]
        return WasmSymbol(kind, imports[index], index, 0, is_local, is_defined)

    def _relocations(self, section: WasmReader) -> None:
        target = self.sections[section.unsigned()]
        if target not in self.relocations:
            return  # of a section for debuggers
        for _ in section.times():
            number = section.byte()
            if number not in _RELOCATION_TYPES:
                raise LinkError(
                    f"relocation type {number} of WebAssembly is not supported: compile with reloc='static'"
                )
            type_, offset, index = RelocationType(number), section.unsigned(), section.unsigned()
            addend = section.signed() if type_ in _WITH_ADDEND else 0
            self.relocations[target].append(WasmRelocation(type_, offset, index, addend))

    def _shared_out(
        self, code: SectionCode, parts: Sequence[tuple[int, bytes]]
    ) -> Iterator[tuple[WasmRelocation, ...]]:
        """The relocations of each part of a section, with offsets in that part."""
        starts = [start for start, _ in parts]
        shared: list[list[WasmRelocation]] = [[] for _ in parts]
        for entry in self.relocations[code]:
            number = bisect_right(starts, entry.offset) - 1
            offset = entry.offset - starts[number] if number >= 0 else -1
            if offset < 0 or offset + entry.type.size > len(parts[number][1]):
                raise LinkError(f"malformed WebAssembly object: {entry.type.name} lies outside of {code.name.lower()}")
            if entry.index >= len(self.types if entry.type is RelocationType.TYPE_INDEX_LEB else self.symbols):
                raise LinkError(f"malformed WebAssembly object: {entry.type.name} has no symbol or type")
            named = _NAMED.get(entry.type)
            if named is not None and self.symbols[entry.index].kind is not named:
                raise LinkError(f"malformed WebAssembly object: {entry.type.name} is of another kind than its symbol")
            shared[number].append(WasmRelocation(entry.type, offset, entry.index, entry.addend))
        return (tuple(entries) for entries in shared)


_EXTERNAL_KINDS = {
    SymbolKind.FUNCTION: ExternalKind.FUNCTION,
    SymbolKind.GLOBAL: ExternalKind.GLOBAL,
    SymbolKind.TABLE: ExternalKind.TABLE,
}


def _function_type(section: WasmReader) -> bytes:
    """A function's type as encoded: parameters and results."""
    start = section.place
    if section.byte() != 0x60:
        raise LinkError("expected types of functions, found another type")
    for _ in range(2):
        section.bytes(section.unsigned())
    return section.data[start : section.place]


def _skip_limits(section: WasmReader) -> None:
    for _ in range(1 + section.byte() % 2):
        section.unsigned()
