"""The architectures of processors and their features under LLVM's names, as far as loading code needs them.

A row of PROCESSORS says how systems name an architecture and its features. Linux lists features in /proc/cpuinfo, macOS
through sysctl; elsewhere only the architecture is known. What a compiler needs is in sateen.tensor_ir.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sateen.runtime.riscv_vectors import allows_vectors, features_with_vectors, vector_bytes, vector_control
from sateen.runtime.tile_registers import features_with_tiles, kept_states


@dataclass(frozen=True, slots=True, eq=False)
class Processor:
    """The processors of an architecture: its number in ELF, and the names that systems give to it and its features.

    `linux` and `macos` map these systems' names of features to LLVM's. `levels` are names of processors that stand for
    sets of features; each set contains the one before.
    """

    name: str
    elf_machine: int
    aliases: Sequence[str] = ()
    linux: Mapping[str, str] = field(default_factory=dict)
    macos: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def level(self, features: Iterable[str]) -> str:
        """The highest level that some features reach; '' if there is none."""
        present = frozenset(features)
        return next((name for name, needed in reversed([*self.levels.items()]) if needed <= present), "")


X86_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"sse", "sse2"}),
    frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}),
    frozenset({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}),
    frozenset({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
)
"""The features that each of x86-64, x86-64-v2, x86-64-v3 and x86-64-v4 adds to the one before (x86-64 psABI, section
3.1.1)."""
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
    "avx_vnni_int8": "avxvnniint8",
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
_ARM = {"crc32": "crc", "idiva": "hwdiv-arm", "neon": "neon", "vfpv3": "vfp3", "vfpv4": "vfp4"}
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
_LEVELS = {
    name: frozenset[str]().union(*X86_LEVELS[: number + 1])
    for number, name in enumerate(("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"))
}

PROCESSORS: Mapping[str, Processor] = {
    row.name: row
    for row in (
        Processor("x86_64", 62, ("amd64",), _X86, _X86 | _MAC_X86, _LEVELS),
        Processor("aarch64", 183, ("arm64",), _AARCH64, _MAC_AARCH64),
        Processor("x86", 3, ("i386", "i486", "i586", "i686"), _X86),
        Processor("arm", 40, ("thumb",), _ARM),
        Processor("riscv64", 243, (), _RISCV),
    )
}
"""The architectures by the name in `Target.architecture`."""
_NAMES = {alias: row.name for row in PROCESSORS.values() for alias in row.aliases}
_IMPLIED = {level: features for row in PROCESSORS.values() for level, features in row.levels.items()}


def architecture_of(name: str) -> str:
    """One name, such as `x86_64` or `arm`, for the architecture of a triple, or for its name in `uname -m` and
    Windows."""
    name = name.partition("-")[0].lower()
    if re.match(r"(arm|thumb)(eb)?v\d", name):
        return "arm"
    return _NAMES.get(name, name)


def implied_features(cpu: str) -> frozenset[str]:
    """The features of a processor that stands for a level of its architecture; only LLVM knows those of others."""
    return _IMPLIED.get(cpu, frozenset())


def x86_level(features: Iterable[str]) -> int:
    """The level of x86-64, 1 to 4, that these features reach; 0 without SSE2."""
    return [*_LEVELS].index(level) + 1 if (level := PROCESSORS["x86_64"].level(features)) else 0


def features_from_cpuinfo(architecture: str, text: str) -> frozenset[str]:
    """The features that /proc/cpuinfo of Linux names; of several processors, the common ones."""
    found: list[frozenset[str]] = []
    names = PROCESSORS[architecture].linux if architecture in PROCESSORS else {}
    for key, value in re.findall(r"^(flags|Features|isa)\s*:\s*(.*)$", text, re.MULTILINE):
        if key == "isa":
            base, *extensions = value.lower().split("_")
            letters = base.removeprefix("rv64").removeprefix("rv32").replace("g", "imafd")
            found.append(_translate(names, [*letters, *extensions]))
        else:
            found.append(_translate(names, value.split()))
    return frozenset.intersection(*found) if found else frozenset()


def features_from_sysctl(architecture: str, text: str) -> frozenset[str]:
    """The features that `sysctl hw.optional machdep.cpu` of macOS names."""
    names = PROCESSORS[architecture].macos if architecture in PROCESSORS else {}
    lines = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    if architecture == "aarch64":
        return _translate(names, [key.rpartition(".")[2] for key, value in lines if value.strip() == "1"])
    flags = [flag for key, value in lines if key.endswith("features") for flag in value.lower().split()]
    return _translate(names, flags)


@cache
def host_architecture() -> str:
    """The architecture of this machine."""
    return architecture_of(platform.machine())


@cache
def host_features() -> frozenset[str]:
    """The features of this machine's processors, as far as its system reports them."""
    if sys.platform == "linux":
        architecture = host_architecture()
        features = features_from_cpuinfo(
            architecture, Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        )
        if architecture == "riscv64" and "v" in features:
            control = vector_control()
            return features_with_vectors(features, control, vector_bytes() if allows_vectors(control) else 0)
        return features_with_tiles(features, kept_states()) if architecture == "x86_64" else features
    if sys.platform == "darwin":
        told = subprocess.run(
            ["/usr/sbin/sysctl", "hw.optional", "machdep.cpu"], capture_output=True, text=True, check=False
        )
        return features_from_sysctl(host_architecture(), told.stdout)
    return frozenset()


def _translate(names: Mapping[str, str], flags: Iterable[str]) -> frozenset[str]:
    return frozenset(names[flag] for flag in flags if flag in names)
