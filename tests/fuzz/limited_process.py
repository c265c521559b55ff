"""Child processes: one that answers calls, each within limits of processor time and memory; several that share work.

What ends the former (a crash, a hang, a run for memory) costs one call; the next one starts a fresh process.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

SECONDS = 10.0
"""Processor time of a call."""
PATIENCE = 6
"""A process that others keep from running gets so many times as long."""
BYTES = 2 << 30
LIFE = 200
"""Calls that a process answers before a fresh one takes its place."""
FORK = multiprocessing.get_context("fork")  # what takes seconds to make is there at once


class EndedError(Exception):
    """A call that gave no answer: the process raised, died or was ended."""


class LimitedProcess:
    """Answers calls of one function."""

    def __init__(self, function: Callable[..., Any], seconds: float = SECONDS) -> None:
        """Of `seconds` of processor time for a call."""
        self._function = function
        self._seconds = seconds
        self._process: Any = None
        self._calls = 0
        self._errors: IO[str] = TemporaryFile("w+")  # noqa: SIM115  # of the process, for as long as this lives

    def __call__(self, *arguments: Any) -> Any:
        """The function's result. Raises EndedError where there is none."""
        if self._process is None or self._calls >= LIFE:
            self._start()
        self._calls += 1
        self._connection.send(arguments)
        begun, last = self._processor_time(), time.monotonic() + PATIENCE * self._seconds
        left = self._seconds
        while not self._connection.poll(left):
            left = self._seconds - (self._processor_time() - begun)
            if left <= 0 or time.monotonic() > last:
                os.kill(self._process.pid, signal.SIGABRT)  # faulthandler says where it hangs
                raise EndedError(f"hang: {self._end()}")
        try:
            answer, trouble = self._connection.recv()
        except (EOFError, ConnectionResetError):
            raise EndedError(f"crash: {self._end()}") from None
        if trouble:
            raise EndedError(trouble)
        return answer

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        self.close()
        self._calls = 0
        self._errors.seek(0)
        self._errors.truncate()
        self._connection, other = FORK.Pipe()
        self._process = FORK.Process(target=_serve, args=(other, self._function, self._errors))
        self._process.start()
        other.close()

    def _processor_time(self) -> float:
        """Seconds of the process and its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _end(self) -> str:
        """How the process ended, and what it said then."""
        self._process.join(5)
        code = self._process.exitcode
        self.close()
        self._errors.seek(0)
        return f"exit {code}\n{self._errors.read()[-4000:]}"


def results_of(work: Callable[..., Iterator[Any]], numbers: Iterable[int], jobs: int, *arguments: Any) -> Iterator[Any]:
    """What work(numbers, *arguments) gives in each of `jobs` processes, among which the numbers are dealt out.

    Results come as they are made; a process that dies gives no more.
    """
    dealt = list(numbers)
    waiting: list[Connection] = []
    for job in range(jobs):
        ours, theirs = FORK.Pipe(duplex=False)
        FORK.Process(target=_send_results, args=(theirs, work, dealt[job::jobs], arguments)).start()
        theirs.close()
        waiting.append(ours)
    while waiting:
        for connection in wait(waiting):
            assert isinstance(connection, Connection)
            try:
                yield connection.recv()
            except EOFError:
                waiting.remove(connection)


def _send_results(
    connection: Connection, work: Callable[..., Iterator[Any]], numbers: list[int], arguments: tuple[Any, ...]
) -> None:
    for result in work(numbers, *arguments):
        connection.send(result)


def _serve(connection: Connection, function: Callable[..., Any], errors: IO[str]) -> None:
    os.dup2(errors.fileno(), 2)
    faulthandler.enable(errors)
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        try:
            arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = function(*arguments), ""
        except Exception as error:  # noqa: BLE001  # every failure is a finding
            answer = None, f"{type(error).__name__}\n{''.join(traceback.format_exception(error)[-6:])}"
        connection.send(answer)
