"""Resize by interpolation, one axis after the other, with positions and weights computed beforehand.

Every mode is a table per axis: the elements of each output position, and their weights (ONNX Resize). The modes differ
in the way the table is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import (
    require,
    require_axes,
    require_count,
    require_floats,
    require_one_of,
    require_views,
)
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.taps import Array, Taps, in_passes
from sateen.topi.schedules import Computation, accumulator_type
from sateen.topi.types import Layout, View, compute

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)  # fmt: skip
FLOAT32_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
"""Those of frameworks that compute positions in float32, whose rounding decides which element is the nearest."""
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MODES = ("nearest", "linear", "cubic")


@dataclass(frozen=True, slots=True)
class Interpolation:
    """The way to compute values between elements; the names are those of ONNX Resize.

    With `float32_positions` positions are computed in float32, which decides for some extents which element is nearest.
    """

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coefficient: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0
    float32_positions: bool = False


@dataclass(frozen=True, slots=True)
class AxisResize:
    """One resized axis: extents, the scale and, for tf_crop_and_resize, the region in units of the extent."""

    axis: int
    before: int
    after: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)

    def coordinate(self, x: int, transformation: str) -> float:
        """The input coordinate of output position x."""
        width = self.scale * self.before
        match transformation:
            case "half_pixel" | "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale - (0.5 if transformation == "half_pixel" else 0.0)
            case "half_pixel_symmetric":
                shift = self.before / 2 * (1 - self.after / width)
                return shift + (x + 0.5) / self.scale - 0.5
            case "pytorch_half_pixel":
                return (x + 0.5) / self.scale - 0.5 if self.after > 1 else 0.0
            case "align_corners":
                return x * (self.before - 1) / (width - 1) if width != 1 else 0.0
            case "asymmetric":
                return x / self.scale
            case "tf_crop_and_resize":
                first, last = self.region
                span = (last - first) * (self.before - 1)
                return first * (self.before - 1) + (x * span / (width - 1) if width != 1 else span / 2)
        raise AssertionError(transformation)

    def coordinate_in_float32(self, x: int, transformation: str) -> float:
        """The input coordinate of output position x, as TensorFlow and PyTorch compute it: in float32, by products."""
        one = np.float32
        if transformation == "align_corners":
            return float(one(x) * (one(self.before - 1) / one(self.after - 1))) if self.after > 1 else 0.0
        of_extents = self.scale == self.after / self.before
        step = one(self.before) / one(self.after) if of_extents else one(1 / self.scale)
        if transformation == "asymmetric":
            return float(one(x) * step)
        middle = (one(x) + one(0.5)) * step
        return float(middle if transformation == "tf_half_pixel_for_nn" else middle - one(0.5))

    def coordinates(self, how: Interpolation) -> list[float]:
        coordinate = self.coordinate_in_float32 if how.float32_positions else self.coordinate
        return [coordinate(x, how.coordinates) for x in range(self.after)]


def nearest_indices(resize: AxisResize, how: Interpolation) -> Array:
    """The element that each output position takes."""
    result = []
    for x in resize.coordinates(how):
        match how.nearest_mode:
            case "round_prefer_floor":
                i = ceil(x - 0.5)
            case "round_prefer_ceil":
                i = floor(x + 0.5)
            case "floor":
                i = floor(x)
            case _:
                i = ceil(x)
        result.append(min(max(i, 0), resize.before - 1))
    return np.array(result, np.int64)


def weighted_indices(resize: AxisResize, how: Interpolation) -> tuple[Array, Array]:
    """The elements that make up each output position, and their weights, both [after, taps]."""
    indices, weights = [], []
    kernel = _triangle if how.mode == "linear" else _cubic(how.cubic_coefficient)
    radius = 1 if how.mode == "linear" else 2
    stretch = min(resize.scale, 1.0) if how.antialias else 1.0
    first = floor(-radius / stretch) + 1
    taps = np.arange(first, 2 - first)
    for x in resize.coordinates(how):
        left = ceil(x) - 1
        place = left + taps
        weight = np.array([kernel((t - (x - left)) * stretch) for t in taps])
        if how.antialias:
            weight /= weight.sum()
        if how.exclude_outside:
            weight = np.where((place >= 0) & (place < resize.before), weight, 0.0)
            weight /= weight.sum()
        indices.append(np.clip(place, 0, resize.before - 1))
        weights.append(weight)
    index, weight = np.array(indices, np.int64), np.array(weights)
    used = np.any(weight != 0, axis=0)
    return index[:, used], weight[:, used]


def _triangle(x: float) -> float:
    return max(0.0, 1.0 - abs(x))


def _cubic(a: float) -> Callable[[float], float]:
    """The cubic convolution kernel (Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981)."""

    def kernel(x: float) -> float:
        x = abs(x)
        if x < 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    return kernel


def taps_of(axes: Sequence[AxisResize], how: Interpolation) -> list[Taps]:
    """The elements and weights of each axis; none for nearest elements, which are taken as they are."""
    return [] if how.mode == "nearest" else [Taps(axis.axis, *weighted_indices(axis, how)) for axis in axes]


def resize(
    x: View,
    axes: Sequence[AxisResize],
    how: Interpolation,
    layout: Layout | None = None,
    method: Passes | None = None,
) -> Computation:
    """x with some axes resized; the others keep their extents. Interpolation is in float32 if x is shorter."""
    require_views("resize", x=x)
    require_one_of("resize", "mode", how.mode, MODES)
    known = FLOAT32_COORDINATES if how.float32_positions else COORDINATES
    require_one_of("resize", "coordinates", how.coordinates, known)
    require_one_of("resize", "nearest_mode", how.nearest_mode, NEAREST_MODES)
    require_axes("resize", [a.axis for a in axes], x.ndim)
    for a in axes:
        extent = x.shape[a.axis]
        require(a.before == extent, "resize", f"{extent} elements before along axis {a.axis}", a.before)
        require_count("resize", f"elements after along axis {a.axis}", a.after, 1)
        require(a.scale > 0, "resize", f"a scale above 0 along axis {a.axis}", a.scale)
    if how.mode != "nearest":
        require_floats("resize", x=x)
    layout = layout or x.layout
    if how.mode == "nearest":
        return _nearest(x, axes, how, layout)
    crops = how.coordinates == "tf_crop_and_resize"

    def outside(value: Expr, index: Sequence[Expr]) -> Expr:
        return _extrapolated(value, index, axes, how)

    taps, kind = taps_of(axes, how), accumulator_type(x.dtype)
    return in_passes(x, taps, "resize", layout, kind, method, outside if crops else None)


def _nearest(x: View, axes: Sequence[AxisResize], how: Interpolation, layout: Layout) -> Computation:
    shape = list(x.shape)
    positions: dict[int, Callable[[Expr], Expr]] = {}
    for axis in axes:
        shape[axis.axis] = axis.after
        positions[axis.axis] = _position(nearest_indices(axis, how), axis)

    def element(*index: Expr) -> Expr:
        value = x(*(positions[d](i) if d in positions else i for d, i in enumerate(index)))
        return _extrapolated(value, index, axes, how)

    return Computation((compute(tuple(shape), element, "resize", layout),))


def _position(table: Array, axis: AxisResize) -> Callable[[Expr], Expr]:
    """A table of positions as a function: by arithmetic if it is that of a whole scale, otherwise by look-up."""
    i = np.arange(axis.after)
    if axis.after % axis.before == 0 and np.array_equal(table, i // (axis.after // axis.before)):
        return lambda e: e // (axis.after // axis.before)
    if axis.before % axis.after == 0:
        step = axis.before // axis.after
        if np.array_equal(table, i * step + table[0]):
            return lambda e: e * step + int(table[0])
    places: te.Tensor = te.constant(table, "places")
    return places


def _extrapolated(value: Expr, index: Sequence[Expr], axes: Sequence[AxisResize], how: Interpolation) -> Expr:
    """The extrapolation value for positions outside of the input, which only tf_crop_and_resize distinguishes."""
    if how.coordinates != "tf_crop_and_resize":
        return value
    for axis in axes:
        inside = [0.0 <= c <= axis.before - 1 for c in axis.coordinates(how)]
        if not all(inside):
            table = te.constant(np.array(inside, np.uint8), "inside")
            value = te.select(table(index[axis.axis]) > 0, value, te.const(how.extrapolation, value.dtype))
    return value
