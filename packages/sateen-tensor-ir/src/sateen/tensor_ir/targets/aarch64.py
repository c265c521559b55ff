"""AArch64: the processors that LLVM names, and what is assumed of others.

Rates are those of Arm's software optimisation guides where these tell more than that a core is like Zen 4 with vectors
of 16 bytes; nothing is fitted.
"""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.targets.architecture import CPU, Architecture, Host, Vectors
from sateen.tensor_ir.targets.rates import NARROW, ZEN_4

NEOVERSE_N1 = replace(
    ZEN_4,
    multiply_add_bytes=32,
    load_bytes=16,
    l1=32.0,
    l2=16.0,
    l3=10.0,
    memory=5.0,
    transform_cycles=0.9,
    left_sum_cycles=1.0,
    result_sum_cycles=1.75,
)
"""Two multiply-adds and two loads of 16 bytes a cycle."""
NEOVERSE_V1 = replace(ZEN_4, load_bytes=16, load_cycles=0.37, l1=48.0, l2=32.0, l3=10.0, memory=5.0)
"""Four multiply-adds and three loads of 16 bytes a cycle."""
_KB, _MB = 1 << 10, 1 << 20
_BASE = frozenset({"neon"})
_A76 = _BASE | {"dotprod", "fullfp16", "lse"}
_V1 = _A76 | {"bf16", "fp16fml", "i8mm", "sve"}
_N2 = _V1 | {"sve2"}
_M1 = _A76 | {"fp16fml"}

_CPUS = (
    CPU("cortex-a53", _BASE, (32 * _KB, 512 * _KB, 0), NARROW),
    CPU("cortex-a55", _A76, (32 * _KB, 128 * _KB, 1 * _MB), NARROW),
    CPU("cortex-a57", _BASE, (32 * _KB, 1 * _MB, 0), NARROW),
    CPU("cortex-a72", _BASE, (32 * _KB, 1 * _MB, 0), NEOVERSE_N1),
    CPU("cortex-a76", _A76, (64 * _KB, 256 * _KB, 2 * _MB), NEOVERSE_N1),
    CPU("neoverse-n1", _A76, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_N1),
    CPU("neoverse-n2", _N2, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_N1),
    CPU("neoverse-v1", _V1, (64 * _KB, 1 * _MB, 16 * _MB), NEOVERSE_V1),
    CPU("neoverse-v2", _N2, (64 * _KB, 2 * _MB, 16 * _MB), NEOVERSE_V1),
    CPU("apple-m1", _M1, (128 * _KB, 3 * _MB, 8 * _MB), NEOVERSE_V1),
    CPU("apple-m2", _M1 | {"bf16", "i8mm"}, (128 * _KB, 4 * _MB, 8 * _MB), NEOVERSE_V1),
)

AARCH64 = Architecture(
    name="aarch64",
    host=Host(page="0x10000", futex="98L", pause="__builtin_arm_isb(15)"),
    vectors=(Vectors(16, 32),),
    levels=(CPU("generic", frozenset(), (32 * _KB, 512 * _KB, 4 * _MB), NEOVERSE_N1),),
    cpus={cpu.name: cpu for cpu in _CPUS},
)
