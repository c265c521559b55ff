"""One session of a server: its process, its folder, and their end."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from time import monotonic

from sateen.rpc.session_limits import SessionLimits
from sateen.rpc.store import trim
from sateen.rpc.wire import Channel
from sateen.runtime import SessionService
from sateen.runtime.errors import SessionCrashedError, SessionRefusedError, SessionTimeoutError
from sateen.runtime.framing import Header
from sateen.runtime.isolation import isolated
from sateen.runtime.process_group import ProcessGroup, cause_of
from sateen.runtime.scratch import ScratchFolder

LOOK_SECONDS = 5.0
"""How often a session's folder is measured, on a machine that may measure something else."""


class ServedSession:
    """A session that a client holds, from its claim to its end."""

    def __init__(self, holder: str, seconds: float, limits: SessionLimits, store: Path) -> None:
        self.holder = holder
        self.since = monotonic()
        self._seconds = min(seconds, limits.request_seconds)
        self._limits, self._store = limits, store
        try:
            self._folder = ScratchFolder()
        except OSError as error:
            reason = error.strerror or error
            raise SessionRefusedError(f"the server can't make a folder for a session: {reason}") from None
        self._scratch = self._folder.path
        self._child: ProcessGroup | None = None
        self._lock = Lock()
        self._is_over = Event()
        self._is_watched = False
        self._has_begun = Event()
        """Set when there is a process, or none will be."""

    def start(self, channel: Channel) -> None:
        """Gives the client's connection to a new process. Raises SessionRefusedError if there is one already."""
        with self._lock:
            if self._child is not None or self._is_over.is_set():
                raise SessionRefusedError("expected a session that waits for its connection, found none")
            self._start(channel)
            self._has_begun.set()

    def _start(self, channel: Channel) -> None:
        descriptor = channel.connection.fileno()
        try:
            with (self._scratch / SessionService.LOG).open("wb") as log:
                self._child = ProcessGroup(
                    isolated("sateen.rpc.child"), log, descriptors=[descriptor], folder=self._scratch
                )
        except OSError as error:
            raise SessionRefusedError(f"the server can't start a process: {error.strerror or error}") from None
        with channel.connection:
            given = {
                "descriptor": descriptor,
                "state": channel.state,
                "scratch": str(self._scratch),
                "store": str(self._store),
                "seconds": self._seconds,
                "memory_bytes": self._limits.memory_bytes,
                "disk_bytes": self._limits.disk_bytes,
                "message_bytes": self._limits.message_bytes,
            }
            with suppress(BrokenPipeError):  # it has died already, which `watch` will say
                self._child.write(f"{json.dumps(given)}\n".encode())

    def require_unwatched(self) -> None:
        """Raises SessionRefusedError unless this is the first time."""
        with self._lock:
            if self._is_watched:
                raise SessionRefusedError("expected to watch a session once, found a second time")
            self._is_watched = True

    def watch(self) -> Header | None:
        """Waits for the end of the process, whatever brings it, and says what it was as an error for the client; None
        if the session is over before it has a process."""
        self._has_begun.wait()
        if (child := self._child) is None:
            return None
        while (code := child.wait(LOOK_SECONDS)) is None:
            trim(self._store, self._limits.store_bytes)
            used = _size_of(self._scratch)
            if used > self._limits.disk_bytes:
                child.end()
                words = f"expected files of at most {self._limits.disk_bytes} bytes in the session, found {used}"
                return {"error": SessionRefusedError.__name__, "message": words}
        child.end()  # which has ended, maybe not all that it has started
        if code == -signal.SIGALRM:
            words = f"expected each request to end within {self._seconds:g} s, one did not"
            return {"error": SessionTimeoutError.__name__, "message": words}
        words = f"the session's process {cause_of(code)}{self._last_words()}"
        return {"error": SessionCrashedError.__name__, "message": words}

    def end(self) -> None:
        """Ends the process and all that it has started, and removes its folder."""
        self._is_over.set()
        self._has_begun.set()
        with self._lock:
            if self._child is not None:
                self._child.end()
            self._folder.remove()
        trim(self._store, self._limits.store_bytes)

    def _last_words(self) -> str:
        try:
            text = (self._scratch / SessionService.LOG).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""
        return f"; its last line was {text.splitlines()[-1]!r:.300}" if text else ""


def _size_of(folder: Path) -> int:
    """The bytes of all files in a folder that some process may be changing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total
