"""Architectures of processors as values: what code, schedules and libraries of one have to know, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sateen.tensor_ir.targets.abi_layout import AbiLayout
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.rates import Rates
from sateen.tensor_ir.targets.relocation import Linking


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vector registers: their width in bytes and their number. A processor has them that has the feature."""

    bytes: int
    registers: int
    feature: str = ""


@dataclass(frozen=True, slots=True)
class CPU:
    """A processor by LLVM's name: its features beyond those of all of its architecture, caches in bytes, rates.

    `cores` is how many of them are expected to run a network at most.
    """

    name: str
    features: frozenset[str]
    caches: tuple[int, int, int]
    rates: Rates
    cores: int = 4


@dataclass(frozen=True, slots=True)
class Host:
    """What the C source of the default host has to know, on Linux, as C expressions.

    The largest page in bytes, the number of the system call futex, and the instruction that lets a processor rest that
    waits for another one.
    """

    page: str
    futex: str
    pause: str


@dataclass(frozen=True, slots=True, eq=False)
class Architecture:
    """What code for processors of an architecture has to know.

    `vectors` and `levels` begin with the most capable: of both the first counts whose features a target has. `levels`
    are what is assumed of a processor that is not among `cpus`; the last one has no features.
    """

    name: str
    """As `Target.architecture` has it."""
    title: str
    """As people call it."""
    triple: str
    """LLVM's name of it with its usual system."""
    abi: AbiLayout
    """Where the fields of the ABI's structures are."""
    vectors: tuple[Vectors, ...]
    levels: tuple[CPU, ...]
    cpus: Mapping[str, CPU] = field(default_factory=dict)
    clock: str = ""
    """LLVM's intrinsic that reads a clock of constant rate without a call; '' where programs have none."""
    float_mode: FloatMode | None = None
    """The register of a thread's mode of floating point; None where code leaves that as it finds it."""
    widening_products: bool = False
    """Whether instructions multiply narrow integers to wide ones."""
    half_feature: str = ""
    """The feature without which LLVM calls functions of ours to convert float16; '' where it calls none of them."""
    attributes: str = ""
    """Attributes that LLVM reads at each function."""
    register_tile_bytes: int = 384
    """Bytes of a buffer in registers from which on it needs so many of them that constants of other code have to go."""
    linking: Linking | None = None
    """What our linker has to know; None where it is LLVM's lld that links."""
    host: Host | None = None
    """What the source of the default host has to know; None where there is no default host."""

    @property
    def rows(self) -> tuple[CPU, ...]:
        """All processors and levels that are known."""
        return (*self.cpus.values(), *self.levels)

    def cpu_of(self, name: str, features: frozenset[str]) -> CPU:
        """The processor of a name, or the highest level that some features reach."""
        if name in self.cpus:
            return self.cpus[name]
        return next(level for level in self.levels if level.features <= features)

    def vectors_of(self, features: frozenset[str]) -> Vectors:
        """The vector registers that code with some features may use."""
        return next(v for v in self.vectors if not v.feature or v.feature in features)
