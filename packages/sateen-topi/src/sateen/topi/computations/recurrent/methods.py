"""The register tiles of the steps of recurrent layers on a processor, and an estimate of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import least_registers
from sateen.topi.cost import repeated_cycles, tile_cycles, tiles_cycles
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import balanced

VECTORS = (1, 2, 3, 4, 6, 8)
"""The numbers of vectors that a panel may have."""
USUAL_VECTORS = 4
"""That of a panel where no method is chosen."""
LEAST_ROWS = 3
"""The least sequences of a tile then, even if the registers can't hold weights besides the sums: with fewer, loads take
longer than multiply-adds."""
EACH, MOST = 3, 12
"""The most candidates for a panel's width, and for a layer."""


@dataclass(frozen=True, slots=True)
class GateTiles(Method):
    """Register tiles of `rows` sequences of the batch and `vectors` vectors of gates, which are a panel of recurrent
    weights."""

    rows: int
    vectors: int


def recurrent_candidates(
    x: Sequence[int], recurrence: Sequence[int], dtype: DType, machine: Machine
) -> list[Candidate]:
    """The methods for an input and recurrent weights of these shapes on a processor, best first; none on a device."""
    if machine.gpu is not None:
        return []
    _, batch, _ = x
    cycles = {way: _cycles(way, x, recurrence, dtype, machine) for way in _ways(batch, recurrence[1], dtype, machine)}
    best = best_of_each(cycles, cycles.__getitem__, lambda way: way.vectors, EACH, MOST)
    return [Candidate(way, cycles[way]) for way in best]


def default_tiles(batch: int, vector_bytes: int) -> GateTiles:
    """Tiles that any processor with vectors of so many bytes computes."""
    registers = least_registers(vector_bytes)
    most = max(LEAST_ROWS, (registers - 1 - USUAL_VECTORS) // USUAL_VECTORS)
    return GateTiles(balanced(batch, most), USUAL_VECTORS)


def _ways(batch: int, width: int, dtype: DType, machine: Machine) -> Iterator[GateTiles]:
    """Tiles that registers hold, in panels that are no wider than the gates."""
    for vectors in VECTORS:
        if vectors == 1 or vectors * machine.lanes(dtype) <= width:
            most = machine.tile_positions(vectors)
            yield from (GateTiles(rows, vectors) for rows in {balanced(batch, n): None for n in range(most, 0, -1)})


def _cycles(way: GateTiles, x: Sequence[int], recurrence: Sequence[int], dtype: DType, machine: Machine) -> float:
    """The cycles of all steps: tiles of each panel, of which the first reads the weights from the cache that keeps them
    between steps."""
    (time, batch, _), (directions, width, size) = x, recurrence
    lanes = machine.lanes(dtype) * way.vectors
    panels = -(-width // lanes)
    first = panels * tile_cycles(way.rows, way.vectors, size, machine, alone=True)
    others = panels * tiles_cycles(batch - way.rows, way.rows, way.vectors, size, machine)
    weights = panels * lanes * size * dtype.bytes
    return directions * time * repeated_cycles(first, others, weights, way.vectors, panels, machine)
