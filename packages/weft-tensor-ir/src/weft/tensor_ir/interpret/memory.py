"""Memory of the loop interpreter: a dictionary from indices to values that traps what hardware would let pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from weft.tensor_ir.interpret.scalars import Trap, Value, elements
from weft.tensor_ir.ir.buffer import Buffer

Indices = tuple[int, ...]
Worker = tuple[int, ...]
"""The iteration of the concurrent loops (parallel, threadIdx) that executes."""


class Memory(dict[Indices, Value]):
    """The elements of a buffer that have been written. `memory[i, j]` loads."""

    def __init__(self, buffer: Buffer, shape: Sequence[int], data: np.ndarray[Any, Any] | None = None) -> None:
        self.buffer = buffer
        self.shape = tuple(shape)
        if data is not None:
            self.update(zip(product(*map(range, self.shape)), elements(data, buffer.dtype), strict=True))

    def __missing__(self, indices: Indices) -> Value:
        self._check(indices, "load from")
        raise Trap(f"load from {self._element(indices)}, which has not been written")

    def store(self, indices: Indices, value: Value) -> None:
        self._check(indices, "store to")
        self[indices] = value

    def _check(self, indices: Indices, what: str) -> None:
        for index, extent in zip(indices, self.shape, strict=True):
            if not 0 <= index < extent:
                raise Trap(f"{what} {self._element(indices)}, outside of its shape {list(self.shape)}")

    def _element(self, indices: Indices) -> str:
        return f"{self.buffer.name}{list(indices)}"


class Clock:
    """Counts phases: what one worker does in a phase has no order to what another does in it."""

    def __init__(self) -> None:
        self.phase = 0


_SEVERAL: Worker = (-1,)


class SharedMemory(Memory):
    """Memory that concurrent workers use. It traps races: accesses to an element by two workers in one phase, one of

    which changes it. Several that store the same value are let pass.
    """

    def __init__(
        self, buffer: Buffer, shape: Sequence[int], clock: Clock, data: np.ndarray[Any, Any] | None = None
    ) -> None:
        super().__init__(buffer, shape, data)
        self.clock = clock
        self.readers: dict[Indices, tuple[int, Worker]] = {}
        self.writers: dict[Indices, tuple[int, Worker]] = {}

    def load_by(self, worker: Worker, indices: Indices) -> Value:
        value = self[indices]
        if self._others(self.writers, worker, indices):
            raise Trap(f"{self._element(indices)} is loaded while another thread stores it: a barrier is missing")
        self._mark(self.readers, worker, indices)
        return value

    def store_by(self, worker: Worker, indices: Indices, value: Value) -> None:
        old = self.get(indices)
        if old is None or not (old == value or (math.isnan(old) and math.isnan(value))):
            for others, does in ((self.writers, "stores another value to"), (self.readers, "loads")):
                if self._others(others, worker, indices):
                    element = self._element(indices)
                    raise Trap(f"{element} is stored while another thread {does} it: a barrier is missing")
        self._mark(self.writers, worker, indices)
        self.store(indices, value)

    def _others(self, marks: dict[Indices, tuple[int, Worker]], worker: Worker, indices: Indices) -> bool:
        phase, other = marks.get(indices, (-1, worker))
        stored_by_all = marks is self.writers and other == _SEVERAL
        return phase == self.clock.phase and not _is_same(other, worker) and not stored_by_all

    def _mark(self, marks: dict[Indices, tuple[int, Worker]], worker: Worker, indices: Indices) -> None:
        phase, other = marks.get(indices, (-1, worker))
        same = phase != self.clock.phase or _is_same(other, worker)
        marks[indices] = self.clock.phase, worker if same else _SEVERAL


def _is_same(a: Worker, b: Worker) -> bool:
    """Whether one executes inside the other: what stands around an inner concurrent loop is done by all its workers."""
    return a[: len(b)] == b[: len(a)]


_END = object()


def interleave(threads: Iterator[Iterator[None]]) -> Iterator[None]:
    """Run threads from barrier to barrier; yields when all of them wait at one."""
    waiting = list(threads)
    while waiting:
        count = len(waiting)
        waiting = [thread for thread in waiting if next(thread, _END) is not _END]
        if waiting:
            if len(waiting) < count:
                raise Trap(f"a barrier is reached by {len(waiting)} of {count} threads")
            yield
