"""x86 of 32 bits: object code of kernels."""

from __future__ import annotations

from sateen.tensor_ir.targets.abi_layout import INTEGERS_OF_64_BITS_AT_4_BYTES
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW
from sateen.tensor_ir.targets.x86_64 import X86_64

X86 = Architecture(
    name="x86",
    title="x86 of 32 bits",
    triple="i686-linux-gnu",
    abi=INTEGERS_OF_64_BITS_AT_4_BYTES,
    vectors=(Vectors(16, 16),),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW),),
    rounding_feature="sse4.1",
    attributes=X86_64.attributes,
)
