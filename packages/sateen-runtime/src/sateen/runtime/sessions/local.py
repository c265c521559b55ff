"""A session in a child process of this machine, with limits on time and memory.

The child shares only a socket with its parent. A crash, an endless loop or excessive use of memory in compiled code
ends the child, and the parent raises the error that says which it was.
"""

from __future__ import annotations

import os
import socket
from time import monotonic

from sateen.runtime.errors import ArgumentError, SessionCrashedError, SessionError, SessionTimeoutError
from sateen.runtime.fork_safe import ending
from sateen.runtime.framing import MOST_SECONDS, JsonConnection
from sateen.runtime.isolation import isolated
from sateen.runtime.process_group import ProcessGroup, cause_of
from sateen.runtime.scratch import ScratchFolder, remove_abandoned
from sateen.runtime.sessions.client import ConnectedSession
from sateen.runtime.sessions.service import SessionService

START_SECONDS = 60.0
"""How long the process of a session may take to start."""


class LocalSession(ConnectedSession):
    """A child process that runs libraries and networks.

    One request (a load, a call, a measurement) takes at most `seconds`; the child may allocate `memory_bytes` beyond
    its interpreter's memory at the start, None for no limit. Beyond a limit the child ends and the request raises
    SessionTimeoutError or SessionOutOfMemoryError; when the child dies otherwise, SessionCrashedError. From then on the
    session raises SessionError.
    """

    def __init__(self, *, seconds: float = 60.0, memory_bytes: int | None = None) -> None:
        if not 0 < seconds <= MOST_SECONDS or (memory_bytes is not None and memory_bytes <= 0):
            raise ArgumentError(
                f"expected positive limits of a session, seconds of at most {MOST_SECONDS:g}; "
                f"found seconds={seconds}, memory_bytes={memory_bytes}"
            )
        if os.name != "posix":
            raise SessionError("expected a POSIX system for a local session, whose limits are those of setrlimit")
        remove_abandoned()
        folder = _new_folder()
        ours, theirs = socket.socketpair()
        limits = [str(theirs.fileno()), str(folder.path), str(seconds), str(memory_bytes or 0)]
        command = isolated("sateen.runtime.sessions.child", limits)
        try:
            with theirs, (folder.path / SessionService.LOG).open("wb") as log:
                self._child = ProcessGroup(command, log, descriptors=[theirs.fileno()])
        except OSError as error:
            ours.close()
            folder.remove()
            raise SessionError(f"expected to start a process: {error.strerror or error}") from None
        finish = ending(self, _end, self._child, ours, folder)
        super().__init__(JsonConnection(ours), f"process {self._child.number}", seconds, finish)
        self._folder = folder.path
        try:
            self.answer("the start", monotonic() + START_SECONDS)
        except TimeoutError:
            self.close()
            raise SessionTimeoutError(f"expected a session within {START_SECONDS:g} s, none began") from None
        except BaseException as error:
            error.add_note(self._said())
            self.close()
            raise

    def explain(self, what: str, error: SessionError | None) -> SessionCrashedError:
        code = self._child.wait(1.0)
        if code is None:
            return SessionCrashedError(f"{what}: the session's process sent what is no answer: {error}")
        return SessionCrashedError(f"{what}: the session's process {cause_of(code)}")

    def _said(self) -> str:
        try:
            return (self._folder / SessionService.LOG).read_text(encoding="utf-8", errors="replace")[-2000:]
        except OSError:
            return ""


def _new_folder() -> ScratchFolder:
    try:
        return ScratchFolder()
    except OSError as error:
        reason = error.strerror or error
        raise SessionError(f"expected to make a folder for a session: {reason}; TMPDIR names another place") from None


def _end(child: ProcessGroup, connection: socket.socket, folder: ScratchFolder) -> None:
    connection.close()
    child.end()
    folder.remove()
