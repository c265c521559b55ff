"""ARM of 32 bits. Libraries are for code of the ARM instruction set; Thumb is object code of kernels only.

Relocations are those of ELF for the Arm Architecture (AAELF32), section 5.6. None of the rates is measured here. Widths
of multiply-adds are those that VFP Benchmark found, latencies those of GCC's descriptions of the cores.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.identity import arm
from sateen.tensor_ir.targets.rates import NARROW, SCALAR
from sateen.tensor_ir.targets.relocation import WORD32, Addressing, Field, Linking, Reference, Rule

HALF_WIDE = replace(
    NARROW,
    multiply_add_bytes=8,
    load_bytes=8,
    l1=8.0,
    l2=4.0,
    memory=1.0,
    memory_in_streams=1.0,
    transform_cycles=3.6,
    left_sum_cycles=4.0,
    result_sum_cycles=7.0,
)
"""Vectors of 16 bytes pass as two halves: one multiply-add and one load of 8 bytes a cycle, as on Cortex-A8 and A9."""
CORTEX_A7 = replace(
    HALF_WIDE,
    multiply_add_bytes=4,
    transform_cycles=7.2,
    left_sum_cycles=8.0,
    result_sum_cycles=14.0,
    loads_alone=True,
)
"""One float32 after the other, in vectors, too."""
CORTEX_M4 = replace(SCALAR, multiply_add_bytes=4 / 3, multiply_add_latency=3, loads_alone=True)
"""A multiply-add takes three cycles, a load two."""
CORTEX_M7 = replace(SCALAR, multiply_add_latency=3, addition_latency=3, load_cycles=1.0)
"""One multiply-add or load of 4 bytes a cycle."""

_KB, _MB = 1 << 10, 1 << 20
_TYPICAL = (32 * _KB, 512 * _KB, 0)
_V7 = frozenset({"neon"})
_V7_WITH_FMA = _V7 | {"hwdiv-arm", "vfp4"}
_V8 = _V7_WITH_FMA | {"crc"}

_MEASURED_BY_OTHERS = "VFP Benchmark (wlog.flatlib.jp/2014/02/14/n1680); GCC's config/arm"

_CPUS = (
    CPU("cortex-a7", _V7_WITH_FMA, (32 * _KB, 512 * _KB, 0), CORTEX_A7, 4,
        "Arm Cortex-A7", _MEASURED_BY_OTHERS, arm(0xC07)),
    CPU("cortex-a8", _V7, (32 * _KB, 256 * _KB, 0), HALF_WIDE, 4, "Arm Cortex-A8", _MEASURED_BY_OTHERS, arm(0xC08)),
    CPU("cortex-a9", _V7, (32 * _KB, 512 * _KB, 0), HALF_WIDE, 4, "Arm Cortex-A9", _MEASURED_BY_OTHERS, arm(0xC09)),
    CPU("cortex-a15", _V7_WITH_FMA, (32 * _KB, 1 * _MB, 0), NARROW, 4,
        "Arm Cortex-A15", _MEASURED_BY_OTHERS, arm(0xC0F)),
    CPU("cortex-a17", _V7_WITH_FMA, (32 * _KB, 1 * _MB, 0), NARROW, 4,
        "Arm Cortex-A17", _MEASURED_BY_OTHERS, arm(0xC0D, 0xC0E)),
    CPU("cortex-a53", _V8, (32 * _KB, 512 * _KB, 0), NARROW, 4,
        "Arm Cortex-A53, 32 bits", _MEASURED_BY_OTHERS, arm(0xD03)),
    CPU("cortex-a72", _V8, (32 * _KB, 1 * _MB, 0), NARROW, 4,
        "Arm Cortex-A72, 32 bits", _MEASURED_BY_OTHERS, arm(0xD08)),
    CPU("cortex-m4", frozenset(), (64 * _KB, 64 * _KB, 0), CORTEX_M4, 1,  # no cache: its memory is as near
        "Arm Cortex-M4", "Cortex-M4 Technical Reference Manual (DDI 0439)", ()),
    CPU("cortex-m7", frozenset(), (16 * _KB, 64 * _KB, 0), CORTEX_M7, 1, "Arm Cortex-M7", "LLVM's ARMScheduleM7", ()),
)  # fmt: skip

_FPSCR = FloatMode(
    bits=32,
    keep=0,
    flush=1 << 24,  # FZ (Arm Architecture Reference Manual for ARMv7, B4.1.58)
    saving=["{place}.found = call i32 @llvm.arm.get.fpscr()", "store i32 {place}.found, ptr {place}"],
    loading=["{place}.wanted = load i32, ptr {place}", "call void @llvm.arm.set.fpscr(i32 {place}.wanted)"],
    declarations=["declare i32 @llvm.arm.get.fpscr()", "declare void @llvm.arm.set.fpscr(i32)"],
)
"""The mode of scalar instructions; vectors (Advanced SIMD) always flush subnormal numbers and round to nearest."""

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
    # of 16 vectors two hold what moves between memory and the others
    vectors=(Vectors(16, 14, "neon"), Vectors(4, 32)),
    levels=(CPU("generic", frozenset(), _TYPICAL, HALF_WIDE),),
    cpus={cpu.name: cpu for cpu in _CPUS},
    float_mode=_FPSCR,
    widening_products=True,
    multiplies_by_element=True,
    # Products and sums in one instruction, which LLVM takes for slow where one waits for the other, as ours don't; and
    # the scheduler that counts registers.
    tuning=("-slowfpvmlx", "-expand-fp-mlx", "+use-misched"),
    half_feature="vfp4",
    rounding_feature="fp-armv8",
    enlargement_cycles=1.0,  # machines with at most 1 GB of memory, where parameters of four times the size matter
    register_tile_bytes=96,  # six registers, as many for terms, and one for the row that they multiply
    linking=_LINKING,
    host=HostServices(page="0x10000", futex="240L", pause="__builtin_arm_yield()"),
)
