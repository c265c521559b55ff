"""x86-64.

Relocations are those of the System V ABI, AMD64 supplement, section 4.4. Each processor names the source of its rates;
where a core differs from Zen 4, they are those of the makers' guides. Widths and latencies agree with LLVM's scheduling
models, which llvm-mca shows; it has none of Zen 5. Models are those of the makers' lists (Intel 64 and IA-32 SDM,
volume 4, table 2-1; AMD's revision guides).
"""

from __future__ import annotations

import struct
from dataclasses import replace

from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.identity import amd, intel
from sateen.tensor_ir.targets.rates import ZEN_4
from sateen.tensor_ir.targets.relocation import WORD32, WORD64, Addressing, Linking, Reference, Rule

ZEN_2 = replace(ZEN_4, multiply_add_latency=5, memory=5.0, memory_in_streams=5.0, memory_together=10.0)
ZEN_5 = replace(
    ZEN_4,
    multiply_add_bytes=128,
    load_bytes=64,
    l1=128.0,
    l2=42.0,
    l3=22.0,
    memory=12.0,
    memory_in_streams=12.0,
    memory_together=17.0,
    panel_exposed=0.2,
    least_uses=8,
    unasked=1.0,
    in_turn=1.0,
    pair_bytes=128,
)
"""Two multiply-adds and two loads of 64 bytes a cycle."""
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
    memory_together=22.0,
    asks_ahead=True,
    panel_exposed=0.3,
    streamed=0.6,
    transform_cycles=0.3,
    pair_bytes=32,
    tile_product_cycles=16,
    tile_product_latency=52,
    tile_load_cycles=8,
    tile_store_cycles=16,
)
"""Two multiply-adds and two loads of 64 bytes a cycle; a quarter as many pairs of bfloat16, which
don't pay. Two cores read memory as fast as if each were alone. A product of tiles is 8192 multiply-adds of bfloat16
(the manual's chapter on AMX), which counts where a processor has them."""
SKYLAKE_SERVER = replace(SAPPHIRE_RAPIDS, addition_latency=4)
"""The same, with sums as long as multiply-adds."""
SKYLAKE = replace(ZEN_4, addition_latency=4, memory=6.4, memory_in_streams=6.4, memory_together=12.8)
"""Two multiply-adds and two loads of 32 bytes a cycle."""
HASWELL = replace(SKYLAKE, multiply_add_latency=5, addition_latency=3, l3=12.0)
"""Two multiply-adds and two loads of 32 bytes a cycle."""
ICE_LAKE_CLIENT = replace(SKYLAKE, load_bytes=64, l1=128.0, l2=32.0, l3=12.0)
"""One multiply-add and two loads of 64 bytes a cycle."""
ALDER_LAKE = replace(SKYLAKE, addition_latency=3, load_cycles=0.37, l1=96.0)
"""The performance core: two multiply-adds and three loads of 32 bytes a cycle."""
ZEN_1 = replace(
    ZEN_2,
    multiply_add_bytes=32,
    multiply_add_latency=5,
    load_bytes=16,
    l1=32.0,
    transform_cycles=0.9,
    left_sum_cycles=1.0,
    result_sum_cycles=1.75,
)
"""Two multiply-adds and two loads of 16 bytes a cycle."""
WITHOUT_FMA = replace(ZEN_1, multiply_add_latency=8)
"""Separate products and sums of 16 bytes, two of each a cycle, for code that any core may run."""
TYPICAL = replace(ZEN_4, pair_bytes=0.0)
"""Zen 4, without what not every core does fast."""
NEHALEM = replace(WITHOUT_FMA, multiply_add_bytes=16, load_cycles=1.1, l1=16.0)
"""One of each, and one load of 16 bytes a cycle."""

_KB, _MB = 1 << 10, 1 << 20
_TYPICAL = (32 * _KB, 512 * _KB, 4 * _MB)
_V2, _V3, _V4 = (PROCESSORS["x86_64"].levels[f"x86-64-v{level}"] for level in (2, 3, 4))
_VNNI = frozenset({"avx512vnni"})
_CLIENT = _V3 | {"avxvnni", "gfni"}
_LATER_CLIENT = _CLIENT | {"avxvnniint8"}
_ICE_LAKE = _V4 | _VNNI | {"avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq", "gfni"}
_SAPPHIRE_RAPIDS = _ICE_LAKE | {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avxvnni"}
_ZEN_4 = _ICE_LAKE | {"avx512bf16"}

_INTEL = "Intel 64 and IA-32 Architectures Optimization Reference Manual"
_AS_SAPPHIRE_RAPIDS = f"{_INTEL}; what it leaves open as measured on Sapphire Rapids"
_AS_ZEN_4 = "as measured on Zen 4"
_AMD_17 = "AMD Software Optimization Guide for family 17h (55723, 56305)"
_AMD_19 = "AMD Software Optimization Guide for family 19h (56665); memory as measured on Zen 4"
_AMD_1A = "AMD Software Optimization Guide for family 1Ah (58455); caches and memory as measured"

_CPUS = (
    CPU("nehalem", _V2, (32 * _KB, 256 * _KB, 8 * _MB), NEHALEM, 4,
        "Intel Nehalem", _INTEL, (intel(0x1A, 0x1E, 0x1F, 0x25, 0x2C, 0x2E, 0x2F),)),
    CPU("haswell", _V3, (32 * _KB, 256 * _KB, 8 * _MB), HASWELL, 4,
        "Intel Haswell", _INTEL, (intel(0x3C, 0x3F, 0x45, 0x46),)),
    CPU("broadwell", _V3, (32 * _KB, 256 * _KB, 16 * _MB), HASWELL, 4,
        "Intel Broadwell", _INTEL, (intel(0x3D, 0x47, 0x4F, 0x56),)),
    CPU("skylake", _V3, (32 * _KB, 256 * _KB, 8 * _MB), SKYLAKE, 4,
        "Intel Skylake", _INTEL, (intel(0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6),)),
    CPU("alderlake", _CLIENT, (48 * _KB, 1280 * _KB, 16 * _MB), ALDER_LAKE, 4,
        "Intel Alder Lake", _INTEL, (intel(0x97, 0x9A),)),
    CPU("raptorlake", _CLIENT, (48 * _KB, 2 * _MB, 16 * _MB), ALDER_LAKE, 4,
        "Intel Raptor Lake", _INTEL, (intel(0xB7, 0xBA, 0xBF),)),
    CPU("meteorlake", _CLIENT, (48 * _KB, 2 * _MB, 16 * _MB), ALDER_LAKE, 4,
        "Intel Meteor Lake", _INTEL, (intel(0xAA, 0xAC, 0xB5),)),
    CPU("arrowlake", _LATER_CLIENT, (48 * _KB, 3 * _MB, 16 * _MB), ALDER_LAKE, 4,
        "Intel Arrow Lake", _INTEL, (intel(0xC5, 0xC6),)),
    CPU("lunarlake", _LATER_CLIENT, (48 * _KB, 2560 * _KB, 12 * _MB), ALDER_LAKE, 4,
        "Intel Lunar Lake", _INTEL, (intel(0xBD),)),
    CPU("pantherlake", _LATER_CLIENT, (48 * _KB, 3 * _MB, 12 * _MB), ALDER_LAKE, 4,
        "Intel Panther Lake", _INTEL, (intel(0xCC),)),
    CPU("skylake-avx512", _V4, (32 * _KB, 1 * _MB, 16 * _MB), SKYLAKE_SERVER, 4,
        "Intel Skylake-SP", _INTEL, (intel(0x55),)),
    CPU("cascadelake", _V4 | _VNNI, (32 * _KB, 1 * _MB, 16 * _MB), SKYLAKE_SERVER, 4,
        "Intel Cascade Lake", _INTEL, (intel(0x55),)),
    CPU("icelake-client", _ICE_LAKE, (48 * _KB, 512 * _KB, 8 * _MB), ICE_LAKE_CLIENT, 4,
        "Intel Ice Lake", _INTEL, (intel(0x7D, 0x7E),)),
    CPU("tigerlake", _ICE_LAKE, (48 * _KB, 1280 * _KB, 12 * _MB), ICE_LAKE_CLIENT, 4,
        "Intel Tiger Lake", _INTEL, (intel(0x8C, 0x8D),)),
    CPU("rocketlake", _ICE_LAKE, (48 * _KB, 512 * _KB, 16 * _MB), ICE_LAKE_CLIENT, 4,
        "Intel Rocket Lake", _INTEL, (intel(0xA7),)),
    CPU("icelake-server", _ICE_LAKE, (48 * _KB, 1280 * _KB, 16 * _MB), SKYLAKE_SERVER, 4,
        "Intel Ice Lake-SP", _INTEL, (intel(0x6A, 0x6C),)),
    CPU("sapphirerapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS, 4,
        "Intel Sapphire Rapids", "measured", (intel(0x8F),)),
    CPU("emeraldrapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS, 4,
        "Intel Emerald Rapids", _AS_SAPPHIRE_RAPIDS, (intel(0xCF),)),
    CPU("graniterapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS, 4,
        "Intel Granite Rapids", _AS_SAPPHIRE_RAPIDS, (intel(0xAD, 0xAE),)),
    CPU("znver1", _V3, (32 * _KB, 512 * _KB, 8 * _MB), ZEN_1, 4, "AMD Zen", _AMD_17, (amd(0x17, *range(0x30)),)),
    CPU("znver2", _V3, (32 * _KB, 512 * _KB, 16 * _MB), ZEN_2, 4,
        "AMD Zen 2", _AMD_17, (amd(0x17, *range(0x30, 0x100)),)),
    CPU("znver3", _V3, (32 * _KB, 512 * _KB, 32 * _MB), ZEN_4, 4,
        "AMD Zen 3", _AMD_19, (amd(0x19, *range(0x10), *range(0x20, 0x60)),)),
    CPU("znver4", _ZEN_4, (32 * _KB, 1 * _MB, 32 * _MB), ZEN_4, 4,
        "AMD Zen 4", "measured", (amd(0x19, *range(0x10, 0x20), *range(0x60, 0x80), *range(0xA0, 0xB0)),)),
    CPU("znver5", _ZEN_4 | {"avxvnni"}, (48 * _KB, 1 * _MB, 32 * _MB), ZEN_5, 4, "AMD Zen 5", _AMD_1A, (amd(0x1A),)),
)  # fmt: skip

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
        CPU("x86-64-v4", _V4, _TYPICAL, TYPICAL, title="any x86-64 with AVX-512", source=_AS_ZEN_4),
        CPU("x86-64-v3", _V3, _TYPICAL, ZEN_4, title="any x86-64 with AVX2", source=_AS_ZEN_4),
        CPU("x86-64-v2", _V2, _TYPICAL, WITHOUT_FMA, title="any x86-64 with SSE4.2", source=_INTEL),
        CPU("x86-64", frozenset(), _TYPICAL, WITHOUT_FMA, title="any x86-64", source=_INTEL),
    ),
    cpus={cpu.name: cpu for cpu in _CPUS},
    clock="llvm.readcyclecounter",  # rdtsc, of constant rate on every processor that has level x86-64-v2
    float_mode=_MXCSR,
    half_feature="f16c",
    pair_feature="avx512bf16",
    broadcasts_ahead=4,  # without, tiles of 14x2 and 9x3 of AVX-512 spill
    tile_registers=8,
    tile_features=frozenset({"amx-bf16", "amx-tile"}),
    rounding_feature="sse4.1",
    # Vectors are as wide as the schedule says; LLVM is not to split them for its own reasons.
    attributes='"min-legal-vector-width"="512" "prefer-vector-width"="512"',
    register_tile_bytes=384,  # 12 of AVX2's 16 registers, 6 of AVX-512's 32
    linking=_LINKING,
    host=HostServices(page="0x1000", futex="202L", pause="__builtin_ia32_pause()"),
)
