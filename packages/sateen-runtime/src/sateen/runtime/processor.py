"""The features of processors under LLVM's names: what this machine has, and what each level of x86-64 implies.

The levels are those of the x86-64 psABI, section 3.1.1. Linux tells in /proc/cpuinfo, macOS through sysctl; elsewhere
nothing but the architecture is known.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

X86_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"sse", "sse2"}),
    frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}),
    frozenset({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}),
    frozenset({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
)
"""What each of x86-64, x86-64-v2, x86-64-v3 and x86-64-v4 adds to the one before."""

_X86 = {
    **{
        flag: flag
        for flag in ("sse", "sse2", "ssse3", "popcnt", "cx16", "avx", "avx2", "bmi2", "f16c", "fma", "movbe", "xsave")
    },
    **{
        flag: flag
        for flag in ("avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi", "gfni")
    },
    "pni": "sse3",
    "sse3": "sse3",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "lahf_lm": "sahf",
    "bmi1": "bmi",
    "abm": "lzcnt",
    "avx_vnni": "avxvnni",
    "avx512_bf16": "avx512bf16",
    "avx512_bitalg": "avx512bitalg",
    "avx512_fp16": "avx512fp16",
    "avx512_vbmi2": "avx512vbmi2",
    "avx512_vnni": "avx512vnni",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
    "amx_tile": "amx-tile",
}
_AARCH64 = {
    "asimd": "neon",
    "asimddp": "dotprod",
    "asimdfhm": "fp16fml",
    "asimdhp": "fullfp16",
    "atomics": "lse",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "sme": "sme",
    "sve": "sve",
    "sve2": "sve2",
}
_ARM = {"idiva": "hwdiv-arm", "neon": "neon", "vfpv3": "vfp3", "vfpv4": "vfp4"}
_RISCV = {letter: letter for letter in "mafdcv"} | {name: name for name in ("zba", "zbb", "zfh", "zvfh")}
_MAC_X86 = {
    "avx1.0": "avx",
    "avx512cd": "avx512cd",
    "fma": "fma",
    "lahf": "sahf",
    "sse4.1": "sse4.1",
    "sse4.2": "sse4.2",
}
_MAC_AARCH64 = {
    "AdvSIMD": "neon",
    "FEAT_BF16": "bf16",
    "FEAT_DotProd": "dotprod",
    "FEAT_FHM": "fp16fml",
    "FEAT_FP16": "fullfp16",
    "FEAT_I8MM": "i8mm",
    "FEAT_LSE": "lse",
    "FEAT_SME": "sme",
}
_ARCHITECTURES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "i386": "x86",
    "i486": "x86",
    "i586": "x86",
    "i686": "x86",
    "thumb": "arm",
}


def architecture_of(name: str) -> str:
    """One name, such as `x86_64` or `arm`, for the architecture of a triple, or what `uname -m` and Windows call it."""
    name = name.partition("-")[0].lower()
    if re.match(r"(arm|thumb)(eb)?v\d", name):
        return "arm"
    return _ARCHITECTURES.get(name, name)


def x86_level(features: Iterable[str]) -> int:
    """The level of x86-64, 1 to 4, that these features reach; 0 where SSE2 is missing."""
    present = frozenset(features)
    level = 0
    while level < len(X86_LEVELS) and X86_LEVELS[level] <= present:
        level += 1
    return level


def features_from_cpuinfo(architecture: str, text: str) -> frozenset[str]:
    """The features that /proc/cpuinfo of Linux names; of several processors, what all have."""
    found: list[frozenset[str]] = []
    for key, value in re.findall(r"^(flags|Features|isa)\s*:\s*(.*)$", text, re.MULTILINE):
        if key == "isa":
            base, *extensions = value.lower().split("_")
            letters = base.removeprefix("rv64").removeprefix("rv32").replace("g", "imafd")
            found.append(_translate(_RISCV, [*letters, *extensions]))
        else:
            table = {"aarch64": _AARCH64, "arm": _ARM}.get(architecture, _X86)
            found.append(_translate(table, value.split()))
    return frozenset.intersection(*found) if found else frozenset()


def features_from_sysctl(architecture: str, text: str) -> frozenset[str]:
    """The features that `sysctl hw.optional machdep.cpu` of macOS names."""
    lines = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    if architecture == "aarch64":
        return _translate(_MAC_AARCH64, [key.rpartition(".")[2] for key, value in lines if value.strip() == "1"])
    flags = [flag for key, value in lines if key.endswith("features") for flag in value.lower().split()]
    return _translate(_X86 | _MAC_X86, flags)


@cache
def host_architecture() -> str:
    """The architecture of this machine."""
    return architecture_of(platform.machine())


@cache
def host_features() -> frozenset[str]:
    """The features of this machine's processors, as far as its system tells them."""
    if sys.platform == "linux":
        return features_from_cpuinfo(
            host_architecture(), Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        )
    if sys.platform == "darwin":
        told = subprocess.run(
            ["/usr/sbin/sysctl", "hw.optional", "machdep.cpu"], capture_output=True, text=True, check=False
        )
        return features_from_sysctl(host_architecture(), told.stdout)
    return frozenset()


def _translate(names: dict[str, str], flags: Iterable[str]) -> frozenset[str]:
    return frozenset(names[flag] for flag in flags if flag in names)
