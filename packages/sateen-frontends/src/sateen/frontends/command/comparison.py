"""Compares values with a judge's, and decides whether they are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import Difference, difference
from sateen.runtime.dtype import DType

TOLERANCE = 1e-4
"""The largest allowed difference between a network's outputs and those of a reference in higher precision."""
MOST_ROUNDING = 0.1
"""The largest difference that may be due to rounding alone, added up over a network in float32."""
AS_FAR = 4.0
"""A result may be this many times as far from float64 as the judge and still be right: up to there rounding is luck."""
_LAST_PLACE = {"float16": 2**-10, "bfloat16": 2**-7, "float8_e4m3fn": 2**-3, "float8_e5m2": 2**-2}
_LAST_PLACES = 4


def tolerance_of(dtype: DType) -> float:
    """The allowed difference for an element type: 1e-4, but four units in the last place for narrow floats, which are
    rounded at every node, also by the judge.
    """
    return max(TOLERANCE, _LAST_PLACES * _LAST_PLACE.get(str(dtype), 0.0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value of ours against a judge's; `layer` is the node of the model that computes it, '' if unknown.

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

    @property
    def is_right(self) -> bool:
        if self.error is None or self.judge_error is None:
            return self.difference.largest <= self.tolerance
        return self.error.largest <= self.tolerance or self.error.is_within(self.judge_error, AS_FAR)

    @property
    def may_be_rounding(self) -> bool:
        """Whether a wrong value is so near to the judge's that either may be the inexact one."""
        return not self.is_right and self.difference.overall <= MOST_ROUNDING


def compare(
    found: Mapping[str, Array], expected: Mapping[str, Any], layers: Mapping[str, str], tolerance: float | None = None
) -> list[Comparison]:
    """Each value that both have, in the order of `found`; `layers` names the node of a value.

    The default tolerance is that of the element type.
    """

    def comparison(name: str, ours: Array) -> Comparison:
        allowed = tolerance_of(DType.of(ours.dtype)) if tolerance is None else tolerance
        apart = difference(ours, np.asarray(expected[name]))
        return Comparison(name, layers.get(name, ""), ours.shape, apart, allowed)

    return [comparison(name, array) for name, array in found.items() if name in expected]
