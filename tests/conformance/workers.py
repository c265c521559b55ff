"""Processes that examine cases: each case has a time limit, and a crash costs one case."""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import cast

from cases import Case
from examination import Outcome, Verdict, examine

from sateen.tensor_ir import ObjectCache

FORK = multiprocessing.get_context("fork")  # the cases, which take seconds to make, are there at once


class Worker:
    """A process that answers the name of a case with its outcome."""

    def __init__(self, cases: Mapping[str, Case], cache: Path) -> None:
        self.connection, other = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(other, cases, cache), daemon=True)
        self.process.start()
        other.close()
        self.name = ""
        self.deadline = 0.0

    def start(self, name: str, limit: float) -> None:
        self.name = name
        self.deadline = time.monotonic() + limit
        self.connection.send(name)

    def result(self) -> Outcome | None:
        """The outcome, or None while there is none and time is left. A worker that failed ends."""
        if self.connection.poll():
            try:
                return cast(Outcome, self.connection.recv())
            except EOFError:
                self.process.join()
                return Outcome(self.name, Verdict.FAILED, f"the process ended with {self.process.exitcode}")
        if time.monotonic() < self.deadline:
            return None
        self.process.kill()
        self.process.join()
        return Outcome(self.name, Verdict.FAILED, "past the time limit")


def examine_all(cases: Mapping[str, Case], processes: int, limit: float, cache: Path) -> Iterator[Outcome]:
    """The outcome of each case, in the order of their ends. `limit` is in seconds for each."""
    names = deque(cases)
    idle = [Worker(cases, cache) for _ in range(min(processes, len(names)))]
    busy: list[Worker] = []
    while names or busy:
        while names and idle:
            worker = idle.pop()
            worker.start(names.popleft(), limit)
            busy.append(worker)
        soonest = min(worker.deadline for worker in busy)
        wait([worker.connection for worker in busy], max(soonest - time.monotonic(), 0))
        for worker, outcome in [(worker, worker.result()) for worker in busy]:
            if outcome is not None:
                busy.remove(worker)
                idle.append(worker if worker.process.is_alive() else Worker(cases, cache))
                yield outcome
    _end(idle)


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.connection.send(None)  # a closed pipe would not end it: processes forked later hold its other end open
        worker.process.join()


def _serve(connection: Connection, cases: Mapping[str, Case], cache: Path) -> None:
    objects = ObjectCache(cache)
    while (name := connection.recv()) is not None:
        connection.send(examine(cases[name], objects))
