"""The places of boxes in a drawing: in layers, each box above its readers, with few crossings and straight edges.

The method of Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System Structures (1981):
layers by longest path, orders within them by barycentres, then places near the mean of their neighbours: those of a
layer that keep its order with the least Σ weight·(x - mean)², by pooling adjacent violators (Barlow and others,
Statistical Inference under Order Restrictions, 1972). An edge across layers passes through a spot in each. Except for
sorting, all of it takes time in proportion to boxes and crossed layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SIDE_GAP = 22.0
"""Pixels between boxes of a layer."""
LAYER_GAP = 24.0
"""Pixels between layers if edges go straight down; there are more if they go sideways."""
LARGEST_LAYER_GAP = 64.0
_PASSING_WIDTH = 10.0
_ORDER_SWEEPS = 6
_PLACE_SWEEPS = 12
_LOOSE = 0.01
"""The weight of spots that give way to boxes."""


@dataclass(frozen=True, slots=True)
class Link:
    """Edges from one box to the boxes that read the same value of it."""

    source: int
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The centre of each box, the top and bottom of each layer, and the points where each link passes through
    layers."""

    centres: tuple[float, ...]
    layers: tuple[int, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    passings: tuple[tuple[float, ...], ...]
    width: float


@dataclass(slots=True, eq=False)
class _Spot:
    """A box in its layer, or a point where an edge passes through. Each neighbour has a weight for a straight edge to
    it."""

    width: float
    passes: bool
    x: float = 0.0
    above: list[tuple[_Spot, float]] = field(default_factory=list)
    below: list[tuple[_Spot, float]] = field(default_factory=list)


def layers_of(count: int, links: Sequence[Link]) -> list[int]:
    """The layer of each box: below all boxes that it reads; a box that reads nothing is just above its first reader.

    Boxes are numbered, and links ordered, so that each box comes before its readers.
    """
    layers = [0] * count
    readers: dict[int, list[int]] = {}
    for link in links:
        readers.setdefault(link.source, []).extend(link.targets)
        for target in link.targets:
            layers[target] = max(layers[target], layers[link.source] + 1)
    read = {target for link in links for target in link.targets}
    for source, targets in readers.items():
        if source not in read:
            layers[source] = min(layers[target] for target in targets) - 1
    return layers


def arrange(sizes: Sequence[tuple[float, float]], links: Sequence[Link], layers: Sequence[int]) -> Arrangement:
    """Places for boxes of these widths and heights in their layers."""
    rows: list[list[_Spot]] = [[] for _ in range(max(layers, default=-1) + 1)]
    boxes = [_Spot(width, False) for width, _ in sizes]
    for box, layer in zip(boxes, layers, strict=True):
        rows[layer].append(box)
    trails = [_trail(link, boxes, layers, rows) for link in links]
    _order(rows)
    _place(rows)
    left = min((spot.x - spot.width / 2 for row in rows for spot in row), default=0.0)
    right = max((spot.x + spot.width / 2 for row in rows for spot in row), default=0.0)
    heights = [0.0] * len(rows)
    for (_, height), layer in zip(sizes, layers, strict=True):
        heights[layer] = max(heights[layer], height)
    tops, bottoms = [], []
    top = 0.0
    for row, height in zip(rows, heights, strict=True):
        tops.append(top)
        bottoms.append(top + height)
        sideways = max((abs(spot.x - below.x) for spot in row for below, _ in spot.below), default=0.0)
        top += height + min(LAYER_GAP + sideways / 8, LARGEST_LAYER_GAP)
    return Arrangement(
        tuple(box.x - left for box in boxes),
        tuple(layers),
        tuple(tops),
        tuple(bottoms),
        tuple(tuple(spot.x - left for spot in trail) for trail in trails),
        right - left,
    )


def _trail(link: Link, boxes: Sequence[_Spot], layers: Sequence[int], rows: list[list[_Spot]]) -> list[_Spot]:
    """The spots through which a link passes: one in each layer between its source and its last target."""
    first = layers[link.source]
    trail = [boxes[link.source]]
    for layer in range(first + 1, max(layers[target] for target in link.targets)):
        spot = _Spot(_PASSING_WIDTH, True)
        rows[layer].append(spot)
        _connect(trail[-1], spot)
        trail.append(spot)
    for target in link.targets:
        _connect(trail[layers[target] - first - 1], boxes[target])
    return trail[1:]


def _connect(upper: _Spot, lower: _Spot) -> None:
    weight = (1.0, 0.05, 4.0)[upper.passes + lower.passes] if upper.above else 0.1
    upper.below.append((lower, weight))
    lower.above.append((upper, weight))


def _order(rows: Sequence[list[_Spot]]) -> None:
    """Sort each layer by the places of its neighbours, downwards and upwards in turns."""
    for row in rows:
        _pack(row)
    for sweep in range(_ORDER_SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            row.sort(key=_mean_below if sweep % 2 else _mean_above)
            _pack(row)


def _pack(row: Sequence[_Spot]) -> None:
    """Place a layer's spots side by side, around 0."""
    end = -(sum(spot.width for spot in row) + SIDE_GAP * (len(row) - 1)) / 2
    for spot in row:
        spot.x = end + spot.width / 2
        end += spot.width + SIDE_GAP


def _place(rows: Sequence[list[_Spot]]) -> None:
    """Move each spot to the mean of its neighbours, as far as the order allows; finally straighten passing edges."""
    for sweep in range(_PLACE_SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            _settle(row, [spot.below if sweep % 2 else spot.above for spot in row])
    for _ in range(_PLACE_SWEEPS):
        for row in rows:
            _settle(row, [spot.above + spot.below for spot in row])
    for row in rows:
        _settle(row, [[_followed(spot)] for spot in row])
    for row in reversed(rows):
        _settle(row, [[(_passing(spot, spot.below), _LOOSE) if spot.passes else (spot, 1.0)] for spot in row])


def _followed(spot: _Spot) -> tuple[_Spot, float]:
    """The spot that should be straight above: the only one that leads here, or the spot itself. Boxes push aside
    passing edges."""
    if spot.passes:
        return _passing(spot, spot.above), _LOOSE
    strong = [above for above, weight in spot.above if weight >= 1]
    is_alone = len(strong) == 1 and sum(weight >= 1 for _, weight in strong[0].below) == 1
    return strong[0] if is_alone else spot, 1.0


def _passing(spot: _Spot, neighbours: Sequence[tuple[_Spot, float]]) -> _Spot:
    """The spot through which the same edges pass in the next layer, or the spot itself if they end."""
    return next((other for other, _ in neighbours if other.passes), spot)


def _settle(row: Sequence[_Spot], neighbours: Sequence[Sequence[tuple[_Spot, float]]]) -> None:
    """The places nearest to the means of neighbours at which spots in this order keep their distance."""
    if not row:
        return
    offsets = [0.0]
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + (one.width + other.width) / 2 + SIDE_GAP)
    blocks: list[tuple[float, float, int]] = []  # weight, mean, number of spots
    for spot, beside, offset in zip(row, neighbours, offsets, strict=True):
        weight = sum(w for _, w in beside) or 0.1
        block = weight, _mean(beside, spot.x) - offset, 1
        while blocks and blocks[-1][1] >= block[1]:
            w, mean, count = blocks.pop()
            block = w + block[0], (w * mean + block[0] * block[1]) / (w + block[0]), count + block[2]
        blocks.append(block)
    starts = (mean for _, mean, count in blocks for _ in range(count))
    for spot, start, offset in zip(row, starts, offsets, strict=True):
        spot.x = start + offset


def _mean_above(spot: _Spot) -> float:
    return _mean(spot.above, spot.x)


def _mean_below(spot: _Spot) -> float:
    return _mean(spot.below, spot.x)


def _mean(neighbours: Iterable[tuple[_Spot, float]], otherwise: float) -> float:
    total = weights = 0.0
    for spot, weight in neighbours:
        total += spot.x * weight
        weights += weight
    return total / weights if weights else otherwise
