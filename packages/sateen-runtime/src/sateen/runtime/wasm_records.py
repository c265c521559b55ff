"""The encodings of WebAssembly: numbers, names, vectors and sections, to read and to write.

Source: WebAssembly core specification, chapter 5 (binary format). Reading raises IndexError and ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

WASM_HEADER = b"\0asm\1\0\0\0"
"""What a module or an object of version 1 begins with."""
MEMORY_END = 1 << 32
"""The most bytes of a memory."""


class SectionCode(IntEnum):
    """The numbers of sections."""

    CUSTOM = 0
    TYPE = 1
    IMPORT = 2
    FUNCTION = 3
    TABLE = 4
    MEMORY = 5
    GLOBAL = 6
    EXPORT = 7
    ELEMENT = 9
    CODE = 10
    DATA = 11


class ExternalKind(IntEnum):
    """What an import or export is."""

    FUNCTION = 0
    TABLE = 1
    MEMORY = 2
    GLOBAL = 3


class WasmReader:
    """A place in bytes, from which numbers and names are read. Raises IndexError past the end."""

    def __init__(self, data: bytes, place: int = 0, end: int | None = None) -> None:
        self.data = data
        self.place = place
        self.end = len(data) if end is None else end

    def byte(self) -> int:
        return self.bytes(1)[0]

    def bytes(self, count: int) -> bytes:
        start = self.place
        if count > self.end - start:
            raise IndexError(f"expected {count} bytes at {start:#x}, found {self.end - start}")
        self.place += count
        return self.data[start : self.place]

    def unsigned(self) -> int:
        """LEB128 of at most 32 bits."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift >= 35:
                raise ValueError(f"a number before {self.place:#x} has more than 32 bits")

    def signed(self) -> int:
        """Signed LEB128 of at most 32 bits."""
        start = self.place
        value = self.unsigned()
        bits = 7 * (self.place - start)
        return value - (1 << bits) if value >> bits - 1 else value

    def name(self) -> str:
        return self.bytes(self.unsigned()).decode()

    def part(self) -> WasmReader:
        """A reader of the next part, which its length precedes."""
        size = self.unsigned()
        start = self.place
        self.bytes(size)
        return WasmReader(self.data, start, self.place)

    @property
    def is_done(self) -> bool:
        return self.place >= self.end

    def times(self) -> range:
        """The items of a vector."""
        return range(self.unsigned())


def unsigned(value: int) -> bytes:
    """LEB128."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def padded(value: int) -> bytes:
    """LEB128 in five bytes, of an unsigned or a signed number of 32 bits."""
    return bytes(value >> 7 * i & 0x7F | (0x80 if i < 4 else 0) for i in range(5))


def constant(value: int) -> bytes:
    """The instruction that gives a number of 32 bits, such as an address."""
    return b"\x41" + padded(value - MEMORY_END if value >= MEMORY_END >> 1 else value)


def place_in_memory(address: int) -> bytes:
    """The expression of an address."""
    return constant(address) + b"\x0b"


def sized(content: bytes | memoryview) -> bytes:
    """A part, which its length precedes."""
    return b"".join([unsigned(len(content)), content])


def encoded_name(text: str) -> bytes:
    return sized(text.encode())


def vector(items: Iterable[bytes]) -> bytes:
    listed = list(items)
    return unsigned(len(listed)) + b"".join(listed)
