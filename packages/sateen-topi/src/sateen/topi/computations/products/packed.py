"""Products in panels of columns on a processor: register tiles, with the estimate of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from types import MappingProxyType

from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import LINE_BYTES
from sateen.topi.computations.products.shapes import ProductShapes
from sateen.topi.cost import bytes_per_cycle, cycles_in_passes, tile_cycles, tiles_cycles
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import balanced, is_asked_for, largest_divisor, sum_lanes
from sateen.topi.types import Block, Layout

VECTORS = (1, 2, 3, 4, 6, 8)
"""The numbers of vectors that a panel may have."""
HEIGHTS = 4
"""The heights of register tiles that are weighed for a panel's width: the highest ones."""
PARTS = (2, 3, 4, 6)
"""The numbers of parts in which sums may be added, besides one."""
LEAST_TERMS = 256
"""The least terms of such a part, to bound the number of methods."""
PANELS = (2, 4, 8)
"""The numbers of panels that may be summed at once, besides one."""
EACH, MOST = 6, 30
"""The most candidates for a panel's width, and for a product."""
MOST_KEPT = 512
"""The most products whose estimates are kept."""


@dataclass(frozen=True, slots=True)
class Packed(Method):
    """Register tiles of `rows` rows and `panels` panels at once, each of `vectors` vectors of columns. All rows add
    `terms` terms of their sums before the next ones."""

    rows: int
    vectors: int
    panels: int
    terms: int


def packed_layout(shapes: ProductShapes, machine: Machine, vectors: int = 0) -> Layout | None:
    """The layout of a constant right operand: panels of `vectors` vectors of columns, term by term. By default their
    number suits the product. None: row-major."""
    ways = _fitting(shapes, machine)
    if not ways:
        return None
    found = vectors or min(ways, key=ways.__getitem__).vectors
    return Layout((1, 0, Block(1, sum_lanes(shapes.dtype, machine) * found)))


def packed_candidates(shapes: ProductShapes, machine: Machine) -> list[Candidate]:
    """The methods for a right operand that is packed beforehand, best first; none where it isn't."""
    ways = _fitting(shapes, machine)
    found = best_of_each(ways, ways.__getitem__, lambda way: way.vectors, EACH, MOST)
    return [Candidate(way, ways[way]) for way in found]


@lru_cache(MOST_KEPT)
def _fitting(shapes: ProductShapes, machine: Machine) -> Mapping[Packed, float]:
    """The methods whose tiles fit the registers, with their cycles; none for a product that needs no panels. Networks
    have many products of equal shapes."""
    lanes = sum_lanes(shapes.dtype, machine)
    if 0 in (shapes.batch, shapes.rows, shapes.terms) or shapes.columns <= 1 or lanes == 1:
        return MappingProxyType({})
    most = min(-(-shapes.columns // lanes), machine.vector_registers - 1)
    ways = _ways(shapes, [n for n in VECTORS if n <= most], lanes, machine)
    cycles = {way: packed_cycles(shapes, way, lanes, machine) for way in ways}
    return MappingProxyType({way: own for way, own in cycles.items() if own < inf})


def best_packed(shapes: ProductShapes, widths: Sequence[int], lanes: int, machine: Machine) -> Packed:
    """The method of least cycles for panels of one of these numbers of vectors of `lanes` columns."""
    return min(_ways(shapes, widths, lanes, machine), key=lambda way: packed_cycles(shapes, way, lanes, machine))


def _ways(shapes: ProductShapes, widths: Sequence[int], lanes: int, machine: Machine) -> Iterator[Packed]:
    divisors = (largest_divisor(shapes.terms, max(1, shapes.terms // n)) for n in PARTS)
    parts = [n for n in dict.fromkeys(divisors) if LEAST_TERMS <= n < shapes.terms]
    for vectors in widths:
        heights = dict.fromkeys(balanced(shapes.rows, n) for n in range(max(1, machine.tile_positions(vectors)), 0, -1))
        for rows in [*heights][:HEIGHTS]:
            yield Packed(rows, vectors, 1, shapes.terms)
            if rows < shapes.rows:
                yield from (Packed(rows, vectors, 1, n) for n in parts)
            else:
                together = (n for n in PANELS if n * vectors * lanes <= shapes.columns)
                yield from (Packed(rows, vectors, n, shapes.terms) for n in together)


def packed_cycles(shapes: ProductShapes, method: Packed, lanes: int, machine: Machine) -> float:
    """The cycles of a product, all panels of which are computed as whole ones. Infinite if the tile does not fit the
    registers."""
    rates, vectors = machine.rates, method.vectors * method.panels
    groups, parts = -(-shapes.columns // (lanes * vectors)), shapes.terms // method.terms
    left, sums = shapes.bytes_of(shapes.rows * shapes.terms), shapes.rows * vectors * machine.vector_bytes
    if method.rows == shapes.rows:
        own = parts * tile_cycles(method.rows, vectors, method.terms, machine, alone=True)
    else:
        own = parts * tiles_cycles(shapes.rows, method.rows, vectors, method.terms, machine)
    own += shapes.terms * -(-shapes.rows // method.rows) * _conflict_cycles(shapes, method, machine)
    own += rates.streamed * left / bytes_per_cycle(left, machine)  # in order, for each panel again
    if parts > 1:
        own += rates.exposed * (2 * parts + 1) * sums / bytes_per_cycle(sums, machine)
    work = shapes.batch * groups * own
    weights = shapes.bytes_of(shapes.terms * shapes.columns)
    tiles = shapes.batch * groups * (1 if parts > 1 else -(-shapes.rows // method.rows))
    passes, asked = -(-shapes.rows // method.rows), method.panels == 1 and is_asked_for(shapes.rows, machine)
    row = vectors * machine.vector_bytes
    panels = weights / bytes_per_cycle(shapes.terms * row, machine)
    panels += (passes - 1) * weights / bytes_per_cycle(method.terms * row, machine)
    return cycles_in_passes(
        work, weights, vectors, passes, tiles, machine, places=method.panels, asked=asked, panels=panels
    )


def _conflict_cycles(shapes: ProductShapes, method: Packed, machine: Machine) -> float:
    """The cycles of a term of a tile for lines of the left operand that push each other out of the first cache, since
    rows are whole pages apart."""
    if shapes.bytes_of(shapes.terms) % machine.page_bytes:
        return 0.0
    return machine.rates.exposed * max(0, method.rows - machine.l1_ways) * LINE_BYTES / machine.rates.l2
