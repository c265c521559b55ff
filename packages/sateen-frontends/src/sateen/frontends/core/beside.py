"""Reads files beside a model, and only there.

A location is walked one component at a time from the model's folder, following no symbolic link, and the file must be a
regular one with a single name (no hard link), so that a model can read only files of its own folder.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from weakref import WeakValueDictionary

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_READINGS = 4
"""The most bytes that the regions of a file may have in all, for each of its bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class FilesBeside:
    """The files in the folder of a model, where its tensors are. Tensors of one region share its memory as long as one
    of them is in use; other regions may overlap a few times at most, so that small files stay small in memory."""

    folder: Path
    held: WeakValueDictionary[tuple[str | bytes, int, int], Array] = field(default_factory=WeakValueDictionary)
    known: set[tuple[str, int, int]] = field(default_factory=set)
    totals: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, folder: Path | None) -> FilesBeside | None:
        """The files of a folder; None if there is none."""
        return None if folder is None else cls(folder)

    def read(self, location: str | bytes, offset: int, length: int, what: str) -> memoryview:
        """As `read_beside`. Raises FrontendError too if the regions read of a file are many times its bytes."""
        held = self.held.get((location, offset, length))
        if held is None:
            with _opened(self.folder, location, what) as (file, name, size):
                _require_region(name, size, offset, length, what)
                self._count(name, offset, length, size, what)
                held = np.frombuffer(_region(file, name, size, offset, length, what), np.uint8)
            self.held[location, offset, length] = held
        return held.data

    def _count(self, name: str, offset: int, length: int, size: int, what: str) -> None:
        if (name, offset, length) in self.known:
            return
        if self.totals[name] + length > MOST_READINGS * size:
            raise FrontendError(
                f"{what}: the regions of {name!r} that tensors take overlap; expected at most {MOST_READINGS} times "
                f"its {size} bytes in all"
            )
        self.known.add((name, offset, length))
        self.totals[name] += length


def read_beside(folder: Path, location: str | bytes, offset: int, length: int, what: str) -> bytes:
    """`length` bytes of a file from `offset` on.

    Raises FrontendError, which begins with `what`, if the location is not a plain relative path, the file is not the
    model's own, or does not have these bytes.
    """
    with _opened(folder, location, what) as (file, name, size):
        return _region(file, name, size, offset, length, what)


def read_whole_beside(folder: Path, location: str | bytes, most: int, what: str) -> bytes:
    """A file of at most `most` bytes. Raises FrontendError as `read_beside` does, and for a larger file."""
    with _opened(folder, location, what) as (file, name, size):
        if size > most:
            raise FrontendError(f"{what}: expected {name!r} to have at most {most} bytes, found {size}")
        return file.read(size)


def _region(file: BinaryIO, name: str, size: int, offset: int, length: int, what: str) -> bytes:
    _require_region(name, size, offset, length, what)
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise FrontendError(f"{what}: {name!r} became shorter while it was read")
    return data


def _require_region(name: str, size: int, offset: int, length: int, what: str) -> None:
    if offset + length > size:
        raise FrontendError(
            f"{what} lies at {offset} to {offset + length} of {name!r}, which has {size} bytes: it belongs to another "
            "model, or is cut short; copy it again"
        )


@contextmanager
def _opened(folder: Path, location: str | bytes, what: str) -> Iterator[tuple[BinaryIO, str, int]]:
    """A file of the model's own, its name and its size."""
    parts = plain_path(location, what)
    name = "/".join(parts)
    try:
        descriptor = _open(folder, parts)
    except OSError as error:
        remedy = "; copy it there, it is a part of the model" if error.errno == errno.ENOENT else ""
        raise FrontendError(f"{what}: can't open {name!r} in the model's folder: {error.strerror}{remedy}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise FrontendError(f"{what}: expected {name!r} to be a regular file without hard links")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file, name, status.st_size
    finally:
        os.close(descriptor)


def plain_path(location: str | bytes, what: str) -> list[str]:
    """The parts of a relative path that stays inside its folder on every system."""
    parts = location.split("/") if isinstance(location, str) else []
    plain = all(re.fullmatch(r"[^\\:#\x00-\x1f]+", part) and part not in {".", ".."} for part in parts)
    if not parts or not plain:
        raise FrontendError(f"{what}: expected the plain relative path of a file beside the model, found {location!r}")
    return parts


def _open(folder: Path, parts: list[str]) -> int:
    if os.open not in os.supports_dir_fd:
        raise FrontendError("external data can't be opened safely on this system; store the tensors in the model")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for last, part in zip([False] * (len(parts) - 1) + [True], parts, strict=True):
        flags = os.O_NOFOLLOW | (os.O_NONBLOCK if last else os.O_DIRECTORY)
        try:
            inner = os.open(part, os.O_RDONLY | flags, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at
