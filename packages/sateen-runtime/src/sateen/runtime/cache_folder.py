"""A folder that caches results that are costly to compute, up to a bound. Entries may be removed at any time; other
files, which a user keeps there, never are.

Only the user may write to the folder: anyone else could make the user trust or run their data. A folder that can't be
read or written, or is full, costs only time.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from time import time

from sateen.runtime.files import read_regular, require_name

ENTRY_NAME = re.compile(r"[0-9a-f]{64}")
"""The name of an entry: a SHA-256 in hexadecimal, which no file of a user has."""

_UNFINISHED = re.compile(r"\.(?:sateen-)?(\d+)-[0-9a-f]+")
"""The name of a file that a process is writing, here or by `replacing`."""
_LONGEST_WRITE = 86_400.0
"""Seconds after which no process writes an unfinished file any more, even if a process has the number in its name."""
_KEPT = 0.75
"""The part of an exceeded bound that is kept, so that not every write has to remove something."""


class CacheFolder:
    """Contents by name, a SHA-256 in hexadecimal. Beyond `most_bytes` or `most_entries` those unused for the longest
    time are removed.

    `refusal` says why nothing more is written; it is '' if all is well.
    """

    def __init__(self, path: Path, most_bytes: int, most_entries: int) -> None:
        """The folder, created if it does not exist.

        Raises OSError if it can't be created, belongs to another user, or others may write to it.
        """
        self.path = path
        self.refusal = ""
        self._most_bytes, self._most_entries = most_bytes, most_entries
        self._written: int | None = None  # since the folder was looked through; None before the first time
        require_name(path)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            remedy = "chmod go-w makes it so" if status.st_uid == os.getuid() else "name another"
            raise OSError(
                errno.EPERM,
                f"expected a folder that only its owner, you, may write to; found owner {status.st_uid} and mode "
                f"{status.st_mode & 0o777:o}; {remedy}",
                str(path),
            )

    def read(self, name: str) -> bytes | None:
        """A content, which counts as used; None if it can't be read."""
        place = self.path / name
        try:
            content = read_regular(place, self._most_bytes)
        except OSError:
            return None
        with suppress(OSError):
            os.utime(place)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Store a content; readers see all of it or nothing."""
        if self.refusal:
            return
        unfinished = self.path / f".{os.getpid()}-{token_hex(8)}"
        try:
            with unfinished.open("xb") as file:
                file.write(content)
            unfinished.replace(self.path / name)
            if self._written is None or self._written > self._most_bytes // 16:
                self.tidy()
                self._written = 0
            self._written += len(content)
        except OSError as error:
            self.refusal = error.strerror or str(error)
            _remove(unfinished)
        except BaseException:
            _remove(unfinished)
            raise

    def discard(self, name: str) -> None:
        """Remove a content that is useless."""
        _remove(self.path / name)

    def tidy(self) -> None:
        """Remove unfinished files of dead processes, and entries beyond the bounds."""
        found: list[tuple[float, int, str]] = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process has removed it
                if is_abandoned(entry.name, status.st_mtime):
                    _remove(Path(entry.path))
                elif ENTRY_NAME.fullmatch(entry.name):
                    found.append((status.st_mtime, status.st_size, entry.path))
        size, count = sum(size for _, size, _ in found), len(found)
        if size <= self._most_bytes and count <= self._most_entries:
            return
        for _, bytes_, path in sorted(found):
            if size <= _KEPT * self._most_bytes and count <= _KEPT * self._most_entries:
                return
            _remove(Path(path))
            size, count = size - bytes_, count - 1


def is_abandoned(name: str, modified: float) -> bool:
    """Whether a file of this name, last written at a time of the clock, is what a process was writing when it ended."""
    match = _UNFINISHED.fullmatch(name)
    return match is not None and (time() - modified > _LONGEST_WRITE or not _is_running(int(match[1])))


def _remove(path: Path) -> None:
    with suppress(OSError):  # it is gone, or the folder takes no changes
        path.unlink()


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
