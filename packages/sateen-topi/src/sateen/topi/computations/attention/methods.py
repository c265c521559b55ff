"""The tiles of attention, and an estimate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import WIDEST_VECTOR, least_registers
from sateen.topi.cost import bytes_per_cycle, tiles_cycles
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import accumulator_type, balanced

MOST_VECTORS = 4
"""The most vectors of queries in a tile."""
POWER_OPERATIONS = 24
"""The operations on vectors for an exponential and what else a score takes between the products."""
MOST_CANDIDATES = 12
"""The most candidates."""


@dataclass(frozen=True, slots=True)
class QueryTiles(Method):
    """Tiles of `vectors` vectors of `lanes` queries, which take blocks of keys.

    Register tiles of the scores have `keys` of them, those of the result `values` columns.
    """

    lanes: int
    vectors: int
    keys: int
    values: int
    block: int

    @property
    def queries(self) -> int:
        """The queries of a tile."""
        return self.lanes * self.vectors


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes that decide what a tile costs."""

    stacks: int
    queries: int
    keys: int
    depth: int
    columns: int
    dtype: DType
    reach: int | None


def attention_candidates(
    q: Sequence[int], k: Sequence[int], v: Sequence[int], dtype: DType, reach: int | None, machine: Machine
) -> list[Candidate]:
    """The methods for operands of these shapes on a processor, where queries may reach a part of the keys only, best
    first; none on a device and for no elements."""
    *stack, queries, depth = q
    sizes = _Sizes(prod(stack), queries, k[-2], depth, v[-1], accumulator_type(dtype), reach)
    if machine.gpu is not None or 0 in (*q, *k, *v):
        return []
    lanes = min(machine.lanes(sizes.dtype), queries)
    ways = [
        QueryTiles(lanes, vectors, rows, columns, block)
        for vectors in range(1, min(MOST_VECTORS, queries // lanes) + 1)
        for rows in _rows(sizes.keys, vectors, machine)
        for columns in _rows(sizes.columns, vectors, machine)
        for block in _blocks(sizes.keys, rows, lanes * vectors * sizes.dtype.bytes, machine)
    ]
    cycles = {way: _cycles(way, sizes, machine) for way in ways}
    best = best_of_each(ways, cycles.__getitem__, lambda way: (way.vectors, way.block), 3, MOST_CANDIDATES)
    return [Candidate(way, cycles[way]) for way in best]


def default_tiles(queries: int, keys: int, columns: int, dtype: DType) -> QueryTiles:
    """Tiles that any processor computes, though none of them best."""
    kind = accumulator_type(dtype)
    registers = least_registers(WIDEST_VECTOR)
    rows = max(1, registers // 2)
    return QueryTiles(min(WIDEST_VECTOR // kind.bytes, queries), 1, min(rows, keys), min(rows, columns), keys)


def _rows(extent: int, vectors: int, machine: Machine) -> list[int]:
    """Rows of register tiles over an extent: those that registers hold, of which the last has much to do."""
    most = min(extent, machine.tile_positions(vectors))
    return sorted({balanced(extent, rows) for rows in range(max(1, most // 2), most + 1)}) if most >= 1 else []


def _blocks(keys: int, rows: int, row_bytes: int, machine: Machine) -> list[int]:
    """Numbers of keys whose scores the first or the second cache keeps, or all."""
    found = {keys}
    for held in (machine.l1_bytes, machine.l2_bytes):
        most = int(held * machine.rates.own_part) // row_bytes // rows * rows
        if 0 < most < keys:
            found.add(-(-balanced(keys, most) // rows) * rows)
    return sorted(found)


def _cycles(way: QueryTiles, sizes: _Sizes, machine: Machine) -> float:
    """The cycles of all tiles: those that are whole, and a last one for the rest of the queries."""
    whole, rest = divmod(sizes.queries, way.queries)
    cycles = whole * _tile_cycles(way, way.vectors, whole * way.queries // 2 + way.queries // 2, sizes, machine)
    if rest:
        cycles += _tile_cycles(way, -(-rest // way.lanes), sizes.queries, sizes, machine)
    return sizes.stacks * cycles


def _tile_cycles(way: QueryTiles, vectors: int, end: int, sizes: _Sizes, machine: Machine) -> float:
    """Products and powers of a tile that ends before a query, and keys and values that it reads from the cache that
    holds them."""
    keys = sizes.keys if sizes.reach is None else max(1, min(sizes.keys, end + sizes.reach))
    keys_bytes = keys * sizes.dtype.bytes * (sizes.depth + sizes.columns)
    blocks = -(-keys // way.block)
    scores = tiles_cycles(keys, way.keys, vectors, sizes.depth, machine)
    sums = blocks * tiles_cycles(sizes.columns, way.values, vectors, min(way.block, keys), machine)
    vector = vectors * machine.vector_bytes / machine.rates.multiply_add_bytes
    powers = POWER_OPERATIONS * keys * vector
    scaled = (blocks - 1) * (2 * sizes.columns + POWER_OPERATIONS) * vector
    return scores + sums + powers + scaled + machine.rates.exposed * keys_bytes / bytes_per_cycle(keys_bytes, machine)
