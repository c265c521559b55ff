"""Relocations: the computed values and their places in instructions; our linker's knowledge of an architecture."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from sateen.runtime.errors import LinkError


class Reference(Enum):
    """The symbol whose address a relocated field contains."""

    SYMBOL = auto()
    CALL = auto()  # the symbol, or the stub that jumps to it where another library defines it
    SLOT = auto()  # the symbol's entry in the global offset table
    UPPER = auto()  # the target of the instruction at the symbol, which has the upper bits of the same value


class Addressing(Enum):
    """The value computed from the target's address plus addend (T), the address of the field (P), and the word that is
    there (W)."""

    ABSOLUTE = auto()  # T
    RELATIVE = auto()  # T - P
    PAGE = auto()  # page(T) - page(P), pages of 4 KiB
    LOW = auto()  # T mod 4 KiB
    UPPER = auto()  # T - P to the nearest multiple of 4 KiB
    LOWER = auto()  # what UPPER leaves of T - P, from -2048 to 2047
    PAIR = auto()  # UPPER, with LOWER as bits without sign in its place
    ADDED = auto()  # W + T
    SUBTRACTED = auto()  # W - T
    RELATIVE_LOW = auto()  # T - P mod 64 KiB
    RELATIVE_HIGH = auto()  # (T - P) / 64 KiB mod 64 KiB

    def compute(self, target: int, place: int, word: int = 0) -> int:
        """The value to insert, from T, P and W, the word in that place before; ABSOLUTE values are written by the
        dynamic loader instead.
        """
        match self:
            case Addressing.RELATIVE:
                return target - place
            case Addressing.PAGE:
                return (target & ~0xFFF) - (place & ~0xFFF)
            case Addressing.LOW:
                return target & 0xFFF
            case Addressing.UPPER:
                return target - place + 0x800 & ~0xFFF
            case Addressing.LOWER:
                return (target - place + 0x800 & 0xFFF) - 0x800
            case Addressing.PAIR:
                return (target - place + 0x800 & ~0xFFF) | (target - place & 0xFFF)
            case Addressing.ADDED:
                return word + target
            case Addressing.SUBTRACTED:
                return word - target
            case Addressing.RELATIVE_LOW:
                return target - place & 0xFFFF
            case Addressing.RELATIVE_HIGH:
                return target - place >> 16 & 0xFFFF
        return target


@dataclass(frozen=True, slots=True)
class Field:
    """The place of a value in a little-endian word of `size` bytes: value / 2^scale, in `bits` bits from `position`.

    `pieces` are the numbers and positions of bits that lie apart, from the lowest on; without them all are together.
    """

    size: int
    bits: int
    scale: int = 0
    position: int = 0
    signed: bool = True
    pieces: tuple[tuple[int, int], ...] = ()

    def word(self, data: bytearray, offset: int) -> int:
        """The word at data[offset], as a number with sign."""
        return int.from_bytes(data[offset : offset + self.size], "little", signed=True)

    def insert(self, data: bytearray, offset: int, value: int) -> None:
        """Put `value` into the word at data[offset]; LinkError if it is too large or not a multiple of 2^scale."""
        scaled = value >> self.scale
        if scaled << self.scale != value:
            raise LinkError(f"the value {value:#x} is not a multiple of {1 << self.scale}")
        lowest, end = (-(1 << self.bits - 1), 1 << self.bits - 1) if self.signed else (0, 1 << self.bits)
        if self.bits < 64 and not lowest <= scaled < end:
            raise LinkError(f"the value {value:#x} does not fit {self.bits} bits")
        word = int.from_bytes(data[offset : offset + self.size], "little")
        for bits, position in self._groups():
            word = _replace_bits(word, scaled, bits, position)
            scaled >>= bits
        data[offset : offset + self.size] = word.to_bytes(self.size, "little")

    def extract(self, data: bytearray | memoryview, offset: int) -> int:
        """The addend in the word at data[offset], which is signed even where the field is not."""
        word = int.from_bytes(data[offset : offset + self.size], "little")
        value, found = 0, 0
        for bits, position in self._groups():
            value |= (word >> position & (1 << bits) - 1) << found
            found += bits
        sign = 1 << self.bits - 1
        return ((value ^ sign) - sign) << self.scale

    def _groups(self) -> tuple[tuple[int, int], ...]:
        return self.pieces or ((self.bits, self.position),)


def _replace_bits(word: int, value: int, bits: int, position: int) -> int:
    mask = (1 << bits) - 1
    return word & ~(mask << position) | (value & mask) << position


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule to resolve one type of relocation."""

    name: str
    reference: Reference
    addressing: Addressing
    field: Field


@dataclass(frozen=True, slots=True)
class Linking:
    """Largest page size, relocation rules, names of refused relocations, types of dynamic ones, the stub of a call.

    `machine` is the number that ELF has for the architecture, `word` is the size of an address in bytes, `flags` are
    those that a library has beyond its objects. With `addends_in_place` a relocated field holds its addend; otherwise
    the record of the relocation does. `stub` gives the code at an address that jumps to the target of a slot.
    """

    machine: int
    page: int
    rules: Mapping[int, Rule]
    refused: Mapping[int, str]
    dynamic_pointer: int
    dynamic_slot: int
    dynamic_relative: int
    stub_size: int
    stub: Callable[[int, int], bytes]
    word: int = 8
    addends_in_place: bool = False
    flags: int = 0


WORD32, WORD64 = Field(4, 32), Field(8, 64)
