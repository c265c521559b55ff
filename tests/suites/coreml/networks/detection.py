"""Layers of detectors."""

from __future__ import annotations

import numpy as np
from detectors import left, region, scene, suppressed

from networks.case import Cases

CASES = Cases("networks.detection")
layer = CASES.layer
reals = CASES.source.reals

for per_class in (False, True):
    for threshold, most in ((0.3, 5), (0.9, 12), (2.0, 3)):  # no score exceeds the last
        boxes, scores = scene(CASES.source, 10, 3)
        places = left(boxes[0], scores[0], 0.3, threshold, most, per_class=per_class)
        layer(
            f"suppression_{threshold}_{per_class}",
            "add_nms",
            [boxes, scores],
            *suppressed(boxes, scores, places or [int(scores[0].max(1).argmax())], most),
            iou_threshold=0.3,
            score_threshold=threshold,
            max_boxes=most,
            per_class_suppression=per_class,
        )
_IMAGES, _BOXES = reals(1, 2, 3, 6, 7), np.array([[1, 1.5, 4, 6], [0, 0, 5, 6], [4, 5, 2, 1]], np.float32)
for name, mode in (("strict", "STRICT_ALIGN_ENDPOINTS_MODE"), ("align", "ALIGN_ENDPOINTS_MODE")):
    for size in ((3, 4), (1, 1)):
        layer(
            f"crop_resize_{name}_{size[0]}",
            "add_crop_resize",
            [_IMAGES, _BOXES.reshape(3, 1, 4, 1, 1)],
            np.stack([[region(image, box, size, name) for image in _IMAGES[0]] for box in _BOXES]),
            target_height=size[0],
            target_width=size[1],
            mode=mode,
        )
_LEVEL = reals(1, 2, 3, 6, 7)
layer(
    "crop_resize_roi_align",
    "add_crop_resize",
    [_LEVEL, np.array([[1, 2, 2, 8, 10], [0, 0, 2, 4, 9]], np.float32).reshape(2, 1, 5, 1, 1)],
    np.stack([[region(_LEVEL[0, i], box, (2, 3), "roi_align")] for i, box in ((1, (1, 1, 5, 4)), (0, (1, 0, 4.5, 2)))]),
    target_height=2,
    target_width=3,
    mode="ROI_ALIGN_MODE",
    box_indices_mode="CORNERS_WIDTH_FIRST",
    spatial_scale=0.5,
)
_SHARES = np.array([[0.5, 0.5, 0.5, 1.0]], np.float32)
layer(
    "crop_resize_normalized",
    "add_crop_resize",
    [_LEVEL, _SHARES.reshape(1, 1, 4, 1, 1)],
    np.stack([[region(image, (1.25, 0, 3.75, 6), (3, 3), "align") for image in _LEVEL[0]]]),
    target_height=3,
    target_width=3,
    mode="ALIGN_ENDPOINTS_MODE",
    normalized_roi=True,
    box_indices_mode="CENTER_SIZE_HEIGHT_FIRST",
)
