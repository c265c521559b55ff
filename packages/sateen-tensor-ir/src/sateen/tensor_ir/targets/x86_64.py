"""x86-64: the processors that LLVM names, and what is assumed of others.

SAPPHIRE_RAPIDS is measured. The other rates are those of the makers' optimisation manuals where these tell more than
that a core is like Zen 4 with vectors of 16, 32 or 64 bytes.
"""

from __future__ import annotations

from dataclasses import replace

from sateen.runtime.processor import X86_LEVELS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Host, Vectors
from sateen.tensor_ir.targets.rates import ZEN_4

ZEN_5 = replace(ZEN_4, multiply_add_bytes=128, load_bytes=64, l1=128.0, l2=48.0)
SAPPHIRE_RAPIDS = replace(
    ZEN_4, multiply_add_bytes=128, load_bytes=64, l1=128.0, l2=32.0, l3=9.0, memory=4.8, weight_sum_cycles=0.75
)
HASWELL = replace(ZEN_4, multiply_add_latency=5, l3=12.0)
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
"""Two multiply-adds and two loads of 16 bytes a cycle."""
WITHOUT_FMA = replace(ZEN_1, multiply_add_latency=8)
"""A product and a sum one behind the other, two of each a cycle, of 16 bytes."""

_KB, _MB = 1 << 10, 1 << 20
_TYPICAL = (32 * _KB, 512 * _KB, 4 * _MB)
_FEATURES = tuple(frozenset[str]().union(*X86_LEVELS[: level + 1]) for level in range(len(X86_LEVELS)))
_V1, _V2, _V3, _V4 = _FEATURES
_VNNI = frozenset({"avx512vnni"})
_ICE_LAKE = _V4 | _VNNI | {"avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq", "gfni"}
_SAPPHIRE_RAPIDS = _ICE_LAKE | {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avxvnni"}
_ZEN_4 = _ICE_LAKE | {"avx512bf16"}

_CPUS = (
    CPU("nehalem", _V2, (32 * _KB, 256 * _KB, 8 * _MB), WITHOUT_FMA),
    CPU("haswell", _V3, (32 * _KB, 256 * _KB, 8 * _MB), HASWELL),
    CPU("broadwell", _V3, (32 * _KB, 256 * _KB, 16 * _MB), HASWELL),
    CPU("skylake", _V3, (32 * _KB, 256 * _KB, 8 * _MB), ZEN_4),
    CPU("alderlake", _V3 | {"avxvnni", "gfni"}, (48 * _KB, 1280 * _KB, 16 * _MB), ZEN_4),
    CPU("skylake-avx512", _V4, (32 * _KB, 1 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("cascadelake", _V4 | _VNNI, (32 * _KB, 1 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("icelake-server", _ICE_LAKE, (48 * _KB, 1280 * _KB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("sapphirerapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("emeraldrapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("graniterapids", _SAPPHIRE_RAPIDS, (48 * _KB, 2 * _MB, 16 * _MB), SAPPHIRE_RAPIDS),
    CPU("znver1", _V3, (32 * _KB, 512 * _KB, 8 * _MB), ZEN_1),
    CPU("znver2", _V3, (32 * _KB, 512 * _KB, 16 * _MB), replace(ZEN_4, multiply_add_latency=5)),
    CPU("znver3", _V3, (32 * _KB, 512 * _KB, 32 * _MB), ZEN_4),
    CPU("znver4", _ZEN_4, (32 * _KB, 1 * _MB, 32 * _MB), ZEN_4),
    CPU("znver5", _ZEN_4 | {"avxvnni"}, (48 * _KB, 1 * _MB, 32 * _MB), ZEN_5),
)

X86_64 = Architecture(
    name="x86_64",
    host=Host(page="0x1000", futex="202L", pause="__builtin_ia32_pause()"),
    vectors=(Vectors(64, 32, "avx512f"), Vectors(32, 16, "avx2"), Vectors(16, 16)),
    levels=(
        CPU("x86-64-v4", _V4, _TYPICAL, ZEN_4),
        CPU("x86-64-v3", _V3, _TYPICAL, ZEN_4),
        CPU("x86-64-v2", _V2, _TYPICAL, WITHOUT_FMA),
        CPU("x86-64", frozenset(), _TYPICAL, WITHOUT_FMA),
    ),
    cpus={cpu.name: cpu for cpu in _CPUS},
)
