"""WebAssembly with vectors of 16 bytes: our writer of modules links. Threads need atomics."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW

_CACHES = (32 << 10, 512 << 10, 4 << 20)
_SEPARATE = replace(NARROW, multiply_add_latency=8)
"""A product, then a sum: relaxed-simd has one instruction for both, which engines may round either way."""

WASM32 = Architecture(
    name="wasm32",
    title="WebAssembly",
    triple="wasm32-unknown-unknown",
    abi=POINTERS_OF_32_BITS,
    # Engines have 16 registers on x86-64, of which two hold products until they are added.
    vectors=(Vectors(16, 14, "simd128"), Vectors(16, 14, in_scalars=True)),
    levels=(
        CPU("generic", frozenset({"atomics"}), _CACHES, _SEPARATE),
        CPU("generic", frozenset(), _CACHES, _SEPARATE, cores=1),
    ),
    extrema=frozenset({"float32", "float64"}),
    half_feature="fp16",
    enlargement_cycles=2.0,  # 10 MB/s from a server are 300 cycles a byte, which 150 runs share
    relocation_model="static",
)
