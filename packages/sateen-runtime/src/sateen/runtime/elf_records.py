"""The records of ELF files for addresses of 32 and of 64 bits, which differ in sizes and order, and the table of names.

Source: System V ABI, chapters 4 and 5. All are little-endian.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Records:
    """Layouts of the records of one class of files.

    `ident` is what follows the magic number: class, byte order and version. `word` is the size of an address in bytes.
    Where the fields of a record are in another order than in files of 64 bits, `symbol_order` and `program_order` tell
    for each field of the record which field of those it is.
    """

    ident: bytes
    word: int
    file_header: struct.Struct
    section_header: struct.Struct
    program_header: struct.Struct
    program_order: tuple[int, ...]
    symbol: struct.Struct
    symbol_order: tuple[int, ...]
    relocation: struct.Struct
    relocation_in_place: struct.Struct
    type_bits: int
    dynamic_entry: struct.Struct

    def program(self, *fields: int) -> bytes:
        """A program header: type, flags, offset, address, physical address, size in the file, size in memory,
        alignment."""
        return self.program_header.pack(*(fields[index] for index in self.program_order))

    def program_fields(self, record: tuple[int, ...]) -> tuple[int, ...]:
        """The fields of a program header, in the order of `program`."""
        return _in_order(self.program_order, record)

    def symbol_bytes(self, *fields: int) -> bytes:
        """A symbol: name, type and binding, visibility, section, value, size."""
        return self.symbol.pack(*(fields[index] for index in self.symbol_order))

    def symbol_fields(self, record: tuple[int, ...]) -> tuple[int, ...]:
        """The fields of a symbol, in the order of `symbol_bytes`."""
        return _in_order(self.symbol_order, record)

    def relocation_bytes(self, place: int, symbol: int, kind: int, addend: int | None) -> bytes:
        """A relocation; its addend is in the place that is relocated where None."""
        name = symbol << self.type_bits | kind
        if addend is None:
            return self.relocation_in_place.pack(place, name)
        return self.relocation.pack(place, name, addend)


def _in_order(order: tuple[int, ...], record: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value for _, value in sorted(zip(order, record, strict=True)))


ELF64 = Records(
    ident=b"\x02\x01\x01",
    word=8,
    file_header=struct.Struct("<16sHHIQQQIHHHHHH"),
    section_header=struct.Struct("<IIQQQQIIQQ"),
    program_header=struct.Struct("<IIQQQQQQ"),
    program_order=(0, 1, 2, 3, 4, 5, 6, 7),
    symbol=struct.Struct("<IBBHQQ"),
    symbol_order=(0, 1, 2, 3, 4, 5),
    relocation=struct.Struct("<QQq"),
    relocation_in_place=struct.Struct("<QQ"),
    type_bits=32,
    dynamic_entry=struct.Struct("<QQ"),
)
ELF32 = Records(
    ident=b"\x01\x01\x01",
    word=4,
    file_header=struct.Struct("<16sHHIIIIIHHHHHH"),
    section_header=struct.Struct("<IIIIIIIIII"),
    program_header=struct.Struct("<IIIIIIII"),
    program_order=(0, 2, 3, 4, 5, 6, 1, 7),
    symbol=struct.Struct("<IIIBBH"),
    symbol_order=(0, 4, 5, 1, 2, 3),
    relocation=struct.Struct("<IIi"),
    relocation_in_place=struct.Struct("<II"),
    type_bits=8,
    dynamic_entry=struct.Struct("<II"),
)


def aligned(value: int, alignment: int) -> int:
    """The next multiple of `alignment`, from `value` on."""
    return -(-value // alignment) * alignment


def hash_table(names: Sequence[str]) -> bytes:
    """The table of DT_HASH over the names of dynamic symbols, with as many buckets as symbols; number 0 is void."""
    buckets, chains = [0] * len(names), [0] * len(names)
    for index, name in enumerate(names[1:], start=1):
        bucket = _hash(name) % len(buckets)
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<{2 + 2 * len(names)}I", len(buckets), len(chains), *buckets, *chains)


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value
