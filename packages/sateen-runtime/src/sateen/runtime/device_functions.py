"""A device that a program brings: functions in Python as the table that compiled code calls (docs/design/abi.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import index
from threading import local
from typing import Any

from sateen.runtime import abi
from sateen.runtime.abi import DLDevice, SateenDevice, SateenLaunch, SateenPlace, Status
from sateen.runtime.device import Device, DeviceKind


@dataclass(frozen=True, slots=True)
class DevicePlace:
    """A byte of memory, `offset` bytes from its start: memory that the device's `alloc` gave, or an address of the
    host."""

    memory: int
    offset: int
    device: Device


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A kernel by its name, and its arguments, places before integers: `grid` blocks of `block` threads along x, y and
    z execute it, in a queue."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    places: tuple[DevicePlace, ...]
    scalars: tuple[int, ...]
    queue: int


@dataclass(frozen=True, slots=True)
class DeviceFailure:
    """What a function of a device failed with: the status that it returned, and its exception if it raised one."""

    device: Device
    function: str
    status: int
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DeviceFunctions:
    """The functions of a device, for `Module.with_devices`. Compiled code may call them as long as this value lives,
    which a module that was given it keeps alive.

    `alloc(bytes)` returns memory as a number other than 0, or 0 if there is none left, and `free(memory)` ends its use.
    `copy(queue, to, start, bytes)` queues a copy from `start`, `launch(launch)` a kernel; `wait(queue, other)` lets
    a queue wait for another one, and `sync(queue)` returns when the work of a queue has ended. The four return None or
    0 for success, otherwise OUT_OF_MEMORY, LAUNCH or QUEUE of `Status`.

    An exception ends the call of the compiled function: it gets OUT_OF_MEMORY of `alloc` and for a MemoryError, LAUNCH
    of `launch` and QUEUE of the others, and the error that the caller sees has the exception as its cause. Functions
    may be called from several threads at once.
    """

    device: Device
    alloc: Callable[[int], int]
    free: Callable[[int], object]
    copy: Callable[[int, DevicePlace, DevicePlace, int], int | None]
    launch: Callable[[KernelLaunch], int | None]
    wait: Callable[[int, int], int | None]
    sync: Callable[[int], int | None]
    table: SateenDevice = field(init=False, repr=False)
    """What compiled code gets, valid as long as this value lives."""
    _callbacks: tuple[object, ...] = field(init=False, repr=False)
    _failed: local = field(init=False, repr=False, default_factory=local)
    """The first failure of the call that runs on a thread."""

    def __post_init__(self) -> None:
        kept = _FirstFailure(self.device, self._failed)
        alloc, free, copy, launch, wait, sync = self.alloc, self.free, self.copy, self.launch, self.wait, self.sync

        def allocated(_: Any, size: int) -> int:
            return kept.memory(lambda: alloc(size))

        def freed(_: Any, memory: int) -> None:
            def call() -> None:
                free(memory)

            kept.status("free", Status.OK, call)

        def copied(_: Any, queue: int, to: Any, start: Any, size: int) -> int:
            return kept.status("copy", Status.QUEUE, lambda: copy(queue, _place(to[0]), _place(start[0]), size))

        def launched(_: Any, given: Any) -> int:
            return kept.status("launch", Status.LAUNCH, lambda: launch(_launch(given[0])))

        def waited(_: Any, queue: int, other: int) -> int:
            return kept.status("wait", Status.QUEUE, lambda: wait(queue, other))

        def ended(_: Any, queue: int) -> int:
            return kept.status("sync", Status.QUEUE, lambda: sync(queue))

        callbacks = (
            abi.DeviceAlloc(allocated), abi.DeviceFree(freed), abi.DeviceCopy(copied),
            abi.DeviceLaunch(launched), abi.DeviceWait(waited), abi.DeviceSync(ended),
        )  # fmt: skip
        addresses = [ctypes.cast(callback, ctypes.c_void_p).value for callback in callbacks]
        table = SateenDevice(DLDevice(self.device.kind, self.device.index), None, *addresses)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_callbacks", callbacks)

    def take_failure(self) -> DeviceFailure | None:
        """The first failure on this thread since the last time it was taken; None without one."""
        failure: DeviceFailure | None = self._failed.__dict__.pop("failure", None)
        return failure


@dataclass(frozen=True, slots=True)
class _FirstFailure:
    """Calls functions of a device for compiled code, through which no exception may go, and keeps the first failure."""

    device: Device
    failed: local

    def memory(self, alloc: Callable[[], int]) -> int:
        """What `alloc` gives; 0 after a failure."""
        error = None
        try:
            memory = index(alloc())
            if memory != (ctypes.c_void_p(memory).value or 0):
                raise OverflowError(f"expected memory as a number of the size of a pointer, found {memory}")
            if memory:
                return memory
        except BaseException as raised:  # noqa: BLE001 - kept for the caller of the compiled function
            error = raised
        self._keep(DeviceFailure(self.device, "alloc", Status.OUT_OF_MEMORY, error))
        return 0

    def status(self, function: str, of_exceptions: Status, call: Callable[[], int | None]) -> int:
        """The status that `call` returns, or that its exceptions stand for."""
        error, status = None, 0
        try:
            returned = call()
            status = 0 if returned is None else index(returned)
            if not 0 <= status < 1 << 31:
                raise OverflowError(f"expected a status of 31 bits, found {status}")
        except BaseException as raised:  # noqa: BLE001 - kept for the caller of the compiled function
            error = raised
            status = Status.OUT_OF_MEMORY if isinstance(raised, MemoryError) and of_exceptions else of_exceptions
        if status or error is not None:
            self._keep(DeviceFailure(self.device, function, status, error))
        return status

    def _keep(self, failure: DeviceFailure) -> None:
        self.failed.__dict__.setdefault("failure", failure)


def _place(place: SateenPlace) -> DevicePlace:
    device = Device(DeviceKind(place.device.device_type), place.device.device_id)
    return DevicePlace(place.memory or 0, place.offset, device)


def _launch(launch: SateenLaunch) -> KernelLaunch:
    return KernelLaunch(
        launch.kernel.decode(),
        tuple(launch.grid),
        tuple(launch.block),
        tuple(map(_place, launch.places[: launch.place_count])),
        tuple(launch.scalars[: launch.scalar_count]),
        launch.queue,
    )
