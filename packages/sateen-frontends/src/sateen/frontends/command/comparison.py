"""Compares values with a judge's, and decides whether they are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import Difference, difference
from sateen.runtime import Artifact
from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine

TOLERANCE = 1e-4
"""The largest allowed difference between a network's outputs and those of a reference in higher precision."""
TOLERANCE_OF_ROUNDED = 2e-2
"""The same where products and convolutions round their operands to bfloat16 (`--numerics fast`)."""
MOST_ROUNDING = 0.1
"""The largest difference that may be due to rounding alone, added up over a network in float32."""
AS_FAR = 4.0
"""A result may be this many times as far from float64 as the judge and still be right: up to there rounding is luck."""
_LAST_PLACE = {"float16": 2**-10, "bfloat16": 2**-7, "float8_e4m3fn": 2**-3, "float8_e5m2": 2**-2}
_LAST_PLACES = 4


def rounds_operands(artifact: Artifact) -> bool:
    """Whether products and convolutions of a network may round their operands to bfloat16."""
    if artifact.options.get("numerics") != "fast":
        return False
    machine = Machine.of(artifact.target)
    return machine.multiplies_pairs or machine.multiplies_tiles


def tolerance_of(dtype: DType, *, is_rounded: bool = False) -> float:
    """The allowed difference for an element type: 1e-4, but four units in the last place for narrow floats, which are
    rounded at every node, also by the judge, and 2e-2 for a network that rounds operands to bfloat16.
    """
    least = TOLERANCE_OF_ROUNDED if is_rounded else TOLERANCE
    return max(least, _LAST_PLACES * _LAST_PLACE.get(str(dtype), 0.0))


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far values may be from a judge's: the largest difference, None for that of their type, how many steps
    integers may be apart, and whether the network rounds operands to bfloat16."""

    difference: float | None = None
    steps: int = 0
    is_rounded: bool = False

    def of(self, artifact: Artifact) -> Tolerance:
        """The same for values of a network."""
        return replace(self, is_rounded=rounds_operands(artifact))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value of ours against a judge's; `layer` is the node of the model that computes it, '' if unknown.

    `steps` is the largest difference of integers, which is right up to `most_steps`; None for other types and shapes.
    If the model was run in float64, `error` is our difference from it, `judge_error` the judge's, and these decide.
    `element` is our largest error over Σ|w||x|, for layers that sum products and have values in float64. `inputs` names
    the inputs of the run.
    """

    value: str
    layer: str
    shape: tuple[int, ...]
    difference: Difference
    tolerance: float
    error: Difference | None = None
    judge_error: Difference | None = None
    element: float | None = None
    inputs: str = "given"
    steps: int | None = None
    most_steps: int = 0

    @property
    def is_right(self) -> bool:
        if self.steps is not None:
            return self.steps <= self.most_steps
        if self.error is None or self.judge_error is None:
            return self.difference.largest <= self.tolerance
        return self.error.largest <= self.tolerance or self.error.is_within(self.judge_error, AS_FAR)

    @property
    def may_be_rounding(self) -> bool:
        """Whether a wrong value is so near to the judge's that either may be the inexact one."""
        return not self.is_right and self.difference.overall <= MOST_ROUNDING


def _steps(found: Array, expected: Array) -> int | None:
    """The largest difference of integers of one type and shape; None for others."""
    if found.shape != expected.shape or found.dtype != expected.dtype or not DType.of(found.dtype).is_int:
        return None
    high, low = np.maximum(found, expected), np.minimum(found, expected)
    return int((high.astype(np.uint64) - low.astype(np.uint64)).max(initial=0))  # as unsigned, no difference overflows


def compare(
    found: Mapping[str, Array], expected: Mapping[str, Any], layers: Mapping[str, str], tolerance: Tolerance
) -> list[Comparison]:
    """Each value that both have, in the order of `found`; `layers` names the node of a value."""

    def comparison(name: str, ours: Array) -> Comparison:
        dtype, right = DType.of(ours.dtype), np.asarray(expected[name])
        allowed = tolerance.difference
        if allowed is None:
            allowed = tolerance_of(dtype, is_rounded=tolerance.is_rounded)
        return Comparison(
            name,
            layers.get(name, ""),
            ours.shape,
            difference(ours, right),
            allowed,
            steps=_steps(ours, right),
            most_steps=tolerance.steps,
        )

    return [comparison(name, array) for name, array in found.items() if name in expected]
