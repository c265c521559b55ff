"""Measures candidates in a child process, so that one that crashes or hangs affects only itself."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from statistics import median, quantiles
from types import TracebackType
from typing import Protocol, Self

from sateen.graph_ir.ir import Problem
from sateen.runtime.errors import ArgumentError, ExecutionError, SessionCrashedError, SessionError, SessionTimeoutError
from sateen.runtime.isolation import isolated
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen import receive_message, send_message
from sateen.topi.methods import Method


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a candidate, with the seconds of its competitor for each sample."""

    seconds: tuple[float, ...]
    against: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The candidate's time over the other's: the median of samples taken in turns."""
        return median(self._ratios)

    @property
    def spread(self) -> float:
        """The range between the quartiles over the median: of the ratios, or of the samples if there is no
        competitor."""
        samples = self.seconds if self.seconds == self.against else self._ratios
        if len(samples) < 2:
            return 0.0
        lower, _, upper = quantiles(samples, n=4, method="inclusive")
        return (upper - lower) / median(samples)

    @property
    def _ratios(self) -> tuple[float, ...]:
        return tuple(own / other for own, other in zip(self.seconds, self.against, strict=True))


class Measurer(Protocol):
    """Measures candidates."""

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        """Samples of a method in turns with those of another, or alone if there is none.

        Raises SateenError if the method can't be measured or gives a wrong result.
        """


class MeasuringProcess:
    """Measures on this machine, in a child process that takes at most `seconds` for a candidate; a context manager.

    A candidate is compiled, its result compared with that of the default method, and timed on one
    thread. Raises SessionTimeoutError, SessionCrashedError, or ExecutionError with the candidate's error.
    """

    def __init__(self, target: Target, seconds: float = 30.0) -> None:
        if os.name != "posix":
            raise SessionError("expected a POSIX system to measure on, whose timers end what hangs")
        if not seconds > 0:
            raise ArgumentError(f"expected a positive limit of seconds, found {seconds}")
        self._target = target
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        if self._child is None:
            command = isolated("sateen.graph_ir.tune.measuring_child")
            # In a group of its own: an interrupt from the terminal is for the process that asked.
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        request = {
            "problem": str(problem),
            "method": str(method),
            "against": "" if against is None else str(against),
            "target": str(self._target),
            "limit": self._seconds,
        }
        try:
            send_message(self._child.stdin, request)
            answer = receive_message(self._child.stdout)
        except (BrokenPipeError, ValueError):  # it died, at worst amid its answer
            answer = None
        except BaseException:  # the answer to a request that was interrupted may yet come
            self._child.kill()
            self.close()
            raise
        if answer is None:
            raise self._ended(self._child, method)
        if "error" in answer:
            raise ExecutionError(f"{method}: {answer['error']}")
        return Timing(tuple(answer["seconds"]), tuple(answer["against"]))

    def _ended(self, child: subprocess.Popen[bytes], method: Method) -> SessionError:
        self.close()
        code = child.returncode
        if code == -signal.SIGALRM:
            return SessionTimeoutError(f"{method}: expected it to end within {self._seconds:g} s, it did not")
        cause = f"died of {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        return SessionCrashedError(f"{method}: the measuring process {cause}")

    def close(self) -> None:
        """End the child; another one starts when it is needed."""
        child, self._child = self._child, None
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # of a request that it did not live to read
                stream.close()
        child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._child is not None:
            self._child.kill()
        self.close()
