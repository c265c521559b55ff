"""ARM of 32 bits, Thumb included: object code of kernels; lld links."""

from __future__ import annotations

from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW

ARM = Architecture(
    name="arm",
    title="ARM",
    triple="armv7-linux-gnueabihf",
    abi=POINTERS_OF_32_BITS,
    vectors=(Vectors(16, 16),),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW),),
    widening_products=True,
)
