"""All architectures with code generation; a new one is a file and a line here."""

from __future__ import annotations

from dataclasses import replace

from sateen.runtime import processor
from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import TargetError
from sateen.runtime.target import Target
from sateen.tensor_ir.targets.aarch64 import AARCH64
from sateen.tensor_ir.targets.architecture import CPU, Architecture
from sateen.tensor_ir.targets.arm import ARM
from sateen.tensor_ir.targets.riscv import RISCV32, RISCV64
from sateen.tensor_ir.targets.wasm import WASM32
from sateen.tensor_ir.targets.x86 import X86
from sateen.tensor_ir.targets.x86_64 import X86_64

ARCHITECTURES = {a.name: a for a in (X86_64, AARCH64, ARM, RISCV64, RISCV32, WASM32, X86)}
"""The architectures by the name in `Target.architecture`."""

WIDEST_VECTOR = max(vectors.bytes for a in ARCHITECTURES.values() for vectors in a.vectors)
"""The bytes of the widest vector of all of them, which is also the size of a cache line."""

SERIAL_ELEMENTS = max(
    cpu.rates.serial_elements for a in ARCHITECTURES.values() for cpu in (*a.levels, *a.cpus.values())
)
"""Elements that are worth sharing among the threads of any of them, for what is written before a machine is known."""


def least_registers(vector_bytes: int) -> int:
    """The vector registers of any architecture that has vectors of this many bytes."""
    vectors = (v for a in ARCHITECTURES.values() for v in a.vectors if v.bytes >= vector_bytes and not v.in_scalars)
    return min(v.registers for v in vectors)


def architecture_named(triple: str) -> Architecture:
    """The architecture of a triple. Raises TargetError for an unsupported one."""
    name = processor.architecture_of(triple)
    if name not in ARCHITECTURES:
        close = did_you_mean(name, [*ARCHITECTURES])
        raise TargetError(
            f"expected a triple of {', '.join(ARCHITECTURES)}, such as {X86_64.triple}, found {triple!r}{close}"
        )
    return ARCHITECTURES[name]


def architecture_of(target: Target) -> Architecture:
    """The architecture of a target. Raises TargetError for an unsupported one."""
    return architecture_named(target.triple)


def features_of(target: Target) -> frozenset[str]:
    """The features that code for a target may use, as LLVM names them: those of its processor and its own."""
    named = architecture_of(target).cpus.get(target.cpu)
    implied = named.features if named else assumed_features(target)
    return (implied | target.enabled_features) - _removed(target)


def assumed_features(target: Target) -> frozenset[str]:
    """The features of every processor of the architecture that LLVM has to be told of: none if the target names a
    processor."""
    return frozenset() if target.cpu else architecture_of(target).assumed - _removed(target)


def _removed(target: Target) -> frozenset[str]:
    return frozenset(feature[1:] for feature in target.features if feature[0] == "-")


def with_features(target: Target) -> Target:
    """The target with the features of its processor listed, so that loading code can check them."""
    implied = features_of(target) - target.enabled_features
    return replace(target, features=(*target.features, *(f"+{feature}" for feature in implied)))


def cpu_of(target: Target) -> CPU:
    """The processor of a target."""
    return architecture_of(target).cpu_of(target.cpu, features_of(target))
