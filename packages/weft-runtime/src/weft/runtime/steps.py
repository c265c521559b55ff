"""The steps of a network, one per kernel that it calls, and how long each takes.

A network that was compiled with timed steps (`build(…, timed=True)`) writes the processor's clock after each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.runtime.errors import ArgumentError
from weft.runtime.timing import TimeResult

if TYPE_CHECKING:
    from weft.runtime.model import Model
    from weft.runtime.module import Argument

SHORTEST_RUN = 0.05
"""Seconds of measuring by which ticks are told from seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a kernel: the nodes of the model that it computes, and what it takes."""

    kernel: str
    nodes: tuple[str, ...]
    """Names in the user's model."""
    operators: tuple[str, ...]
    inputs: tuple[str, ...]
    """Types, in text form."""
    outputs: tuple[str, ...]
    operations: int
    """Floating-point operations of the definition; 0 where memory limits the step, not arithmetic."""
    bytes: int
    """Of all inputs and outputs, each once."""

    def __str__(self) -> str:
        return f"{' + '.join(self.nodes)} ({', '.join(self.operators)})"

    def to_json(self) -> dict[str, object]:
        """As JSON values, `from_json`'s inverse."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Step:
        """The step that JSON values say. Raises KeyError, TypeError or ValueError for any others."""
        return Step(
            _text(value["kernel"]),
            _texts(value["nodes"]),
            _texts(value["operators"]),
            _texts(value["inputs"]),
            _texts(value["outputs"]),
            _count(value["operations"]),
            _count(value["bytes"]),
        )


def time_steps(model: Model, inputs: Mapping[str, Argument], samples: int = 20) -> tuple[TimeResult, ...]:
    """The time of each of `model.artifact.steps`, in `samples` or more runs after one that is not counted.

    Raises ArgumentError for a model that was compiled without timed steps.
    """
    if model.clock is None:
        raise ArgumentError(
            "expected a network with timed steps, found one without; compile it again with them: "
            "`weft compile --timed`, or build(…, timed=True)"
        )
    if samples < 1:
        raise ArgumentError(f"expected 1 sample or more, found {samples}")
    out = model.run(inputs)
    runs: list[np.ndarray[Any, Any]] = []
    start = perf_counter()
    while len(runs) < samples or perf_counter() - start < SHORTEST_RUN:
        model.run(inputs, out=out)
        runs.append(model.clock.numpy().copy())
    seconds = perf_counter() - start
    ticks = np.stack(runs)
    scale = seconds / max(int(ticks[-1, -1] - ticks[0, 0]), 1)
    return tuple(TimeResult(tuple(column.tolist()), 1) for column in (np.diff(ticks, axis=1) * scale).T)


def _texts(value: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(_text, value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a count, found {value!r}")
    return value
