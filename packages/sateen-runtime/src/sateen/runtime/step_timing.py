"""How long each step of a network takes.

A network that was compiled with timed steps (`build(…, timed=True)`) writes the processor's clock after each of them.
On a device every network's steps are measured, by the device's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from sateen.runtime.errors import ArgumentError
from sateen.runtime.launched_network import LaunchedNetwork
from sateen.runtime.model import Model
from sateen.runtime.ndarray import AnyArray, NDArray
from sateen.runtime.timing import TimeResult

SHORTEST_STEPS = 1e-6
"""The least seconds that the steps of a network are taken for, however coarse the device's clock."""
SHORTEST_RUN = 0.05
"""The least seconds of measuring, to find out how many ticks a second has."""


def time_steps(model: Model, inputs: Mapping[str, AnyArray], samples: int = 20) -> tuple[TimeResult, ...]:
    """The time of each of `model.artifact.steps`, in `samples` or more runs after one that is not counted.

    Raises ArgumentError for a model for a processor that was compiled without timed steps.
    """
    times = steps_by_run(model, inputs, samples)
    return tuple(TimeResult(tuple(column.tolist()), 1) for column in times.T)


def time_networks(
    runs: Sequence[tuple[Model, Mapping[str, AnyArray]]], *, repeat: int = 10, min_seconds: float = 0.0
) -> list[TimeResult]:
    """Times networks on devices against each other: `repeat` rounds with a sample of each, of at least `min_seconds`.

    Seconds are those of all steps of a run, by the device's clock; inputs and outputs stay on the device. Each network
    runs twice before, which is not counted. Raises ArgumentError as `time_evaluator`, and for a network for a
    processor.
    """
    if repeat < 1 or not 0 <= min_seconds < float("inf"):
        raise ArgumentError(
            f"expected a repeat of 1 or more and a finite min_seconds of 0 or more, found repeat={repeat}, "
            f"min_seconds={min_seconds}"
        )
    ready = [_Ready.of(model, inputs) for model, inputs in runs]
    numbers = [ceil(min_seconds / max(r.seconds(1), SHORTEST_STEPS)) or 1 for r in ready]
    rounds = [[r.seconds(n) / n for r, n in zip(ready, numbers, strict=True)] for _ in range(repeat)]
    return [TimeResult(samples, n) for samples, n in zip(zip(*rounds, strict=True), numbers, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """A network with inputs and outputs on its device."""

    model: Model
    network: LaunchedNetwork
    inputs: Mapping[str, NDArray]
    outputs: Mapping[str, NDArray]

    @staticmethod
    def of(model: Model, inputs: Mapping[str, AnyArray]) -> _Ready:
        """After its first run."""
        if model.launched is None:
            raise ArgumentError(f"expected a network on a device, found one on {model.device}")
        there = {name: NDArray.of(given).to(model.device) for name, given in inputs.items()}
        return _Ready(model, model.launched, there, model.run(there, keep=True))

    def seconds(self, count: int) -> float:
        """The seconds of so many runs."""
        with self.network.measured() as runs:
            for _ in range(count):
                self.model.run(self.inputs, out=self.outputs)
        return sum(map(sum, runs))


def steps_by_run(model: Model, inputs: Mapping[str, AnyArray], samples: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """As `time_steps`: seconds [run, step]."""
    if samples < 1:
        raise ArgumentError(f"expected 1 sample or more, found {samples}")
    if model.launched is not None:
        return _by_device(model, model.launched, inputs, samples)
    if model.clock is None:
        raise ArgumentError(
            "expected a network with timed steps, found one without; compile it again with them: "
            "`sateen compile --timed`, or build(…, timed=True)"
        )
    out = model.run(inputs)
    runs: list[np.ndarray[Any, Any]] = []
    start = perf_counter()
    while len(runs) < samples or perf_counter() - start < SHORTEST_RUN:
        model.run(inputs, out=out)
        runs.append(model.clock.numpy().copy())
    seconds = perf_counter() - start
    ticks = np.stack(runs)
    scale = seconds / max(int(ticks[-1, -1] - ticks[0, 0]), 1)
    seconds_by_run: np.ndarray[Any, np.dtype[np.float64]] = np.diff(ticks, axis=1) * scale
    return seconds_by_run


def _by_device(
    model: Model, network: LaunchedNetwork, inputs: Mapping[str, AnyArray], samples: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    out = model.run(inputs)
    start = perf_counter()
    with network.measured() as runs:
        while len(runs) < samples or perf_counter() - start < SHORTEST_RUN:
            model.run(inputs, out=out)
        return np.array(runs, np.float64).reshape(len(runs), len(model.artifact.steps))
