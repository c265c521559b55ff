"""What tests of several packages use."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunOnArm = Callable[[Path, list[str], list[str]], str]
"""Compiles main.c of a folder with options, runs it there with arguments, and gives what it prints."""


@pytest.fixture
def run_on_aarch64() -> RunOnArm:
    """A C program for AArch64 and what it loads, on this machine under qemu; skipped where that can't be."""
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if compiler is None or emulator is None:
        pytest.skip("qemu-aarch64 and aarch64-linux-gnu-gcc are not both installed")

    def run(folder: Path, options: list[str], arguments: list[str]) -> str:
        subprocess.run([compiler, "main.c", "-o", "main", *options], cwd=folder, check=True, timeout=300)
        command = [emulator, "-L", "/usr/aarch64-linux-gnu", "./main", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
