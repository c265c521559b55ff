"""What a core does in its cycles: the numbers that estimates are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one core, in cycles of its clock. Choices are made by ratios of estimates, so ratios of rates matter."""

    multiply_add_bytes: float
    """Bytes of accumulators that multiply-adds update in a cycle."""
    multiply_add_latency: float
    """Cycles until a multiply-add can follow another one on the same accumulator."""
    addition_latency: float
    """Cycles until an addition can follow another one on the same accumulator."""
    load_bytes: int
    """Bytes of a load; a wider vector takes several."""
    load_cycles: float
    """Cycles of a load from the first cache, or of a broadcast."""
    store_cycles: float
    """Cycles in which a vector of accumulators is set to zero, and in the end finished and stored."""
    step_cycles: float
    """Cycles of a step of a reduction beside its arithmetic."""
    tile_cycles: float
    """Cycles in which a register tile begins and ends."""
    l1: float
    """Bytes per cycle that are read of the first cache."""
    l2: float
    """Bytes per cycle that are read of the second cache."""
    l3: float
    """Bytes per cycle that are read of the third cache."""
    memory: float
    """Bytes per cycle that are read of memory, in order."""
    shared: float
    """Bytes per cycle that are written to memory that another core has read before."""
    moved: float
    """Bytes per cycle, read or written, where nothing is computed: conversions of layouts, copies."""
    conversion_cycles: float
    """Cycles of a conversion of a layout beside the bytes that it moves."""
    transform_cycles: float
    """Cycles of a float32 on its way through a pass of Winograd's transforms."""
    left_sum_cycles: float
    """Cycles that Strassen's method takes to make its sums of a float32 of the left operand."""
    result_sum_cycles: float
    """Cycles that it takes to make a float32 of the result of its products."""
    weight_sum_cycles: float
    """Cycles that reading takes longer where its sums are in the place of a float32 of the right operand."""
    exposed: float
    """The part of the traffic between caches that arithmetic does not hide."""
    streamed: float
    """The part of the traffic from memory that arithmetic does not hide, for data that are read in order."""
    reread: float
    """Cycles to read data that were just written, in proportion to those of writing them."""
    serial_elements: int
    """Elements that a loop moves while threads begin and end together: a shorter one is not shared by them."""
    own_part: float
    """The part of a cache of its own that data keep which a core reads again and again."""
    common_part: float
    """The part of the third cache that such data keep, which cores share."""
    overflow: float
    """By how much of their part of a cache data have to exceed it until nothing of them is found there again."""


ZEN_4 = Rates(
    multiply_add_bytes=64,
    multiply_add_latency=4,
    addition_latency=4,
    load_bytes=32,
    load_cycles=0.55,
    store_cycles=2,
    step_cycles=0.3,
    tile_cycles=10,
    l1=64.0,
    l2=28.0,
    l3=18.0,
    memory=6.4,
    shared=2.5,
    moved=8.0,
    conversion_cycles=500.0,
    transform_cycles=0.45,
    left_sum_cycles=0.5,
    result_sum_cycles=0.875,
    weight_sum_cycles=0.125,
    exposed=0.5,
    streamed=0.25,
    reread=0.3,
    serial_elements=1 << 14,
    own_part=0.5,
    common_part=0.25,
    overflow=1.5,
)
"""Measured on AMD's Zen 4, and fitted to the times of convolutions there (docs/tuning.md).

Two multiply-adds and two loads of 32 bytes a cycle, of which vectors of 64 bytes take both.
"""
NARROW = replace(
    ZEN_4,
    multiply_add_bytes=16,
    load_bytes=16,
    load_cycles=1.1,
    l1=16.0,
    l2=8.0,
    l3=4.0,
    memory=2.0,
    transform_cycles=1.8,
    left_sum_cycles=2.0,
    result_sum_cycles=3.5,
    weight_sum_cycles=0.25,
)
"""A small core: one multiply-add and one load of 16 bytes a cycle."""
