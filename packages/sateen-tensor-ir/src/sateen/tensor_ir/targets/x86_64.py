"""x86-64.

Relocations are those of the System V ABI, AMD64 supplement, section 4.4. The rates of Sapphire Rapids are measured.
Where another core differs from Zen 4, its rates are those of the makers' manuals: Intel 64 and IA-32 Architectures
Optimization Reference Manual, and AMD's Software Optimization Guides for families 17h (55723, 56305), 19h (56665) and
1Ah (58455). Widths and latencies agree with LLVM's scheduling models, which llvm-mca shows; it has none of Zen 5.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.rates import ZEN_4
from sateen.tensor_ir.targets.relocation import WORD32, WORD64, Addressing, Linking, Reference, Rule

ZEN_5 = replace(ZEN_4, multiply_add_bytes=128, load_bytes=64, l1=128.0, l2=48.0)
"""Two multiply-adds and two loads of 64 bytes a cycle; not measured."""
SAPPHIRE_RAPIDS = replace(
    ZEN_4,
    multiply_add_bytes=128,
    load_bytes=64,
    l1=128.0,
    l2=32.0,
    l3=9.0,
    memory=4.8,
    streams=4,
    memory_in_streams=7.5,
    memory_together=48.0,
    asks_ahead=True,
    weight_sum_cycles=0.75,
)
"""Two multiply-adds and two loads of 64 bytes a cycle. Two cores read memory as fast as if each were alone."""
SKYLAKE_SERVER = replace(SAPPHIRE_RAPIDS, addition_latency=4)
"""The same, with sums as long as multiply-adds; not measured."""
SKYLAKE = replace(ZEN_4, addition_latency=4)
"""Two multiply-adds and two loads of 32 bytes a cycle; not measured."""
HASWELL = replace(ZEN_4, multiply_add_latency=5, l3=12.0)
"""Two multiply-adds and two loads of 32 bytes a cycle; not measured."""
ALDER_LAKE = replace(ZEN_4, load_cycles=0.37, l1=96.0)
"""The performance core: two multiply-adds and three loads of 32 bytes a cycle; not measured."""
ZEN_1 = replace(
    ZEN_4,
    multiply_add_bytes=32,
    multiply_add_latency=5,
    load_bytes=16,
    l1=32.0,
    transform_cycles=0.9,
    left_sum_cycles=1.0,
    result_sum_cycles=1.75,
)
"""Two multiply-adds and two loads of 16 bytes a cycle; not measured."""
WITHOUT_FMA = replace(ZEN_1, multiply_add_latency=8)
"""Separate products and sums of 16 bytes, two of each a cycle, for code that any core may run; not measured."""
NEHALEM = replace(WITHOUT_FMA, multiply_add_bytes=16, load_cycles=1.1, l1=16.0)
"""One of each, and one load of 16 bytes a cycle; not measured."""

_KB, _MB = 1 << 10, 1 << 20
_TYPICAL = (32 * _KB, 512 * _KB, 4 * _MB)
_V2, _V3, _V4 = (PROCESSORS["x86_64"].levels[f"x86-64-v{level}"] for level in (2, 3, 4))
_VNNI = frozenset({"avx512vnni"})
_ICE_LAKE = _V4 | _VNNI | {"avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq", "gfni"}
_SAPPHIRE_RAPIDS = _ICE_LAKE | {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avxvnni"}
_ZEN_4 = _ICE_LAKE | {"avx512bf16"}

_CPUS = (
    CPU("nehalem", _V2, (32 * _KB, 256 * _KB, 8 * _MB), NEHALEM),
    CPU("haswell", _V3, (32 * _KB, 256 * _KB, 8 * _MB), HASWELL),
    CPU("broadwell", _V3, (32 * _KB, 256 * _KB, 16 * _MB), HASWELL),
    CPU("skylake", _V3, (32 * _KB, 256 * _KB, 8 * _MB), SKYLAKE),
    CPU("alderlake", _V3 | {"avxvnni", "gfni"}, (48 * _KB, 1280 * _KB, 16 * _MB), ALDER_LAKE),
    CPU("skylake-avx512", _V4, (32 * _KB, 1 * _MB, 16 * _MB), SKYLAKE_SERVER),
    CPU("cascadelake", _V4 | _VNNI, (32 * _KB, 1 * _MB, 16 * _MB), SKYLAKE_SERVER),
    CPU("icelake-server", _ICE_LAKE, (48 * _KB, 1280 * _KB, 16 * _MB), SKYLAKE_SERVER),
    CPU("sapphirerapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("emeraldrapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("graniterapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("znver1", _V3, (32 * _KB, 512 * _KB, 8 * _MB), ZEN_1),
    CPU("znver2", _V3, (32 * _KB, 512 * _KB, 16 * _MB), replace(ZEN_4, multiply_add_latency=5)),
    CPU("znver3", _V3, (32 * _KB, 512 * _KB, 32 * _MB), ZEN_4),
    CPU("znver4", _ZEN_4, (32 * _KB, 1 * _MB, 32 * _MB), ZEN_4),
    CPU("znver5", _ZEN_4 | {"avxvnni"}, (48 * _KB, 1 * _MB, 32 * _MB), ZEN_5),
)

_MXCSR = FloatMode(
    bits=32,
    keep=0x1F80,  # all exceptions masked
    flush=0x9FC0,  # and FTZ and DAZ (Intel 64 and IA-32 Architectures SDM, volume 1, 10.2.3)
    saving=["call void @llvm.x86.sse.stmxcsr(ptr {place})"],
    loading=["call void @llvm.x86.sse.ldmxcsr(ptr {place})"],
    declarations=["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"],
)


def _stub(address: int, slot: int) -> bytes:
    """jmp *slot(%rip)"""
    return b"\xff\x25" + struct.pack("<i", slot - address - 6) + b"\xcc\xcc"


_LINKING = Linking(
    machine=PROCESSORS["x86_64"].elf_machine,
    page=0x1000,
    rules={
        1: Rule("R_X86_64_64", Reference.SYMBOL, Addressing.ABSOLUTE, WORD64),
        2: Rule("R_X86_64_PC32", Reference.SYMBOL, Addressing.RELATIVE, WORD32),
        4: Rule("R_X86_64_PLT32", Reference.CALL, Addressing.RELATIVE, WORD32),
        9: Rule("R_X86_64_GOTPCREL", Reference.SLOT, Addressing.RELATIVE, WORD32),
        24: Rule("R_X86_64_PC64", Reference.SYMBOL, Addressing.RELATIVE, WORD64),
        41: Rule("R_X86_64_GOTPCRELX", Reference.SLOT, Addressing.RELATIVE, WORD32),
        42: Rule("R_X86_64_REX_GOTPCRELX", Reference.SLOT, Addressing.RELATIVE, WORD32),
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
    stub=_stub,
)

X86_64 = Architecture(
    name="x86_64",
    title="x86-64",
    triple="x86_64-linux-gnu",
    abi=POINTERS_OF_64_BITS,
    # Without FMA two of the 16 hold products until they are added.
    vectors=(Vectors(64, 32, "avx512f", masks=True), Vectors(32, 16, "avx2", masks=True), Vectors(16, 14)),
    levels=(
        CPU("x86-64-v4", _V4, _TYPICAL, ZEN_4),
        CPU("x86-64-v3", _V3, _TYPICAL, ZEN_4),
        CPU("x86-64-v2", _V2, _TYPICAL, WITHOUT_FMA),
        CPU("x86-64", frozenset(), _TYPICAL, WITHOUT_FMA),
    ),
    cpus={cpu.name: cpu for cpu in _CPUS},
    clock="llvm.readcyclecounter",  # rdtsc, of constant rate on every processor that has level x86-64-v2
    float_mode=_MXCSR,
    half_feature="f16c",
    rounding_feature="sse4.1",
    # Vectors are as wide as the schedule says; LLVM is not to split them for its own reasons.
    attributes='"min-legal-vector-width"="512" "prefer-vector-width"="512"',
    register_tile_bytes=384,  # 12 of AVX2's 16 registers, 6 of AVX-512's 32
    linking=_LINKING,
    host=HostServices(page="0x1000", futex="202L", pause="__builtin_ia32_pause()"),
)
