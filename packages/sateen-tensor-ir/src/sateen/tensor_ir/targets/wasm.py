"""WebAssembly with vectors of 16 bytes: our writer of modules links, and nothing runs beside the caller."""

from __future__ import annotations

from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW

WASM32 = Architecture(
    name="wasm32",
    title="WebAssembly",
    triple="wasm32-unknown-unknown",
    abi=POINTERS_OF_32_BITS,
    vectors=(Vectors(16, 16, "simd128"), Vectors(16, 16)),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW, cores=1),),
    half_feature="fp16",
    relocation_model="static",
)
