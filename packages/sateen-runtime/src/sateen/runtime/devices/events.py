"""Events: places in the queues of a device, which it reaches when the work before is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sateen.runtime.fork_safe import ending


class _Waiting(Protocol):
    """What an event asks of its device."""

    def is_reached(self, event: Event) -> bool: ...
    def reach(self, event: Event, limit: float | None) -> None: ...
    def elapsed(self, first: Event, second: Event) -> float: ...
    def _forgotten(self, ready: object) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """The end of the work that a queue had when it was recorded."""

    device: _Waiting
    ready: Any
    """What the driver knows it by."""
    end: Callable[[], object] = field(init=False, repr=False)
    """Ends its use, which otherwise its last holder does."""
    __weakref__: object = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "end", ending(self, self.device._forgotten, self.ready))

    @property
    def is_reached(self) -> bool:
        """Whether the device got there. Raises DeviceLostError if the work before it failed."""
        return self.device.is_reached(self)

    def wait(self, limit: float | None = None) -> None:
        """Wait for it. Raises DeviceLostError if the work before it failed, or does not end within `limit` seconds,
        by default those of the device."""
        self.device.reach(self, limit)

    def seconds_since(self, earlier: Event) -> float:
        """The device's own time between two events, for which it waits."""
        return self.device.elapsed(earlier, self)
