"""Architectures of graphics processors: the facts that LLVM's code of their kernels needs.

They run no functions of a host, so they stand apart from the table of architectures.
"""

from __future__ import annotations

from sateen.tensor_ir.targets.abi_layout import POINTERS_OF_64_BITS
from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import SCALAR

_CACHES = (32 << 10, 4 << 20, 0)

NVPTX = Architecture(
    name="nvptx64",
    title="NVIDIA",
    triple="nvptx64-nvidia-cuda",
    abi=POINTERS_OF_64_BITS,
    vectors=(Vectors(4, 255, in_scalars=True),),
    levels=(CPU("sm_70", frozenset(), _CACHES, SCALAR),),
)
AMDGPU = Architecture(
    name="amdgcn",
    title="AMD",
    triple="amdgcn-amd-amdhsa",
    abi=POINTERS_OF_64_BITS,
    vectors=(Vectors(4, 256, in_scalars=True),),
    levels=(CPU("gfx900", frozenset(), _CACHES, SCALAR),),
)
