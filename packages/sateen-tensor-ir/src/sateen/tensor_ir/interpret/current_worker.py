"""Which worker of a concurrent loop executes a place in a program, and which accesses to memory can be races there."""

from __future__ import annotations

from sateen.tensor_ir.ir.buffer import Buffer


class CurrentWorker:
    """The worker at the place that is being written; `contested` are the buffers that the program stores to."""

    def __init__(self, contested: set[Buffer]) -> None:
        self.contested = contested
        self.current: tuple[str, ...] = ()
        """The text of `memory.Worker`."""
        self.owned_by: dict[Buffer, tuple[str, ...]] = {}
        """The worker that allocated each buffer."""

    def is_contested(self, buffer: Buffer) -> bool:
        """Whether concurrent workers may access the buffer, one of them storing."""
        return buffer in self.contested and self.owned_by.get(buffer, ()) != self.current

    @property
    def text(self) -> str:
        """The worker as the program names it."""
        return f"({', '.join(self.current)})"
