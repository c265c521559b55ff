"""How a thread rounds and what it does with subnormal numbers: its control register, by architecture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.runtime.processor import architecture_of


@dataclass(frozen=True, slots=True)
class FloatMode:
    """A control register of `bits` bits, in LLVM text: how it is read to memory and written from there.

    Its values `keep` and `flush` both round to nearest and trap nothing. With `keep` subnormal numbers are as IEEE 754
    has them; with `flush` they become zeros of their sign where an operation takes or gives one.
    """

    bits: int
    keep: int
    flush: int
    saving: Sequence[str]
    loading: Sequence[str]
    declarations: Sequence[str]

    def save(self, place: str) -> list[str]:
        """Lines that write the register to memory."""
        return [f"  {line.format(place=place)}" for line in self.saving]

    def load(self, place: str) -> list[str]:
        """Lines that set the register to what memory holds."""
        return [f"  {line.format(place=place)}" for line in self.loading]


_MXCSR = FloatMode(
    bits=32,
    keep=0x1F80,  # all exceptions masked
    flush=0x9FC0,  # and FTZ and DAZ (Intel 64 and IA-32 Architectures SDM, volume 1, 10.2.3)
    saving=["call void @llvm.x86.sse.stmxcsr(ptr {place})"],
    loading=["call void @llvm.x86.sse.ldmxcsr(ptr {place})"],
    declarations=["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"],
)
_FPCR = FloatMode(
    bits=64,
    keep=0,
    flush=1 << 24,  # FZ (Arm Architecture Reference Manual, C5.2.8)
    saving=["{place}.found = call i64 @llvm.aarch64.get.fpcr()", "store i64 {place}.found, ptr {place}"],
    loading=["{place}.wanted = load i64, ptr {place}", "call void @llvm.aarch64.set.fpcr(i64 {place}.wanted)"],
    declarations=["declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"],
)
_MODES = {"x86_64": _MXCSR, "aarch64": _FPCR}


def float_mode(triple: str) -> FloatMode | None:
    """The register of the architecture of a triple; None where code leaves a thread's mode as it finds it."""
    return _MODES.get(architecture_of(triple))
