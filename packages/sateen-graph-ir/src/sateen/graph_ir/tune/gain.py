"""What a network gains by the fastest methods, as far as its problems are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.tune.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Gain:
    """The seconds of a network's problems by the estimate's choices, and by the fastest methods."""

    estimated: float
    fastest: float

    @staticmethod
    def of(tunings: Sequence[Tuning], counts: Sequence[float]) -> Gain:
        known = [
            (count, t.estimated.seconds, t.fastest.seconds)
            for t, count in zip(tunings, counts, strict=True)
            if t.estimated is not None and t.fastest is not None
        ]
        return Gain(sum(n * own for n, own, _ in known), sum(n * best for n, _, best in known))

    @property
    def part(self) -> float:
        """What is gained, as a part of the time by the estimate's choices."""
        return 1 - self.fastest / self.estimated if self.estimated else 0.0

    def __str__(self) -> str:
        """Such as 3.1 % of 12.4 ms."""
        return f"{self.part:.1%} of {self.estimated * 1e3:.3g} ms"
