"""A child process and all that it starts: they are one group, and end together."""

from __future__ import annotations

import os
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
        """The leader's exit code, as of `subprocess`; None if it lives on for so long."""
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
