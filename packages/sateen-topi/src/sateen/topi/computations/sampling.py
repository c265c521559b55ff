"""Operators that read data between its elements, at positions that are data themselves.

A position may be any number: its index is limited to the data, and a NaN reads element 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod

from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.topi.computations.arguments import (
    require,
    require_count,
    require_floats,
    require_integers,
    require_one_of,
    require_rank,
    require_shape,
    require_views,
    require_whole_numbers,
    require_window,
)
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import Computation, accumulator_type, loop_kind, rows_and_parts, written
from sateen.topi.types import Layout, View, compute

SAMPLING_MODES = ("nearest", "linear", "cubic")
PADDING_MODES = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The free coefficient of cubic interpolation (Keys 1981)."""

Tap = tuple[Expr, Expr, Expr | None]
"""An element along one axis, its weight, and the condition that it exists, None if it always does."""


def grid_sample(
    data: View, grid: View, mode: str, padding: str, align_corners: bool, layout: Layout | None = None
) -> Computation:
    """data [N, C, D1, …, Dk] at the positions grid [N, O1, …, Ok, k], innermost axis first: [N, C, O1, …, Ok].

    -1 and 1 are the centres of the first and last element with `align_corners`, otherwise their outer edges. Beyond the
    edges, `padding` counts zeros, the element at the border, or data reflected there (ONNX GridSample).
    """
    require_views("grid_sample", data=data, grid=grid)
    require_floats("grid_sample", data=data, grid=grid)
    require_one_of("grid_sample", "mode", mode, SAMPLING_MODES)
    require_one_of("grid_sample", "padding", padding, PADDING_MODES)
    require_rank("grid_sample", "data [N, C, …]", data, 3, or_more=True)
    require_rank("grid_sample", "grid [N, …, k]", grid, data.ndim)
    fits = (grid.shape[0], grid.shape[-1]) == (data.shape[0], data.ndim - 2)
    require(fits, "grid_sample", f"a grid [{data.shape[0]}, …, {data.ndim - 2}]", list(grid.shape))
    kind, spatial = accumulator_type(data.dtype), data.shape[2:]
    rank = len(spatial)

    def element(n: Expr, c: Expr, *place: Expr) -> Expr:
        taps = []
        for d, extent in enumerate(spatial):
            at = grid(n, *place, te.const(rank - 1 - d)).astype(kind)
            at = (at + 1.0) * ((extent - 1) / 2) if align_corners else ((at + 1.0) * float(extent) - 1.0) * 0.5
            taps.append(_taps(at, extent, mode, padding, align_corners))
        return _interpolated(lambda i: data(n, c, *i).astype(kind), taps).astype(data.dtype)

    shape = (*data.shape[:2], *grid.shape[1:-1])
    return Computation((compute(shape, element, "grid_sample", layout),))


def _interpolated(read: Callable[[Sequence[Expr]], Expr], taps: Sequence[Sequence[Tap]]) -> Expr:
    """The weighted sum of the elements at all combinations of taps, one per axis.

    An element that does not exist counts as 0, whatever is read in its place.
    """

    def term(tap: Sequence[Tap]) -> Expr:
        value, there = read([i for i, _, _ in tap]), [c for _, _, c in tap if c is not None]
        if there:
            value = te.select(te.all(*there), value, te.const(0, value.dtype))
        return value * reduce(lambda a, b: a * b, [w for _, w, _ in tap])

    return reduce(lambda a, b: a + b, map(term, product(*taps)))


def _taps(at: Expr, extent: int, mode: str, padding: str, align_corners: bool) -> list[Tap]:
    """The elements for the value at a position along one axis."""
    if mode == "nearest":
        at = te.round(at)
    low = 0.0 if align_corners else -0.5
    if padding != "zeros":
        inner = te.minimum(te.maximum(at, 0.0), float(extent - 1))
        moved = inner if padding == "border" else _reflected(at, low, extent - 1 - 2 * low)
        at = te.select(te.any(at < low, at > extent - 1 - low), moved, at)
    first = te.floor(at)
    part = at - first
    weights: Sequence[Expr]
    if mode == "nearest":
        before, weights = 0, [te.const(1.0, at.dtype)]
    elif mode == "linear":
        before, weights = 0, [1.0 - part, part]
    else:
        before, weights = 1, [_outer(part + 1.0), _inner(part), _inner(1.0 - part), _outer(2.0 - part)]
    base = te.minimum(te.maximum(first, -4.0), extent + 4.0).astype("index") - before
    return [_tap(base + k, w, extent, padding, align_corners) for k, w in enumerate(weights)]


def _tap(i: Expr, weight: Expr, extent: int, padding: str, align_corners: bool) -> Tap:
    """Element i with a weight, or its substitute if it does not exist."""
    there = te.all(i >= 0, i < extent) if padding == "zeros" else None
    if padding == "reflection":
        period = max(2 * extent - 2, 1) if align_corners else 2 * extent
        i = i % period
        i = te.minimum(i, period - i if align_corners else period - 1 - i)
    return te.minimum(te.maximum(i, 0), extent - 1), weight, there


def _reflected(at: Expr, low: float, span: float) -> Expr:
    """A position reflected at `low` and at `low + span` until it is between them."""
    if span == 0:
        return te.const(low, at.dtype)
    away = te.abs(at - low)
    folded = away - te.floor(away / (2 * span)) * (2 * span)
    return te.minimum(folded, 2 * span - folded) + low


def _inner(x: Expr) -> Expr:
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1.0


def _outer(x: Expr) -> Expr:
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


def deformable_columns(data: View, offset: View, mask: View | None, window: Window, offset_groups: int) -> Computation:
    """The elements under the kernel of a deformable convolution: [N, C, kernel…, output…] of data [N, C, H, W].

    offset [N, 2·groups·kernel, output…] moves each kernel element down and to the right, and mask [N, groups·kernel,
    output…] is its weight; channels share them in `offset_groups` groups. Elements outside of data are zeros (Dai et
    al. 2017, ONNX DeformConv).
    """
    name = "deformable_columns"
    require_views(name, data=data, offset=offset, **({} if mask is None else {"mask": mask}))
    require_floats(name, data=data, offset=offset)
    require_rank(name, "data [N, C, H, W]", data, 4)
    require_window(name, window, data.shape[2:])
    require_count(name, "offset_groups", offset_groups, 1)
    require(data.shape[1] % offset_groups == 0, name, f"a multiple of {offset_groups} channels", data.shape[1])
    places = (prod(window.kernel) * offset_groups, *window.output(data.shape[2:]))
    require_shape(name, "offset", offset, (data.shape[0], 2 * places[0], *places[1:]))
    if mask is not None:
        require_shape(name, "mask", mask, (data.shape[0], *places))
    kind, (n, c, *spatial), output = accumulator_type(data.dtype), data.shape, offset.shape[2:]
    taps, size = prod(window.kernel), c // offset_groups

    def element(b: Expr, ch: Expr, *index: Expr) -> Expr:
        kernel, place = index[:2], index[2:]
        tap = kernel[0] * window.kernel[1] + kernel[1]
        group = ch // size
        at = []
        for d in range(2):
            whole = place[d] * window.strides[d] - window.pads[d] + kernel[d] * window.dilations[d]
            moved = whole.astype(kind) + offset(b, (group * taps + tap) * 2 + d, *place).astype(kind)
            at.append(_taps(moved, spatial[d], "linear", "zeros", align_corners=True))
        value = _interpolated(lambda i: data(b, ch, *i).astype(kind), at)
        if mask is not None:
            value = value * mask(b, group * taps + tap, *place).astype(kind)
        return value.astype(data.dtype)

    return Computation((compute((n, c, *window.kernel, *output), element, "deformable_columns"),))


def roi_align(
    data: View, rois: View, batch: View, shape: tuple[int, int], kind: str, samples: int, scale: float, half_pixel: bool
) -> Computation:
    """Each region of data [N, C, H, W] pooled to `shape`: [regions, C, *shape], row-major (He et al. 2017, RoIAlign).

    rois [regions, 4] are x1, y1, x2, y2, times `scale` in elements, of the images `batch` [regions]. Each bin is the
    average ("avg") of `samples` x `samples` points between elements, or the largest contribution of an element to one
    ("max"); 0 samples mean as many as the bin has elements. With `half_pixel` an element's centre is at 0.5.
    """
    require_one_of("roi_align", "kind", kind, ("avg", "max"))
    require_views("roi_align", data=data, rois=rois, batch=batch)
    require_floats("roi_align", data=data, rois=rois)
    require_whole_numbers("roi_align", batch=batch)
    require_rank("roi_align", "data [N, C, H, W]", data, 4)
    require_rank("roi_align", "rois [regions, 4]", rois, 2)
    require_shape("roi_align", "rois", rois, (rois.shape[0], 4))
    require_shape("roi_align", "batch", batch, rois.shape[:1])
    require_integers("roi_align", "shape", shape, 2, 1)
    require_count("roi_align", "samples", samples, 0)
    images, channels, height, width = data.shape
    real, count = accumulator_type(data.dtype), rois.shape[0]
    result_shape = (count, channels, *shape)

    def body(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu | None = None) -> te.Stmt:
        ib = ir_builder.create()
        source, regions, image = (ib.buffer_ptr(b) for b in ins)
        result = ib.buffer_ptr(outs[0])
        parallel = loop_kind(prod(result_shape) * 16)
        with rows_and_parts(ib, count * channels, shape, parallel, gpu) as (row, bins):
            r, c = ib.let("r", row // channels), ib.let("c", row % channels)
            n = ib.let("n", te.minimum(te.maximum(image[r].astype("index"), 0), images - 1))
            start, size, points = [], [], []
            for d in range(2):
                low, high = (regions[r, k].astype(real) * scale - (0.5 if half_pixel else 0.0) for k in (1 - d, 3 - d))
                extent = high - low if half_pixel else te.maximum(high - low, 1.0)
                start.append(ib.let("start", low))
                size.append(ib.let("size", extent / float(shape[d])))
                limit = float((height, width)[d] + 1)
                own = te.minimum(te.maximum(te.ceil(size[d]), 0.0), limit).astype("index")
                points.append(ib.let("points", own) if not samples else te.const(samples))
            total = ib.allocate(real, (1,), "register", "total")
            with bins as (py, px):
                total[0] = te.const(0 if kind == "avg" else float("-inf"), real)
                with ib.for_range(0, points[0], "iy") as iy, ib.for_range(0, points[1], "ix") as ix:
                    at = [
                        start[d] + (p.astype(real) + (i.astype(real) + 0.5) / points[d].astype(real)) * size[d]
                        for d, (p, i) in enumerate(((py, iy), (px, ix)))
                    ]
                    ys, xs = (_clamped_taps(at[d], (height, width)[d]) for d in range(2))
                    inside = te.all(at[0] >= -1.0, at[0] <= height, at[1] >= -1.0, at[1] <= width)
                    parts = [source[n, c, y, x].astype(real) * (v * w) for (y, v), (x, w) in product(ys, xs)]
                    joined = reduce((lambda a, b: a + b) if kind == "avg" else te.maximum, parts)
                    value = te.select(inside, joined, te.const(0, real))
                    total[0] = total[0] + value if kind == "avg" else te.maximum(total[0], value)
                number = te.maximum(points[0] * points[1], 1)
                final = total[0] / number.astype(real) if kind == "avg" else total[0]
                nothing = points[0] * points[1] <= 0
                result[r, c, py, px] = te.select(nothing, te.const(0, real), final).astype(data.dtype)
        return ib.get()

    by_blocks = body if prod(result_shape) > 0 else None
    return written("roi_align", [(result_shape, data.dtype)], [data, rois, batch], body, by_blocks)


def _clamped_taps(at: Expr, extent: int) -> list[tuple[Expr, Expr]]:
    """The two elements around a position, which is first limited to the border, and their weights."""
    at = te.minimum(te.maximum(at, 0.0), float(extent - 1))
    first = te.minimum(at.astype("index"), extent - 1)
    part = at - first.astype(at.dtype)
    return [(first, 1.0 - part), (te.minimum(first + 1, extent - 1), part)]
