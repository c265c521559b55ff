"""Architectures of processors as values: all facts for code, schedules and libraries, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sateen.tensor_ir.targets.abi_layout import AbiLayout
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.identity import Found, Identity
from sateen.tensor_ir.targets.rates import Rates
from sateen.tensor_ir.targets.relocation import Linking


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vector registers: their width in bytes and their number. Processors with the feature have them.

    `in_scalars` are those of a processor without vectors: a schedule's vector takes several scalar registers there, and
    LLVM takes each operation on it apart. With `masks` an instruction loads or stores some lanes only; otherwise LLVM
    tests each lane.
    """

    bytes: int
    registers: int
    feature: str = ""
    in_scalars: bool = False
    masks: bool = False


@dataclass(frozen=True, slots=True)
class CPU:
    """A processor by LLVM's name: its features beyond those of its architecture, caches in bytes, rates.

    The third cache is what a core can count on of it. `title` is the common name, `source` says where the rates are
    from, `identities` are the processors that have them. `cores` is the largest number of cores expected to run a
    network.
    """

    name: str
    features: frozenset[str]
    caches: tuple[int, int, int]
    rates: Rates
    cores: int = 4
    title: str = ""
    source: str = ""
    identities: tuple[Identity, ...] = ()


@dataclass(frozen=True, slots=True)
class HostServices:
    """Facts for the C source of the default host, on Linux, in C: the largest page in bytes, the number of the system
    call futex, and the instruction that lets a waiting processor rest.
    """

    page: str
    futex: str
    pause: str


@dataclass(frozen=True, slots=True, eq=False)
class Architecture:
    """The facts about an architecture that code for it needs.

    `vectors` and `levels` begin with the most capable; the first whose features a target has counts. `levels` are the
    assumptions for a processor that is not among `cpus`; the last one has no features.
    """

    name: str
    """The name in `Target.architecture`."""
    title: str
    """The common name."""
    triple: str
    """LLVM's triple with the usual system."""
    abi: AbiLayout
    """The offsets of fields in the ABI's structures."""
    vectors: tuple[Vectors, ...]
    levels: tuple[CPU, ...]
    cpus: Mapping[str, CPU] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    """The features that systems assume of every processor, and LLVM does not."""
    call_features: frozenset[str] = frozenset()
    """The features whose registers pass floating-point numbers in calls on Linux, where LLVM has code without them,
    too."""
    clock: str = ""
    """LLVM's intrinsic that reads a clock of constant rate without a call; '' if programs have none."""
    float_mode: FloatMode | None = None
    """The register of a thread's floating-point mode; None if code does not change it."""
    widening_products: bool = False
    """Whether instructions multiply narrow integers to wide ones."""
    multiplies_by_element: bool = False
    """Whether a multiply-add broadcasts an element of a vector register. Such a register holds several terms, so that
    each position of a tile takes one."""
    broadcasts_ahead: int = 0
    """The positions of a register tile of several vectors for which LLVM fills one more register with a broadcast
    element ahead; 0: it fills one at a time, or instructions multiply by a scalar."""
    extrema: frozenset[str] = frozenset()
    """The types of which one instruction gives the minimum or the maximum, NaN where an operand is NaN."""
    tuning: tuple[str, ...] = ()
    """Features that change LLVM's choices, not what processors must have: `+name` or `-name`."""
    half_feature: str = ""
    """The feature without which there are no instructions to convert float16; '' if there always are."""
    pair_feature: str = ""
    """The feature of dot products of pairs of bfloat16; '' without any."""
    tile_registers: int = 0
    """The number of tile registers of processors that have some."""
    tile_features: frozenset[str] = frozenset()
    """The features of processors that multiply tile registers of bfloat16."""
    rounding_feature: str = ""
    """The feature without which no instruction rounds to an integral value; '' if LLVM never calls the C library for
    that."""
    attributes: str = ""
    """The attributes that LLVM reads at each function."""
    enlargement_cycles: float = 0.0
    """Cycles of a run that each byte must save by which a method enlarges a parameter: what it costs to bring and keep
    it, spread over runs."""
    register_tile_bytes: int = 384
    """The least bytes of a buffer in registers that needs so many registers that none are left for constants of other
    code."""
    relocation_model: str = "pic"
    """How LLVM forms addresses: `pic`, or `static` where the linker knows where all will lie."""
    linking: Linking | None = None
    """The facts for our linker; None if LLVM's lld links."""
    host: HostServices | None = None
    """The constants for the source of the default host; None if there is no default host."""

    @property
    def rows(self) -> tuple[CPU, ...]:
        """All known processors and levels."""
        return (*self.cpus.values(), *self.levels)

    def cpu_of(self, name: str, features: frozenset[str]) -> CPU:
        """The processor of a name, or the highest level that some features reach."""
        if name in self.cpus:
            return self.cpus[name]
        return next(level for level in self.levels if level.features <= features)

    def cpu_found(self, found: Iterable[Found], features: frozenset[str]) -> CPU | None:
        """The row of a processor that a system tells of; of several kinds of cores that of the fastest.

        Of several rows that it may be, it is the last whose features it has, or the first if it has none's, as a
        virtual machine may hide some.
        """
        kinds = ([cpu for cpu in self.cpus.values() if any(i.is_of(one) for i in cpu.identities)] for one in found)
        rows = [([cpu for cpu in kind if cpu.features <= features] or kind[:1])[-1] for kind in kinds if kind]
        return max(rows, key=lambda cpu: (cpu.rates.multiply_add_bytes, cpu.rates.load_bytes), default=None)

    def vectors_of(self, features: frozenset[str]) -> Vectors:
        """The vector registers that code with some features may use."""
        return next(v for v in self.vectors if not v.feature or v.feature in features)
