"""Tiles of threads: a block of a device's threads computes a tile of a product from copies in shared memory.

Each thread has some rows and some columns of the tile in registers, so that an element that it loads serves several
multiply-adds. Rows of a thread are neighbours; its columns are as far apart as there are threads along x, so that
neighbouring threads read neighbouring elements. No tile is larger than the result: the last ones overlap their
neighbours, with which they store equal values, so that threads test nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from sateen.runtime import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.register_tiles import between, extent_of, largest_power_of_two, reads_in_place

ELEMENT_THREADS = 256
"""The threads of a block whose threads share nothing."""
OWN_PARTS = (1, 2, 4, 8)
"""The rows, and the columns, that a thread may have."""
OWN_COLUMNS = 32
"""The most columns of a thread that computes on vectors."""
SHORT_COLUMNS = 4
"""The same of float16 and bfloat16."""
TILES_OF_PART, MOST_TILES = 2, 24
"""The most candidates for each part that a thread may have, and for all of them together."""
UNROLLED_ROUNDS = 16
"""The most accesses of a thread that copies in unrolled code, so that it waits once for all of them."""


@dataclass(frozen=True, slots=True)
class ThreadTile:
    """What a block computes: threads_y times `rows` by threads_x times `columns`."""

    threads_y: int
    rows: int
    threads_x: int
    columns: int

    @property
    def threads(self) -> int:
        return self.threads_y * self.threads_x

    def fits(self, gpu: Gpu) -> bool:
        """Whether a block may have so many threads, and these the registers for their part and what it is made of."""
        registers = self.rows * self.columns + self.rows + self.columns
        return self.threads <= min(gpu.block_threads, gpu.busy_threads) and registers <= gpu.thread_registers * 3 // 4

    @property
    def height(self) -> int:
        return self.threads_y * self.rows

    @property
    def width(self) -> int:
        return self.threads_x * self.columns


def fitting_tiles(rows: int, columns: int, gpu: Gpu) -> Iterator[ThreadTile]:
    """The tiles of a product of `rows` by `columns` that a device has place for; none is larger than the product."""
    threads = [1 << n for n in range(gpu.block_threads.bit_length())]
    tiles = (ThreadTile(ty, r, tx, c) for ty, tx, r, c in product(threads, threads, OWN_PARTS, OWN_PARTS))
    return (t for t in tiles if t.height <= rows and t.width <= columns and t.fits(gpu))


def term_time(tile: ThreadTile, loads: float, blocks: int, gpu: Gpu, own_loads: float | None = None) -> float:
    """The time of a term of all blocks, each of which loads so many elements for it, in multiply-adds of a thread.

    It is that of the unit with the most blocks. Threads beyond whole warps idle, and a unit with few threads waits.
    A thread loads an element for each of its columns, or `own_loads` where it keeps some of earlier terms.
    """
    of_thread = tile.rows * tile.columns + tile.rows + (tile.columns if own_loads is None else own_loads)
    of_unit = -(-blocks // gpu.units)
    warps = gpu.whole_warps(tile.threads) / tile.threads
    waiting = max(1.0, gpu.busy_threads / (tile.threads * min(of_unit, gpu.resident_blocks)))
    return of_unit * (tile.threads * of_thread + gpu.memory_cost * loads) * warps * waiting


def shared_terms(elements: int, element_bytes: int, terms: int, gpu: Gpu) -> tuple[int, ...]:
    """The numbers of terms of a reduction that a block may load at once, of `elements` each, the best first: a power of
    two of at most 32, and half of it."""
    room = gpu.shared_bytes // gpu.resident_blocks // (elements * element_bytes)
    most = largest_power_of_two(max(1, min(room, 32, terms)))
    return (most, most // 2) if most > 1 else (most,)


def host_on_device(s: te.Schedule, result: te.Tensor, output: te.Tensor) -> te.Tensor:
    """The tensor whose loops to bind for an operator that ends in `result`: as `host_of` for processors.

    An output that reads the result elsewhere than in place gets a thread for each element; one without axes is a number
    of one thread.
    """
    for tensor in between(result, output):
        s[tensor].compute_inline()
    if reads_in_place(output, result):
        return output
    if output.shape:
        bind_elements(s[output])
    return result


def bind_elements(stage: te.Stage, loops: Sequence[IterVar] = (), gpu: Gpu | None = None) -> IterVar:
    """A thread for each element, from the stage's `loops`, by default its axes; returns the loop over threads, at which
    to compute what an element needs. Where that is much, blocks are smaller if that gives each unit of `gpu` one."""
    one = stage.fuse(*(loops or stage.axes))
    threads = min(extent_of(one.extent), ELEMENT_THREADS)
    if gpu is not None:
        threads = min(threads, -(-extent_of(one.extent) // (gpu.units * gpu.warp)) * gpu.warp)
    block, thread = stage.split(one, threads)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.bind(thread, te.thread_axis("threadIdx.x"))
    return thread


def bind_tile(
    host: te.Stage, blocks: Sequence[IterVar], rows: IterVar, columns: IterVar, tile: ThreadTile, lanes: int = 1
) -> IterVar:
    """Give each iteration of the loops `blocks` to a block, and those over a tile's rows and columns to its threads.

    So many `lanes` of a thread's columns are neighbours, which it stores at once. Returns the loop over threads along
    x, at which to compute what a thread keeps in registers.
    """
    along_y, own_rows = host.split(rows, tile.rows)
    own_columns, along_x = host.split(columns, tile.threads_x * lanes)
    inner = [own_rows]
    if lanes > 1:
        along_x, lane = host.split(along_x, lanes)
        inner.append(lane)
    host.reorder(*blocks, own_columns, along_y, along_x, *inner)
    host.bind(host.fuse(*blocks), te.thread_axis("blockIdx.x"))
    host.bind(own_columns, te.thread_axis("vthread"))
    host.bind(along_y, te.thread_axis("threadIdx.y"))
    host.bind(along_x, te.thread_axis("threadIdx.x"))
    host.unroll(own_rows)
    if lanes > 1:
        host.vectorize(lane)
    return along_x


def own_columns(operands: Iterable[DType]) -> int:
    """The most columns of a thread that computes on vectors of these types: it converts floats of 16 bits by many
    instructions each, and gets few of them."""
    return SHORT_COLUMNS if any(t.is_float and t.bits == 16 for t in operands) else OWN_COLUMNS


def access_lanes(gpu: Gpu, dtype: DType, *extents: int) -> int:
    """The most neighbours that a thread accesses at once, a divisor of each of these extents."""
    return gcd(max(1, gpu.access_bytes // dtype.bytes), *extents)


def load_together(
    copy: te.Stage,
    tile: ThreadTile,
    outer: Sequence[IterVar],
    inner: IterVar,
    lanes: int = 1,
    elements: int | None = None,
) -> None:
    """Share the elements of a copy in shared memory among the threads of a block, neighbours among neighbours.

    Its loops are `outer` and `inner`, along which so many `lanes` are neighbours in memory that a thread loads at once.
    Where the `elements` of a block are known, a thread loads up to UNROLLED_ROUNDS of its own before it waits.
    """
    own = []
    if lanes > 1:
        inner, lane = copy.split(inner, lanes)
        own.append(lane)
    copy.reorder(*outer, inner, *own)
    rounds, thread = copy.split(copy.fuse(*outer, inner), tile.threads)
    along_y, along_x = copy.split(thread, tile.threads_x)
    copy.bind(along_y, te.thread_axis("threadIdx.y"))
    copy.bind(along_x, te.thread_axis("threadIdx.x"))
    for lane in own:
        copy.vectorize(lane)
    if elements is not None:
        if elements > tile.threads * lanes * UNROLLED_ROUNDS:
            _, rounds = copy.split(rounds, UNROLLED_ROUNDS)
        copy.unroll(rounds)


def pad_banks(copy: te.Stage, axis: IterVar, row: int, gpu: Gpu) -> None:
    """Let rows of so many elements in shared memory begin in different banks, at multiples of an access; they are the
    iterations of `axis`, which neighbouring threads store."""
    size = copy.op.outputs[0].dtype.bytes
    banks = max(1, gpu.shared_banks * 4 // size)
    if row % banks == 0:
        copy.storage_align(axis, banks, max(1, gpu.access_bytes // size))
