"""What measures candidates, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol

from sateen.graph_ir.ir import Problem
from sateen.topi.methods import Method


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a candidate, with the seconds of its competitor for each sample, on a `machine`, as its system names
    it."""

    seconds: tuple[float, ...]
    against: tuple[float, ...]
    machine: str = ""

    @property
    def ratio(self) -> float:
        """The candidate's time over the other's: the median of samples taken in turns."""
        return median(self._ratios)

    @property
    def spread(self) -> float:
        """The range between the quartiles over the median: of the ratios, or of the samples if there is no
        competitor."""
        samples = self.seconds if self.seconds == self.against else self._ratios
        if len(samples) < 2:
            return 0.0
        lower, _, upper = quantiles(samples, n=4, method="inclusive")
        return (upper - lower) / median(samples)

    @property
    def _ratios(self) -> tuple[float, ...]:
        return tuple(own / other for own, other in zip(self.seconds, self.against, strict=True))


class Measurer(Protocol):
    """Measures candidates, one at a time."""

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        """Samples of a method in turns with those of another, or alone if there is none.

        Raises SessionLostError and SessionRefusedError if there is no device to measure on, any other SateenError if
        the method can't be measured or gives a wrong result.
        """

    def close(self) -> None:
        """Gives the device back. A measurement in progress fails."""
