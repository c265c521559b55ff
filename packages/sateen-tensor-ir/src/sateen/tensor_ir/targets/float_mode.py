"""The control register for a thread's rounding and treatment of subnormal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatMode:
    """A control register of `bits` bits, with LLVM text to save it to memory and to load it.

    Its values `keep` and `flush` both round to nearest and trap nothing. With `keep` subnormal numbers follow IEEE 754;
    with `flush` subnormal operands and results of operations become zeros of their sign; None if no processor does.
    """

    bits: int
    keep: int
    flush: int | None
    saving: Sequence[str]
    loading: Sequence[str]
    declarations: Sequence[str]

    def save(self, place: str) -> list[str]:
        """Lines that write the register to memory."""
        return [f"  {line.format(place=place)}" for line in self.saving]

    def load(self, place: str) -> list[str]:
        """Lines that set the register from memory."""
        return [f"  {line.format(place=place)}" for line in self.loading]
