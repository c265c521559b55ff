"""Pools whose windows follow from the extent of the output (PyTorch's adaptive pools).

Place i of n covers the elements from ⌊i·m / n⌋ to before ⌈(i + 1)·m / n⌉ of m, so windows may overlap. They are tables,
and axes are reduced one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.topi.computations.arguments import (
    require,
    require_floats,
    require_integers,
    require_numbers,
    require_rank,
    require_views,
)
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.pool_methods import Lines, Windows
from sateen.topi.computations.pooling import average_pool, max_pool
from sateen.topi.computations.taps import Array, Taps, in_passes
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import Computation, accumulator_type
from sateen.topi.types import Layout, View


def adaptive_average_pool(
    data: View, shape: Sequence[int], layout: Layout | None = None, method: Windows | Passes | None = None
) -> Computation:
    """The averages of windows of data [N, C, …], as many as `shape` has places; added in float32 if data is shorter."""
    _require_pool("adaptive_average_pool", data, shape)
    require_floats("adaptive_average_pool", data=data)
    window = equal_window(data.shape, shape)
    if window is not None:
        return average_pool(data, window, layout=layout, method=method if isinstance(method, Windows) else None)
    taps, kind = taps_of(data.shape, shape, averages=True), accumulator_type(data.dtype)
    kept = method if isinstance(method, Passes) else None
    return in_passes(data, taps, "adaptive_average_pool", layout or data.layout, kind, kept)


def adaptive_max_pool(
    data: View, shape: Sequence[int], layout: Layout | None = None, method: Windows | Lines | Passes | None = None
) -> Computation:
    """The maxima of windows of data [N, C, …], as many as `shape` has places; NaN if one is."""
    _require_pool("adaptive_max_pool", data, shape)
    window = equal_window(data.shape, shape)
    if window is not None:
        return max_pool(data, window, layout=layout, method=None if isinstance(method, Passes) else method)
    taps = taps_of(data.shape, shape, averages=False)
    kept = method if isinstance(method, Passes) else None
    return in_passes(data, taps, "adaptive_max_pool", layout or data.layout, data.dtype, kept)


def taps_of(data: Sequence[int], shape: Sequence[int], *, averages: bool) -> list[Taps]:
    """The elements of the windows along each axis that is reduced, of averages with their shares."""
    axes = [(axis, _covered(data[axis], after)) for axis, after in enumerate(shape, 2) if data[axis] != after]
    return [Taps(axis, places, shares if averages else None) for axis, (places, shares) in axes]


def _require_pool(operator: str, data: View, shape: Sequence[int]) -> None:
    require_views(operator, data=data)
    require_rank(operator, "data [N, C, …]", data, 3, or_more=True)
    require_numbers(operator, data=data)
    require_integers(operator, "shape", shape, data.ndim - 2, 1)
    require(0 not in data.shape[2:], operator, "data with elements", list(data.shape))


def equal_window(data: Sequence[int], shape: Sequence[int]) -> Window | None:
    """The window of a plain pool that does the same with data of a shape; None if windows differ or overlap."""
    spatial = data[2:]
    if any(before % after for before, after in zip(spatial, shape, strict=True)):
        return None
    kernel = tuple(before // after for before, after in zip(spatial, shape, strict=True))
    return Window(kernel, kernel, (0,) * (2 * len(kernel)), (1,) * len(kernel))


def _covered(before: int, after: int) -> tuple[Array, Array]:
    """The elements of each window, the last one repeated where a window is shorter, and their shares of its average."""
    first = [i * before // after for i in range(after)]
    end = [-(-(i + 1) * before // after) for i in range(after)]
    most = max(b - a for a, b in zip(first, end, strict=True))
    places = np.array([[min(a + k, b - 1) for k in range(most)] for a, b in zip(first, end, strict=True)], np.int64)
    shares = np.array([[(a + k < b) / (b - a) for k in range(most)] for a, b in zip(first, end, strict=True)])
    return places, shares
