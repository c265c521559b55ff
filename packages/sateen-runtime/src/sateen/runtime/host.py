"""The host table for compiled code: one thread pool for all libraries of a process (docs/design/abi.md)."""

from __future__ import annotations

import ctypes

from sateen.runtime.abi import ABI_VERSION, SateenHost
from sateen.runtime.errors import ArgumentError, ArtifactError

_DefaultHost = ctypes.CFUNCTYPE(ctypes.POINTER(SateenHost))


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
        table = _DefaultHost(default_host)().contents
        if table.abi_version != ABI_VERSION:
            raise ArtifactError(f"expected a host table of ABI {ABI_VERSION}, found ABI {table.abi_version}")
        self._taken.setdefault("first", (table, owner))

    def host(self, threads: int = 0) -> SateenHost | None:
        """A table of the shared pool that uses at most `threads` threads at once, 0 for all; None before the first
        offer: then a function gets NULL and uses its own library's table. Raises ArgumentError unless the count is an
        integer of 0 or more.
        """
        if not isinstance(threads, int) or threads < 0:
            raise ArgumentError(f"expected a number of threads, 0 for all, found {threads!r}")
        if self._first is None:
            return None
        table = SateenHost.from_buffer_copy(self._first[0])
        table.threads = threads
        return table


PROCESS_POOL = HostPool()
"""The pool of this process. It is the only state that independently loaded libraries must share."""
