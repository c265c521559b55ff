"""Operations of detectors."""

from __future__ import annotations

from typing import Any

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder
from detectors import left, region, scene, suppressed

from programs.case import Cases

CASES = Cases("programs.detection")
case = CASES.case
reals = CASES.source.reals


def suppression(name: str, target: Any, *, per_class: bool, threshold: float) -> None:
    """As of iOS 17 boxes are along the last axis, and all take part."""
    boxes, scores = scene(CASES.source, 9, 4)
    is_new = target >= ct.target.iOS17
    given: dict[str, Any] = {"iou_threshold": 0.25, "max_boxes": 6, "per_class_suppression": per_class}
    places = left(boxes[0], scores[0], 0.25, -np.inf if is_new else threshold, 6, per_class=per_class)
    expected = suppressed(boxes, scores, places or [int(scores[0].max(1).argmax())], 6)
    if is_new:
        boxes, scores = (np.ascontiguousarray(a.transpose(0, 2, 1)) for a in (boxes, scores))
        expected = (expected[0].transpose(0, 2, 1), expected[1].transpose(0, 2, 1), expected[2])
    else:
        given["score_threshold"] = threshold
    case(name, [boxes, scores], lambda x, y: Builder.non_maximum_suppression(boxes=x, scores=y, **given), *expected,
         target=target)  # fmt: skip


for per_class in (False, True):
    suppression(f"suppression_{per_class}", ct.target.iOS15, per_class=per_class, threshold=0.7)
    suppression(f"suppression_none_{per_class}", ct.target.iOS16, per_class=per_class, threshold=3.0)
    suppression(f"suppression_last_{per_class}", ct.target.iOS17, per_class=per_class, threshold=0)
_IMAGES, _BOXES = reals(2, 3, 6, 7), np.array([[1, 1.5, 4, 6], [0, 0, 5, 6], [4, 5, 2, 1]], np.float32)
for name, mode in (("STRICT_ALIGN_CORNERS", "strict"), ("ALIGN_CORNERS", "align"), ("OFFSET_CORNERS", "roi_align")):
    for height, width in ((3, 4), (1, 1)):
        case(
            f"crop_resize_{mode}_{height}",
            [_IMAGES, _BOXES.reshape(3, 1, 4, 1, 1)],
            lambda x, y, name=name, height=height, width=width: Builder.crop_resize(
                x=x, roi=y, target_height=height, target_width=width, sampling_mode=name
            ),
            np.stack([[region(image, box, (height, width), mode) for image in _IMAGES] for box in _BOXES]).astype(
                np.float32
            ),
            target=ct.target.iOS16,
        )
_OWNERS = np.array([1, 0, 1], np.int32)
_PARTS = np.stack([region(_IMAGES[i], b, (3, 3), "align") for i, b in zip(_OWNERS, _BOXES, strict=True)])
case(
    "crop_resize_owners",
    [_IMAGES, _BOXES],
    lambda x, y: Builder.crop_resize(
        x=x, boxes=y, box_indices=_OWNERS, target_height=3, target_width=3, sampling_mode="ALIGN_CORNERS"
    ),
    _PARTS.astype(np.float32),
)
_BEYOND = np.full((1, 3, 3, 3), 7, np.float32)
_BEYOND[..., :2] = region(_IMAGES[0], (0, 4, 5, 6), (3, 2), "align")
case(
    "crop_resize_beyond",
    [_IMAGES[:1], np.array([[0, 4, 5, 8]], np.float32)],
    lambda x, y: Builder.crop_resize(
        x=x, boxes=y, target_height=3, target_width=3, sampling_mode="ALIGN_CORNERS", pad_value=7.0
    ),
    _BEYOND,
)
