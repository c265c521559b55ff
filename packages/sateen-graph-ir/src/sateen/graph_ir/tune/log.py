"""The file that tuning writes: a line for each thing that happens, at once, so that it may be stopped at any time."""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from typing import Self

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.records import BEGINNING, MOST_LINE_BYTES, Attempt, Comparison, Record, Records, is_cut


def is_log(path: Path) -> bool:
    """Whether a file begins as one that tuning has written."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(BEGINNING)) == BEGINNING


class TuningLog:
    """A file of records to go on from and to append to; a context manager. `known` is what it had.

    A file that does not exist is made by the first line, or when the block ends without an error. Each line is written
    whole by one call of the system. If a writer was stopped within its last line, this line goes. Raises ArgumentError,
    as `Records.read`, for a file that is no log, which stays as it is; OSError if it can't be written.
    """

    def __init__(self, path: Path, operators: OpSet = OPS) -> None:
        self.known = Records.read(path, operators) if path.exists() else Records()
        self._path = path
        self._file: FileIO | None = None

    def write(self, line: Record | Attempt | Comparison) -> None:
        self._opened().write(f"{line}\n".encode())

    def _opened(self) -> FileIO:
        if self._file is None:
            _mend(self._path)
            self._file = self._path.open("ab", buffering=0)
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._opened()
        if self._file is not None:
            self._file.close()


def _mend(path: Path) -> None:
    """End the last line, or take it away if it is cut off."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        start = max(0, size - MOST_LINE_BYTES - 1)
        file.seek(start)
        tail = file.read()
        last = tail[tail.rfind(b"\n") + 1 :]
        if last and is_cut(last):
            file.truncate(size - len(last))
        elif last:
            file.write(b"\n")
