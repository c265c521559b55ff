"""The host table for compiled code: one thread pool for all libraries of a process (docs/design/abi.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from sateen.runtime.abi import ABI_VERSION, OLDEST_ABI_VERSION, SateenDevice, SateenHost
from sateen.runtime.errors import ArgumentError, ArtifactError

_DefaultHost = ctypes.CFUNCTYPE(ctypes.c_void_p)


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A table, and the devices in it, which live as long."""

    table: SateenHost
    devices: object = None

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


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

    def host(
        self, threads: int = 0, devices: Sequence[SateenDevice] = (), abi_version: int = ABI_VERSION
    ) -> Host | None:
        """A table of the shared pool that uses at most `threads` threads at once, 0 for all, and offers `devices`, for
        code of an `abi_version`. None before the first offer: then a function gets NULL and uses its own library's
        table. Raises ArgumentError unless the count is an integer of 0 or more.
        """
        if not isinstance(threads, int) or threads < 0:
            raise ArgumentError(f"expected a number of threads, 0 for all, found {threads!r}")
        if self._first is None:
            return None
        table = SateenHost.from_buffer_copy(self._first[0])
        table.abi_version, table.threads = abi_version, threads
        if not devices:
            return Host(table)
        pointers = (ctypes.POINTER(SateenDevice) * len(devices))(*map(ctypes.pointer, devices))
        table.devices, table.device_count = ctypes.addressof(pointers), len(devices)
        return Host(table, (pointers, devices))


PROCESS_POOL = HostPool()
"""The pool of this process. It is the only state that independently loaded libraries must share."""
