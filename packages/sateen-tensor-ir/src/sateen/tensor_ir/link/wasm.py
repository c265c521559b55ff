"""Links relocatable WebAssembly objects into one module.

The module imports its memory (env.memory), which must be zero, and the functions that its page gives. It exports names
of functions, of data as constants with their addresses, and its table of functions, to which a page may add those of a
host. From address 0 on lies the stack, which grows downwards, so that an overflow traps; then data; then, from
`__heap_base` on, memory that is the caller's. The memory is shared if an object has atomic instructions. Equal
arguments give equal bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sateen.runtime.errors import LinkError
from sateen.runtime.wasm_records import (
    MEMORY_END,
    WASM_HEADER,
    ExternalKind,
    SectionCode,
    encoded_name,
    padded,
    place_in_memory,
    sized,
    unsigned,
    vector,
)
from sateen.tensor_ir.link.wasm_object import (
    RelocationType,
    SymbolKind,
    WasmObject,
    WasmRelocation,
    WasmSymbol,
    read_wasm_object,
)

STACK_BYTES = 1 << 20
"""The stack of a module: many times what the frames of an entry and a kernel take."""

_PAGE = 1 << 16
_HEAP_ALIGNMENT = 64
_SHARED = 0b11
"""The limits of a memory that is shared: they have a maximum."""
_I32, _FUNCTION_REFERENCE = b"\x7f", b"\x70"
_STACK_POINTER, _HEAP_BASE, _TABLE = "__stack_pointer", "__heap_base", "__indirect_function_table"
_PROVIDED = ((SymbolKind.GLOBAL, _STACK_POINTER), (SymbolKind.TABLE, _TABLE))
"""The symbols that every module has without a definition."""


def link_module(objects: bytes | Sequence[bytes], exports: Sequence[str], imports: Mapping[str, str]) -> bytes:
    """The module that holds one or more objects and defines `exports`, `__heap_base`, `__stack_pointer` and a table.

    `imports` maps each function that the objects may leave undefined to the module that it is imported from. LinkError
    if an object is malformed, two define one name, an export is missing, another function is undefined, or a function
    is called with another type than it has.
    """
    contents = [objects] if isinstance(objects, bytes) else objects
    module = _Module([read_wasm_object(content) for content in contents], imports)
    module.bind()
    module.place_data()
    return module.to_bytes(exports)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A symbol, and the number of the object that defines it."""

    number: int
    symbol: WasmSymbol


class _Module:
    """The module under construction; `link_module` calls the public methods in their order here."""

    def __init__(self, objects: Sequence[WasmObject], importable: Mapping[str, str]) -> None:
        self.objects = objects
        self.importable = importable
        self.types: dict[bytes, int] = {}
        self.defined: dict[str, _Definition] = {}
        self.imports: dict[str, bytes] = {}  # name: type
        self.first: list[int] = []  # for each object the index of the first function that it defines
        self.addresses: list[list[int]] = []  # for each object and segment
        self.heap = STACK_BYTES
        self.slots: dict[int, int] = {}  # function: its place in the table, in which 0 is no function

    def bind(self) -> None:
        """Find the definition of each name, and what is imported; give functions their indices."""
        for number, source in enumerate(self.objects):
            for symbol in source.symbols:
                if symbol.is_local or not symbol.is_defined or symbol.kind is SymbolKind.SECTION:
                    continue
                if symbol.name in self.defined:
                    raise LinkError(f"symbol {symbol.name!r} is defined by two objects")
                self.defined[symbol.name] = _Definition(number, symbol)
        for source in self.objects:
            for symbol in source.symbols:
                if not symbol.is_defined:
                    self._bind_undefined(source, symbol)
        function = len(self.imports)
        for source in self.objects:
            self.first.append(function)
            function += len(source.functions)

    def _bind_undefined(self, source: WasmObject, symbol: WasmSymbol) -> None:
        if (symbol.kind, symbol.name) in _PROVIDED:
            return
        found = self.defined.get(symbol.name)
        if symbol.kind is not SymbolKind.FUNCTION:
            if found is None:
                raise LinkError(f"undefined symbol {symbol.name!r}: a module imports only functions")
            if found.symbol.kind is not symbol.kind:
                raise LinkError(f"symbol {symbol.name!r} is read as data, but it is a function")
            return
        wanted = source.type_of(symbol.index)
        if found is not None:
            if found.symbol.kind is not SymbolKind.FUNCTION:
                raise LinkError(f"symbol {symbol.name!r} is called, but it is data")
            given = self.objects[found.number].type_of(found.symbol.index)
        elif symbol.name in self.importable:
            given = self.imports.setdefault(symbol.name, wanted)
        else:
            names = ", ".join(self.importable) or "nothing"
            raise LinkError(f"undefined symbol {symbol.name!r}: a module may import only {names}")
        if given != wanted:
            raise LinkError(f"function {symbol.name!r} is called with another type than it has")

    def place_data(self) -> None:
        """Give each segment its address, and the heap its begin."""
        for source in self.objects:
            places = []
            for segment in source.segments:
                start = _aligned(self.heap, segment.alignment)
                places.append(start)
                self.heap = start + len(segment.data)
            self.addresses.append(places)
        self.heap = _aligned(self.heap, _HEAP_ALIGNMENT)
        if self.heap > MEMORY_END:
            raise LinkError(f"data and stack take {self.heap} bytes; a memory of 32 bits has {MEMORY_END}")

    def to_bytes(self, exports: Sequence[str]) -> bytes:
        """The module, all fields filled."""
        imports = [self._import(name, ExternalKind.FUNCTION, unsigned(self._type(type_)))
                   for name, type_ in self.imports.items()]  # fmt: skip
        pages = -(-self.heap // _PAGE)
        is_shared = any("atomics" in source.features for source in self.objects)
        most = unsigned(MEMORY_END // _PAGE) if is_shared else b""
        limits = bytes([_SHARED if is_shared else 0]) + unsigned(pages) + most
        imports.append(encoded_name("env") + encoded_name("memory") + bytes([ExternalKind.MEMORY]) + limits)
        functions = [unsigned(self._type(f.type)) for source in self.objects for f in source.functions]
        code = [
            sized(self._filled(number, f.body, f.relocations))
            for number, source in enumerate(self.objects)
            for f in source.functions
        ]
        data = [
            b"\0" + place_in_memory(address) + sized(content)
            for number, source in enumerate(self.objects)
            for segment, address in zip(source.segments, self.addresses[number], strict=True)
            if any(content := self._filled(number, segment.data, segment.relocations))
        ]
        constants = {_HEAP_BASE: self.heap}
        entries: list[bytes] = []
        if repeated := [name for name, count in Counter(exports).items() if count > 1]:
            raise LinkError(f"export {repeated[0]!r} is listed twice")
        for name in exports:
            definition = self._exported(name)
            if definition.symbol.kind is SymbolKind.FUNCTION:
                entries.append(
                    encoded_name(name) + bytes([ExternalKind.FUNCTION]) + unsigned(self._function(definition))
                )
            else:
                constants[name] = self._address(definition)
        entries += [
            encoded_name(name) + bytes([ExternalKind.GLOBAL]) + unsigned(index)
            for index, name in enumerate((_STACK_POINTER, *constants))
        ]
        entries.append(encoded_name(_TABLE) + bytes([ExternalKind.TABLE]) + unsigned(0))
        global_values = [_I32 + b"\1" + place_in_memory(STACK_BYTES)]
        global_values += [_I32 + b"\0" + place_in_memory(value) for value in constants.values()]
        table = [_FUNCTION_REFERENCE + b"\0" + unsigned(len(self.slots) + 1)]  # without a largest size
        elements = [b"\0" + place_in_memory(1) + vector(unsigned(function) for function in self.slots)]
        sections = {
            SectionCode.TYPE: list(self.types),
            SectionCode.IMPORT: imports,
            SectionCode.FUNCTION: functions,
            SectionCode.TABLE: table,
            SectionCode.GLOBAL: global_values,
            SectionCode.EXPORT: entries,
            SectionCode.ELEMENT: elements if self.slots else [],
            SectionCode.CODE: code,
            SectionCode.DATA: data,
        }
        return WASM_HEADER + b"".join(
            bytes([number]) + sized(vector(items)) for number, items in sections.items() if items
        )

    def _import(self, name: str, kind: ExternalKind, description: bytes) -> bytes:
        return encoded_name(self.importable[name]) + encoded_name(name) + bytes([kind]) + description

    def _type(self, encoded: bytes) -> int:
        return self.types.setdefault(encoded, len(self.types))

    def _exported(self, name: str) -> _Definition:
        if name not in self.defined:
            raise LinkError(f"export {name!r} is not among the objects' symbols: {', '.join(self.defined) or 'none'}")
        return self.defined[name]

    def _filled(self, number: int, content: bytes, relocations: Iterable[WasmRelocation]) -> bytes:
        """Code or data of an object with the value of each relocation in its place."""
        filled = bytearray(content)
        for entry in relocations:
            value = self._value(number, entry)
            match entry.type:
                case RelocationType.TABLE_INDEX_I32 | RelocationType.MEMORY_ADDR_I32:
                    field = (value % MEMORY_END).to_bytes(4, "little")
                case RelocationType.TABLE_INDEX_SLEB | RelocationType.MEMORY_ADDR_SLEB:
                    field = padded(value - MEMORY_END if value >= MEMORY_END >> 1 else value)
                case _:
                    field = padded(value)
            filled[entry.offset : entry.offset + len(field)] = field
        return bytes(filled)

    def _value(self, number: int, entry: WasmRelocation) -> int:
        source = self.objects[number]
        if entry.type is RelocationType.TYPE_INDEX_LEB:
            return self._type(source.types[entry.index])
        symbol = source.symbols[entry.index]
        if entry.type is RelocationType.TABLE_NUMBER_LEB:
            return 0
        if entry.type is RelocationType.GLOBAL_INDEX_LEB:
            if symbol.name != _STACK_POINTER:
                raise LinkError(f"expected {_STACK_POINTER!r} to be the only global variable, found {symbol.name!r}")
            return 0
        if symbol.kind is SymbolKind.FUNCTION:
            function = self._imported_or_defined(number, symbol)
            if entry.type is RelocationType.FUNCTION_INDEX_LEB:
                return function
            return self.slots.setdefault(function, len(self.slots) + 1)
        definition = _Definition(number, symbol) if symbol.is_defined else self.defined[symbol.name]
        return self._address(definition) + entry.addend

    def _imported_or_defined(self, number: int, symbol: WasmSymbol) -> int:
        if symbol.is_defined:
            return self._function(_Definition(number, symbol))
        if symbol.name in self.defined:
            return self._function(self.defined[symbol.name])
        return list(self.imports).index(symbol.name)

    def _function(self, definition: _Definition) -> int:
        imported = len(self.objects[definition.number].imported)
        return self.first[definition.number] + definition.symbol.index - imported

    def _address(self, definition: _Definition) -> int:
        return self.addresses[definition.number][definition.symbol.index] + definition.symbol.offset


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment
