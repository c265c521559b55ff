"""ARM of 32 bits. Libraries are for code of the ARM instruction set; Thumb is object code of kernels only.

Relocations are those of ELF for the Arm Architecture (AAELF32), section 5.6.
"""

from __future__ import annotations

import struct

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW
from sateen.tensor_ir.targets.relocation import WORD32, Addressing, Field, Linking, Reference, Rule

_BRANCH24 = Field(4, 24, 2)
_MOVE16 = Field(4, 16, signed=False, pieces=((12, 0), (4, 16)))


def _stub(address: int, slot: int) -> bytes:
    """ldr ip, [pc, #4]; add ip, pc, ip; ldr pc, [ip]; the distance of the slot from what the second reads as pc"""
    return struct.pack("<3Ii", 0xE59FC004, 0xE08FC00C, 0xE59CF000, slot - address - 12)


_LINKING = Linking(
    machine=PROCESSORS["arm"].elf_machine,
    page=0x10000,
    rules={
        2: Rule("R_ARM_ABS32", Reference.SYMBOL, Addressing.ABSOLUTE, WORD32),
        3: Rule("R_ARM_REL32", Reference.SYMBOL, Addressing.RELATIVE, WORD32),
        28: Rule("R_ARM_CALL", Reference.CALL, Addressing.RELATIVE, _BRANCH24),
        29: Rule("R_ARM_JUMP24", Reference.CALL, Addressing.RELATIVE, _BRANCH24),
        38: Rule("R_ARM_TARGET1", Reference.SYMBOL, Addressing.ABSOLUTE, WORD32),
        45: Rule("R_ARM_MOVW_PREL_NC", Reference.SYMBOL, Addressing.RELATIVE_LOW, _MOVE16),
        46: Rule("R_ARM_MOVT_PREL", Reference.SYMBOL, Addressing.RELATIVE_HIGH, _MOVE16),
        96: Rule("R_ARM_GOT_PREL", Reference.SLOT, Addressing.RELATIVE, WORD32),
    },
    refused={
        10: "R_ARM_THM_CALL",
        24: "R_ARM_GOTOFF32",
        25: "R_ARM_BASE_PREL",
        26: "R_ARM_GOT_BREL",
        30: "R_ARM_THM_JUMP24",
        43: "R_ARM_MOVW_ABS_NC",
        44: "R_ARM_MOVT_ABS",
        47: "R_ARM_THM_MOVW_ABS_NC",
        48: "R_ARM_THM_MOVT_ABS",
        49: "R_ARM_THM_MOVW_PREL_NC",
        50: "R_ARM_THM_MOVT_PREL",
        51: "R_ARM_THM_JUMP19",
        104: "R_ARM_TLS_GD32",
    },
    dynamic_pointer=2,
    dynamic_slot=21,
    dynamic_relative=23,
    stub_size=16,
    stub=_stub,
    word=4,
    addends_in_place=True,
    flags=0x05000400,  # EF_ARM_EABI_VER5, EF_ARM_ABI_FLOAT_HARD, by which loaders compare calls
)

ARM = Architecture(
    name="arm",
    title="ARM",
    triple="armv7-linux-gnueabihf",
    abi=POINTERS_OF_32_BITS,
    vectors=(Vectors(16, 16),),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW),),
    widening_products=True,
    multiplies_by_element=True,
    linking=_LINKING,
)
