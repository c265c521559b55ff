"""Which processor this machine has, by what its system tells: its maker and the numbers that the maker gives.

LLVM's own detection takes a virtual machine's processor for an older one if a feature of it is hidden; numbers are not.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ANY_MODEL = range(1 << 12)


@dataclass(frozen=True, slots=True)
class Found:
    """A processor as its system tells it.

    x86 has the maker's name, family and model of CPUID; ARM has the implementer as a maker and the part as a family;
    others have a name alone: `uarch` of Linux on RISC-V, the brand on macOS.
    """

    maker: str
    family: int = 0
    model: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """What a system tells of all processors of a row. A maker alone may be followed by the name of a variant."""

    maker: str
    family: int = 0
    models: Container[int] = ANY_MODEL

    def is_of(self, found: Found) -> bool:
        """Whether a processor is one of these."""
        named = found.maker == self.maker or (self.family == 0 and found.maker.startswith(f"{self.maker} "))
        return named and found.family == self.family and found.model in self.models


def amd(family: int, *models: int) -> Identity:
    """Processors of AMD; all models without any."""
    return Identity("AuthenticAMD", family, models or ANY_MODEL)


def intel(*models: int) -> Identity:
    """Processors of Intel's family 6."""
    return Identity("GenuineIntel", 6, models)


def arm(*parts: int) -> tuple[Identity, ...]:
    """Cores of Arm by their parts."""
    return tuple(Identity("0x41", part) for part in parts)


def found_in(cpuinfo: str) -> tuple[Found, ...]:
    """The kinds of processors that /proc/cpuinfo of Linux tells, each once; what it doesn't tell of is left out."""
    found = []
    for entry in re.split(r"\n\s*\n", cpuinfo):
        told = dict(re.findall(r"^([^:\n]*?)\s*:[ \t]*(.*?)\s*$", entry, re.MULTILINE))
        if "vendor_id" in told:
            found.append(Found(told["vendor_id"], _number(told.get("cpu family")), _number(told.get("model"))))
        elif "CPU implementer" in told:
            found.append(Found(told["CPU implementer"].lower(), _number(told.get("CPU part"))))
        elif "uarch" in told:
            found.append(Found(told["uarch"]))
    return tuple(dict.fromkeys(found))


def _number(text: str | None) -> int:
    """A decimal or hexadecimal number; -1, which no row has, for anything else."""
    return int(text, 0) if text and re.fullmatch(r"0x[0-9a-fA-F]{1,8}|\d{1,8}", text) else -1


@cache
def found_here() -> tuple[Found, ...]:
    """The kinds of processors of this machine, as far as its system tells them."""
    if sys.platform == "linux":
        return found_in(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    if sys.platform == "darwin":
        asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        brand = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        return (Found(brand),) if brand else ()
    return ()
