"""The error of a result against a reference, relative to its largest element, to the elements around each, and to its
terms.

The first shows whether a result is right, the second whether its small parts are right: a token among others, a corner
of a picture. The third bounds the error of a sum of products even if its terms cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime.dtype import DType

REACH = 8
"""The most rows and columns of a picture in a tile of Winograd's method."""
LEAST_ROW = 2.0**-24
"""The largest element of a row or tile counts as at least this part of the largest of all; smaller ones are rounding
errors of sums."""


@dataclass(frozen=True, slots=True)
class Difference:
    """max|y - r| / max|r| of a result y and a reference r, and the largest |y - r| over the largest |r| near it.

    Near an element are those of its row, which is the last axis, or, with spatial axes [N, C, …], those of all channels
    within 8 positions. Both are infinite if shapes or element types differ, if NaN or an infinity is in other places,
    or if integers are not equal.
    """

    overall: float
    local: float

    @property
    def largest(self) -> float:
        """The larger of both."""
        return max(self.overall, self.local)

    def is_within(self, other: Difference, times: float) -> bool:
        """Whether neither is more than the given number of times the other's."""
        return self.overall <= times * other.overall and self.local <= times * other.local


def difference(found: Array, expected: Array) -> Difference:
    """The difference of a result from a reference of the same shape and type."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return Difference(inf, inf)
    if not DType.of(found.dtype).is_float:
        return Difference(0.0, 0.0) if np.array_equal(found, expected) else Difference(inf, inf)
    y, r = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(r)
    if not np.array_equal(np.where(finite, 0.0, r), np.where(np.isfinite(y), 0.0, y), equal_nan=True):
        return Difference(inf, inf)
    if not finite.any():
        return Difference(0.0, 0.0)
    magnitude = np.where(finite, np.abs(r), 0.0)
    apart = np.abs(np.where(finite, y, 0.0) - np.where(finite, r, 0.0))
    largest = magnitude.max() or 1.0
    local = np.maximum(_around(magnitude), LEAST_ROW * largest)
    return Difference(float(apart.max() / largest), float((apart / local).max()))


def element_difference(found: Array, exact: Array, magnitude: Array) -> float:
    """The largest |y - r| over Σ|w||x|, the `magnitude` of the terms of a sum of products; 0 if y and r are equal.

    Elements whose reference or magnitude is not finite do not count.
    """
    y, r, m = (a.astype(np.float64) for a in (found, exact, magnitude))
    counts = np.isfinite(r) & np.isfinite(m) & (y != r)
    with np.errstate(divide="ignore"):
        return float((np.abs(y[counts] - r[counts]) / m[counts]).max(initial=0.0))


def _around(magnitude: Array) -> Array:
    """The largest element of the row or of the tile of each, in a shape that broadcasts."""
    if magnitude.ndim < 4:
        return magnitude.max(axis=-1, keepdims=True) if magnitude.ndim else magnitude
    largest: Array = magnitude.max(axis=1, keepdims=True)
    for axis in range(2, magnitude.ndim):
        pads = [(REACH, REACH) if d == axis else (0, 0) for d in range(magnitude.ndim)]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(largest, pads), 2 * REACH + 1, axis)
        largest = windows.max(axis=-1)
    return largest
