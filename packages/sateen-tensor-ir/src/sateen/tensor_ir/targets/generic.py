"""What is assumed of architectures that code is made for, but about which nothing more is known."""

from __future__ import annotations

from sateen.tensor_ir.targets.architecture import CPU, Architecture, Vectors
from sateen.tensor_ir.targets.rates import NARROW

GENERIC = Architecture(
    name="generic",
    host=None,
    vectors=(Vectors(16, 16),),
    levels=(CPU("generic", frozenset(), (32 << 10, 512 << 10, 4 << 20), NARROW),),
    cpus={},
)
