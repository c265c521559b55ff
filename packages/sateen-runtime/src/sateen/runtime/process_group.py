"""A child process and all that it starts: they are one group, and end together."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import IO

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05


class ProcessGroup:
    """A child that leads a group of its own, so that an interrupt from the terminal is not for it.

    The system may give the number of a group to others when its leader has been reaped and its last process is gone.
    So the leader is reaped by `end` alone, after the group was killed. Raises OSError if no process can be started.
    """

    def __init__(
        self, command: Sequence[str], log: IO[bytes], *, descriptors: Sequence[int] = (), folder: Path | None = None
    ) -> None:
        self._lock = Lock()
        self._leader = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=descriptors,
            process_group=0,
            cwd=folder,
        )

    @property
    def number(self) -> int:
        """That of the leader and of the group."""
        return self._leader.pid

    def write(self, data: bytes) -> None:
        """Gives the leader bytes on its standard input, which stays open. Raises BrokenPipeError if it has ended."""
        assert self._leader.stdin is not None
        self._leader.stdin.write(data)
        self._leader.stdin.flush()

    def wait(self, seconds: float) -> int | None:
        """The leader's exit code, as of `subprocess`; None if it lives on for so long. Where the system tells
        the end of a process, this takes no processor time from it."""
        descriptor = self._descriptor()
        if descriptor is None:
            return self._polled(seconds)
        try:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            ended.poll(seconds * 1000)
        finally:
            os.close(descriptor)
        return self._code()

    def _descriptor(self) -> int | None:
        """Stands for the leader, until it is closed; None if the system has no such thing, or the leader was reaped."""
        if not hasattr(os, "pidfd_open"):
            return None
        with self._lock:
            if self._leader.returncode is not None:
                return None
            try:
                return os.pidfd_open(self._leader.pid)
            except OSError:  # Linux before 5.3, or too many open files
                return None

    def _polled(self, seconds: float) -> int | None:
        end, pause = monotonic() + seconds, _FIRST_PAUSE
        while (code := self._code()) is None and (left := end - monotonic()) > 0:
            sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return code

    def end(self) -> int:
        """Kills all processes of the group, and gives the leader's exit code."""
        with self._lock:
            if self._leader.returncode is None:
                with suppress(ProcessLookupError, PermissionError):  # the second is macOS's answer if all have ended
                    os.killpg(self._leader.pid, signal.SIGKILL)
            code = self._leader.wait()
            assert self._leader.stdin is not None
            with suppress(BrokenPipeError):
                self._leader.stdin.close()
        return code

    def _code(self) -> int | None:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13, where a group whose leader ends by itself lives on
            return self._leader.poll()
        with self._lock:
            if self._leader.returncode is not None:
                return self._leader.returncode
            found = os.waitid(os.P_PID, self._leader.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def cause_of(code: int) -> str:
    """What the exit code of a process says, as of `subprocess`: "died of SIGSEGV". Some signals have no name."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"
