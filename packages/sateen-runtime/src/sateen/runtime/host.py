"""The host table for compiled code: one thread pool for all libraries of a process, and what a function is hosted by
(docs/design/abi.md)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from sateen.runtime.abi import ABI_VERSION, FIRST_ABI_WITH_DEVICES, OLDEST_ABI_VERSION, SateenDevice, SateenHost
from sateen.runtime.device_functions import DeviceFunctions
from sateen.runtime.errors import ArgumentError, ArtifactError

_DefaultHost = ctypes.CFUNCTYPE(ctypes.c_void_p)


class HostPool:
    """The table of the first library that offers one, handed to every other library.

    That library is never unloaded: its pool may run the code of any other. After a fork the table is still valid, since
    the pool starts new threads in the child.
    """

    def __init__(self) -> None:
        self._taken: dict[str, tuple[SateenHost, object]] = {}
        """Of at most one entry: `setdefault` is atomic, so that two threads which offer at once see the same one."""

    @property
    def _first(self) -> tuple[SateenHost, object] | None:
        return self._taken.get("first")

    def offer(self, default_host: int, owner: object) -> None:
        """Takes the table that the function at address `default_host` returns, kept alive by `owner`, unless there is
        one already. Raises ArtifactError for a table of another ABI.
        """
        if self._first is not None:
            return
        address = _DefaultHost(default_host)()
        version = ctypes.c_uint32.from_address(address).value
        if not OLDEST_ABI_VERSION <= version <= ABI_VERSION:
            raise ArtifactError(
                f"expected a host table of ABI {OLDEST_ABI_VERSION} to {ABI_VERSION}, found ABI {version}"
            )
        table = SateenHost()
        ctypes.memmove(ctypes.addressof(table), address, SateenHost.devices.offset)
        self._taken.setdefault("first", (table, owner))

    def table(self) -> SateenHost | None:
        """A copy of the shared table, valid as long as this pool. None before the first offer."""
        return None if self._first is None else SateenHost.from_buffer_copy(self._first[0])


PROCESS_POOL = HostPool()
"""The pool of this process. It is the only state that independently loaded libraries must share."""


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A table, and the devices in it, which live as long."""

    table: SateenHost
    devices: tuple[DeviceFunctions, ...] = ()
    pointers: ctypes.Array[ctypes._Pointer[SateenDevice]] | None = None
    """The addresses of the devices' tables, as the table has them."""

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


@dataclass(frozen=True, slots=True)
class Hosting:
    """What compiled code is hosted by: the threads of `pool`, of which it uses at most `threads` at once, 0 for all,
    and the devices that it launches kernels on. The code is of ABI `abi_version`.

    Raises ArgumentError for a number of threads that is no integer of 0 or more, for devices that are no
    DeviceFunctions, and for devices of code whose ABI has none.
    """

    pool: HostPool = PROCESS_POOL
    threads: int = 0
    devices: tuple[DeviceFunctions, ...] = ()
    abi_version: int = ABI_VERSION

    def __post_init__(self) -> None:
        if not isinstance(self.threads, int) or self.threads < 0:
            raise ArgumentError(f"expected a number of threads, 0 for all, found {self.threads!r}")
        for device in self.devices:
            if not isinstance(device, DeviceFunctions):
                raise ArgumentError(f"expected devices as DeviceFunctions, found {device!r:.80}")
        if self.devices and self.abi_version < FIRST_ABI_WITH_DEVICES:
            raise ArgumentError(
                f"expected code of ABI {FIRST_ABI_WITH_DEVICES} for devices, found ABI {self.abi_version}, which has "
                "none; compile it again"
            )

    def host(self) -> Host | None:
        """A table of its own. None before the pool has one: then a function gets NULL and uses its own library's table.
        Raises ArgumentError if there is no table to put devices and a number of threads into.
        """
        table = self.pool.table()
        if table is None:
            if self.devices or self.threads:
                given = "devices" if self.devices else "a number of threads"
                raise ArgumentError(f"expected code with a host table to put {given} into, found none")
            return None
        table.abi_version, table.threads = self.abi_version, self.threads
        if not self.devices:
            return Host(table)
        pointers = (ctypes.POINTER(SateenDevice) * len(self.devices))(*(ctypes.pointer(d.table) for d in self.devices))
        table.devices, table.device_count = ctypes.addressof(pointers), len(self.devices)
        return Host(table, self.devices, pointers)


HOSTED_BY_PROCESS = Hosting()
"""All threads of the process's pool, and no devices."""
