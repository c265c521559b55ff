"""The clock that a program reads without a call of the system, by architecture."""

from __future__ import annotations

from sateen.runtime.processor import architecture_of

_CYCLES, _STEADY = "llvm.readcyclecounter", "llvm.readsteadycounter"
_INTRINSICS = {
    "x86_64": _CYCLES,  # rdtsc, of constant rate on every processor that has level x86-64-v2
    "aarch64": _CYCLES,  # CNTVCT_EL0, the virtual counter of the generic timer
    "riscv64": _STEADY,  # rdtime
}


def clock_intrinsic(triple: str) -> str:
    """LLVM's intrinsic that reads a clock of constant rate; '' for an architecture where programs have none."""
    return _INTRINSICS.get(architecture_of(triple), "")
