"""How much memory a process and its children take, sampled from Linux's /proc.

Memory that processes share counts in proportion (PSS), so that the sum over the tree is what the machine gives.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

INTERVAL_SECONDS = 0.02


class PeakMemory:
    """The largest sum that was sampled within a `with` block, in bytes."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            self.peak_bytes = max(self.peak_bytes, tree_bytes(os.getpid()))


def tree_bytes(process: int) -> int:
    """The memory of a process and of all that it started; 0 for one that has ended."""
    folder = Path(f"/proc/{process}")
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
        children = [int(c) for task in (folder / "task").iterdir() for c in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(map(tree_bytes, children))
