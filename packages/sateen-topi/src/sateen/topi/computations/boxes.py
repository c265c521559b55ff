"""Boxes of detectors: the suppression of boxes that overlap better ones.

The number of boxes that remain depends on the data, so outputs have room for all, and counts say how much is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.arguments import (
    require_count,
    require_floats,
    require_one_of,
    require_rank,
    require_shape,
    require_views,
)
from sateen.topi.computations.block_sorts import PLACE
from sateen.topi.computations.block_suppression import NONE, BlockSuppression, sorted_places
from sateen.topi.computations.counters import Counter
from sateen.topi.computations.heaps import Heap
from sateen.topi.schedules import Computation, each_thread, loop_kind, one_thread, shared_out, written
from sateen.topi.types import View

FORMS = ("corners", "diagonal", "center")
"""How four numbers are a box: the corner that is low along both axes and the one that is high, where a box whose high
corner is below the low one is empty; any two opposite corners; or the centre and the extents."""


def non_max_suppression(
    boxes: View, scores: View, most: int, iou_threshold: float, score_threshold: float | None, form: str = "diagonal"
) -> Computation:
    """The boxes [B, N, 4] that no better one of the same class overlaps by more than `iou_threshold`.

    scores [B, C, N]. Gives indices [B, C, most], best first and -1 after the last, and counts [B, C]. Only scores above
    `score_threshold` take part, and none that is NaN; of equal ones the first box comes first. Overlap is the
    intersection over the union, 0 of empty boxes.
    """
    name = "non_max_suppression"
    require_views(name, boxes=boxes, scores=scores)
    require_floats(name, boxes=boxes, scores=scores)
    require_rank(name, "boxes [B, N, 4]", boxes, 3)
    require_rank(name, "scores [B, C, N]", scores, 3)
    require_shape(name, "boxes", boxes, (scores.shape[0], scores.shape[2], 4))
    require_one_of(name, "form", form, FORMS)
    require_count(name, "most", most, 1, scores.shape[2])
    statements = _BoxSuppression(scores.shape, scores.dtype, most, iou_threshold, score_threshold, form)
    outputs = [((*scores.shape[:2], most), "int64"), (scores.shape[:2], "int64")]
    return written(name, outputs, [boxes, scores], statements.in_order, statements.by_blocks)


@dataclass(frozen=True, slots=True)
class _BoxSuppression:
    """The statements of `non_max_suppression`: one box after the other, and by blocks of threads."""

    shape: Sequence[int]
    """That of the scores."""
    dtype: DType
    most: int
    iou_threshold: float
    score_threshold: float | None
    form: str

    def in_order(self, ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        """The best box is taken from a queue, and compared with those that are kept."""
        most, (batch, classes, count) = self.most, self.shape
        ib = ir_builder.create()
        box, score = (ib.buffer_ptr(b) for b in ins)
        chosen, number = (ib.buffer_ptr(b) for b in outs)
        with ib.for_range(0, batch * classes, "row", loop_kind(batch * classes * count * 4)) as row:
            b, c = ib.let("b", row // classes), ib.let("c", row % classes)
            queue = _Queue(ib, count, lambda i: score[b, c, i])
            with ib.for_range(0, count, "i") as i, ib.if_scope(_takes_part(score[b, c, i], self.score_threshold)):
                queue.append(i)
            queue.order()
            kept = Counter(ib, "kept")
            with ib.while_scope(te.all(queue.size.value > 0, kept.value < most)):
                best = queue.take()
                place = ib.let("place", best.astype("index"))
                one = _Box.load(ib, [box[b, place, d] for d in range(4)], self.form)

                def other(j: Expr, b: Expr = b, c: Expr = c) -> _Box:
                    i = ib.let("i", chosen[b, c, j].astype("index"))
                    return _Box.load(ib, [box[b, i, d] for d in range(4)], self.form)

                with ib.if_scope(~_is_overlapped(ib, one, other, kept.value, self.iou_threshold)):
                    chosen[b, c, kept.value.astype("index")] = best
                    kept.increase()
            number[b, c] = kept.value
            with ib.for_range(kept.value.astype("index"), most, "i") as i:
                chosen[b, c, i] = te.const(-1, "int64")
        return ib.get()

    def by_blocks(self, ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        """Boxes are sorted, and blocks compare them tile by tile."""
        most, (batch, classes, count) = self.most, self.shape
        ib = ir_builder.create()
        box, score = (ib.buffer_ptr(b) for b in ins)
        chosen, number = (ib.buffer_ptr(b) for b in outs)
        rows = batch * classes

        def value(row: Expr, i: Expr) -> Expr:
            return score[row // classes, row % classes, i]

        def load(row: Expr, place: Expr) -> _Box:
            return _Box.load(ib, [box[row // classes, place, d] for d in range(4)], self.form)

        def finish(row: Expr, kept: BufferPointer, place: Callable[[Expr], Expr], threads: int) -> None:
            b, c = row // classes, row % classes
            with shared_out(ib, most, threads) as i:
                there = te.select(i < kept[0].astype("index"), place(i), te.const(NONE, PLACE))
                chosen[b, c, i] = there.astype("int64")
            with one_thread(ib):
                number[b, c] = kept[0].astype("int64")

        def takes_part(row: Expr, i: Expr) -> Expr:
            return _takes_part(value(row, i), self.score_threshold)

        order = sorted_places(ib, rows, count, count, self.dtype, value, takes_part, gpu)

        def overlaps(one: _Box, other: _Box) -> Expr:
            return one.overlap(other) > te.const(self.iou_threshold, one.area.dtype)

        BlockSuppression(ib, order, rows, count, most, load, overlaps, gpu).run(finish)
        return ib.get()


@dataclass(frozen=True, slots=True)
class Records:
    """Where a record of a detector has its box, score and class, and which records are suppressed.

    `classes` of -1: records have none. Records of class `background` and those with scores up to `score_threshold` are
    none. The `most` best take part, with 0 all. Boxes suppress each other only within a class, unless `across`.
    """

    box: int = 2
    score: int = 1
    classes: int = -1
    background: int = -1
    iou_threshold: float = 0.5
    score_threshold: float = 0.0
    most: int = 0
    across: bool = False
    form: str = "corners"
    keeps_suppressed: bool = False


def suppress_records(data: View, how: Records) -> Computation:
    """Records [B, N, W] without those whose box a better one overlaps: [B, N, W], best first, and counts [B].

    The rest is -1. With `keeps_suppressed` all candidates stay in order, those that are suppressed with class -1, and
    after them are the records of data in these places, with class -1 (MXNet's MultiBoxDetection).
    """
    name = "suppress_records"
    require_views(name, data=data)
    require_floats(name, data=data)
    require_rank(name, "data [B, N, W]", data, 3)
    batch, count, width = data.shape
    require_count(name, "box", how.box, 0, width - 4)
    require_count(name, "score", how.score, 0, width - 1)
    require_count(name, "classes", how.classes, 0 if how.keeps_suppressed else -1, width - 1)
    require_count(name, "most", how.most, 0)
    require_one_of(name, "form", how.form, FORMS)

    statements = _RecordSuppression(data, how)
    by_blocks = statements.by_blocks if count else None
    return written(name, [(data.shape, data.dtype), ((batch,), "int64")], [data], statements.in_order, by_blocks)


@dataclass(frozen=True, slots=True)
class _RecordSuppression:
    """The statements of `suppress_records`: one record after the other, and by blocks of threads."""

    data: View
    how: Records

    def in_order(self, ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        """The best record is taken from a queue, and compared with those that are kept."""
        how, (batch, count, width) = self.how, self.data.shape
        ib = ir_builder.create()
        record = ib.buffer_ptr(ins[0])
        result, number = (ib.buffer_ptr(b) for b in outs)
        with ib.for_range(0, batch, "b", loop_kind(batch * count * 4)) as b:
            queue = _Queue(ib, count, lambda i: record[b, i, how.score])
            with ib.for_range(0, count, "i") as i, ib.if_scope(_is_candidate(record, b, i, how)):
                queue.append(i)
            queue.order()
            limit = how.most or count
            tried, kept, written = (Counter(ib, n) for n in ("tried", "kept", "written"))
            places = ib.allocate("int64", (max(count, 1),), name="places")
            with ib.while_scope(te.all(queue.size.value > 0, tried.value < limit)):
                place = ib.let("place", queue.take().astype("index"))
                one = _Box.load(ib, [record[b, place, how.box + d] for d in range(4)], how.form)

                def other(j: Expr, b: Expr = b) -> _Box:
                    i = ib.let("i", places[j].astype("index"))
                    return _Box.load(ib, [record[b, i, how.box + d] for d in range(4)], how.form)

                def concerns(j: Expr, b: Expr = b, place: Expr = place) -> Expr:
                    return record[b, places[j].astype("index"), how.classes].equal(record[b, place, how.classes])

                among_all = how.across or how.classes < 0
                overlapped = _is_overlapped(
                    ib, one, other, kept.value, how.iou_threshold, None if among_all else concerns
                )
                with ib.if_scope(overlapped):
                    if how.keeps_suppressed:
                        _copy_record(ib, result, record, (b, written.value.astype("index")), place, how.classes)
                        written.increase()
                with ib.else_scope():
                    _copy_record(ib, result, record, (b, written.value.astype("index")), place)
                    written.increase()
                    places[kept.value.astype("index")] = place
                    kept.increase()
                tried.increase()
            number[b] = kept.value
            with ib.for_range(written.value.astype("index"), count, "i") as i:
                if how.keeps_suppressed:
                    _copy_record(ib, result, record, (b, i), i, how.classes)
                else:
                    with ib.for_range(0, width, "d") as d:
                        result[b, i, d] = te.const(-1.0, self.data.dtype)
        return ib.get()

    def by_blocks(self, ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        """Records are sorted, and blocks compare them tile by tile."""
        how, (batch, count, width) = self.how, self.data.shape
        ib = ir_builder.create()
        record = ib.buffer_ptr(ins[0])
        result, number = (ib.buffer_ptr(b) for b in outs)
        limit = min(how.most or count, count)
        order = sorted_places(
            ib, batch, count, limit, self.data.dtype, lambda b, i: record[b, i, how.score],
            lambda b, i: _is_candidate(record, b, i, how), gpu,
        )  # fmt: skip

        def load(b: Expr, i: Expr) -> tuple[_Box, Expr]:
            box = _Box.load(ib, [record[b, i, how.box + d] for d in range(4)], how.form)
            return box, ib.let("class", record[b, i, max(how.classes, 0)])

        def overlaps(one: tuple[_Box, Expr], other: tuple[_Box, Expr]) -> Expr:
            exceeds = one[0].overlap(other[0]) > te.const(how.iou_threshold, self.data.dtype)
            return exceeds if how.across or how.classes < 0 else te.all(other[1].equal(one[1]), exceeds)

        kept = ib.allocate(PLACE, (batch, limit), "global", "chosen")

        def finish(b: Expr, many: BufferPointer, place: Callable[[Expr], Expr], threads: int) -> None:
            with shared_out(ib, limit, threads) as i:
                kept[b, i] = te.select(i < many[0].astype("index"), place(i), te.const(NONE, PLACE))
            with one_thread(ib):
                number[b] = many[0].astype("int64")

        fates = BlockSuppression(ib, order, batch, limit, limit, load, overlaps, gpu).run(finish)
        with each_thread(ib, batch * count * width, gpu) as e:
            b, i, d = e // width // count, e // width % count, e % width
            rank = te.minimum(i, limit - 1)
            place = ib.let("place", (order if how.keeps_suppressed else kept)[b, rank])
            is_there = ib.let("is_there", te.all(i < limit, place >= 0))
            if not how.keeps_suppressed:
                value = te.select(is_there, record[b, place.astype("index"), d], te.const(-1.0, self.data.dtype))
            else:
                value = record[b, te.select(is_there, place.astype("index"), i), d]
                is_known = te.any(te.all(is_there, fates[b, rank] > 0), d.not_equal(how.classes))
                value = te.select(is_known, value, te.const(-1.0, self.data.dtype))
            result[b, i, d] = value
        return ib.get()


def _is_candidate(record: BufferPointer, b: Expr, i: Expr, how: Records) -> Expr:
    """Whether a record takes part."""
    real = _takes_part(record[b, i, how.score], how.score_threshold)
    if how.classes < 0:
        return real
    return te.all(real, record[b, i, how.classes].not_equal(float(how.background)))


def _copy_record(
    ib: IRBuilder,
    result: BufferPointer,
    record: BufferPointer,
    to: tuple[Expr, Expr],
    place: Expr,
    forgotten: int | None = None,
) -> None:
    """result[to] = record[…, place], with -1 as the class at `forgotten`."""
    with ib.for_range(0, record.shape[2], "d") as d:
        value = record[to[0], place, d]
        if forgotten is not None:
            value = te.select(d.equal(forgotten), te.const(-1.0, record.dtype), value)
        result[(*to, d)] = value


class _Queue:
    """Indices in order of their scores, highest first, and of equal ones the lowest first: a heap that is emptied."""

    def __init__(self, ib: IRBuilder, room: int, score: Callable[[Expr], Expr]) -> None:
        self._ib, self._score = ib, score
        self._indices = ib.allocate("int64", (max(room, 1),), name="queue")
        self.size = Counter(ib, "size")
        self._heap = Heap(ib, self._belongs_below, self._swap)

    def append(self, index: Expr) -> None:
        """Add an index, before `order`."""
        self._indices[self.size.value.astype("index")] = index
        self.size.increase()

    def order(self) -> None:
        self._heap.build(self.size.value.astype("index"))

    def take(self) -> Expr:
        """The first index, which leaves the queue."""
        best = self._ib.let("best", self._indices[0])
        self.size.increase(-1)
        self._indices[0] = self._indices[self.size.value.astype("index")]
        self._heap.sift_down(te.const(0), self.size.value.astype("index"))
        return best

    def _belongs_below(self, i: Expr, j: Expr) -> Expr:
        one, other = self._indices[i], self._indices[j]
        a, b = self._score(one.astype("index")), self._score(other.astype("index"))
        return te.any(a < b, te.all(a.equal(b), one > other))

    def _swap(self, i: Expr, j: Expr) -> None:
        held = self._ib.let("held", self._indices[i])
        self._indices[i] = self._indices[j]
        self._indices[j] = held


def _takes_part(score: Expr, threshold: float | None) -> Expr:
    return ~te.isnan(score) if threshold is None else score > te.const(threshold, score.dtype)


@dataclass(frozen=True, slots=True)
class _Box:
    """The low and high corner of a box, and its area."""

    low: tuple[Expr, Expr]
    high: tuple[Expr, Expr]
    area: Expr

    @staticmethod
    def load(ib: IRBuilder, numbers: Sequence[Expr], form: str) -> _Box:
        a, b, c, d = (ib.let("edge", e) for e in numbers)
        if form == "center":
            low, high = (a - c * 0.5, b - d * 0.5), (a + c * 0.5, b + d * 0.5)
        elif form == "diagonal":
            low, high = (te.minimum(a, c), te.minimum(b, d)), (te.maximum(a, c), te.maximum(b, d))
        else:
            low, high = (a, b), (c, d)
        return _Box(low, high, _area(low, high))

    def overlap(self, other: _Box) -> Expr:
        """Intersection over union, 0 if a box is empty."""
        low = (te.maximum(self.low[0], other.low[0]), te.maximum(self.low[1], other.low[1]))
        high = (te.minimum(self.high[0], other.high[0]), te.minimum(self.high[1], other.high[1]))
        shared = _area(low, high)
        return te.select(shared > 0.0, shared / (self.area + other.area - shared), te.const(0.0, shared.dtype))


def _area(low: Sequence[Expr], high: Sequence[Expr]) -> Expr:
    width, height = te.maximum(high[0] - low[0], 0.0), te.maximum(high[1] - low[1], 0.0)
    return width * height


def _is_overlapped(
    ib: IRBuilder,
    one: _Box,
    other: Callable[[Expr], _Box],
    kept: Expr,
    threshold: float,
    concerns: Callable[[Expr], Expr] | None = None,
) -> Expr:
    """Whether one of the first `kept` boxes overlaps `one` by more than the threshold, if it `concerns` it."""
    found = Counter(ib, "found")
    j = Counter(ib, "j")
    with ib.while_scope(te.all(j.value < kept, found.value.equal(0))):
        at = ib.let("at", j.value.astype("index"))
        exceeds = one.overlap(other(at)) > te.const(threshold, one.area.dtype)
        with ib.if_scope(exceeds if concerns is None else te.all(concerns(at), exceeds)):
            found.increase()
        j.increase()
    return found.value > 0
