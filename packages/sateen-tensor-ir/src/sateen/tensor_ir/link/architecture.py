"""What linking needs to know of x86-64 and AArch64: relocations as tables, and the stub that calls an import.

Sources: System V ABI, AMD64 supplement, section 4.4; ELF for the Arm 64-bit Architecture, section 5.7.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from sateen.runtime.errors import LinkError


class Target(Enum):
    """Whose address a relocated field speaks of."""

    SYMBOL = auto()
    CALL = auto()  # the symbol, or the stub that jumps to it where another library defines it
    SLOT = auto()  # the symbol's entry in the global offset table


class Value(Enum):
    """What is computed from the target's address plus addend (T) and the address of the field (P)."""

    ABSOLUTE = auto()  # T
    RELATIVE = auto()  # T - P
    PAGE = auto()  # page(T) - page(P), pages of 4 KiB
    LOW = auto()  # T mod 4 KiB

    def compute(self, target: int, place: int) -> int:
        """The value to insert, of T and P; ABSOLUTE values are written by the dynamic loader instead."""
        match self:
            case Value.RELATIVE:
                return target - place
            case Value.PAGE:
                return (target & ~0xFFF) - (place & ~0xFFF)
            case Value.LOW:
                return target & 0xFFF
        return target


@dataclass(frozen=True, slots=True)
class Field:
    """Where a value lies in a little-endian word of `size` bytes: value / 2^scale, in `bits` bits from `position`.

    `split` is the immediate of AArch64's ADR and ADRP: the two lowest bits lie apart, from bit 29.
    """

    size: int
    bits: int
    scale: int = 0
    position: int = 0
    signed: bool = True
    split: bool = False

    def insert(self, data: bytearray, offset: int, value: int) -> None:
        """Put `value` into the word at data[offset]; LinkError where it is too large or not a multiple of 2^scale."""
        scaled = value >> self.scale
        if scaled << self.scale != value:
            raise LinkError(f"the value {value:#x} is not a multiple of {1 << self.scale}")
        lowest, end = (-(1 << self.bits - 1), 1 << self.bits - 1) if self.signed else (0, 1 << self.bits)
        if self.bits < 64 and not lowest <= scaled < end:
            raise LinkError(f"the value {value:#x} does not fit {self.bits} bits")
        word = int.from_bytes(data[offset : offset + self.size], "little")
        if self.split:
            word = _replace_bits(word, scaled, 2, 29)
            word = _replace_bits(word, scaled >> 2, self.bits - 2, self.position)
        else:
            word = _replace_bits(word, scaled, self.bits, self.position)
        data[offset : offset + self.size] = word.to_bytes(self.size, "little")


def _replace_bits(word: int, value: int, bits: int, position: int) -> int:
    mask = (1 << bits) - 1
    return word & ~(mask << position) | (value & mask) << position


@dataclass(frozen=True, slots=True)
class Rule:
    """How one type of relocation is resolved."""

    name: str
    target: Target
    value: Value
    field: Field


@dataclass(frozen=True, slots=True)
class Architecture:
    """A machine: largest page size, relocation rules, names of refused relocations, dynamic types, call stub."""

    name: str
    machine: int
    page: int
    rules: Mapping[int, Rule]
    refused: Mapping[int, str]
    dynamic_pointer: int
    dynamic_slot: int
    dynamic_relative: int
    stub_size: int
    stub: Callable[[int, int], bytes]


_WORD32, _WORD64 = Field(4, 32), Field(8, 64)


def _x86_64_stub(address: int, slot: int) -> bytes:
    """jmp *slot(%rip)"""
    return b"\xff\x25" + struct.pack("<i", slot - address - 6) + b"\xcc\xcc"


X86_64 = Architecture(
    name="x86-64",
    machine=62,
    page=0x1000,
    rules={
        1: Rule("R_X86_64_64", Target.SYMBOL, Value.ABSOLUTE, _WORD64),
        2: Rule("R_X86_64_PC32", Target.SYMBOL, Value.RELATIVE, _WORD32),
        4: Rule("R_X86_64_PLT32", Target.CALL, Value.RELATIVE, _WORD32),
        9: Rule("R_X86_64_GOTPCREL", Target.SLOT, Value.RELATIVE, _WORD32),
        24: Rule("R_X86_64_PC64", Target.SYMBOL, Value.RELATIVE, _WORD64),
        41: Rule("R_X86_64_GOTPCRELX", Target.SLOT, Value.RELATIVE, _WORD32),
        42: Rule("R_X86_64_REX_GOTPCRELX", Target.SLOT, Value.RELATIVE, _WORD32),
    },
    refused={
        10: "R_X86_64_32",
        11: "R_X86_64_32S",
        19: "R_X86_64_TLSGD",
        20: "R_X86_64_TLSLD",
        22: "R_X86_64_GOTTPOFF",
        23: "R_X86_64_TPOFF32",
        25: "R_X86_64_GOTOFF64",
        29: "R_X86_64_GOTPC64",
    },
    dynamic_pointer=1,
    dynamic_slot=6,
    dynamic_relative=8,
    stub_size=8,
    stub=_x86_64_stub,
)

_ADR = Field(4, 21, position=5, split=True)
_ADRP = Field(4, 21, scale=12, position=5, split=True)
_BRANCH14, _BRANCH19, _BRANCH26 = Field(4, 14, 2, 5), Field(4, 19, 2, 5), Field(4, 26, 2)
_LOW12 = tuple(Field(4, 12, scale, 10, signed=False) for scale in range(5))


def _aarch64_stub(address: int, slot: int) -> bytes:
    """adrp x16, page(slot); ldr x17, [x16, #low(slot)]; br x17; nop"""
    code = bytearray(struct.pack("<4I", 0x90000010, 0xF9400211, 0xD61F0220, 0xD503201F))
    _ADRP.insert(code, 0, (slot & ~0xFFF) - (address & ~0xFFF))
    _LOW12[3].insert(code, 4, slot & 0xFFF)
    return bytes(code)


AARCH64 = Architecture(
    name="AArch64",
    machine=183,
    page=0x10000,
    rules={
        257: Rule("R_AARCH64_ABS64", Target.SYMBOL, Value.ABSOLUTE, _WORD64),
        260: Rule("R_AARCH64_PREL64", Target.SYMBOL, Value.RELATIVE, _WORD64),
        261: Rule("R_AARCH64_PREL32", Target.SYMBOL, Value.RELATIVE, _WORD32),
        273: Rule("R_AARCH64_LD_PREL_LO19", Target.SYMBOL, Value.RELATIVE, _BRANCH19),
        274: Rule("R_AARCH64_ADR_PREL_LO21", Target.SYMBOL, Value.RELATIVE, _ADR),
        275: Rule("R_AARCH64_ADR_PREL_PG_HI21", Target.SYMBOL, Value.PAGE, _ADRP),
        277: Rule("R_AARCH64_ADD_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[0]),
        278: Rule("R_AARCH64_LDST8_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[0]),
        279: Rule("R_AARCH64_TSTBR14", Target.SYMBOL, Value.RELATIVE, _BRANCH14),
        280: Rule("R_AARCH64_CONDBR19", Target.SYMBOL, Value.RELATIVE, _BRANCH19),
        282: Rule("R_AARCH64_JUMP26", Target.CALL, Value.RELATIVE, _BRANCH26),
        283: Rule("R_AARCH64_CALL26", Target.CALL, Value.RELATIVE, _BRANCH26),
        284: Rule("R_AARCH64_LDST16_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[1]),
        285: Rule("R_AARCH64_LDST32_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[2]),
        286: Rule("R_AARCH64_LDST64_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[3]),
        299: Rule("R_AARCH64_LDST128_ABS_LO12_NC", Target.SYMBOL, Value.LOW, _LOW12[4]),
        311: Rule("R_AARCH64_ADR_GOT_PAGE", Target.SLOT, Value.PAGE, _ADRP),
        312: Rule("R_AARCH64_LD64_GOT_LO12_NC", Target.SLOT, Value.LOW, _LOW12[3]),
    },
    refused={
        258: "R_AARCH64_ABS32",
        259: "R_AARCH64_ABS16",
        263: "R_AARCH64_MOVW_UABS_G0",
        264: "R_AARCH64_MOVW_UABS_G0_NC",
        265: "R_AARCH64_MOVW_UABS_G1",
        266: "R_AARCH64_MOVW_UABS_G1_NC",
        267: "R_AARCH64_MOVW_UABS_G2",
        268: "R_AARCH64_MOVW_UABS_G2_NC",
        269: "R_AARCH64_MOVW_UABS_G3",
        562: "R_AARCH64_TLSDESC_ADR_PAGE21",
    },
    dynamic_pointer=257,
    dynamic_slot=1025,
    dynamic_relative=1027,
    stub_size=16,
    stub=_aarch64_stub,
)

ARCHITECTURES: Mapping[int, Architecture] = {entry.machine: entry for entry in (X86_64, AARCH64)}
