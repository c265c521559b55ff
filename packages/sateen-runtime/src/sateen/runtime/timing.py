"""Measuring how long a function takes, keeping every sample."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from time import perf_counter, thread_time

from sateen.runtime.errors import ArgumentError

_SHORTEST_CALL = 1e-7
"""The least seconds that a call is taken for, however coarse the clock."""


@dataclass(frozen=True, slots=True)
class TimeResult:
    """`samples` are seconds per call, in the order measured, each the mean of `number` calls in a row."""

    samples: tuple[float, ...]
    number: int

    @property
    def median(self) -> float:
        """The median of the samples, in seconds."""
        return statistics.median(self.samples)

    @property
    def minimum(self) -> float:
        """The shortest sample, in seconds."""
        return min(self.samples)

    @property
    def spread(self) -> float:
        """The range between the quartiles over the median: 0.02 means that half of the samples are within about 1 % of
        it.
        """
        if len(self.samples) < 2:
            return 0.0
        lower, _, upper = statistics.quantiles(self.samples, n=4, method="inclusive")
        return (upper - lower) / self.median if self.median else 0.0

    def __str__(self) -> str:
        rest = f"minimum {self.minimum * 1e6:.3f}, spread {self.spread:.1%}"
        return f"{self.median * 1e6:.3f} us (median of {len(self.samples)}, {rest})"


def time_evaluator(
    function: Callable[..., object], *arguments: object, number: int = 1, repeat: int = 10, min_seconds: float = 0.0
) -> TimeResult:
    """Times `repeat` samples of `number` calls each, after one call that is not counted.

    If a sample would last less than `min_seconds`, `number` is raised until it does not. To measure a compiled function
    with the least overhead, pass `function.bind(*arguments)`. Raises ArgumentError for counts below 1 and negative
    times.
    """
    if number < 1 or repeat < 1 or not 0 <= min_seconds < float("inf"):
        raise ArgumentError(
            f"expected number and repeat of 1 or more and a finite min_seconds of 0 or more, "
            f"found number={number}, repeat={repeat}, min_seconds={min_seconds}"
        )
    function(*arguments)
    seconds = _sample(function, arguments, number)
    while seconds < min_seconds:
        growth = min_seconds / seconds * 1.2 if seconds > 0 else 10.0
        number = int(number * min(max(growth, 1.5), 10.0)) + 1
        seconds = _sample(function, arguments, number)
    return TimeResult(tuple(_sample(function, arguments, number) / number for _ in range(repeat)), number)


def time_in_turns(
    functions: Sequence[Callable[[], object]], *, repeat: int = 10, min_seconds: float = 0.0
) -> list[TimeResult]:
    """Times functions against each other: `repeat` rounds with a sample of each, of at least `min_seconds`.

    Seconds are the calling thread's time on a processor, which other work on the machine does not count for; functions
    with threads of their own would seem too fast. Each is called once before, which is not counted. Raises
    ArgumentError as `time_evaluator`.
    """
    if repeat < 1 or not 0 <= min_seconds < float("inf"):
        raise ArgumentError(
            f"expected a repeat of 1 or more and a finite min_seconds of 0 or more, found repeat={repeat}, "
            f"min_seconds={min_seconds}"
        )
    numbers = []
    for function in functions:
        function()
        numbers.append(max(ceil(min_seconds / max(_processor_seconds(function, 1), _SHORTEST_CALL)), 1))
    rounds = [[_processor_seconds(f, n) / n for f, n in zip(functions, numbers, strict=True)] for _ in range(repeat)]
    return [TimeResult(samples, n) for samples, n in zip(zip(*rounds, strict=True), numbers, strict=True)]


def _processor_seconds(function: Callable[[], object], number: int) -> float:
    start = thread_time()
    for _ in range(number):
        function()
    return thread_time() - start


def _sample(function: Callable[..., object], arguments: tuple[object, ...], number: int) -> float:
    start = perf_counter()
    for _ in range(number):
        function(*arguments)
    return perf_counter() - start
