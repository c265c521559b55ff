"""The speed of a core, in numbers for estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace

LINE_BYTES = 64
"""The bytes that a prefetch asks for: a cache line of every processor here, or half of one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one core, in cycles of its clock. Choices depend on ratios of estimates, so only ratios of rates
    matter."""

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
    """Cycles to set a vector of accumulators to zero, and to finish and store it at the end."""
    step_cycles: float
    """Cycles of a step of a reduction besides its arithmetic."""
    tile_cycles: float
    """Cycles to begin and end a register tile."""
    l1: float
    """Bytes per cycle read from the first cache."""
    l2: float
    """Bytes per cycle read from the second cache."""
    l3: float
    """Bytes per cycle read from the third cache."""
    memory: float
    """Bytes per cycle read from memory in order, at one place."""
    streams: int
    """The number of places at which a core reads memory in turn fastest."""
    memory_in_streams: float
    """Bytes per cycle read from memory at so many places."""
    memory_together: float
    """Bytes per cycle that all cores together read from memory."""
    asks_ahead: bool
    """Whether it pays to ask for the next block of data that is read in order while the present one is multiplied. If
    not asked, memory begins with the first of several passes over a block, which waits for it."""
    shared: float
    """Bytes per cycle written to memory that another core has read before."""
    moved: float
    """Bytes per cycle, read or written, without arithmetic: conversions of layouts, copies."""
    conversion_cycles: float
    """Cycles of a conversion of a layout besides the bytes that it moves."""
    transform_cycles: float
    """Cycles per float32 in a pass of Winograd's transforms."""
    left_sum_cycles: float
    """Cycles per float32 of the left operand that Strassen's method takes for its sums."""
    result_sum_cycles: float
    """Cycles per float32 of the result that Strassen's method takes to combine its products."""
    exposed: float
    """The fraction of the traffic between caches that arithmetic does not hide."""
    panel_exposed: float
    """The same of a panel of weights that a direct convolution reads in order."""
    streamed: float
    """The fraction of the traffic from memory that arithmetic does not hide, for data read in order; of what is asked
    for ahead, by how much longer it takes beside arithmetic."""
    reread: float
    """Cycles to read data just after writing it, as a multiple of the cycles for writing."""
    serial_elements: int
    """Elements that a loop moves while threads begin and end together: a shorter one is not shared by them."""
    own_part: float
    """The fraction of a core's own cache that data it reads repeatedly can keep."""
    common_part: float
    """The fraction of the shared third cache that such data can keep."""
    overflow: float
    """The excess over its part of a cache, as a fraction of that part, from which on data is never found there
    again."""
    latency_exposed: float = 0.0
    """How much longer than the latency of multiply-adds a step takes whose accumulators all wait for it, as a
    fraction."""
    narrow: float = 0.0
    """The fraction of the traffic from memory that is not hidden where a step reads half of `wide_row`; a quarter of it
    three times that."""
    wide_row: int = 128
    """The neighbouring bytes that a step has to read so that memory gives its whole rate."""
    least_uses: int = 16
    """The multiply-adds for each vector of such data beside which asking for it costs nothing."""
    unasked: float = 0.0
    """The fraction of the traffic from memory beside which nothing is multiplied if it is not asked for ahead."""
    in_turn: float = 0.0
    """The fraction of the time in which panels come from caches that memory does not work as well: what is asked for
    ahead misses the first cache, too, and waits for its turn."""
    crowded: float = 0.02
    """The fraction of the rate of memory that each place beyond `streams` takes away."""
    address_cycles: float = 0.0
    """Cycles to compute the address of a vector that is loaded, where such loads take no offset."""
    pair_bytes: float = 0.0
    """Bytes of accumulators that dot products of pairs of bfloat16 update in a cycle, where the processor has them; 0
    where that is not known."""
    pair_latency: float = 0.0
    """Cycles until such an instruction can follow another one on the same accumulator."""
    tile_product_cycles: float = 0.0
    """Cycles until a product of two tile registers of bfloat16 can follow another one; 0 where that is not known."""
    tile_product_latency: float = 0.0
    """Cycles until such a product can follow another one on the same sums."""
    tile_load_cycles: float = 0.0
    """Cycles of a load of a tile register from the first cache."""
    tile_store_cycles: float = 0.0
    """Cycles of a store of one."""
    loads_alone: bool = False
    """Whether a load and a multiply-add never begin together."""


ZEN_4 = Rates(
    multiply_add_bytes=64,
    multiply_add_latency=4,
    addition_latency=3,
    load_bytes=32,
    load_cycles=0.55,
    store_cycles=2,
    step_cycles=0.3,
    tile_cycles=10,
    l1=64.0,
    l2=28.0,
    l3=18.0,
    memory=8.0,
    streams=1,
    memory_in_streams=8.0,
    memory_together=16.0,
    asks_ahead=True,
    shared=2.5,
    moved=8.0,
    conversion_cycles=500.0,
    transform_cycles=0.45,
    left_sum_cycles=0.5,
    result_sum_cycles=0.875,
    exposed=0.5,
    panel_exposed=0.1,
    streamed=0.25,
    reread=0.3,
    serial_elements=1 << 14,
    own_part=0.5,
    common_part=0.25,
    overflow=1.5,
    latency_exposed=0.15,
    narrow=0.4,
    pair_bytes=64,
    pair_latency=6,
)
"""Measured on AMD's Zen 4, and fitted to the times of convolutions there (docs/tuning.md).

Two multiply-adds and two loads of 32 bytes a cycle; vectors of 64 bytes take both. Latencies are those of LLVM's
X86ScheduleZnver4.
"""
NARROW = replace(
    ZEN_4,
    multiply_add_bytes=16,
    addition_latency=4,
    load_bytes=16,
    load_cycles=1.1,
    l1=16.0,
    l2=8.0,
    l3=4.0,
    memory=2.0,
    memory_in_streams=2.0,
    memory_together=4.0,
    narrow=0.0,
    pair_bytes=0.0,
    transform_cycles=1.8,
    left_sum_cycles=2.0,
    result_sum_cycles=3.5,
)
"""A small core: one multiply-add and one load of 16 bytes a cycle; not measured."""
SCALAR = replace(
    NARROW, multiply_add_bytes=4, load_bytes=4, load_cycles=2.0, l1=4.0, l2=4.0, memory=1.0, memory_in_streams=1.0
)
"""A core without vectors: one multiply-add or load of 4 bytes a cycle."""
