"""What a driver does: the calls of one library of the system for the devices of one kind.

A driver checks nothing and keeps no state of its own about failures: `OpenDevice` does, for all kinds alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.display import counted


class Fault(Enum):
    """What the failure of a driver's call means."""

    MEMORY = "no memory is left"
    CODE = "the code is refused"
    LOST = "the device is lost"
    OTHER = "the call is refused"


class DriverError(Exception):
    """A call of a driver that failed: what it means, and the driver's own words."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class MissingDriverError(Exception):
    """A library of the system that is not there, or that has no device, and what brings it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}; {remedy}")
        self.missing = message
        self.remedy = remedy


def no_such_device(api: str, device: Device, count: int) -> MissingDriverError:
    """The error of a device behind the last of those that a driver lists, one or more."""
    first, last = Device(device.kind, 0), Device(device.kind, count - 1)
    which = f"one of {first} to {last}" if count > 1 else f"{first}"
    return MissingDriverError(f"expected {device}, found {counted(count, 'device')} of {api}", f"name {which}")


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """Bytes of a device's memory from `offset` on: `size` of them, or all to the end, which suits arguments of kernels
    only."""

    handle: int
    offset: int
    size: int | None


def require_few_threads(name: str, block: tuple[int, int, int], most: int) -> None:
    """Raises DriverError for a kernel whose registers leave room for `most` threads of a block, and not for all."""
    threads = block[0] * block[1] * block[2]
    if threads > most:
        raise DriverError(
            Fault.OTHER,
            f"kernel {name} expects blocks of {threads} threads, the device runs at most {most} with the registers "
            "that each of them needs",
        )


class Connection(Protocol):
    """One device, opened. Queues are numbers, made at their first use. Every method raises DriverError."""

    @property
    def description(self) -> DeviceDescription: ...

    def allocate(self, size: int) -> int:
        """Memory as a number: an address, or that of an object."""

    def free(self, handle: int) -> None:
        """End the use of memory, at once or when queued work on it has ended."""

    def write(self, queue: int, to: MemoryPart, address: int) -> object | None:
        """Queue a copy from the host's memory. The event after which the host may change it, None if that is now."""

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        """Queue a copy to the host's memory. The event after which it is there."""

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        """Queue a copy within the device."""

    def load(self, code: bytes) -> object:
        """The kernels of a text or a binary."""

    def unload(self, kernels: object) -> None:
        """End the use of what `load` gave."""

    def prepare(
        self,
        kernels: object,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        """A launch with its arguments, for any number of times."""

    def launch(self, queue: int, prepared: object) -> None:
        """Queue a kernel."""

    def discard(self, prepared: object) -> None:
        """End the use of a prepared launch."""

    def wait(self, queue: int, event: object) -> None:
        """Later work in `queue` waits for an event."""

    def record(self, queue: int) -> object:
        """An event that is reached when the work in a queue is done."""

    def is_reached(self, event: object) -> bool:
        """Whether the device got there. Raises DriverError if the work before it failed."""

    def seconds(self, first: object, second: object) -> float:
        """The device's own time between two events that are reached."""

    def forget(self, event: object) -> None:
        """End the use of an event."""

    def close(self) -> None:
        """End the use of the device."""


@runtime_checkable
class JoiningConnection(Protocol):
    """A connection whose driver launches many kernels at once."""

    def joined(self, prepared: Sequence[object]) -> object:
        """Prepared launches, each of which ran before, as one, in their order; `launch` and `discard` take it."""


@runtime_checkable
class StreamingConnection(Protocol):
    """A connection whose queues other libraries of the process know, by numbers that DLPack calls streams."""

    def stream(self, queue: int) -> int:
        """The number of a queue."""


class Driver(Protocol):
    """The library of one kind of devices."""

    kind: DeviceKind

    def descriptions(self) -> tuple[DeviceDescription, ...]:
        """Of all devices, by their numbers. Raises MissingDriverError."""

    def connect(self, index: int) -> Connection:
        """Open a device. Raises MissingDriverError and DriverError."""
