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
    """A queue of a device, whose work is done in order; work in different queues is done in any order.

    Raises LoweringError for a number below 0, and for one that takes more than 31 bits.
    """

    device: Device
    number: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.number < 1 << 31:
            raise LoweringError(f"expected a queue of a number from 0 to {(1 << 31) - 1}, found {self.number}")

    def __str__(self) -> str:
        return f"{self.device} queue {self.number}" if self.number else str(self.device)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch(Stmt):
    """Put a kernel into a queue.

    `grid` has the number of blocks along x, y and z, `block` the number of threads in each. Each argument is a buffer
    and the byte offset at which the kernel's own buffer begins; scalars of type index follow. Raises LoweringError for
    another number of offsets, for a grid or a block without three extents, and for a block without threads.
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
        if not all(0 < threads < 1 << 31 for threads in self.block):
            raise LoweringError(f"a block of kernel {self.kernel!r} expects threads, found {list(self.block)}")

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
    """The host waits until all work in `queue` is done. With `by`, later work in that queue waits instead."""

    queue: Queue
    by: Queue | None = None
    span: Span | None = None
