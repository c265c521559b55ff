"""What a device is like, as its driver tells."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.device import Device


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """A device, and the limits of a kernel on it: threads of a block, also along x, y and z, blocks along these, and
    bytes of shared memory of a block. Sizes are in bytes; `warp` is the number of threads that run in step."""

    device: Device
    name: str
    driver: str
    """The driver and its version."""
    units: int
    """Parts of the device that run blocks at the same time: streaming multiprocessors, compute units."""
    warp: int
    block_threads: int
    block_axes: tuple[int, int, int]
    grid_axes: tuple[int, int, int]
    shared_bytes: int
    memory_bytes: int
    allocation_bytes: int
    """The largest piece of memory."""
    place_alignment: int
    """What an offset in memory must be a multiple of where a kernel gets a part of it."""
    shares_memory: bool
    """Whether its memory is the host's."""
    has_float64: bool
    has_float16: bool
    architecture: str = ""
    """The generation that code may be made for, such as sm_90."""

    def __str__(self) -> str:
        return f"{self.device}: {self.name} ({self.driver})"
