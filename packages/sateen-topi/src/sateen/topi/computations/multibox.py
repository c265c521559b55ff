"""Anchors of detectors, and the boxes that are decoded from them.

The number of boxes depends on the data, so outputs have room for all, and counts say how much is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.arguments import (
    require,
    require_floats,
    require_integers,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
)
from sateen.topi.computations.block_sorts import PLACE, BlockSort, held_type
from sateen.topi.computations.block_suppression import NONE
from sateen.topi.computations.counters import Counter
from sateen.topi.schedules import Computation, each_thread, loop_kind, written
from sateen.topi.types import View, compute


def multibox_prior(
    shape: Sequence[int],
    sizes: Sequence[float],
    ratios: Sequence[float],
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Computation:
    """Anchors of a feature map [height, width]: [1, height·width·(sizes + ratios - 1), 4], low and high corners (x, y).

    At each place all sizes with the first ratio, then the first size with the other ratios, in units of the picture
    (Liu et al., SSD, 2016; MXNet MultiBoxPrior). `steps` and `offsets` are (y, x); steps of 0 or less are 1 / extent.
    """
    name = "multibox_prior"
    require_integers(name, "shape", shape, 2, 1)
    require(len(steps) == len(offsets) == 2, name, "steps and offsets (y, x)", f"{list(steps)} and {list(offsets)}")
    require(len(sizes) > 0 and len(ratios) > 0, name, "sizes and ratios", f"{list(sizes)} and {list(ratios)}")
    require(all(r > 0 for r in ratios), name, "ratios above 0", list(ratios))
    height, width = shape
    kinds = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    halves = np.array([(s * height / width * sqrt(r) / 2, s / sqrt(r) / 2) for s, r in kinds], np.float32)
    half = te.constant(halves, "halves")
    step_y, step_x = (step if step > 0 else 1 / n for step, n in zip(steps, shape, strict=True))

    def element(_: Expr, anchor: Expr, d: Expr) -> Expr:
        place, kind = anchor // len(kinds), anchor % len(kinds)
        x = ((place % width).astype("float32") + offsets[1]) * step_x
        y = ((place // width).astype("float32") + offsets[0]) * step_y
        extent = half(kind, d % 2)
        value = te.select((d % 2).equal(0), x, y) + te.select(d < 2, -extent, extent)
        return te.minimum(te.maximum(value, 0.0), 1.0) if clip else value

    return Computation((compute((1, height * width * len(kinds), 4), element, name),))


def multibox_transform_loc(
    probabilities: View,
    offsets: View,
    anchors: View,
    threshold: float = 0.01,
    clip: bool = True,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
) -> Computation:
    """Records [B, N, 6] (class, score, low and high corner) of anchors whose best class is not the background, and
    their counts [B]; the rest is -1 (MXNet MultiBoxDetection before suppression).

    probabilities [B, classes, N], background first; offsets [B, 4·N] of centres and logarithms of extents, times
    `variances` in units of the anchors [1, N, 4]. A score below `threshold` is none. Of equal classes the first counts.
    """
    name = "multibox_transform_loc"
    require_views(name, probabilities=probabilities, offsets=offsets, anchors=anchors)
    require_floats(name, probabilities=probabilities)
    require_same_type(name, probabilities=probabilities, offsets=offsets, anchors=anchors)
    require_rank(name, "probabilities [B, classes, N]", probabilities, 3)
    batch, _, count = probabilities.shape
    require_shape(name, "offsets", offsets, (batch, 4 * count))
    require_shape(name, "anchors", anchors, (1, count, 4))
    require(len(variances) == 4, name, "four variances", list(variances))
    kind = probabilities.dtype
    statements = _RecordsOfAnchors(probabilities.shape, kind, threshold, clip, variances)
    inputs, by_blocks = [probabilities, offsets, anchors], statements.by_blocks if count else None
    return written(name, [((batch, count, 6), kind), ((batch,), "int64")], inputs, statements.in_order, by_blocks)


@dataclass(frozen=True, slots=True)
class _RecordsOfAnchors:
    """The statements of `multibox_transform_loc`: one anchor after the other, and by blocks of threads."""

    shape: Sequence[int]
    """That of the probabilities."""
    kind: DType
    threshold: float
    clip: bool
    variances: Sequence[float]

    def in_order(self, ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        """Anchors are decoded as they are found."""
        kind, (batch, classes, count) = self.kind, self.shape
        ib = ir_builder.create()
        probability, offset, anchor = (ib.buffer_ptr(b) for b in ins)
        result, number = (ib.buffer_ptr(b) for b in outs)
        with ib.for_range(0, batch, "b", loop_kind(batch * classes * count)) as b:
            found = Counter(ib, "found")
            with ib.for_range(0, count, "i") as i:
                best, chosen = self._best_class(ib, probability, b, i)
                with ib.if_scope(chosen[0] > 0):
                    to = ib.let("to", found.value.astype("index"))
                    result[b, to, 0], result[b, to, 1] = (chosen[0] - 1).astype(kind), best[0]
                    self._decode(ib, result, anchor, offset, (b, i), to)
                    found.increase()
            number[b] = found.value
            with ib.for_range(found.value.astype("index"), count, "i") as i, ib.for_range(0, 6, "d") as d:
                result[b, i, d] = te.const(-1.0, kind)
        return ib.get()

    def by_blocks(self, ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        """The places of the anchors with a class are sorted; then each thread writes a record."""
        kind, (batch, _, count) = self.kind, self.shape
        ib = ir_builder.create()
        probability, offset, anchor = (ib.buffer_ptr(b) for b in ins)
        result, number = (ib.buffer_ptr(b) for b in outs)
        scores = ib.allocate(held_type(kind), (batch, count), "global", "scores")
        found = ib.allocate(PLACE, (batch, count), "global", "classes")
        order = ib.allocate(PLACE, (batch, count), "global", "order")
        with each_thread(ib, batch * count, gpu) as e:
            b, i = ib.let("b", e // count), ib.let("i", e % count)
            best, chosen = self._best_class(ib, probability, b, i)
            scores[b, i], found[b, i] = best[0].astype(scores.dtype), chosen[0].astype(PLACE)

        def store(b: Expr, rank: Expr, is_found: Expr, place: Expr) -> None:
            order[b, rank] = te.select(is_found > 0, place, te.const(NONE, PLACE))

        sort = BlockSort(ib, batch, count, count, PLACE, lambda one, other: one > other, gpu)
        sort.run(lambda b, i: (found[b, i] > 0).astype(PLACE), store)
        with each_thread(ib, batch * count, gpu) as e:
            b, to = ib.let("b", e // count), ib.let("to", e % count)
            following = te.select(to + 1 < count, order[b, te.minimum(to + 1, count - 1)], te.const(NONE, PLACE))
            with ib.if_scope(order[b, to] >= 0):
                i = ib.let("i", order[b, to].astype("index"))
                result[b, to, 0], result[b, to, 1] = (found[b, i] - 1).astype(kind), scores[b, i].astype(kind)
                self._decode(ib, result, anchor, offset, (b, i), to)
                with ib.if_scope(following < 0):
                    number[b] = to + 1
            with ib.else_scope():
                with ib.for_range(0, 6, "d") as d:
                    result[b, to, d] = te.const(-1.0, kind)
                with ib.if_scope(to.equal(0)):
                    number[b] = te.const(0, "int64")
        return ib.get()

    def _best_class(
        self, ib: IRBuilder, probability: BufferPointer, b: Expr, i: Expr
    ) -> tuple[BufferPointer, BufferPointer]:
        """The score of an anchor's best class, and the class, 0 if the score is none."""
        kind = self.kind
        best, chosen = ib.allocate(kind, (1,), name="best"), ib.allocate("int64", (1,), name="chosen")
        best[0], chosen[0] = te.const(-1.0, kind), te.const(0, "int64")
        with ib.for_range(1, self.shape[1], "c") as c, ib.if_scope(probability[b, c, i] > best[0]):
            best[0], chosen[0] = probability[b, c, i], c
        with ib.if_scope(best[0] < te.const(self.threshold, kind)):
            chosen[0] = te.const(0, "int64")
        return best, chosen

    def _decode(
        self,
        ib: IRBuilder,
        result: BufferPointer,
        anchors: BufferPointer,
        offsets: BufferPointer,
        place: tuple[Expr, Expr],
        to: Expr,
    ) -> None:
        """Write the box of the anchor at a place [b, i] to columns 2 to 5 of a record."""
        b, i = place
        anchor = [anchors[0, i, d] for d in range(4)]
        offset = [offsets[b, i * 4 + d] * self.variances[d] for d in range(4)]
        for axis in range(2):
            extent = ib.let("extent", anchor[axis + 2] - anchor[axis])
            centre = offset[axis] * extent + (anchor[axis] + anchor[axis + 2]) * 0.5
            half = te.exp(offset[axis + 2]) * extent * 0.5
            for d, value in ((2 + axis, centre - half), (4 + axis, centre + half)):
                result[b, to, d] = te.minimum(te.maximum(value, 0.0), 1.0) if self.clip else value
