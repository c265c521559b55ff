"""A device that is open: memory, kernels, queues and time, the same for all kinds of devices.

A connection of a driver does the calls. Here stands what holds for every kind: what a failure means, that a lost device
stays lost, and that every wait has an end.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import (
    Connection,
    DriverError,
    Fault,
    JoiningConnection,
    MemoryPart,
    StreamingConnection,
)
from sateen.runtime.devices.events import Event
from sateen.runtime.errors import ArgumentError, DeviceError, DeviceLostError, OutOfMemoryError
from sateen.runtime.fork_safe import ending

LIMIT = 60.0
MOST_AHEAD = 32
"""The launches after which a queue has to have got to where it was as many launches ago."""
_SPIN = 50e-6
_LONGEST_NAP = 1e-3
_REMEMBERED = 4
"""The kernels that an error about a lost device names."""

Result = TypeVar("Result")


class DeviceMemory:
    """Memory of a device, freed when nobody holds it: later than the work that is queued on it."""

    __slots__ = ("__weakref__", "_end", "device", "handle", "size")

    def __init__(self, device: OpenDevice, handle: int, size: int) -> None:
        self.device = device
        self.handle = handle
        """What a DLTensor on this device has as `data`."""
        self.size = size
        self._end = ending(self, device._freed, handle, size)

    def free(self) -> None:
        """End its use now."""
        self._end()

    def part(self, offset: int = 0, size: int | None = None) -> MemoryPart:
        """Bytes from `offset` on, up to the end without a `size`. Raises ArgumentError for bytes outside of it."""
        taken = self.size - offset if size is None else size
        if offset < 0 or taken < 0 or offset + taken > self.size:
            raise ArgumentError(f"expected bytes of {self.size} of memory, found {taken} from {offset} on")
        return MemoryPart(self.handle, offset, taken)

    def __repr__(self) -> str:
        return f"DeviceMemory({self.size} bytes on {self.device.description.device})"


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernels of one text or binary on a device."""

    device: OpenDevice
    loaded: object
    _end: Callable[[], object] = field(init=False, repr=False)
    __weakref__: object = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_end", ending(self, self.device._unloaded, self.loaded))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedLaunch:
    """A kernel and its arguments. What they are in is kept alive."""

    kernel: str
    ready: object
    kept: tuple[object, ...]
    _end: Callable[[], object] = field(init=False, repr=False)
    __weakref__: object = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kernels = self.kept[0]
        assert isinstance(kernels, Kernels)
        object.__setattr__(self, "_end", ending(self, kernels.device._discarded, self.ready))


@dataclass(slots=True, eq=False)
class _Ahead:
    """The launches in a queue since its mark, which is an event behind those before."""

    launches: int = 0
    mark: Event | None = None


class OpenDevice:
    """One device of this process.

    Each method raises DeviceLostError if the device is lost, by this call or before; DeviceError for a call that its
    driver refuses, and after `close`; OutOfMemoryError for memory that it doesn't have.
    """

    def __init__(self, connection: Connection) -> None:
        self.description: DeviceDescription = connection.description
        self.limit = LIMIT
        """The seconds that a queue may take for its work before the device counts as lost."""
        self._connection = connection
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)
        self._ended: DeviceError | None = None
        self._bytes = 0
        self._memory: WeakValueDictionary[int, DeviceMemory] = WeakValueDictionary()
        self._busy: set[int] = set()
        """The queues with work that nobody has waited for."""
        self._ahead: dict[int, _Ahead] = {}
        self._lent: deque[tuple[Event, object]] = deque()
        """What the host's memory of queued copies belongs to, until they have ended."""
        self._process = os.getpid()
        self._close = ending(self, connection.close)

    def __repr__(self) -> str:
        return f"OpenDevice({self.description})"

    @property
    def allocated_bytes(self) -> int:
        """The bytes of memory in use."""
        return self._bytes

    def allocate(self, size: int) -> DeviceMemory:
        """Memory of `size` bytes, one at least, with any content."""
        taken = max(size, 1)
        if taken > self.description.allocation_bytes:
            raise OutOfMemoryError(self._lack(taken, f"pieces have at most {self.description.allocation_bytes} bytes"))
        try:
            handle = self._do("allocate memory", partial(self._connection.allocate, taken))
        except OutOfMemoryError as error:
            raise OutOfMemoryError(self._lack(taken, str(error))) from None
        self._bytes += taken
        memory = self._memory[handle] = DeviceMemory(self, handle, taken)
        return memory

    def memory_of(self, handle: int) -> DeviceMemory | None:
        """The memory of this number, if it is this device's and in use."""
        return self._memory.get(handle)

    def write(self, to: MemoryPart, address: int, queue: int = 0) -> None:
        """Copy `to.size` bytes from the host's memory, which may change when this returns."""
        if to.size:
            self._require_own(to)
            self._settle(queue)
            event = self._do("copy to the device", partial(self._connection.write, queue, to, address))
            if event is not None:
                self._finish(event)

    def read(self, address: int, start: MemoryPart, queue: int = 0) -> None:
        """Copy `start.size` bytes to the host's memory, after all queued work."""
        if start.size:
            self._require_own(start)
            self._settle(queue)
            self._finish(self._do("copy from the device", partial(self._connection.read, queue, address, start)))

    def queue_write(self, to: MemoryPart, address: int, owner: object, queue: int = 0) -> None:
        """Queue a copy of `to.size` bytes from the host's memory. It belongs to `owner`, which is kept until the copy
        has ended, and nobody changes it before."""
        if to.size:
            self._require_own(to)
            self._lend(
                queue, self._do("copy to the device", partial(self._connection.write, queue, to, address)), owner
            )

    def queue_read(self, address: int, start: MemoryPart, owner: object, queue: int = 0) -> None:
        """Queue a copy of `start.size` bytes to the host's memory, of `owner`, which is kept until it has ended."""
        if start.size:
            self._require_own(start)
            read = partial(self._connection.read, queue, address, start)
            self._lend(queue, self._do("copy from the device", read), owner)

    def copy(self, to: MemoryPart, start: MemoryPart, queue: int = 0) -> None:
        """Queue a copy within the device."""
        if to.size:
            self._require_own(to, start)
            self._busy.add(queue)
            self._do("copy", partial(self._connection.copy, queue, to, start))

    def load(self, code: bytes) -> Kernels:
        """The kernels of code for this device. Raises DeviceError with the driver's log for code that it refuses."""
        return Kernels(self, self._do("load kernels", partial(self._connection.load, code)))

    def prepare(
        self,
        kernels: Kernels,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int] = (),
        kept: Sequence[object] = (),
        title: str = "",
        shared_bytes: int = 0,
    ) -> PreparedLaunch:
        """A launch for any number of times; `kept` is what its memory belongs to, `title` what errors call the kernel,
        whose blocks share `shared_bytes`.

        Raises DeviceError for a kernel that is not there, and for more threads or shared memory than a block may have.
        """
        known_as = title or name
        self._require_fit(known_as, grid, block)
        if shared_bytes > self.description.shared_bytes:
            raise DeviceError(
                f"{self.description}: kernel {known_as} expects blocks with {shared_bytes} bytes of shared memory, the "
                f"device has at most {self.description.shared_bytes}"
            )
        self._require_own(*parts)
        self._require_aligned(known_as, parts)
        make = partial(self._connection.prepare, kernels.loaded, name, grid, block, parts, scalars)
        return PreparedLaunch(known_as, self._do(f"prepare kernel {known_as}", make), (kernels, *kept))

    def launch(self, prepared: PreparedLaunch, queue: int = 0) -> None:
        """Queue a kernel, behind at most `2 * MOST_AHEAD` others: this waits for earlier ones, each time for the limit
        of one wait. So a program may have thousands, and a driver may make their code when they first run.
        """
        self.require_usable()
        self._keep_up(queue)
        self._recent.append(prepared.kernel)
        self._busy.add(queue)
        try:
            self._connection.launch(queue, prepared.ready)
        except DriverError as error:
            raise self._failed(f"launch kernel {prepared.kernel}", error) from None

    def _keep_up(self, queue: int) -> None:
        """After each `MOST_AHEAD` launches, wait for those before them."""
        ahead = self._ahead.setdefault(queue, _Ahead())
        if ahead.launches == MOST_AHEAD:
            reached, ahead.mark, ahead.launches = ahead.mark, self.record(queue), 0
            if reached is not None:
                self.reach(reached)
        ahead.launches += 1

    def joined(self, launches: Sequence[PreparedLaunch]) -> PreparedLaunch | None:
        """Launches that ran before as one, for any number of times, in their order; None if the driver has no way."""
        connection = self._connection
        if not launches or not isinstance(connection, JoiningConnection):
            return None
        make = partial(connection.joined, [launch.ready for launch in launches])
        whole = f"{launches[0].kernel} to {launches[-1].kernel}"
        return PreparedLaunch(whole, self._do(f"join {whole}", make), (launches[0].kept[0], *launches))

    def wait(self, queue: int, other: int | Event) -> None:
        """Later work in `queue` waits for the work in another queue, or for an event."""
        event = other if isinstance(other, Event) else self.record(other)
        self._busy.add(queue)
        self._do("wait for a queue", partial(self._connection.wait, queue, event.ready))

    def record(self, queue: int = 0) -> Event:
        """An event at the end of the queued work."""
        return Event(self, self._do("record an event", partial(self._connection.record, queue)))

    def forget(self, event: Event) -> None:
        """End the use of an event before its last holder does."""
        event.end()

    def elapsed(self, first: Event, second: Event) -> float:
        """The device's own time between two events, in seconds; waits for them."""
        for event in (first, second):
            self.reach(event)
        return self._do("read its clock", partial(self._connection.seconds, first.ready, second.ready))

    def sync(self, queue: int | None = None, limit: float | None = None) -> None:
        """Wait until the work in a queue is done, by default that in all of them. After `limit` seconds without an
        answer, by default those of the device, it is lost."""
        for one in {0, *self._busy} if queue is None else (queue,):
            self._busy.discard(one)
            self._finish(self._do("record an event", partial(self._connection.record, one)), limit)
        self._give_back_lent()

    def is_reached(self, event: Event) -> bool:
        """Whether the device got to an event."""
        return self._do("finish queued work", partial(self._connection.is_reached, event.ready))

    def reach(self, event: Event, limit: float | None = None) -> None:
        """Wait for an event, `limit` seconds at most, by default those of the device."""
        self._await(event.ready, limit)
        self._give_back_lent()

    def stream(self, queue: int = 0) -> int | None:
        """The number by which other libraries know a queue, None if they know none."""
        connection = self._connection
        if not isinstance(connection, StreamingConnection):
            return None
        return self._do("name a queue", partial(connection.stream, queue))

    def _require_own(self, *parts: MemoryPart) -> None:
        """Memory that is an object belongs to who made it; a driver that gets another one may fault."""
        self.require_usable()
        if self.description.device.kind.has_addresses:
            return
        if any(part.handle not in self._memory for part in parts):
            raise DeviceError(
                f"{self.description}: expected memory that this open device allocated, found some of another context, "
                "or from before it was opened again; copy it by what made it, or make it again"
            )

    def _settle(self, queue: int) -> None:
        """Wait for a queue that has work: what drivers copy behind a kernel that never ends has no end either."""
        if queue in self._busy:
            self.sync(queue)

    def _finish(self, ready: object, limit: float | None = None) -> None:
        """Wait for an event of the driver, which nobody else has."""
        self._await(ready, limit)
        self._do("release an event", partial(self._connection.forget, ready))

    def _await(self, ready: object, limit: float | None) -> None:
        most = self.limit if limit is None else limit
        start, nap = time.perf_counter(), 0.0
        is_reached = partial(self._connection.is_reached, ready)
        while not self._do("finish queued work", is_reached):
            passed = time.perf_counter() - start
            if passed > most:
                raise self._lost(f"its work did not end within {most:g} s")
            if self.description.shares_memory or passed > _SPIN:
                nap = min(max(nap * 1.5, 10e-6), _LONGEST_NAP)
                time.sleep(nap)

    def _lend(self, queue: int, ready: object | None, owner: object) -> None:
        """Keep the owner of the host's memory until an event is reached."""
        self._busy.add(queue)
        if ready is not None:
            self._lent.append((Event(self, ready), owner))
        self._give_back_lent()

    def _give_back_lent(self) -> None:
        while self._lent and self._lent[0][0].is_reached:
            self._lent.popleft()

    def close(self) -> None:
        """End the use of the device. Its memory and kernels are gone."""
        if self._ended is None:
            for memory in list(self._memory.values()):
                memory.free()
            self._ended = DeviceError(f"{self.description.device}: it is closed; open it again")
        self._close()

    @property
    def is_usable(self) -> bool:
        """Whether it is neither lost nor closed."""
        return self._ended is None

    def require_usable(self) -> None:
        """Raises the error of every call on a device that is lost, closed, or of the parent of this process."""
        if self._ended is not None:
            raise self._ended
        if self._process != os.getpid():
            raise DeviceError(
                f"{self.description.device}: the parent of this process opened it, and drivers don't survive a fork; "
                "make arrays and load models here"
            )

    def _do(self, what: str, call: Callable[[], Result]) -> Result:
        self.require_usable()
        try:
            return call()
        except DriverError as error:
            raise self._failed(what, error) from None

    def _failed(self, what: str, error: DriverError) -> DeviceError | OutOfMemoryError:
        if error.fault is Fault.LOST:
            return self._lost(str(error))
        if error.fault is Fault.MEMORY:
            return OutOfMemoryError(str(error))
        return DeviceError(f"{self.description}: expected to {what}, but {error.fault.value}: {error}")

    def _lost(self, reason: str) -> DeviceLostError:
        kernels = f"; the last kernels are {', '.join(self._recent)}" if self._recent else ""
        self._ended = DeviceLostError(f"{self.description}: the device is lost: {reason}{kernels}")
        return self._ended

    def _lack(self, taken: int, reason: str) -> str:
        has = f"the device has {self.description.memory_bytes} bytes, of which this process uses {self._bytes}"
        return f"{self.description}: expected {taken} bytes of memory, found none: {reason}; {has}"

    def _require_fit(self, name: str, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        limits, threads = self.description, block[0] * block[1] * block[2]
        if threads > limits.block_threads:
            raise DeviceError(
                f"{limits}: kernel {name} expects blocks of {threads} threads, the device has at most "
                f"{limits.block_threads}"
            )
        for kind, sizes, most in (("threads", block, limits.block_axes), ("blocks", grid, limits.grid_axes)):
            for axis, size, limit in zip("xyz", sizes, most, strict=True):
                if size > limit:
                    raise DeviceError(
                        f"{limits}: kernel {name} expects {size} {kind} along {axis}, the device has at most {limit}"
                    )

    def _require_aligned(self, name: str, parts: Sequence[MemoryPart]) -> None:
        """Where memory is an object, kernels get parts of it only at some places."""
        step, device = self.description.place_alignment, self.description.device
        if odd := [part.offset for part in parts if part.offset % step and not device.kind.has_addresses]:
            raise DeviceError(
                f"{self.description}: kernel {name} expects memory at multiples of {step} bytes, found some at "
                f"{odd[0]}; to('{device}') copies an array to a place of its own"
            )

    def _freed(self, handle: int, size: int) -> None:
        self._bytes -= size
        self._memory.pop(handle, None)
        self._quietly(partial(self._connection.free, handle))

    def _unloaded(self, loaded: object) -> None:
        self._quietly(partial(self._connection.unload, loaded))

    def _discarded(self, ready: object) -> None:
        self._quietly(partial(self._connection.discard, ready))

    def _forgotten(self, ready: object) -> None:
        self._quietly(partial(self._connection.forget, ready))

    def _quietly(self, call: Callable[[], object]) -> None:
        """Give something back, which a device that is gone has lost anyway."""
        if self._ended is None:
            try:
                call()
            except DriverError as error:
                self._failed("give memory back", error)
