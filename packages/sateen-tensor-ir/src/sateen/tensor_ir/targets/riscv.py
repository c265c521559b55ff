"""RISC-V of 64 and 32 bits: object code of kernels."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_32_BITS, POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW

RISCV64 = Architecture(
    name="riscv64",
    title="RISC-V",
    triple="riscv64-linux-gnu",
    abi=POINTERS_OF_64_BITS,
    vectors=(Vectors(16, 16),),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW),),
    clock="llvm.readsteadycounter",  # rdtime
)
RISCV32 = replace(
    RISCV64, name="riscv32", title="RISC-V of 32 bits", triple="riscv32-linux-gnu", abi=POINTERS_OF_32_BITS, clock=""
)
