"""What a processor or a device does at most, for reports of speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sateen.graph_ir.compile import DeviceMeter
from sateen.runtime import Artifact, Device, Session, Target
from sateen.runtime.launches import NetworkLaunch
from sateen.tensor_ir import Machine, PeakMeter


class Meter(Protocol):
    """Measures the peak of float32 multiply-adds."""

    def sample(self) -> float:
        """One measurement, in GFLOP/s."""


def meter_of(artifact: Artifact, session: Session, threads: int, device: Device | None) -> tuple[Meter, int]:
    """A meter of a core of the session's processor, and how many of them `threads` use; of a whole device, and 1, if
    the artifact is for one."""
    if artifact.kernels:
        return DeviceMeter(session, Target.parse(artifact.target), device), 1
    return PeakMeter(session), min(threads, session.info()["processors"])


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The threads of a step, and how many of those that the device holds at once its largest launch keeps there: 1 for
    all."""

    threads: int
    share: float


def occupancy_of(artifact: Artifact, step: int) -> Occupancy | None:
    """That of a step, by the blocks of the grid, their threads and their shared memory; registers are a driver's
    knowledge. None on processors, and for a step that launches nothing."""
    gpu = Machine.of(Target.parse(artifact.target)).gpu
    launches = [launch for launch in artifact.launches if launch.step == step]
    if gpu is None or not launches:
        return None
    largest = max(launches, key=_threads)
    block = _product(largest.block)
    at_once = max(gpu.unit_threads // block, 1)
    if largest.shared_bytes:
        at_once = min(at_once, gpu.shared_bytes // largest.shared_bytes)
    held = min(_product(largest.grid), at_once * gpu.units) * block
    return Occupancy(sum(map(_threads, launches)), min(held / (gpu.units * gpu.unit_threads), 1.0))


def _threads(launch: NetworkLaunch) -> int:
    return _product(launch.grid) * _product(launch.block)


def _product(extents: tuple[int, int, int]) -> int:
    x, y, z = extents
    return x * y * z
