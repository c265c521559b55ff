"""`sateen compile` in a separate process: its time and its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, sleep

SATEEN = Path(sys.executable).with_name("sateen")
SAMPLING_SECONDS = 0.05


class Compilation:
    """One run; `most_bytes` is the largest sum over the processes of the tree, with shared pages counted once.

    Sampling memory slows the processes, so leave it out to measure seconds.
    """

    def __init__(self, model: Path, output: Path, cache: Path, *options: str, sampled: bool = True) -> None:
        command = [str(SATEEN), "compile", str(model), "-o", str(output), *options]
        start, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles the modules that it installs
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        self.most_bytes = 0
        while sampled and process.poll() is None:
            self.most_bytes = max(self.most_bytes, sum(map(_resident_bytes, _tree(process.pid))))
            sleep(SAMPLING_SECONDS)
        process.wait()
        after = getrusage(RUSAGE_CHILDREN)
        self.seconds = perf_counter() - start
        self.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if process.returncode != 0:
            raise SystemExit(f"sateen compile {model} failed with status {process.returncode}")


def _tree(root: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # the task has ended since
            continue
        for child in children:
            yield from _tree(int(child))


def _resident_bytes(process: int) -> int:
    """The process's part of the memory, as Linux divides pages among those that share them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has ended since
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)
