"""What schedules and estimates want to know of a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType
from sateen.runtime.target import Target
from sateen.tensor_ir.targets.rates import NARROW, Rates
from sateen.tensor_ir.targets.table import architecture_of, cpu_of, features_of

_FLOAT32 = DType.of("float32")


@dataclass(frozen=True, slots=True)
class Machine:
    """A core with its caches, and how many there are.

    Sizes are bytes; the third cache is common to the cores. A network is expected to run on at most `cores`, so that an
    estimate is the mean over 1, 2, 4, ... of them.
    """

    vector_bytes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    rates: Rates
    kind: DeviceKind
    cores: int

    @staticmethod
    def of(target: Target | str = "llvm") -> Machine:
        """The machine of a target. Caches are read from this machine when the target is it, else those of its CPU.

        Raises TargetError for an architecture that no code is made for.
        """
        complete = Target.of(target)
        if complete.device_kind is not DeviceKind.CPU:
            return replace(_OTHER_DEVICE, kind=complete.device_kind)
        cpu, vectors = cpu_of(complete), architecture_of(complete).vectors_of(features_of(complete))
        found = _host_caches() if complete == Target.host() else {}
        l1, l2, l3 = (found.get(level, size) for level, size in enumerate(cpu.caches, start=1))
        return Machine(vectors.bytes, vectors.registers, l1, l2, l3, cpu.rates, complete.device_kind, cpu.cores)

    @property
    def accumulators(self) -> int:
        """Vectors that terms are added to in turn: the power of two that hides the latency of an addition."""
        in_flight = self.rates.addition_latency * self.rates.multiply_add_bytes / self.vector_bytes
        return 1 << (max(1, ceil(in_flight)) - 1).bit_length()

    @property
    def even_iterations(self) -> int:
        """Iterations of a parallel loop that are enough for threads to share it evenly."""
        return 4 * self.cores

    def lanes(self, dtype: DType | str = _FLOAT32) -> int:
        """Elements of a type in one vector register."""
        return max(1, self.vector_bytes // DType.of(dtype).bytes)


_OTHER_DEVICE = Machine(16, 16, 32 << 10, 512 << 10, 4 << 20, NARROW, DeviceKind.OPENCL, 4)
"""What is assumed of a device that is no processor, of which nothing is measured yet."""


def _host_caches() -> dict[int, int]:
    """Data caches of the first processor by level, in bytes; what the system does not tell is absent."""
    sizes: dict[int, int] = {}
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        kind, level, size = ((entry / name).read_text().strip() for name in ("type", "level", "size"))
        if kind in ("Data", "Unified") and size.endswith("K"):
            sizes[int(level)] = int(size[:-1]) << 10
    return sizes
