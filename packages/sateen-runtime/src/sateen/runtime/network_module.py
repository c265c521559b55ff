"""A network as a module of WebAssembly that needs nothing of its host: memory and parameters are its own (docs/c.md).

The compiler's module imports its memory and takes descriptions of arrays. This one has them at places that a JSON text
tells, so that `run` takes no arguments. Source: WebAssembly core specification, chapter 5 (binary format).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.errors import ArtifactError
from sateen.runtime.signature import ENTRY, Parameter, Signature
from sateen.runtime.wasm_records import (
    MEMORY_END,
    WASM_HEADER,
    ExternalKind,
    SectionCode,
    WasmReader,
    constant,
    encoded_name,
    place_in_memory,
    sized,
    unsigned,
)

_MEMORY, _MESSAGE = "memory", "sateen_status_message"
_PAGE = 1 << 16
_ALIGNMENT = 64
_TENSOR = struct.Struct("<IIIIBBHIIxxxxQ")
"""A DLTensor with pointers of 32 bits: data, device and its number, dimensions, code, bits and lanes of elements, then
shape, strides, offset."""
_EXTENT_BYTES, _POINTER_BYTES = 8, 4
_PROCESSOR = 1
_RUN_TYPE = b"\x60\x00\x01\x7f"
"""No parameters, an integer of 32 bits as the result."""
_CALL, _END = b"\x10", b"\x0b"
_NO_LOCALS = _NO_ITEMS = b"\x00"


@dataclass(frozen=True, slots=True)
class NetworkModule:
    """A module, and the places of all arrays in its memory, by name; the memory has `memory_bytes`."""

    content: bytes
    places: Mapping[str, int]
    memory_bytes: int


def network_module(module: bytes, parameters: bytes | memoryview, signature: Signature) -> NetworkModule:
    """The module of a network with its parameters; `signature` is that of its function, and ends with the blocks
    `parameters` and `workspace`.

    It exports its memory, `run`, which returns a status, and `sateen_status_message`. Raises ArtifactError for another
    module, one that shares its memory between threads, and more than 4 GiB in all.
    """
    try:
        return _network_module(module, parameters, signature)
    except (IndexError, ValueError, KeyError, struct.error):
        raise ArtifactError("expected a whole module of a network to export, found a damaged one") from None


def description_of(made: NetworkModule, name: str, target: str, signature: Signature) -> str:
    """What a program needs to know about a module, as JSON."""
    arrays = signature.parameters[:-2]
    return (
        json.dumps(
            {
                "name": name,
                "target": target,
                "memory_bytes": made.memory_bytes,
                "inputs": [_described(p, made.places[p.name]) for p in arrays if not p.is_output],
                "outputs": [_described(p, made.places[p.name]) for p in arrays if p.is_output],
            },
            indent=2,
        )
        + "\n"
    )


def _described(p: Parameter, place: int) -> dict[str, object]:
    return {"name": p.name, "dtype": str(p.dtype), "shape": [*p.shape], "offset": place, "bytes": _bytes_of(p)}


def _bytes_of(p: Parameter) -> int:
    return prod(map(int, p.shape)) * p.dtype.bytes


def _network_module(module: bytes, parameters: bytes | memoryview, signature: Signature) -> NetworkModule:
    sections = _sections_of(module)
    _require_own_memory(sections.pop(SectionCode.IMPORT))
    exports = _exports(sections[SectionCode.EXPORT])
    heap = _globals(sections[SectionCode.GLOBAL])[exports["__heap_base"]]
    places, described_at, end = _placed(signature.parameters, heap)
    if end > MEMORY_END:
        raise ArtifactError(f"expected a network that fits into 4 GiB of memory, found one of {end} bytes")
    pages = -(-end // _PAGE)
    described, pointers = _descriptions(signature.parameters, places, described_at)
    arguments = map(constant, (0, pointers, len(signature.parameters)))
    call = b"".join([_NO_LOCALS, *arguments, _CALL, unsigned(exports[ENTRY]), _END])
    own_type, own_function = (_count(sections[code]) for code in (SectionCode.TYPE, SectionCode.FUNCTION))
    names = [
        encoded_name(name) + bytes([kind]) + unsigned(index)
        for name, kind, index in (
            (ENTRY, ExternalKind.FUNCTION, own_function),
            (_MESSAGE, ExternalKind.FUNCTION, exports[_MESSAGE]),
            (_MEMORY, ExternalKind.MEMORY, 0),
        )
    ]
    data = [
        b"".join([b"\0", place_in_memory(place), sized(content)])
        for place, content in ((places[signature.parameters[-2].name], parameters), (described_at, described))
    ]
    added: dict[int, list[bytes]] = {
        SectionCode.TYPE: [_RUN_TYPE],
        SectionCode.FUNCTION: [unsigned(own_type)],
        SectionCode.MEMORY: [b"\0" + unsigned(pages)],
        SectionCode.EXPORT: names,
        SectionCode.CODE: [sized(call)],
        SectionCode.DATA: data,
    }
    sections |= {SectionCode.MEMORY: _NO_ITEMS, SectionCode.EXPORT: _NO_ITEMS}
    sections |= {code: _with_items(sections.get(code, _NO_ITEMS), items) for code, items in added.items()}
    content = b"".join([WASM_HEADER, *(bytes([code]) + sized(sections[code]) for code in sorted(sections))])
    return NetworkModule(content, places, pages * _PAGE)


def _sections_of(module: bytes) -> dict[int, bytes]:
    if not module.startswith(WASM_HEADER):
        raise ArtifactError("expected a module of WebAssembly to export, found another kind of code")
    sections: dict[int, bytes] = {}
    reader = WasmReader(module, len(WASM_HEADER))
    while not reader.is_done:
        code, part = reader.byte(), reader.part()
        sections[code] = module[part.place : part.end]
    return sections


def _require_own_memory(imports: bytes) -> None:
    """Raises ArtifactError unless a module imports a memory of its own alone."""
    reader = WasmReader(imports)
    found = [(reader.name(), reader.name(), reader.byte()) for _ in reader.times()[:1]]
    if found != [("env", "memory", ExternalKind.MEMORY)] or imports[0] != 1:
        raise ArtifactError("expected a module of a network, which imports its memory alone, found another import")
    if reader.byte() & 0b10:
        raise ArtifactError(
            "expected a network for one thread, found one whose threads share its memory; compile the model with "
            "--target wasm32"
        )


def _exports(section: bytes) -> dict[str, int]:
    reader = WasmReader(section)
    entries = [(reader.name(), reader.byte(), reader.unsigned()) for _ in reader.times()]
    return {name: index for name, _, index in entries}


def _globals(section: bytes) -> list[int]:
    """The values of global variables, which are addresses."""
    reader = WasmReader(section)
    values = []
    for _ in reader.times():
        reader.bytes(3)  # type, whether it changes, and the instruction
        values.append(reader.signed() % MEMORY_END)
        reader.byte()
    return values


def _placed(parameters: Sequence[Parameter], start: int) -> tuple[dict[str, int], int, int]:
    """The place of each array from `start` on, the place of their descriptions, and the end of all.

    The block of parameters and the descriptions, which are data of the module, come first.
    """
    block, others = parameters[-2], (*parameters[:-2], parameters[-1])
    places = {block.name: _aligned(start)}
    described_at = end = _aligned(places[block.name] + _bytes_of(block))
    end += sum(_EXTENT_BYTES * len(p.shape) + _TENSOR.size + _POINTER_BYTES for p in parameters)
    for p in others:
        places[p.name] = _aligned(end)
        end = places[p.name] + max(_bytes_of(p), 1)
    return places, described_at, end


def _descriptions(parameters: Sequence[Parameter], places: Mapping[str, int], start: int) -> tuple[bytes, int]:
    """The descriptions of arrays, which lie from `start` on, and the place of the pointers to them."""
    tensors, extents = b"", b""
    for p in parameters:
        element = int(p.dtype.code), p.dtype.bits, 1
        shape = start + len(extents)
        tensors += _TENSOR.pack(places[p.name], _PROCESSOR, 0, len(p.shape), *element, shape, 0, 0)
        extents += b"".join(int(extent).to_bytes(_EXTENT_BYTES, "little") for extent in p.shape)
    first = start + len(extents)
    pointers = [place.to_bytes(_POINTER_BYTES, "little") for place in range(first, first + len(tensors), _TENSOR.size)]
    return b"".join([extents, tensors, *pointers]), first + len(tensors)


def _count(section: bytes) -> int:
    return WasmReader(section).unsigned()


def _with_items(section: bytes, items: Sequence[bytes]) -> bytes:
    """A section that is a vector, with more items at its end."""
    reader = WasmReader(section)
    count = reader.unsigned()
    return b"".join([unsigned(count + len(items)), section[reader.place :], *items])


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
