"""What a processor or a device does at most, and what a network makes of it, for reports of speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, Protocol

from sateen.graph_ir.compile import DeviceMeter
from sateen.runtime import Artifact, Device, Session, Target, TimeResult
from sateen.runtime.display import counted
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


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What a network makes of a device, in the steps that launch something there.

    These are their seconds, their mean occupancy by time, and rates beside the limits that were measured, in 10⁹
    operations or bytes per second. Bytes are inputs and outputs of steps, each counted once.
    """

    name: str
    kernels: int
    launches: int
    seconds: float
    occupancy: float
    gflops: float
    peak_gflops: float
    gigabytes_per_second: float
    peak_gigabytes_per_second: float

    def __str__(self) -> str:
        launches = "in one launch" if self.launches == 1 else f"in {self.launches} launches"
        arithmetic, memory = self.gflops / self.peak_gflops, self.gigabytes_per_second / self.peak_gigabytes_per_second
        return (
            f"{self.name}: {counted(self.kernels, 'kernel')} {launches}, {self.seconds * 1e3:.3g} ms, "
            f"occupancy {self.occupancy:.0%}, {self.gflops:.3g} GFLOP/s ({arithmetic:.0%} of {self.peak_gflops:.3g}), "
            f"{self.gigabytes_per_second:.3g} GB/s ({memory:.0%} of {self.peak_gigabytes_per_second:.3g})"
        )

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def use_of(
    artifact: Artifact, times: Sequence[TimeResult], described: Mapping[str, Any], peak: float, bandwidth: float
) -> DeviceUse:
    """What a network makes of a device (`Session.device`), whose steps took such times."""
    found = [occupancy_of(artifact, i, described) for i in range(len(times))]
    used = [(s, o, t.median) for s, o, t in zip(artifact.steps, found, times, strict=True) if o is not None]
    seconds = sum(time for _, _, time in used)
    filled = sum(occupancy.share * time for _, occupancy, time in used)
    rate = 1e-9 / seconds if seconds else 0.0
    return DeviceUse(
        described["name"],
        len({launch.kernel for launch in artifact.launches}),
        len(artifact.launches),
        seconds,
        filled / seconds if seconds else 0.0,
        sum(step.operations for step, _, _ in used) * rate,
        peak,
        sum(step.bytes for step, _, _ in used) * rate,
        bandwidth,
    )


def occupancy_of(artifact: Artifact, step: int, described: Mapping[str, Any]) -> Occupancy | None:
    """That of a step on a device, by the blocks of the grid, their threads and their shared memory; registers are a
    driver's knowledge, and how many threads a unit holds is that of the target's generation. None on processors, and
    for a step that launches nothing."""
    gpu, launches = Machine.of(Target.parse(artifact.target)).gpu, launches_of(artifact, step)
    if gpu is None or not launches:
        return None
    largest = max(launches, key=_threads)
    block, units = prod(largest.block), described["units"]
    at_once = max(gpu.unit_threads // block, 1)
    if largest.shared_bytes:
        at_once = max(min(at_once, described["shared_bytes"] // largest.shared_bytes), 1)
    held = min(prod(largest.grid), at_once * units) * block
    return Occupancy(sum(map(_threads, launches)), min(held / (units * gpu.unit_threads), 1.0))


def launches_of(artifact: Artifact, step: int) -> list[NetworkLaunch]:
    """The launches of a step, in order."""
    return [launch for launch in artifact.launches if launch.step == step]


def _threads(launch: NetworkLaunch) -> int:
    return prod(launch.grid) * prod(launch.block)
