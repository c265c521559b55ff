"""The folder of a session. One whose owner has died is removed by the next owner of another, of the same user.

The owner, a server or the process that has a local session, holds a lock on the file `lock` of each of its folders; the
system gives it up when the process ends, however.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

_PREFIX = "sateen-session-"
_LOCK = "lock"


class ScratchFolder:
    """A new folder, until `remove`. Raises OSError if none can be made."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _locked(folder: Path) -> BinaryIO:
    """The file that says that somebody has the folder, for as long as it is open."""
    try:
        begun = folder / ".lock"
        lock = begun.open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
        begun.rename(folder / _LOCK)  # so that nobody finds it without the lock
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return lock


def remove_abandoned() -> None:
    """Removes the folders of owners that have died without doing so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is another user's, nobody's, held, or removed just now
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with open(os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
