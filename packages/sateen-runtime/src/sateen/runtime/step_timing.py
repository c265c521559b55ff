"""How long each step of a network takes.

A network that was compiled with timed steps (`build(…, timed=True)`) writes the processor's clock after each of them.
On a device every network's steps are measured, by the device's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from sateen.runtime.errors import ArgumentError
from sateen.runtime.launched_network import LaunchedNetwork
from sateen.runtime.model import Model
from sateen.runtime.ndarray import AnyArray
from sateen.runtime.timing import TimeResult

SHORTEST_RUN = 0.05
"""The least seconds of measuring, to find out how many ticks a second has."""


def time_steps(model: Model, inputs: Mapping[str, AnyArray], samples: int = 20) -> tuple[TimeResult, ...]:
    """The time of each of `model.artifact.steps`, in `samples` or more runs after one that is not counted.

    Raises ArgumentError for a model for a processor that was compiled without timed steps.
    """
    times = steps_by_run(model, inputs, samples)
    return tuple(TimeResult(tuple(column.tolist()), 1) for column in times.T)


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
