"""Limits of this process, for children that run generated code."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def limit_memory(memory_bytes: int) -> None:
    """Limits the address space of this process to its present size plus so many bytes."""
    if Path("/proc/self/statm").exists():
        memory_bytes += int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
