"""Boxes of detectors: anchors, their decoding, and the suppression of boxes that overlap better ones.

Which boxes remain depends on the data: outputs have room for all, -1 after the last, and counts say how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.element_kinds import FLOATS
from sateen.topi.computations import boxes, multibox
from sateen.topi.dimensions import may_be_at_least, numbers
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def _require_form(op: Operator, form: str) -> None:
    require(form in boxes.FORMS, op, f"expects form of {', '.join(boxes.FORMS)}, found {form!r}")


@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Operator):
    """Boxes that no better one of the same class overlaps by more than `iou_threshold`: the best `most` of each class.

    Inputs: boxes [B, N, 4], scores [B, C, N]. Outputs: indices [B, C, most] of boxes, best first and -1 after the last,
    and counts [B, C], int64. Only scores above `score_threshold` take part, with None all that are numbers; of equal
    ones the first box comes first. `form` of boxes: diagonal (any two opposite corners), corners (low, then high; empty
    if they are in another order) or center (centre, then extents).
    """

    most: int
    iou_threshold: float = 0.0
    score_threshold: float | None = None
    form: str = "diagonal"

    def infer(self, boxes: TensorType, scores: TensorType) -> tuple[TensorType, ...]:
        FLOATS.check(self, "boxes", boxes)
        FLOATS.check(self, "scores", scores)
        _require_form(self, self.form)
        require(scores.rank == 3, self, f"expects scores [B, C, N], found {scores}")
        batch, classes, count = scores.shape
        fits = boxes.shape == (batch, count, 4)
        require(fits, self, f"expects boxes [{batch}, {count}, 4] for scores {scores}, found {boxes}")
        fits = self.most >= 1 and may_be_at_least(count, self.most)
        require(fits, self, f"most expects 1 to {count}, the number of boxes, found {self.most}")
        return TensorType.of("int64", (batch, classes, self.most)), TensorType.of("int64", (batch, classes))

    def compute(self, box: View, scores: View, *, outputs: Sequence[TensorType]) -> Computation:
        return boxes.non_max_suppression(box, scores, self.most, self.iou_threshold, self.score_threshold, self.form)


@dataclass(frozen=True, slots=True)
class SuppressRecords(Operator):
    """Records [B, N, W] of a detector, best first, without those whose box a better one overlaps (MXNet box_nms).

    Outputs: records [B, N, W], -1 after the last, and counts [B]. A record has its score at `score`, its box at `box`
    to `box` + 3, and its class at `classes`, -1 for none. Records of class `background` and those with scores up to
    `score_threshold` are none. The `most` best take part, with 0 all. Boxes suppress each other only within a
    class, unless `across`. With `keeps_suppressed` suppressed records stay, with class -1, and the records after the
    candidates are those of data in these places (MXNet MultiBoxDetection).
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

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        FLOATS.check(self, "data", data)
        _require_form(self, self.form)
        require(data.rank == 3, self, f"expects data [B, N, W], found {data}")
        width = data.shape[2]
        for name, place, least, most in (
            ("box", self.box, 0, width - 4), ("score", self.score, 0, width - 1),
            ("classes", self.classes, 0 if self.keeps_suppressed else -1, width - 1),
        ):  # fmt: skip
            fits = place >= least and may_be_at_least(most - place, 0)
            require(fits, self, f"{name} expects {least} to {most} for records of {width}, found {place}")
        require(self.most >= 0, self, f"most expects 0 or more, found {self.most}")
        return data, TensorType.of("int64", data.shape[:1])

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        how = boxes.Records(
            self.box, self.score, self.classes, self.background, self.iou_threshold, self.score_threshold,
            self.most, self.across, self.form, self.keeps_suppressed,
        )  # fmt: skip
        return boxes.suppress_records(data, how)


@dataclass(frozen=True, slots=True)
class MultiBoxPrior(Operator):
    """The anchors of a feature map of `shape`, [height, width]: [1, height·width·(sizes + ratios - 1), 4] (MXNet
    MultiBoxPrior).

    At each place all sizes with the first ratio, then the first size with the other ratios: low and high corners, x
    first, in units of the picture. `steps` and `offsets` are (y, x); a step of 0 or less is 1 / extent.
    """

    shape: tuple[Dim, ...]
    sizes: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    steps: tuple[float, ...] = (-1.0, -1.0)
    offsets: tuple[float, ...] = (0.5, 0.5)
    clip: bool = False

    def infer(self) -> tuple[TensorType, ...]:
        for name, values in (("shape", self.shape), ("steps", self.steps), ("offsets", self.offsets)):
            require(len(values) == 2, self, f"{name} expects two values, (y, x), found {list(values)}")
        fits = all(may_be_at_least(n, 1) for n in self.shape)
        require(fits, self, f"shape expects extents of at least 1, found {list(self.shape)}")
        require(len(self.sizes) > 0, self, "sizes expects at least one, found none")
        fits = len(self.ratios) > 0 and min(self.ratios) > 0
        require(fits, self, f"ratios expects numbers above 0, found {list(self.ratios)}")
        places = self.shape[0] * self.shape[1]
        return (TensorType.of("float32", (1, places * (len(self.sizes) + len(self.ratios) - 1), 4)),)

    def compute(self, *, outputs: Sequence[TensorType]) -> Computation:
        shape = numbers(self.shape)
        return multibox.multibox_prior(shape, self.sizes, self.ratios, self.steps, self.offsets, self.clip)


@dataclass(frozen=True, slots=True)
class MultiBoxTransformLoc(Operator):
    """Records [B, N, 6] (class, score, low and high corner) of the anchors whose best class is not the background, and
    their counts [B]; the rest is -1 (MXNet MultiBoxDetection before suppression).

    Inputs: probabilities [B, classes, N], background first; offsets [B, 4·N] of centres and logarithms of extents,
    times `variances` in units of the anchors; anchors [1, N, 4]. A score below `threshold` is none.
    """

    threshold: float = 0.01
    clip: bool = True
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2)

    def infer(self, probabilities: TensorType, offsets: TensorType, anchors: TensorType) -> tuple[TensorType, ...]:
        FLOATS.check(self, "probabilities", probabilities)
        require(probabilities.rank == 3, self, f"expects probabilities [B, classes, N], found {probabilities}")
        require(len(self.variances) == 4, self, f"expects 4 variances, found {list(self.variances)}")
        batch, _, count = probabilities.shape
        for name, found, shape in (("offsets", offsets, (batch, 4 * count)), ("anchors", anchors, (1, count, 4))):
            fits = found == TensorType(probabilities.dtype, shape)
            require(fits, self, f"expects {name} {list(shape)} for probabilities {probabilities}, found {found}")
        return TensorType(probabilities.dtype, (batch, count, 6)), TensorType.of("int64", (batch,))

    def compute(
        self, probabilities: View, offsets: View, anchors: View, *, outputs: Sequence[TensorType]
    ) -> Computation:
        given = probabilities, offsets, anchors
        return multibox.multibox_transform_loc(*given, self.threshold, self.clip, self.variances)


OPS = (MultiBoxPrior, MultiBoxTransformLoc, NonMaxSuppression, SuppressRecords)
"""The operators of this file."""
