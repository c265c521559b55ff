"""Places of boxes in layers: nothing overlaps, what is read lies above, and edges are straight where they can be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sateen.graph_ir.drawing.arrangement import SIDE_GAP, Arrangement, Link, arrange, layers_of


def random_links(seed: int, count: int) -> list[Link]:
    """Each box but the first few is read by some that come later."""
    generator = np.random.default_rng(seed)
    links = []
    for source in range(count - 1):
        later = generator.integers(source + 1, min(source + 12, count), generator.integers(1, 4))
        links.append(Link(source, tuple(sorted({int(t) for t in later}))))
    return links


def placed(sizes: list[tuple[float, float]], links: list[Link]) -> Arrangement:
    return arrange(sizes, links, layers_of(len(sizes), links))


def test_what_is_read_lies_above_what_reads_it() -> None:
    links = random_links(0, 60)
    layers = layers_of(60, links)
    assert all(layers[link.source] < layers[target] for link in links for target in link.targets)


def test_what_reads_nothing_lies_just_above_its_first_reader() -> None:
    chain = [Link(0, (1,)), Link(1, (2,)), Link(2, (4,)), Link(3, (4,))]
    assert layers_of(5, chain) == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_boxes_keep_their_distance_in_their_layer(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = [(float(w), float(h)) for w, h in generator.uniform(10, 200, (80, 2))]
    layout = placed(sizes, random_links(seed, 80))
    for a, b in combinations(range(80), 2):
        if layout.layers[a] == layout.layers[b]:
            apart = abs(layout.centres[a] - layout.centres[b]) - (sizes[a][0] + sizes[b][0]) / 2
            assert apart > SIDE_GAP - 1e-6
    for x, (width, _) in zip(layout.centres, sizes, strict=True):
        assert width / 2 - 1e-6 <= x <= layout.width - width / 2 + 1e-6


def test_layers_hold_their_boxes_and_follow_each_other() -> None:
    layout = placed([(10.0, 10.0), (10.0, 50.0), (10.0, 30.0), (10.0, 20.0)], [Link(0, (1, 2)), Link(1, (3,))])
    heights = [b - t for t, b in zip(layout.tops, layout.bottoms, strict=True)]
    assert heights == [10.0, 50.0, 20.0]
    assert all(bottom < top for bottom, top in zip(layout.bottoms, layout.tops[1:], strict=False))


def test_a_chain_is_straight_beside_what_passes_it() -> None:
    sizes = [(40.0 + 10 * (i % 3), 20.0) for i in range(12)]
    links = [Link(i, (i + 1,)) for i in range(11)]
    links[0] = Link(0, (1, 11))
    layout = placed(sizes, links)
    assert np.ptp(layout.centres[1:11]) < 0.5
    passing = layout.passings[0]
    assert len(passing) == 10
    assert np.ptp(passing) < 0.5


def test_two_chains_do_not_cross() -> None:
    links = [Link(0, (2, 3)), Link(1, (4,)), Link(2, (5,)), Link(3, (6,)), Link(4, (7,))]
    layout = placed([(20.0, 10.0)] * 8, links)
    order = sorted((2, 3), key=lambda box: layout.centres[box])
    assert sorted((5, 6), key=lambda box: layout.centres[box]) == [box + 3 for box in order]


def test_nothing_takes_no_place() -> None:
    assert placed([], []) == Arrangement((), (), (), (), (), 0.0)
