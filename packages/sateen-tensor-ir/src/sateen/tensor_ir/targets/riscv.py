"""RISC-V of 64 bits, and object code of kernels for that of 32 bits.

Relocations are those of the RISC-V ELF psABI, chapter "Relocations", without relaxation: no byte moves. The upper and
the lower part of an address are in two instructions; the relocation of the lower one refers to the label of the other.
Rates are those of a small core where nothing else is said; none is measured.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS, POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.identity import Identity
from sateen.tensor_ir.targets.rates import NARROW
from sateen.tensor_ir.targets.relocation import WORD32, WORD64, Addressing, Field, Linking, Reference, Rule

SCALAR = replace(
    NARROW,
    multiply_add_bytes=4,
    multiply_add_latency=5,
    addition_latency=5,
    load_bytes=4,
    l1=4.0,
    l2=3.0,
    l3=2.0,
    memory=1.0,
    memory_in_streams=1.0,
    transform_cycles=7.2,
    left_sum_cycles=8.0,
    result_sum_cycles=14.0,
)
"""A small core without vectors: one multiply-add and one load of 4 bytes a cycle, as on SiFive's U74."""

VECTOR = replace(NARROW, address_cycles=1.0)
"""A small core with vectors: one multiply-add and one load of 16 bytes a cycle. Loads of vectors take no offset (RISC-V
"V" Vector Extension 1.0, section 7.2), so that an addition comes before each."""
SIFIVE_X280 = replace(VECTOR, multiply_add_bytes=32, multiply_add_latency=8, addition_latency=8, load_bytes=32, l1=32.0)
"""One multiply-add and one load of 32 bytes a cycle."""
SIFIVE_P470 = VECTOR
"""One vector unit of 16 bytes, out of order."""
SIFIVE_P670 = replace(VECTOR, multiply_add_bytes=32, l1=32.0)
"""Two vector units of 16 bytes, out of order."""
SPACEMIT_X60 = replace(VECTOR, multiply_add_bytes=32, multiply_add_latency=5)
"""Two vector units of 16 bytes, which give 32 GFLOP/s at 1.6 GHz, and one load a cycle."""

_KB, _MB = 1 << 10, 1 << 20
_GC = frozenset({"a", "c", "d", "f", "m"})
_B = _GC | {"zba", "zbb"}
_TYPICAL = (32 * _KB, 512 * _KB, 4 * _MB)

_OF_X280 = 'WikiChip Fuse, "SiFive Introduces A New Coprocessor Interface"; LLVM\'s RISCVSchedSiFive7'
_OF_X60 = "cpufp and camel-cdr.github.io/rvv-bench-results/bpi_f3 on K1; LLVM's RISCVSchedSpacemitX60"
_P400 = _B | {"v", "zfh", "zvfh"}


def _named(*names: str) -> tuple[Identity, ...]:
    """Processors by the names that Linux reads from a device tree."""
    return tuple(map(Identity, names))


_CPUS = (
    CPU("sifive-u74", _B, (32 * _KB, 2 * _MB, 0), SCALAR, 4,
        "SiFive U74", "LLVM's RISCVSchedSiFive7", _named("sifive,u74-mc", "sifive,u74", "sifive,bullet0")),
    CPU("sifive-x280", _B | {"v", "zfh", "zvfh", "zvl512b"}, (32 * _KB, 512 * _KB, 4 * _MB), SIFIVE_X280, 4,
        "SiFive X280", _OF_X280, _named("sifive,x280")),
    CPU("sifive-p470", _P400, (32 * _KB, 512 * _KB, 2 * _MB), SIFIVE_P470, 4,
        "SiFive P470", "SiFive P400-Series product brief", _named("sifive,p470")),
    CPU("sifive-p670", _P400, (64 * _KB, 512 * _KB, 4 * _MB), SIFIVE_P670, 4,
        "SiFive P670", "SiFive P600-Series product brief", _named("sifive,p670")),
    CPU("spacemit-x60", _B | {"v", "zfh", "zvfh", "zvl256b"}, (32 * _KB, 512 * _KB, 0), SPACEMIT_X60, 4,
        "SpacemiT X60", _OF_X60, _named("spacemit,x60")),
)  # fmt: skip

_VECTORS = ((64, "zvl512b"), (32, "zvl256b"), (16, "v"))
_SCALARS = Vectors(16, 7, in_scalars=True)
"""28 of the 32 registers of floats, as of vectors."""

_FCSR = FloatMode(
    bits=64,
    keep=0,  # to nearest, ties to even (RISC-V ISA manual, volume I, "Floating-Point Control and Status Register")
    flush=None,
    saving=["{place}.found = call i64 @llvm.get.fpmode.i64()", "store i64 {place}.found, ptr {place}"],
    loading=["{place}.wanted = load i64, ptr {place}", "call void @llvm.set.fpmode.i64(i64 {place}.wanted)"],
    declarations=["declare i64 @llvm.get.fpmode.i64()", "declare void @llvm.set.fpmode.i64(i64)"],
)

_UPPER = Field(4, 20, scale=12, position=12)
_LOWER_OF_LOAD = Field(4, 12, position=20)
_LOWER_OF_STORE = Field(4, 12, pieces=((5, 7), (7, 25)))
_UPPER_AND_LOWER = Field(8, 32, pieces=((12, 32 + 20), (20, 12)))
_BRANCH = Field(4, 12, scale=1, pieces=((4, 8), (6, 25), (1, 7), (1, 31)))
_JUMP = Field(4, 20, scale=1, pieces=((10, 21), (1, 20), (8, 12), (1, 31)))
_SHORT_BRANCH = Field(2, 8, scale=1, pieces=((2, 3), (2, 10), (1, 2), (2, 5), (1, 12)))
_SHORT_JUMP = Field(2, 11, scale=1, pieces=((3, 3), (1, 11), (1, 2), (1, 7), (1, 6), (2, 9), (1, 8), (1, 12)))


def _stub(address: int, slot: int) -> bytes:
    """auipc t3, upper(slot); ld t3, lower(slot)(t3); jr t3; nop"""
    code = bytearray(struct.pack("<4I", 0x00000E17, 0x000E3E03, 0x000E0067, 0x00000013))
    _UPPER.insert(code, 0, Addressing.UPPER.compute(slot, address))
    _LOWER_OF_LOAD.insert(code, 4, Addressing.LOWER.compute(slot, address))
    return bytes(code)


_LINKING = Linking(
    machine=PROCESSORS["riscv64"].elf_machine,
    page=0x1000,
    rules={
        2: Rule("R_RISCV_64", Reference.SYMBOL, Addressing.ABSOLUTE, WORD64),
        16: Rule("R_RISCV_BRANCH", Reference.CALL, Addressing.RELATIVE, _BRANCH),
        17: Rule("R_RISCV_JAL", Reference.CALL, Addressing.RELATIVE, _JUMP),
        18: Rule("R_RISCV_CALL", Reference.CALL, Addressing.PAIR, _UPPER_AND_LOWER),
        19: Rule("R_RISCV_CALL_PLT", Reference.CALL, Addressing.PAIR, _UPPER_AND_LOWER),
        20: Rule("R_RISCV_GOT_HI20", Reference.SLOT, Addressing.UPPER, _UPPER),
        23: Rule("R_RISCV_PCREL_HI20", Reference.SYMBOL, Addressing.UPPER, _UPPER),
        24: Rule("R_RISCV_PCREL_LO12_I", Reference.UPPER, Addressing.LOWER, _LOWER_OF_LOAD),
        25: Rule("R_RISCV_PCREL_LO12_S", Reference.UPPER, Addressing.LOWER, _LOWER_OF_STORE),
        35: Rule("R_RISCV_ADD32", Reference.SYMBOL, Addressing.ADDED, WORD32),
        36: Rule("R_RISCV_ADD64", Reference.SYMBOL, Addressing.ADDED, WORD64),
        39: Rule("R_RISCV_SUB32", Reference.SYMBOL, Addressing.SUBTRACTED, WORD32),
        40: Rule("R_RISCV_SUB64", Reference.SYMBOL, Addressing.SUBTRACTED, WORD64),
        44: Rule("R_RISCV_RVC_BRANCH", Reference.CALL, Addressing.RELATIVE, _SHORT_BRANCH),
        45: Rule("R_RISCV_RVC_JUMP", Reference.CALL, Addressing.RELATIVE, _SHORT_JUMP),
        57: Rule("R_RISCV_32_PCREL", Reference.SYMBOL, Addressing.RELATIVE, WORD32),
        59: Rule("R_RISCV_PLT32", Reference.CALL, Addressing.RELATIVE, WORD32),
    },
    refused={
        1: "R_RISCV_32",
        21: "R_RISCV_TLS_GOT_HI20",
        22: "R_RISCV_TLS_GD_HI20",
        26: "R_RISCV_HI20",
        27: "R_RISCV_LO12_I",
        28: "R_RISCV_LO12_S",
        29: "R_RISCV_TPREL_HI20",
        43: "R_RISCV_ALIGN, of feature relax",
        51: "R_RISCV_RELAX, of feature relax",
        62: "R_RISCV_TLSDESC_HI20",
    },
    dynamic_pointer=2,
    dynamic_slot=2,
    dynamic_relative=3,
    stub_size=16,
    stub=_stub,
)

RISCV64 = Architecture(
    name="riscv64",
    title="RISC-V",
    triple="riscv64-linux-gnu",
    abi=POINTERS_OF_64_BITS,
    # Of 32: the others hold what moves, since LLVM loads terms ahead of their use. That takes scalars, too, of which
    # there are as many: one for each position of a tile.
    vectors=(*(Vectors(size, 26, feature, masks=True) for size, feature in _VECTORS), _SCALARS),
    levels=(CPU("generic", frozenset({"v"}), _TYPICAL, VECTOR), CPU("generic", frozenset(), _TYPICAL, SCALAR)),
    cpus={cpu.name: cpu for cpu in _CPUS},
    assumed=_GC,
    call_features=frozenset({"d", "f"}),
    clock="llvm.readsteadycounter",  # rdtime
    float_mode=_FCSR,
    half_feature="zfh",
    linking=_LINKING,
    # LLVM makes the hint `pause` only for processors with Zihintpause; a fence waits for the accesses before it.
    host=HostServices(page="0x1000", futex="98L", pause="__atomic_thread_fence(__ATOMIC_SEQ_CST)"),
)
RISCV32 = Architecture(
    name="riscv32",
    title="RISC-V of 32 bits",
    triple="riscv32-linux-gnu",
    abi=POINTERS_OF_32_BITS,
    vectors=(_SCALARS,),
    levels=(CPU("generic", frozenset(), _TYPICAL, SCALAR),),
)
