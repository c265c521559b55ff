"""All architectures that more is known of than LLVM tells: a new one is a file and its line here."""

from __future__ import annotations

from sateen.runtime import processor
from sateen.runtime.target import Target
from sateen.tensor_ir.targets.aarch64 import AARCH64
from sateen.tensor_ir.targets.architecture import CPU, Architecture
from sateen.tensor_ir.targets.generic import GENERIC
from sateen.tensor_ir.targets.x86_64 import X86_64

ARCHITECTURES = {architecture.name: architecture for architecture in (X86_64, AARCH64)}
"""By the name that `Target.architecture` has."""


def architecture_named(triple: str) -> Architecture:
    """The architecture of a triple, or what is assumed of one that is not in the table."""
    return ARCHITECTURES.get(processor.architecture_of(triple), GENERIC)


def architecture_of(target: Target) -> Architecture:
    """The architecture of a target."""
    return architecture_named(target.triple)


def features_of(target: Target) -> frozenset[str]:
    """The features that code for a target may use, as LLVM names them: those of its processor and its own."""
    implied = architecture_of(target).cpus.get(target.cpu)
    removed = {feature[1:] for feature in target.features if feature[0] == "-"}
    return ((implied.features if implied else frozenset()) | target.enabled_features) - removed


def cpu_of(target: Target) -> CPU:
    """The processor of a target."""
    return architecture_of(target).cpu_of(target.cpu, features_of(target))
