"""Memory of the loop interpreter: a dictionary from indices to values, which traps faults that hardware does not
notice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from sateen.tensor_ir.interpret.scalars import Trap, Value, elements
from sateen.tensor_ir.ir.buffer import Buffer

Indices = tuple[int, ...]
Worker = tuple[Any, ...]
"""A worker: for each surrounding concurrent loop, from the outside, the number of its execution and the iteration.

The work of a block's threads between two barriers counts as one execution of a loop over threads.
"""


class TrappingMemory(dict[Indices, Value]):
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

    def copy_to(self, array: np.ndarray[Any, Any]) -> None:
        """Put the elements that have been written into an array of this shape."""
        for indices, value in self.items():
            array[indices] = value

    def _check(self, indices: Indices, what: str) -> None:
        for index, extent in zip(indices, self.shape, strict=True):
            if not 0 <= index < extent:
                raise Trap(f"{what} {self._element(indices)}, outside of its shape {list(self.shape)}")

    def _element(self, indices: Indices) -> str:
        return f"{self.buffer.name}{list(indices)}"


class Clock:
    """Numbers the executions of concurrent loops."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> int:
        self.now += 1
        return self.now


class SharedMemory(TrappingMemory):
    """Memory that concurrent workers use. It traps races: accesses to an element by two of them, one of which changes
    it. Several stores of the same value are allowed.
    """

    def __init__(self, buffer: Buffer, shape: Sequence[int], data: np.ndarray[Any, Any] | None = None) -> None:
        super().__init__(buffer, shape, data)
        self.readers: dict[Indices, Worker] = {}
        self.writers: dict[Indices, Worker] = {}

    def load_by(self, worker: Worker, indices: Indices) -> Value:
        value = self[indices]
        if _conflict(self.writers.get(indices, ()), worker) not in (None, _SEVERAL):
            raise Trap(f"{self._element(indices)} is loaded while another thread stores it: a barrier is missing")
        _mark(self.readers, worker, indices)
        return value

    def store_by(self, worker: Worker, indices: Indices, value: Value) -> None:
        old = self.get(indices)
        if old is None or not (old == value or (math.isnan(old) and math.isnan(value))):
            for others, does in ((self.writers, "stores another value to"), (self.readers, "loads")):
                if _conflict(others.get(indices, ()), worker) is not None:
                    element = self._element(indices)
                    raise Trap(f"{element} is stored while another thread {does} it: a barrier is missing")
        _mark(self.writers, worker, indices)
        self.store(indices, value)


_SEVERAL = "several iterations"


def _mark(marks: dict[Indices, Worker], worker: Worker, indices: Indices) -> None:
    """Note which worker accessed an element; for several at once, their common part."""
    other = marks.get(indices, ())
    if _conflict(other, worker) is None:
        marks[indices] = worker
    else:
        same = next(depth for depth, (x, y) in enumerate(zip(other, worker, strict=False)) if x != y)
        marks[indices] = (*worker[:same], _SEVERAL)


def _conflict(other: Worker, worker: Worker) -> object | None:
    """The iteration of `other`, if it is another one of a loop that `worker` executes as well."""
    for depth, (x, y) in enumerate(zip(other, worker, strict=False)):
        if x != y:
            return x if depth % 2 else None
    return None


_END = object()


def interleave(threads: Iterator[Iterator[str]]) -> Iterator[str]:
    """Run threads from barrier to barrier; yields what for when all of them wait."""
    waiting = list(threads)
    while waiting:
        count = len(waiting)
        reached = [(thread, reason) for thread in waiting if (reason := next(thread, _END)) is not _END]
        waiting = [thread for thread, _ in reached]
        if waiting:
            reasons = sorted({str(reason) for _, reason in reached})
            if len(waiting) < count or len(reasons) > 1:
                raise Trap(f"a {' or a '.join(reasons)} is reached by {len(waiting)} of {count} threads")
            yield reasons[0]


def lane_of(lane: int, width: int) -> int:
    """The lane of a shuffle. Traps if there is none in a warp of `width` threads."""
    if not 0 <= lane < width:
        raise Trap(f"a shuffle expects a lane below {width}, found {lane}")
    return lane


def taken(values: Mapping[Any, Any], place: tuple[Any, ...]) -> Any:
    """What the thread at a place has laid down for others of its warp. Traps if there is no such thread."""
    if place not in values:
        raise Trap("a shuffle takes a value of a thread that the block does not have")
    return values[place]
