"""How a thread rounds and what it does with subnormal numbers: its control register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
