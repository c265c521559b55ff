"""What register tiles cost: an estimate in cycles of one core, to choose between ways to compute the same.

The core issues two vector loads and 64 bytes of multiply-adds a cycle, each of which takes four cycles, as Zen and
Skylake and their successors do within a factor that all candidates share. Only ratios of estimates mean something.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf

from sateen.tensor_ir import Machine

MULTIPLY_ADD_BYTES = 64
"""Bytes of accumulators that a cycle updates."""
LATENCY = 4
"""Cycles until a multiply-add can follow another one on the same accumulator."""
LOAD_CYCLES = 0.55
"""Of one load of 32 bytes or a broadcast: nearly two a cycle."""
STEP_CYCLES = 0.3
"""What a step of a reduction costs beside its arithmetic."""
TILE_CYCLES = 10
"""What a tile costs to begin and to end."""
CACHE_BYTES_PER_CYCLE = (64.0, 28.0, 18.0)
"""What a core reads of its first, second and third cache."""
MEMORY_BYTES_PER_CYCLE = 6.4
"""What a core reads of memory that is in no cache."""
SPILL = 1.5
"""By how much of its part of a cache data has to exceed it until none of it is found there again."""


def tile_cycles(positions: int, vectors: int, terms: int, machine: Machine, exposed: float = 0.0) -> float:
    """Cycles of a register tile of `positions` x `vectors` accumulators: a sum of `terms`, then it is stored.

    Each term takes a row of `vectors` from a panel that all tiles read, and a broadcast element for each position.
    `exposed` is the part of fetching the panel from its cache that arithmetic does not hide.
    Infinite where the tile, such a row and a broadcast do not fit into the registers.
    """
    if positions * vectors + vectors + 1 > machine.vector_registers:
        return inf
    row_bytes = vectors * machine.vector_bytes
    loads = positions + vectors * max(1, machine.vector_bytes // 32)
    fetch = row_bytes / bytes_per_cycle(terms * row_bytes, machine)
    step = max(positions * row_bytes / MULTIPLY_ADD_BYTES, loads * LOAD_CYCLES, fetch, LATENCY)
    return terms * (step + STEP_CYCLES + exposed * fetch) + 2 * positions * vectors + TILE_CYCLES


def tiles_cycles(extent: int, tile: int, vectors: int, terms: int, machine: Machine) -> float:
    """Cycles of the tiles along an extent, the last of which may be smaller."""
    whole, rest = divmod(extent, tile)
    cycles = whole * tile_cycles(tile, vectors, terms, machine) if whole else 0.0
    return cycles + (tile_cycles(rest, vectors, terms, machine) if rest else 0.0)


def bytes_per_cycle(size: int, machine: Machine) -> float:
    """What a core reads per cycle of data of `size` bytes that it reads again and again.

    Half of a cache of its own is for such data, and a quarter of the third, which it shares. Data that exceeds its
    part comes from the next cache for so much as it exceeds it by, up to SPILL.
    """
    held = (machine.l1_bytes // 2, machine.l2_bytes // 2, machine.l3_bytes // 4)
    rates = (*CACHE_BYTES_PER_CYCLE, MEMORY_BYTES_PER_CYCLE)
    cycles = 1 / rates[0]
    for most, (near, far) in zip(held, pairwise(rates), strict=True):
        cycles += min(1.0, max(0, size - most) / (SPILL * max(most, 1))) * (1 / far - 1 / near)
    return 1 / cycles
