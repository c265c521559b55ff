"""How many of a machine's registers the buffers around a statement take, and what can be kept in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.stmt import Barrier, Evaluate, Invoke, Shuffle, Timestamp
from sateen.tensor_ir.targets import Machine

LEFT_FREE = 4
"""The registers that stay for operands."""

OTHER_EFFECTS = (Barrier, Shuffle, Timestamp, Invoke, Evaluate, Launch, Copy, Wait)
"""Statements with other effects than stores, among which no access moves."""

LEAST_VECTOR_BYTES = 16
"""The least width of vectors that are worth loops of their own."""


def has_vectors(machine: Machine) -> bool:
    """Whether a machine computes in vectors. Others are small, and so are their programs to be."""
    return machine.vector_bytes >= LEAST_VECTOR_BYTES and not machine.vectors_in_scalars


class RegisterFile:
    """The vector registers of a machine, and how many of them are taken; a scalar takes one as well."""

    def __init__(self, machine: Machine) -> None:
        self.vector_bytes = machine.vector_bytes
        self.most = max(machine.vector_registers - LEFT_FREE, 0)
        self.taken = 0

    def count(self, buffer: Buffer, lanes: int) -> int:
        """The registers of a buffer of constant size whose elements are used in vectors of `lanes`; 1: one by one."""
        elements = buffer.size() or 0
        return ceil(elements / lanes) * ceil(lanes * buffer.dtype.bytes / self.vector_bytes)

    def has_place(self, count: int) -> bool:
        """Whether so many more are free."""
        return self.taken + count <= self.most

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Those that are taken in a block are free after it."""
        before = self.taken
        yield
        self.taken = before

    def of(self, buffer: Buffer) -> int:
        """The registers of a buffer that is in registers; 0 for others."""
        if buffer.scope is not Scope.REGISTER:
            return 0
        return self.count(buffer, max(1, self.vector_bytes // buffer.dtype.bytes))

    def note(self, buffer: Buffer) -> None:
        """Count a buffer that is in registers around a statement."""
        self.taken += self.of(buffer)


def is_rounded(dtype: DType) -> bool:
    """Whether a store rounds, so that memory and registers hold different values (docs/semantics.md, 1.2)."""
    return dtype.is_float and dtype.bits < 32
