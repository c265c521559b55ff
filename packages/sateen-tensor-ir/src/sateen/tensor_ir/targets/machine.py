"""The description of a machine for schedules and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType
from sateen.runtime.target import Target
from sateen.tensor_ir.targets.architecture import CPU
from sateen.tensor_ir.targets.gpu import Gpu
from sateen.tensor_ir.targets.identity import found_here
from sateen.tensor_ir.targets.rates import NARROW, SCALAR, Rates
from sateen.tensor_ir.targets.system import System
from sateen.tensor_ir.targets.table import architecture_of, cpu_of, features_of

MOST_OF_THIRD = 16 << 20
"""The most bytes of a third cache that a core can count on where nothing else is known."""
COMPARED = 3
"""The operations of a maximum where no instruction keeps NaN: a maximum, a comparison and a choice."""
_FLOAT32 = DType.of("float32")


@dataclass(frozen=True, slots=True)
class Machine:
    """A core with its caches, and the number of cores.

    Sizes are in bytes; the cores share the third cache. A network is expected to run on at most `cores`, so an estimate
    is the mean over 1, 2, 4, ... of them.
    """

    page_bytes: ClassVar[int] = 4096
    """The bytes of a page of memory."""
    vector_bytes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    rates: Rates
    kind: DeviceKind
    cores: int
    multiplies_by_element: bool = False
    """As of the architecture (`Architecture`)."""
    broadcasts_ahead: int = 0
    """As of the architecture."""
    maximum_operations: int = COMPARED
    """The operations on vectors for a maximum of float32 that is NaN where an operand is: one, or COMPARED."""
    enlargement_cycles: float = 0.0
    """As of the architecture; infinite without a system, where flash holds what the model has, and no more."""
    masks: bool = False
    """As of its vector registers (`Vectors`)."""
    vectors_in_scalars: bool = False
    """As of its vector registers (`Vectors.in_scalars`)."""
    has_pairs: bool = False
    """Whether it has dot products of pairs of bfloat16."""
    tile_registers: int = 0
    """The number of tile registers that multiply bfloat16; 0 also where the system gives none to programs."""
    gpu: Gpu | None = None
    """The blocks of threads of a device; None for a processor. The other fields then say what one thread has."""
    host: Machine | None = None
    """The processor beside a device, which may have parts of a network."""
    processor: str = ""
    """The common name of the processor that the rates are of; '' for what has none."""
    source: str = ""
    """Where the rates are from."""

    @staticmethod
    def of(target: Target | str = "llvm", target_host: Target | str | None = None) -> Machine:
        """The machine of a target, a device beside a host if there is one. If it is this machine, its processor is
        looked for, and its caches are read; otherwise both are those of the target's CPU.

        Raises TargetError for an architecture that sateen makes no code for.
        """
        complete = Target.of(target)
        if complete.device_kind is not DeviceKind.CPU:
            host = None if target_host is None else Machine.of(target_host)
            return replace(_THREAD, kind=complete.device_kind, gpu=Gpu.of(complete), host=host)
        if complete.kind == "c":
            return _ANY_PROCESSOR
        architecture, is_here = architecture_of(complete), complete == Target.host()
        found = architecture.cpu_found(found_here(), features_of(complete)) if is_here else None
        cpu = found or cpu_of(complete)
        vectors = architecture.vectors_of(features_of(complete))
        system = System.of(complete.triple)
        is_serial = not system.has_threads and system is not System.WEBASSEMBLY  # whose rows say whether it has threads
        cores = 1 if is_serial else cpu.cores
        has_tiles = system is System.LINUX and architecture.tile_features <= features_of(complete)
        l1, l2, l3 = _caches_here(cpu) if is_here else cpu.caches
        return Machine(
            vectors.bytes, vectors.registers, l1, l2, l3, cpu.rates, complete.device_kind, cores,
            architecture.multiplies_by_element, architecture.broadcasts_ahead,
            1 if "float32" in architecture.extrema else COMPARED,
            inf if system is System.NONE else architecture.enlargement_cycles,
            vectors.masks, vectors.in_scalars, architecture.pair_feature in features_of(complete),
            architecture.tile_registers if has_tiles else 0, processor=cpu.title or cpu.name, source=cpu.source,
        )  # fmt: skip

    def at(self, kind: DeviceKind) -> Machine:
        """The machine that computes what lies in memory of a kind: itself, or its host."""
        return self.host if self.host is not None and kind is DeviceKind.CPU else self

    @property
    def unrolled_terms(self) -> int:
        """The most multiply-adds in an innermost loop that repeats: more don't run faster, but fill any instruction
        cache."""
        return 400

    @property
    def accumulators(self) -> int:
        """The number of vectors to which terms are added in turn: the power of two that hides the latency of an
        addition."""
        in_flight = self.rates.addition_latency * self.rates.multiply_add_bytes / self.vector_bytes
        return 1 << (max(1, ceil(in_flight)) - 1).bit_length()

    @property
    def multiplies_pairs(self) -> bool:
        """Whether dot products of pairs of bfloat16 multiply faster than multiply-adds of float32."""
        return self.has_pairs and 2 * self.rates.pair_bytes > self.rates.multiply_add_bytes

    @property
    def of_pairs(self) -> Machine:
        """This machine with such dot products in the place of multiply-adds."""
        own = self.rates
        rates = replace(own, multiply_add_bytes=own.pair_bytes, multiply_add_latency=own.pair_latency)
        return replace(self, rates=rates)

    @property
    def multiplies_tiles(self) -> bool:
        """Whether it has tile registers, and a known rate of their products."""
        return self.tile_registers > 0 and self.rates.tile_product_cycles > 0

    @property
    def l1_ways(self) -> int:
        """The lines that the first cache holds at places whole pages apart: one in each of its ways, which have a page
        each, so that a line is looked for while its address is translated."""
        return max(1, self.l1_bytes // self.page_bytes)

    @property
    def even_iterations(self) -> int:
        """Iterations of a parallel loop that are enough for threads to share it evenly."""
        return 4 * self.cores

    def tile_positions(self, vectors: int) -> int:
        """The most positions of a register tile with `vectors` accumulators at each; less than 1 if none fits.

        Besides accumulators, registers hold a row of `vectors` that all positions multiply, and the elements that are
        broadcast: a register for each position; one at a time; or, where several accumulators take it, one for some
        positions (`broadcasts_ahead`), since LLVM broadcasts those of the next ones ahead and spills without.
        """
        free = self.vector_registers - vectors
        if self.multiplies_by_element:
            return free // (vectors + 1)
        ahead = self.broadcasts_ahead
        return (free - 1) // vectors if vectors == 1 or ahead == 0 else ahead * free // (ahead * vectors + 1)

    def lanes(self, dtype: DType | str = _FLOAT32) -> int:
        """The number of elements of a type in one vector register."""
        return max(1, self.vector_bytes // DType.of(dtype).bytes)


_THREAD = Machine(4, 16, 32 << 10, 512 << 10, 4 << 20, NARROW, DeviceKind.OPENCL, 4)
"""One thread of a device: no vectors, and a part of caches."""


_ANY_PROCESSOR = Machine(4, 16, 32 << 10, 256 << 10, 0, SCALAR, DeviceKind.CPU, 1)
"""The assumptions for C, which says nothing of vectors and has no threads."""


def _caches_here(cpu: CPU) -> tuple[int, int, int]:
    """The caches that this machine's system tells of, if it does. A virtual machine tells of all of the third one, of
    which it has a part: what is beyond the row's, and beyond MOST_OF_THIRD, is not counted on."""
    found = _host_caches()
    l1, l2, l3 = (found.get(level, size) for level, size in enumerate(cpu.caches, start=1))
    return l1, l2, min(l3, max(cpu.caches[2], MOST_OF_THIRD))


@cache
def _host_caches() -> Mapping[int, int]:
    """Data caches of the first processor by level, in bytes, as far as the system reports them."""
    sizes: dict[int, int] = {}
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            kind, level, size = ((entry / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:  # the kernels of some boards know of a cache, not of its size
            continue
        if kind in ("Data", "Unified") and size.endswith("K"):
            sizes[int(level)] = int(size[:-1]) << 10
    return MappingProxyType(sizes)
