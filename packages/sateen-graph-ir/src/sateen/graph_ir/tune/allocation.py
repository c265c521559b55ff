"""Which problem of a network to measure next, so that time is spent where the network gains most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from threading import Condition
from time import monotonic

from sateen.graph_ir.tune.tuning import Tuning

VISIT = 4
"""The candidates of a problem that are measured before another problem may be next: each change takes the default's
result and the fastest method to a session again."""


class Allocation:
    """The problems of a network, each with the number of its nodes, and the seconds that all together may take.

    First each gets a visit, those of the largest estimates first; then always the one of which the next candidate is
    expected to gain most: its share of the network's time times `Tuning.expected_gain`. Threads may share it.
    """

    def __init__(
        self,
        tunings: Sequence[Tuning],
        counts: Sequence[float],
        seconds: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.tunings = tuple(tunings)
        self._counts = {id(t): count for t, count in zip(tunings, counts, strict=True)}
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._taken: set[int] = set()
        self._changed = Condition()
        self.is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether the time is spent, or nobody waits any more."""
        return self.is_closed or (self._end is not None and self._clock() >= self._end)

    def take(self) -> Tuning | None:
        """The problem to visit next, which is the caller's until it gives it back; None if there is none any more.

        Waits while all that remain are with others, who might not end them.
        """
        with self._changed:
            while not self.is_over:
                unfinished = [t for t in self.tunings if t.remaining]
                if not unfinished:
                    break
                free = [t for t in unfinished if id(t) not in self._taken]
                if free:
                    chosen = max(free, key=self._worth)
                    self._taken.add(id(chosen))
                    return chosen
                self._changed.wait(1.0)
            return None

    def give_back(self, tuning: Tuning) -> None:
        with self._changed:
            self._taken.discard(id(tuning))
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is to be taken any more."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def seconds(self, tuning: Tuning) -> float:
        """The time of a problem in the network, by its fastest method; where nothing is measured yet, by the estimate
        and what others take for theirs."""
        count, fastest = self._counts[id(tuning)], tuning.fastest
        if fastest is not None:
            return count * fastest.seconds
        known = [t.estimated.seconds / t.estimate.cycles for t in self.tunings if t.estimated and t.estimate.cycles]
        return count * tuning.estimate.cycles * (median(known) if known else 1.0)

    def _worth(self, tuning: Tuning) -> tuple[bool, float]:
        is_new = not tuning.records and not tuning.failures
        return is_new, self.seconds(tuning) * (1.0 if is_new else tuning.expected_gain)
