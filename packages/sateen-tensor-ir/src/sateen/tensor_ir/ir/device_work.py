"""Statements by which a host gives work to a device.

    s = Launch(kernel, queue, grid, block, buffer+offset..., scalar...)
      | Copy(queue, target+offset, source+offset, size) | Wait(queue, by?)

The buffers of these statements lie in memory of the device (`Buffer.device`), those of a copy in the host's as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sateen.runtime.device import Device
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.span import Span
from sateen.tensor_ir.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class Queue:
    """A line of work of a device, which it does in order; what is in different lines it does in any order."""

    device: Device
    number: int = 0

    def __str__(self) -> str:
        return f"{self.device} queue {self.number}" if self.number else str(self.device)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch(Stmt):
    """Put a kernel into a queue: a grid of so many blocks along x, y and z, each of so many threads.

    Each argument is a buffer and the byte offset in it at which the kernel's own begins, then come scalars of type
    index. Raises LoweringError for another number of offsets, and for a grid or a block that has not three extents.
    """

    kernel: str
    queue: Queue
    grid: tuple[Expr, ...]
    block: tuple[int, ...]
    buffers: tuple[Buffer, ...]
    offsets: tuple[Expr, ...]
    scalars: tuple[Expr, ...] = ()
    span: Span | None = None

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.buffers):
            found = f"{len(self.offsets)} offsets for {len(self.buffers)} buffers"
            raise LoweringError(f"a launch of {self.kernel!r} expects an offset for each buffer, found {found}")
        if (len(self.grid), len(self.block)) != (3, 3):
            found = f"{len(self.grid)} and {len(self.block)}"
            raise LoweringError(f"a launch of {self.kernel!r} expects three extents of grid and block, found {found}")

    @property
    def arguments(self) -> Iterable[tuple[Buffer, Expr]]:
        """Each buffer with its offset."""
        return zip(self.buffers, self.offsets, strict=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copy(Stmt):
    """Put into a queue a copy of `size` bytes from a byte offset of `source` to one of `target`."""

    queue: Queue
    target: Buffer
    target_offset: Expr
    source: Buffer
    source_offset: Expr
    size: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Wait(Stmt):
    """The host waits until all that is in `queue` is done. With `by`, what comes into that queue from now on waits."""

    queue: Queue
    by: Queue | None = None
    span: Span | None = None
