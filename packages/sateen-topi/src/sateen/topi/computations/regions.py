"""Regions of pictures that are data themselves, resized or pooled to one shape.

A region of an image that does not exist is taken from the nearest one, as an index out of range is by a gather.
"""

from __future__ import annotations

from collections.abc import Sequence
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
)
from sateen.topi.schedules import Computation, accumulator_type, loop_kind, rows_and_parts, written
from sateen.topi.types import Layout, View, compute

CROP_MODES = ("linear", "nearest")


def crop_and_resize(
    data: View, boxes: View, batch: View, shape: Sequence[int], mode: str, outside: float, layout: Layout | None = None
) -> Computation:
    """Boxes of data [N, C, H, W] resized to `shape`: [boxes, C, *shape] (TensorFlow CropAndResize).

    boxes [count, 4] are y1, x1, y2, x2, where 0 and 1 are the centres of the outermost elements, and y2 < y1 flips. An
    output of one row is the middle. Beyond the outermost elements is the number `outside`.
    """
    name = "crop_and_resize"
    require_one_of(name, "mode", mode, CROP_MODES)
    _require_regions(name, data, boxes, batch, shape)
    kind, spatial = accumulator_type(data.dtype), data.shape[2:]

    def element(box: Expr, c: Expr, *place: Expr) -> Expr:
        n = te.minimum(te.maximum(batch(box).astype("index"), 0), data.shape[0] - 1)
        within: list[Expr] = []
        taps: list[list[tuple[Expr, Expr | None]]] = []
        for d, (extent, after) in enumerate(zip(spatial, shape, strict=True)):
            first, last, reach = boxes(box, d).astype(kind), boxes(box, d + 2).astype(kind), float(extent - 1)
            if after > 1:
                step = (last - first) * reach / float(after - 1)
                at = _product(first, te.const(reach, kind)) + _product(place[d].astype(kind), step)
            else:
                at = (first + last) * 0.5 * reach
            within += [at >= 0.0, at <= reach]
            low = _index(te.floor(at), extent)
            if mode == "nearest":
                taps.append([(_index(_rounded(at), extent), None)])
            else:
                part = at - te.floor(at)
                taps.append([(low, 1.0 - part), (_index(te.ceil(at), extent), part)])
        total: Expr | None = None
        for y, v in taps[0]:
            for x, w in taps[1]:
                value = data(n, c, y, x).astype(kind)
                term = value if v is None or w is None else value * (v * w)
                total = term if total is None else total + term
        assert total is not None
        return te.select(te.all(*within), total, te.const(outside, kind)).astype(data.dtype)

    count = (boxes.shape[0], data.shape[1], *shape)
    return Computation((compute(count, element, name, layout),))


def _product(a: Expr, b: Expr) -> Expr:
    """a·b, rounded before it is added to anything: fused, the sum may end on another side of an edge than theirs."""
    return (a.astype("float64") * b.astype("float64")).astype(a.dtype)


def _index(at: Expr, extent: int) -> Expr:
    """A position as an index that exists, 0 for NaN."""
    return te.maximum(te.minimum(at, float(extent - 1)), 0.0).astype("index")


def roi_pool(data: View, regions: View, batch: View, shape: Sequence[int], scale: float) -> Computation:
    """The maxima of the bins of regions of data [N, C, H, W]: [regions, C, *shape], row-major (Girshick, Fast R-CNN,
    2015).

    regions [count, 4] are x1, y1, x2, y2, times `scale` rounded to the elements of two opposite corners. A bin that
    covers no element gives 0.
    """
    name = "roi_pool"
    _require_regions(name, data, regions, batch, shape)
    images, channels, *spatial = data.shape
    kind, result_shape = accumulator_type(data.dtype), (regions.shape[0], channels, *shape)

    def body(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu | None = None) -> te.Stmt:
        ib = ir_builder.create()
        source, region, image = (ib.buffer_ptr(b) for b in ins)
        result = ib.buffer_ptr(outs[0])
        parallel = loop_kind(prod(result_shape) * 16)
        with rows_and_parts(ib, regions.shape[0] * channels, shape, parallel, gpu) as (row, bins):
            r, c = ib.let("r", row // channels), ib.let("c", row % channels)
            n = ib.let("n", te.minimum(te.maximum(image[r].astype("index"), 0), images - 1))
            first, size = [], []
            for d in range(2):
                low, high = (_rounded(region[r, k].astype(kind) * scale) for k in (1 - d, 3 - d))
                first.append(ib.let("first", low))
                size.append(ib.let("size", te.maximum(high - low + 1.0, 1.0) / float(shape[d])))
            with bins as (py, px):
                begin, end = [], []
                for d, place in enumerate((py, px)):
                    low = te.floor(place.astype(kind) * size[d]) + first[d]
                    high = te.ceil((place + 1).astype(kind) * size[d]) + first[d]
                    begin.append(ib.let("begin", _limited(low, spatial[d])))
                    end.append(ib.let("end", _limited(high, spatial[d])))
                covered = te.all(end[0] > begin[0], end[1] > begin[1])
                best = ib.allocate(data.dtype, (1,), name="best")
                best[0] = te.select(covered, te.min_value(data.dtype), te.const(0, data.dtype))
                with ib.for_range(begin[0], end[0], "y") as y, ib.for_range(begin[1], end[1], "x") as x:
                    best[0] = te.maximum(best[0], source[n, c, y, x])
                result[r, c, py, px] = best[0]
        return ib.get()

    by_blocks = body if prod(result_shape) > 0 else None
    return written(name, [(result_shape, data.dtype)], [data, regions, batch], body, by_blocks)


def ps_roi_pool(data: View, regions: View, batch: View, shape: Sequence[int], groups: int, scale: float) -> Computation:
    """The averages of the bins of regions of data [N, C·groups², H, W]: [regions, C, *shape], row-major, where each bin
    has channels of its own (Dai et al., R-FCN, 2016).

    regions [count, 4] are x1, y1, x2, y2, rounded to elements, both included, then times `scale`. Bin [y, x] reads the
    channels of part [y·groups / rows, x·groups / columns]. A bin that covers no element gives 0.
    """
    name = "ps_roi_pool"
    _require_regions(name, data, regions, batch, shape)
    require_count(name, "groups", groups, 1)
    require(data.shape[1] % groups**2 == 0, name, f"a multiple of {groups**2} channels", data.shape[1])
    images, depth, *spatial = data.shape
    channels, kind = depth // groups**2, accumulator_type(data.dtype)
    result_shape = (regions.shape[0], channels, *shape)

    def body(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu | None = None) -> te.Stmt:
        ib = ir_builder.create()
        source, region, image = (ib.buffer_ptr(b) for b in ins)
        result = ib.buffer_ptr(outs[0])
        parallel = loop_kind(prod(result_shape) * 16)
        with rows_and_parts(ib, regions.shape[0] * channels, shape, parallel, gpu) as (row, bins):
            r, c = ib.let("r", row // channels), ib.let("c", row % channels)
            n = ib.let("n", te.minimum(te.maximum(image[r].astype("index"), 0), images - 1))
            first, size = [], []
            for d in range(2):
                low, high = (_rounded(region[r, k].astype(kind)) for k in (1 - d, 3 - d))
                first.append(ib.let("first", low * scale))
                extent = te.maximum((high + 1.0) * scale - first[d], 0.1)
                size.append(ib.let("size", extent / float(shape[d])))
            with bins as (py, px):
                begin, end = [], []
                for d, place in enumerate((py, px)):
                    low = te.floor(_product(place.astype(kind), size[d]) + first[d])
                    high = te.ceil(_product((place + 1).astype(kind), size[d]) + first[d])
                    begin.append(ib.let("begin", _limited(low, spatial[d])))
                    end.append(ib.let("end", _limited(high, spatial[d])))
                part = py * groups // shape[0] * groups + px * groups // shape[1]
                channel = ib.let("channel", c * groups**2 + part)
                total = ib.allocate(kind, (1,), name="total")
                total[0] = te.const(0.0, kind)
                with ib.for_range(begin[0], end[0], "y") as y, ib.for_range(begin[1], end[1], "x") as x:
                    total[0] = total[0] + source[n, channel, y, x].astype(kind)
                count = te.maximum((end[0] - begin[0]) * (end[1] - begin[1]), 1)
                result[r, c, py, px] = (total[0] / count.astype(kind)).astype(data.dtype)
        return ib.get()

    by_blocks = body if prod(result_shape) > 0 else None
    return written(name, [(result_shape, data.dtype)], [data, regions, batch], body, by_blocks)


def _rounded(x: Expr) -> Expr:
    """The nearest integer, from half-way away from zero, as C's round."""
    whole = te.trunc(x)
    up = te.select(te.abs(x - whole) >= 0.5, te.select(x < 0, -1.0, te.const(1.0, x.dtype)), te.const(0.0, x.dtype))
    return whole + up


def _limited(at: Expr, extent: int) -> Expr:
    return te.maximum(te.minimum(at, float(extent)), 0.0).astype("index")


def _require_regions(operator: str, data: View, regions: View, batch: View, shape: Sequence[int]) -> None:
    require_views(operator, data=data, regions=regions, batch=batch)
    require_floats(operator, data=data, regions=regions)
    require_whole_numbers(operator, batch=batch)
    require_rank(operator, "data [N, C, H, W]", data, 4)
    require_rank(operator, "regions [count, 4]", regions, 2)
    require_shape(operator, "regions", regions, (regions.shape[0], 4))
    require_shape(operator, "batch", batch, regions.shape[:1])
    require_integers(operator, "shape", shape, 2, 1)
