"""The cost of register tiles: an estimate in cycles of one core, to choose between methods.

All facts about a machine are in `Machine` and its `Rates`. Only ratios of estimates are meaningful.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf, sqrt

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine

_ROUNDED_BYTES = sum(DType.of(name).bytes for name in ("float32", "bfloat16"))
"""The bytes of an element before and after."""


def tile_cycles(
    positions: int, vectors: int, terms: int, machine: Machine, exposed: float = 0.0, *, alone: bool = False
) -> float:
    """Cycles of a register tile of `positions` x `vectors` accumulators: a sum of `terms`, then it is stored.

    Each term takes a row of `vectors` from a panel that all tiles read, and a broadcast element for each position.
    `exposed` is the fraction of fetching the panel from its cache that arithmetic does not hide. A tile that is `alone`
    reads the panel once, from memory, which `mean_cycles` counts. Infinite if the tile does not fit into the registers.
    """
    if positions > machine.tile_positions(vectors):
        return inf
    rates, row_bytes = machine.rates, vectors * machine.vector_bytes
    loads = positions + vectors * max(1, machine.vector_bytes // rates.load_bytes)
    fetch = 0.0 if alone else row_bytes / bytes_per_cycle(terms * row_bytes, machine)
    arithmetic = positions * row_bytes / rates.multiply_add_bytes
    issue = (arithmetic, loads * rates.load_cycles)
    waited = rates.multiply_add_latency * (1 + rates.latency_exposed)
    step = max(sum(issue) if rates.loads_alone else max(issue), fetch, waited)
    begin_and_end = rates.store_cycles * positions * vectors + rates.tile_cycles
    addresses = vectors * rates.address_cycles
    return terms * (step + addresses + rates.step_cycles + exposed * fetch) + begin_and_end


def tiles_cycles(extent: int, tile: int, vectors: int, terms: int, machine: Machine, exposed: float = 0.0) -> float:
    """Cycles of the tiles along an extent, the last of which may be smaller."""
    whole, rest = divmod(extent, tile)
    cycles = whole * tile_cycles(tile, vectors, terms, machine, exposed) if whole else 0.0
    return cycles + (tile_cycles(rest, vectors, terms, machine, exposed) if rest else 0.0)


def rounding_cycles(elements: int, machine: Machine) -> float:
    """Cycles to round elements of float32 to half as many bytes."""
    return _ROUNDED_BYTES * elements / machine.rates.moved


def window_cycles(columns: int, terms: int, machine: Machine, operands: int = 1) -> float:
    """Cycles of a tile of `columns` vectors of channels that meet only themselves: windows of `terms` vectors each,
    then they are stored. Each term takes `operands` vectors for all columns, and one for each. Infinite if registers
    don't hold these, the accumulators, and elements of the input for as many columns, since neighbours share them.

    `latency_exposed` does not count: sums are so short that the next tile begins while this one waits."""
    if 2 * columns + operands + 1 > machine.vector_registers:
        return inf
    rates, size = machine.rates, machine.vector_bytes
    loads = (columns + operands) * max(1, size // rates.load_bytes)
    issue = (columns * size / rates.multiply_add_bytes, loads * rates.load_cycles)
    step = max(sum(issue) if rates.loads_alone else max(issue), rates.multiply_add_latency)
    return terms * (step + rates.address_cycles + rates.step_cycles) + rates.store_cycles * columns + rates.tile_cycles


def windows_cycles(extent: int, columns: int, terms: int, machine: Machine, operands: int = 1) -> float:
    """Cycles of the tiles of windows along an extent, the last of which may be smaller."""
    whole, rest = divmod(extent, columns)
    cycles = whole * window_cycles(columns, terms, machine, operands) if whole else 0.0
    return cycles + (window_cycles(rest, terms, machine, operands) if rest else 0.0)


def bytes_per_cycle(size: int, machine: Machine) -> float:
    """The bytes per cycle that a core reads of data of `size` bytes that it reads repeatedly.

    A part of each cache is for such data. If data exceeds that part, the excess comes from the next cache, up to
    `Rates.overflow`, beyond which all data does.
    """
    rates = machine.rates
    held = (
        int(machine.l1_bytes * rates.own_part),
        int(machine.l2_bytes * rates.own_part),
        int(machine.l3_bytes * rates.common_part),
    )
    cycles = 1 / rates.l1
    for most, (near, far) in zip(held, pairwise((rates.l1, rates.l2, rates.l3, rates.memory)), strict=True):
        cycles += min(1.0, max(0, size - most) / (rates.overflow * max(most, 1))) * (1 / far - 1 / near)
    return 1 / cycles


def reduction_cycles(positions: int, terms: int, loads: int, machine: Machine, operations: float = 1.0) -> float:
    """Cycles of a register tile of `positions` vectors, each of so many terms that take some operations, with all loads
    of the tile; then they are stored. Tiles of windows are so short that the next one begins while one waits for its
    last terms: latencies don't count."""
    rates, size = machine.rates, machine.vector_bytes
    arithmetic = positions * terms * operations * size / rates.multiply_add_bytes
    loading = loads * max(1, size // rates.load_bytes) * rates.load_cycles
    step = arithmetic + loading if rates.loads_alone else max(arithmetic, loading)
    return step + rates.store_cycles * positions + rates.step_cycles


def convolution_cycles(
    work: float,
    weights: int,
    vectors: int,
    parts: int,
    machine: Machine,
    shared: int = 0,
    apart: float = 0.0,
    *,
    asked: bool,
) -> float:
    """The cycles of all cores together for the work of a convolution in equal parts, with cold weights and bytes that
    one core writes and all read.

    Where memory is `asked` ahead at several places, it works beside all of the work but what is `apart`, such as
    transforms, and all cores share what it gives them together. Elsewhere `mean_cycles` counts the waiting; with one
    stream asking hides the rest.
    """
    rates = machine.rates
    if not asked or rates.streams == 1:
        return mean_cycles(work, weights, vectors, parts, machine, shared, unasked=0.0 if asked else rates.unasked)

    def with_weights(own: float, cores: int) -> float:
        transfer = weights / min(cores * rates.memory_in_streams, rates.memory_together)
        return max(own, own * apart / work + (1 + rates.streamed) * transfer)

    return _mean(work, parts, with_weights, machine, shared)


def mean_cycles(
    work: float, weights: int, vectors: int, parts: int, machine: Machine, shared: int = 0, unasked: float = 0.0
) -> float:
    """The cycles of all cores together for work in equal parts, with cold weights and bytes that one core writes and
    all read. A fraction of the weights is `unasked` and not fetched ahead by the processor, so that work waits."""
    rates = machine.rates

    def with_weights(own: float, cores: int) -> float:
        transfer = weights / (rates.memory * sqrt(cores))
        beside = max(own, transfer)
        return beside + unasked * min(own, transfer) + _exposed_from_memory(vectors, machine) * transfer

    return _mean(work, parts, with_weights, machine, shared)


def cycles_in_passes(
    work: float,
    weights: int,
    vectors: int,
    passes: int,
    parts: int,
    machine: Machine,
    *,
    places: int = 1,
    asked: bool,
    panels: float = 0.0,
) -> float:
    """The cycles of all cores together for work in equal parts, each of which reads cold weights in some passes, at
    some `places` in turn. The first pass waits for memory; if weights are `asked` for ahead no pass does, but memory
    may have to wait in those cycles in which `panels` come from caches."""
    rates = machine.rates
    rate = memory_rate(rates.streams if asked else places, machine)
    turns = rates.in_turn * panels / work

    def with_weights(own: float, cores: int) -> float:
        transfer = weights / (rate * sqrt(cores))
        if asked:
            return max(own, transfer + own * turns)
        transfer *= 1 + _exposed_from_memory(vectors, machine)
        beside = own * (1 - 1 / passes) + max(own / passes, transfer)
        return beside + rates.unasked * min(own / passes, transfer)

    return _mean(work, parts, with_weights, machine)


def repeated_cycles(first: float, others: float, weights: int, vectors: int, parts: int, machine: Machine) -> float:
    """The cycles of all cores together for work in equal parts that is repeated with the same weights. Each core reads
    its share of them from the cache that keeps it, beside the `first` part of the work, not beside the `others`."""
    work = first + others

    def with_weights(own: float, cores: int) -> float:
        share = weights // cores
        transfer = share / bytes_per_cycle(share, machine)
        reading = max(own * first / work, transfer) + machine.rates.streamed / vectors * transfer
        return reading + own * others / work

    return _mean(work, parts, with_weights, machine)


def _exposed_from_memory(vectors: int, machine: Machine) -> float:
    """The fraction of the traffic from memory that arithmetic does not hide, for a panel of some vectors."""
    rates = machine.rates
    missing = max(0.0, rates.wide_row / (vectors * machine.vector_bytes) - 1)
    return rates.streamed / vectors + rates.narrow * missing


def _mean(
    work: float, parts: int, with_weights: Callable[[float, int], float], machine: Machine, shared: int = 0
) -> float:
    """The mean for 1, 2, 4, … cores, of which `with_weights` gives the cycles of one that has so much work of its
    own."""
    found = []
    for cores in (1 << power for power in range(machine.cores.bit_length())):
        own = -(-parts // cores) / parts * work + (cores > 1) * shared / cores / machine.rates.shared
        found.append(cores * with_weights(own, cores))
    return sum(found) / len(found)


def memory_rate(places: int, machine: Machine) -> float:
    """The bytes per cycle that a core reads from memory at some places in turn."""
    rates = machine.rates
    if places >= rates.streams:
        return rates.memory_in_streams * max(0.5, 1 - rates.crowded * (places - rates.streams))
    return rates.memory + (rates.memory_in_streams - rates.memory) * (places - 1) / (rates.streams - 1)
