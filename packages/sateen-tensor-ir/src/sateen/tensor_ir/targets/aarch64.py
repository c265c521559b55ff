"""AArch64.

Relocations are those of ELF for the Arm 64-bit Architecture, section 5.7. None of the rates is measured: pipes and
latencies of multiply-adds, additions and loads are those of the makers' guides, which each processor names, and those
of LLVM's scheduling models of the same cores, which llvm-mca shows; the latency of a multiply-add is that of its
accumulator, which comes late. The rest is that of Zen 4 with narrower vectors. Parts are those of the cores' main ID
register, MIDR_EL1.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.identity import Identity, arm
from sateen.tensor_ir.targets.rates import NARROW, ZEN_4
from sateen.tensor_ir.targets.relocation import WORD32, WORD64, Addressing, Field, Linking, Reference, Rule

CORTEX_A53 = replace(NARROW, load_bytes=8, loads_alone=True)
"""One multiply-add of 16 bytes a cycle; a load of as many takes two, in which nothing else begins."""
CORTEX_A57 = replace(NARROW, multiply_add_latency=4, addition_latency=5)
"""Two pipes of 8 bytes, which a vector takes together, and one load of 16 bytes a cycle."""
CORTEX_A72 = replace(CORTEX_A57, multiply_add_latency=3, addition_latency=4)
"""The same with shorter pipes."""
NEOVERSE_N1 = replace(
    ZEN_4,
    multiply_add_bytes=32,
    multiply_add_latency=2,
    addition_latency=2,
    load_bytes=16,
    l1=32.0,
    l2=16.0,
    l3=10.0,
    memory=5.0,
    memory_in_streams=5.0,
    memory_together=10.0,
    narrow=0.0,
    transform_cycles=0.9,
    left_sum_cycles=1.0,
    result_sum_cycles=1.75,
    pair_bytes=0.0,
)
"""Two multiply-adds and two loads of 16 bytes a cycle."""
TYPICAL = replace(NEOVERSE_N1, multiply_add_latency=4, addition_latency=4)
"""The same with latencies of smaller cores, for code that any core may run."""
NEOVERSE_N2 = replace(NEOVERSE_N1, load_cycles=0.37, l1=48.0, pair_bytes=32, pair_latency=4)
"""Neoverse N1 with three loads, and with two dot products of bfloat16 a cycle."""
NEOVERSE_V1 = replace(
    ZEN_4,
    multiply_add_latency=2,
    addition_latency=2,
    load_bytes=16,
    load_cycles=0.37,
    l1=48.0,
    l2=32.0,
    l3=10.0,
    memory=5.0,
    memory_in_streams=5.0,
    memory_together=10.0,
    narrow=0.0,
    pair_latency=4,
)
"""Four multiply-adds, or dot products of bfloat16, and three loads of 16 bytes a cycle."""
APPLE_M1 = replace(NEOVERSE_V1, multiply_add_latency=4, addition_latency=3, pair_bytes=0.0)
"""As many, with longer pipes: the performance cores."""
_KB, _MB = 1 << 10, 1 << 20
_BASE = frozenset({"neon"})
_A76 = _BASE | {"dotprod", "fullfp16", "lse"}
_V1 = _A76 | {"bf16", "fp16fml", "i8mm", "sve"}
_N2 = _V1 | {"sve2"}
_M1 = _A76 | {"fp16fml"}
_M2 = _M1 | {"bf16", "i8mm"}

_IN_ORDER = "Arm Cortex-A55 Software Optimization Guide; ncnn's docs/developer-guide/arm-a53-a55-dual-issue.md"
_APPLE = "Apple Silicon CPU Optimization Guide"


def _apple(generation: int, *parts: int) -> tuple[Identity, ...]:
    """The names on macOS, and the parts of performance cores that Linux tells: less is known to run it."""
    return (Identity(f"Apple M{generation}"), *(Identity("0x61", part + 1) for part in parts))


_CPUS = (
    CPU("cortex-a53", _BASE, (32 * _KB, 512 * _KB, 0), CORTEX_A53, 4,  # BCM2837
        "Arm Cortex-A53", _IN_ORDER, arm(0xD03)),
    CPU("cortex-a55", _A76, (32 * _KB, 128 * _KB, 1 * _MB), CORTEX_A53, 4, "Arm Cortex-A55", _IN_ORDER, arm(0xD05)),
    CPU("cortex-a57", _BASE, (32 * _KB, 2 * _MB, 0), CORTEX_A57, 4,  # Tegra X1
        "Arm Cortex-A57", "Arm Cortex-A57 Software Optimization Guide (UAN 0015)", arm(0xD07)),
    CPU("cortex-a72", _BASE, (32 * _KB, 1 * _MB, 0), CORTEX_A72, 4,  # BCM2711
        "Arm Cortex-A72", "Arm Cortex-A72 Software Optimization Guide (UAN 0016)", arm(0xD08)),
    CPU("cortex-a76", _A76, (64 * _KB, 512 * _KB, 2 * _MB), NEOVERSE_N1, 4,  # BCM2712
        "Arm Cortex-A76", "Arm Cortex-A76 Software Optimization Guide", arm(0xD0B)),
    CPU("cortex-a78", _A76, (64 * _KB, 512 * _KB, 4 * _MB), NEOVERSE_N2, 4,
        "Arm Cortex-A78", "Arm Cortex-A78 Software Optimization Guide", arm(0xD41)),
    CPU("cortex-a78ae", _A76, (64 * _KB, 256 * _KB, 2 * _MB), NEOVERSE_N2, 4,  # Orin
        "Arm Cortex-A78AE", "Arm Cortex-A78AE Software Optimization Guide", arm(0xD42)),
    CPU("neoverse-n1", _A76, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_N1, 4,
        "Arm Neoverse N1", "Arm Neoverse N1 Software Optimization Guide", arm(0xD0C)),
    CPU("neoverse-n2", _N2, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_N2, 4,
        "Arm Neoverse N2", "Arm Neoverse N2 Software Optimization Guide", arm(0xD49)),
    CPU("neoverse-v1", _V1, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_V1, 4,
        "Arm Neoverse V1", "Arm Neoverse V1 Software Optimization Guide", arm(0xD40)),
    CPU("neoverse-v2", _N2, (64 * _KB, 2 * _MB, 16 * _MB), NEOVERSE_V1, 4,
        "Arm Neoverse V2", "Arm Neoverse V2 Software Optimization Guide", arm(0xD4F)),
    CPU("apple-m1", _M1, (128 * _KB, 3 * _MB, 8 * _MB), APPLE_M1, 4,
        "Apple M1", f"{_APPLE} and dougallj.github.io/applecpu", _apple(1, 0x22, 0x24, 0x28)),
    CPU("apple-m2", _M2, (128 * _KB, 4 * _MB, 8 * _MB), APPLE_M1, 4, "Apple M2", _APPLE, _apple(2, 0x32, 0x34, 0x38)),
    CPU("apple-m3", _M2, (128 * _KB, 4 * _MB, 8 * _MB), APPLE_M1, 4, "Apple M3", _APPLE, _apple(3)),
    CPU("apple-m4", _M2 | {"sme"}, (128 * _KB, 4 * _MB, 8 * _MB), APPLE_M1, 4, "Apple M4", _APPLE, _apple(4)),
)  # fmt: skip
"""Caches are those of the chip of the machine with a short name, where there is one."""

_FPCR = FloatMode(
    bits=64,
    keep=0,
    flush=1 << 24,  # FZ (Arm Architecture Reference Manual, C5.2.8)
    saving=["{place}.found = call i64 @llvm.aarch64.get.fpcr()", "store i64 {place}.found, ptr {place}"],
    loading=["{place}.wanted = load i64, ptr {place}", "call void @llvm.aarch64.set.fpcr(i64 {place}.wanted)"],
    declarations=["declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"],
)

_ADR = Field(4, 21, pieces=((2, 29), (19, 5)))
_ADRP = Field(4, 21, scale=12, pieces=((2, 29), (19, 5)))
_BRANCH14, _BRANCH19, _BRANCH26 = Field(4, 14, 2, 5), Field(4, 19, 2, 5), Field(4, 26, 2)
_LOW12 = tuple(Field(4, 12, scale, 10, signed=False) for scale in range(5))


def _stub(address: int, slot: int) -> bytes:
    """adrp x16, page(slot); ldr x17, [x16, #low(slot)]; br x17; nop"""
    code = bytearray(struct.pack("<4I", 0x90000010, 0xF9400211, 0xD61F0220, 0xD503201F))
    _ADRP.insert(code, 0, (slot & ~0xFFF) - (address & ~0xFFF))
    _LOW12[3].insert(code, 4, slot & 0xFFF)
    return bytes(code)


_LINKING = Linking(
    machine=PROCESSORS["aarch64"].elf_machine,
    page=0x10000,
    rules={
        257: Rule("R_AARCH64_ABS64", Reference.SYMBOL, Addressing.ABSOLUTE, WORD64),
        260: Rule("R_AARCH64_PREL64", Reference.SYMBOL, Addressing.RELATIVE, WORD64),
        261: Rule("R_AARCH64_PREL32", Reference.SYMBOL, Addressing.RELATIVE, WORD32),
        273: Rule("R_AARCH64_LD_PREL_LO19", Reference.SYMBOL, Addressing.RELATIVE, _BRANCH19),
        274: Rule("R_AARCH64_ADR_PREL_LO21", Reference.SYMBOL, Addressing.RELATIVE, _ADR),
        275: Rule("R_AARCH64_ADR_PREL_PG_HI21", Reference.SYMBOL, Addressing.PAGE, _ADRP),
        277: Rule("R_AARCH64_ADD_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[0]),
        278: Rule("R_AARCH64_LDST8_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[0]),
        279: Rule("R_AARCH64_TSTBR14", Reference.SYMBOL, Addressing.RELATIVE, _BRANCH14),
        280: Rule("R_AARCH64_CONDBR19", Reference.SYMBOL, Addressing.RELATIVE, _BRANCH19),
        282: Rule("R_AARCH64_JUMP26", Reference.CALL, Addressing.RELATIVE, _BRANCH26),
        283: Rule("R_AARCH64_CALL26", Reference.CALL, Addressing.RELATIVE, _BRANCH26),
        284: Rule("R_AARCH64_LDST16_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[1]),
        285: Rule("R_AARCH64_LDST32_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[2]),
        286: Rule("R_AARCH64_LDST64_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[3]),
        299: Rule("R_AARCH64_LDST128_ABS_LO12_NC", Reference.SYMBOL, Addressing.LOW, _LOW12[4]),
        311: Rule("R_AARCH64_ADR_GOT_PAGE", Reference.SLOT, Addressing.PAGE, _ADRP),
        312: Rule("R_AARCH64_LD64_GOT_LO12_NC", Reference.SLOT, Addressing.LOW, _LOW12[3]),
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
    stub=_stub,
)

AARCH64 = Architecture(
    name="aarch64",
    title="ARM64",
    triple="aarch64-linux-gnu",
    abi=POINTERS_OF_64_BITS,
    vectors=(Vectors(16, 32),),
    levels=(CPU("generic", frozenset(), (32 * _KB, 512 * _KB, 4 * _MB), TYPICAL),),
    cpus={cpu.name: cpu for cpu in _CPUS},
    clock="llvm.readcyclecounter",  # CNTVCT_EL0, the virtual counter of the generic timer
    float_mode=_FPCR,
    pair_feature="bf16",
    widening_products=True,
    multiplies_by_element=True,
    extrema=frozenset({"float32", "float64"}),  # FMAX, FMIN
    linking=_LINKING,
    host=HostServices(page="0x10000", futex="98L", pause="__builtin_arm_isb(15)"),
)
