"""The user's files: they are read only if they are regular and within a bound, and are replaced as a whole or not at
all.

A refusal raises an OSError whose `strerror` gives the reason, like refusals of the system.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

WRITE_BYTES = 1 << 18
"""The most bytes that are written at a time. Linux looks for a piece of memory as large as a write to keep what is
written; where there are few at hand, writing 4 MiB at a time took up to ten times as long."""
_KINDS = {
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file that may have become a pipe, without waiting for a writer."""


def open_regular(path: Path) -> BufferedReader:
    """A regular file, opened for reading. A pipe could keep the reader waiting, and a device has no end."""
    require_name(path)
    _require_regular(path, os.stat(path))
    descriptor = os.open(path, _FLAGS)
    try:
        _require_regular(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file of at most `most_bytes` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise OSError(errno.EFBIG, f"it has {size} bytes, more than {most_bytes}", str(path))
        return file.read(size)


@contextmanager
def replacing(place: Path, *, is_kept: bool = True) -> Iterator[BinaryIO]:
    """A new file next to `place`, which replaces it when the block ends, and is removed if the block fails.

    Processes that read or have mapped the place see either the old file or the new one. A symbolic link is replaced,
    not followed. If one block is inside another, neither file is replaced before both are written. Without `is_kept`
    the file may be lost when the machine loses its power, and nobody waits for the disk.
    """
    require_name(place)
    if place.exists():
        _require_regular(place, os.stat(place))
    temporary = place.with_name(f".sateen-{os.getpid()}-{token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if is_kept:
                os.fsync(file.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_in_pieces(file: BinaryIO, content: bytes | memoryview) -> None:
    """Write all of a large content, `WRITE_BYTES` at a time."""
    view = memoryview(content)
    file.writelines(view[start : start + WRITE_BYTES] for start in range(0, len(view), WRITE_BYTES))


def require_name(path: Path) -> None:
    """Raises OSError for a path that can't name a file."""
    if "\0" in str(path) or not path.name:
        raise OSError(errno.EINVAL, "its name has a NUL" if path.name else "it names no file", str(path))


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        found = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is no regular file but {found}", str(path))
