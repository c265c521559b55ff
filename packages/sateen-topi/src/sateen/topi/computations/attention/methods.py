"""The tiles of attention, and an estimate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
TRANSPOSE_OPERATIONS = 5
"""The operations for a vector of a square of vectors that is transposed."""
MOST_TILES = 16
"""The most tiles of queries with different numbers of keys that are told apart; of more, the mean counts."""
MOST_CANDIDATES = 12
"""The most candidates."""


@dataclass(frozen=True, slots=True)
class QueryTiles(Method):
    """Tiles of `vectors` vectors of `lanes` queries, which take blocks of keys; those of the last queries, which are no
    whole tile, have `last` lanes.

    Register tiles of the scores have `keys` of them, those of the result `values` columns.
    """

    lanes: int
    last: int
    vectors: int
    keys: int
    values: int
    block: int

    @property
    def queries(self) -> int:
        """The queries of a tile."""
        return self.lanes * self.vectors


@dataclass(frozen=True, slots=True)
class KeyTiles(Method):
    """A query at a time, whose products with keys and values are in vectors of `lanes` of their elements; `vectors` of
    a row of the result are summed at a time."""

    lanes: int
    vectors: int


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

    @property
    def element_bytes(self) -> int:
        """The bytes of a key and its value."""
        return self.dtype.bytes * (self.depth + self.columns)

    def keys_before(self, end: int) -> int:
        """The keys that the queries before one reach."""
        return self.keys if self.reach is None else max(1, min(self.keys, end + self.reach))


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
        QueryTiles(lanes, last, vectors, rows, columns, block)
        for vectors in range(1, min(MOST_VECTORS, queries // lanes) + 1)
        for last in _last_lanes(queries, lanes, vectors, sizes.dtype, machine)
        for rows in _rows(sizes.keys, vectors, machine)
        for columns in _rows(sizes.columns, vectors, machine)
        for block in _blocks(sizes.keys, rows, lanes * vectors * sizes.dtype.bytes, machine)
    ]
    cycles = {way: _cycles(way, sizes, machine) for way in ways}
    best = best_of_each(ways, cycles.__getitem__, lambda way: (way.vectors, way.block), 3, MOST_CANDIDATES)
    found = [Candidate(way, cycles[way]) for way in best]
    if queries < machine.lanes(sizes.dtype):
        whole = machine.lanes(sizes.dtype)
        vectors = balanced(max(1, sizes.columns // whole), machine.accumulators)
        found.append(Candidate(KeyTiles(whole, vectors), _row_cycles(sizes, machine)))
    return sorted(found, key=lambda c: c.cycles)


def default_tiles(queries: int, keys: int, columns: int, dtype: DType) -> QueryTiles:
    """Tiles that any processor computes, though none of them best."""
    kind = accumulator_type(dtype)
    registers = least_registers(WIDEST_VECTOR)
    rows = max(1, registers // 2)
    lanes = min(WIDEST_VECTOR // kind.bytes, queries)
    return QueryTiles(lanes, lanes, 1, min(rows, keys), min(rows, columns), keys)


def _last_lanes(queries: int, lanes: int, vectors: int, dtype: DType, machine: Machine) -> list[int]:
    """The lanes that the last tile may have: narrower ones waste fewer, where they take less time."""
    narrow = machine.rates.load_bytes // dtype.bytes
    rest = queries % (lanes * vectors)
    return [lanes, narrow] if 1 < narrow < lanes and 0 < rest <= narrow * vectors else [lanes]


def _of_lanes(lanes: int, dtype: DType, machine: Machine) -> Machine:
    """The machine whose vectors have no more lanes than these, but take no less time than a load's bytes."""
    used = max(machine.rates.load_bytes, lanes * dtype.bytes)
    return machine if used >= machine.vector_bytes else replace(machine, vector_bytes=used)


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
    wide, narrow = (_of_lanes(lanes, sizes.dtype, machine) for lanes in (way.lanes, way.last))
    cycles = 0.0
    if sizes.reach is None or whole > MOST_TILES:
        keys = sizes.keys_before((whole + 1) * way.queries // 2)
        cycles += whole * _tile_cycles(way, way.vectors, keys, sizes, wide)
    else:
        ends = (sizes.keys_before((n + 1) * way.queries) for n in range(whole))
        cycles += sum(_tile_cycles(way, way.vectors, keys, sizes, wide) for keys in ends)
    if rest:
        cycles += _tile_cycles(way, -(-rest // way.last), sizes.keys_before(sizes.queries), sizes, narrow)
    return sizes.stacks * cycles


def _tile_cycles(way: QueryTiles, vectors: int, keys: int, sizes: _Sizes, machine: Machine) -> float:
    """Transposes, products and powers of a tile that takes some keys, and keys and values that it reads from the cache
    that holds them."""
    keys_bytes = keys * sizes.element_bytes
    if sizes.reach is not None:
        keys = min(sizes.keys, -(-keys // way.keys) * way.keys)
    blocks = -(-keys // way.block)
    scores = tiles_cycles(keys, way.keys, vectors, sizes.depth, machine)
    sums = blocks * tiles_cycles(sizes.columns, way.values, vectors, min(way.block, keys), machine)
    vector = vectors * machine.vector_bytes / machine.rates.multiply_add_bytes
    transposes = TRANSPOSE_OPERATIONS * (sizes.depth + sizes.columns) * vector
    powers = POWER_OPERATIONS * keys * vector
    scaled = (blocks - 1) * (2 * sizes.columns + POWER_OPERATIONS) * vector
    moved = machine.rates.exposed * keys_bytes / bytes_per_cycle(keys_bytes, machine)
    return transposes + scores + sums + powers + scaled + moved


def _row_cycles(sizes: _Sizes, machine: Machine) -> float:
    """A query at a time: vectors of keys and values, whose lanes are stored, loaded, transposed and added up; and the
    bytes of all, which come from the cache that holds them for the first query, and its own for the others."""
    lanes = machine.lanes(sizes.dtype)
    vector = machine.vector_bytes / machine.rates.multiply_add_bytes
    products = -(-sizes.depth // lanes) + -(-sizes.columns // lanes) + TRANSPOSE_OPERATIONS + 2
    keys_bytes = sizes.keys * sizes.element_bytes
    work = sizes.keys * (products + POWER_OPERATIONS / lanes) * vector
    first, others = (keys_bytes / bytes_per_cycle(n * keys_bytes, machine) for n in (sizes.stacks, 1))
    return sizes.stacks * (max(work, first) + (sizes.queries - 1) * max(work, others))
