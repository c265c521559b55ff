"""What detectors compute, by its definitions: the suppression of boxes, and regions of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from arrays import Array, Source, sampled


def scene(source: Source, count: int, classes: int) -> tuple[Array, Array]:
    """Boxes [1, N, 4], centres and extents, many of which overlap, and scores [1, N, C]."""
    boxes = np.concatenate([source.reals(1, count, 2, low=0, high=6), source.reals(1, count, 2, low=1, high=4)], 2)
    return boxes, source.reals(1, count, classes, low=0, high=1)


def _overlap(a: Array, b: Array) -> float:
    lows, highs = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2), np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    shared = float(np.prod(np.maximum(highs - lows, 0)))
    return shared / float(a[2] * a[3] + b[2] * b[3] - shared)


def left(boxes: Array, scores: Array, iou: float, threshold: float, most: int, *, per_class: bool = False) -> list[int]:
    """The places of boxes [N, 4] that no better one, of the same best class with `per_class`, overlaps by more."""
    best, kinds = scores.max(1), scores.argmax(1)
    kept: list[int] = []
    for place in sorted(range(len(boxes)), key=lambda i: -best[i]):
        others = [other for other in kept if not per_class or kinds[other] == kinds[place]]
        if best[place] > threshold and all(_overlap(boxes[place], boxes[other]) <= iou for other in others):
            kept.append(place)
    return kept[:most]


def suppressed(boxes: Array, scores: Array, places: Sequence[int], most: int) -> tuple[Array, Array, Array, Array]:
    """Boxes, scores, places and their number, of one picture, with 0 and -1 after the last."""
    rows = np.zeros((1, most, 4), np.float32), np.zeros((1, most, scores.shape[2]), np.float32)
    at = np.full((1, most), -1, np.int32)
    for index, place in enumerate(places):
        rows[0][0, index], rows[1][0, index], at[0, index] = boxes[0, place], scores[0, place], place
    return *rows, at, np.array([len(places)], np.int32)


def region(image: Array, box: Sequence[float], size: tuple[int, int], mode: str) -> Array:
    """The pixels of an image [C, H, W] in a box (top, left, bottom, right)."""
    ends = [(box[0], box[2]), (box[1], box[3])]
    return sampled(image, *(_positions(*end, count, mode) for end, count in zip(ends, size, strict=True)))


def _positions(start: float, end: float, count: int, mode: str) -> Array:
    if mode == "roi_align":
        step = max(1.0, end - start) / count
        return start + (np.arange(count) + 0.5) * step
    if count == 1 and mode == "align":
        return np.array([(start + end) / 2])
    return np.linspace(start, end, count)
