"""The one metric of difference between a result and its reference, and values compared by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.graph_ir.graph import Array
from sateen.runtime.dtype import DType

TOLERANCE = 1e-4
"""What a network's outputs may differ by from those of a reference in higher precision."""
MOST_ROUNDING = 0.1
"""The largest difference that may be due to rounding alone, added up over a network in float32."""
_LAST_PLACE = {"float16": 2**-10, "bfloat16": 2**-7, "float8_e4m3fn": 2**-3, "float8_e5m2": 2**-2}
_LAST_PLACES = 4


def difference(found: Array, expected: Array) -> float:
    """max|y - r| / max|r| of a result y and a reference r; max|y| where r is zero everywhere.

    It is infinite where shapes or element types differ, where NaN or an infinity stands in other places, and where
    integers are not equal.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if not DType.of(found.dtype).is_float:
        return 0.0 if np.array_equal(found, expected) else float("inf")
    y, r = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(r)
    if not np.array_equal(np.where(finite, 0.0, r), np.where(np.isfinite(y), 0.0, y), equal_nan=True):
        return float("inf")
    largest = np.abs(r[finite]).max(initial=0.0)
    return float(np.abs(y[finite] - r[finite]).max(initial=0.0) / (largest or 1.0))


def tolerance_of(dtype: DType) -> float:
    """What values of an element type may differ by: 1e-4, but four units in the last place of narrow floats.

    Those are rounded at every node, by the judge as well.
    """
    return max(TOLERANCE, _LAST_PLACES * _LAST_PLACE.get(str(dtype), 0.0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value of ours against a judge's; `layer` is the node of the model that computes it, '' if not told.

    Where float64 has been asked, `error` is our difference from it and decides, and `judge_error` is the judge's.
    """

    value: str
    layer: str
    shape: tuple[int, ...]
    difference: float
    tolerance: float
    error: float | None = None
    judge_error: float | None = None

    @property
    def is_right(self) -> bool:
        return (self.difference if self.error is None else self.error) <= self.tolerance

    @property
    def may_be_rounding(self) -> bool:
        """Whether a wrong value is so near to the judge's that either of both may be the inexact one."""
        return not self.is_right and self.difference <= MOST_ROUNDING


def compare(
    found: Mapping[str, Array], expected: Mapping[str, Any], layers: Mapping[str, str], tolerance: float | None = None
) -> list[Comparison]:
    """Each value that both have, in the order of `found`; `layers` names the node of a value.

    The tolerance is that of its element type if none is given.
    """

    def comparison(name: str, ours: Array) -> Comparison:
        allowed = tolerance_of(DType.of(ours.dtype)) if tolerance is None else tolerance
        apart = difference(ours, np.asarray(expected[name]))
        return Comparison(name, layers.get(name, ""), ours.shape, apart, allowed)

    return [comparison(name, array) for name, array in found.items() if name in expected]
