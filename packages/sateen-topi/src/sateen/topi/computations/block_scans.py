"""Running sums and products of rows, by blocks of threads: the totals of parts of long rows come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.schedules import (
    ALONE_TERMS,
    ELEMENT_THREADS,
    blocks,
    each_thread,
    one_thread,
    parts_of,
    shared_out,
)

Term = Callable[[Expr, Expr], Expr]
"""An element, by its row and its position."""
Store = Callable[[Expr, Expr, Expr], None]
"""Takes what the elements of a row up to a position combine to: row, position, value."""


@dataclass(frozen=True, slots=True)
class BlockScan:
    """The combinations of the elements of each of `rows` up to each of `length`, in numbers of type `dtype`.

    The threads of a block take neighbours of a row into shared memory, and combine what is 1, 2, 4, … before each
    (Hillis and Steele, Data parallel algorithms, 1986); the next tile begins with the last result of the one before.
    Where neighbours in memory are of different rows, `is_across`, or rows are short, a thread has a row. Parts of long
    rows begin with the combination of the parts before, which launches of their own compute.
    """

    ib: IRBuilder
    rows: int
    length: int
    dtype: DType
    combine: Callable[[Expr, Expr], Expr]
    identity: Expr
    is_across: bool
    gpu: Gpu

    def run(self, term: Term, store: Store) -> None:
        """Combine the elements term(row, k); store(row, k, value) gets each result."""
        if self.rows * self.length == 0:
            return
        busy, turns = (self.rows, 1) if self._is_alone else (self.rows * self._width, self._width)
        wanted = parts_of(busy, self.length, turns, self.gpu)
        size = -(-self.length // (wanted * turns)) * turns
        parts = -(-self.length // size)
        before: Term = self._nothing_before
        if parts > 1:
            before = self._before(term, parts, size)
        if self._is_alone:
            self._by_threads(term, parts, size, before, store)
        else:
            self._by_blocks(term, parts, size, before, store)

    @property
    def _is_alone(self) -> bool:
        """Whether a thread combines all elements of a row, or of a part of it."""
        return self.is_across or self.length <= ALONE_TERMS

    @property
    def _threads(self) -> int:
        return min(self.gpu.block_threads, ELEMENT_THREADS)

    @property
    def _width(self) -> int:
        """The elements of a tile, a power of two."""
        return 1 << (min(self._threads, self.length) - 1).bit_length()

    def _nothing_before(self, _row: Expr, _part: Expr) -> Expr:
        return self.identity

    def _before(self, term: Term, parts: int, size: int) -> Term:
        """What the parts before each one combine to, by row and part."""
        count = (parts * self.rows,)
        totals, offsets = (self.ib.allocate(self.dtype, count, "global", name) for name in ("totals", "offsets"))
        if self._is_alone:

            def keep(row: Expr, part: Expr, total: Expr) -> None:
                totals[part * self.rows + row] = total

            self._by_threads(term, parts, size, self._nothing_before, None, keep)
        else:
            self._totals(term, parts, size, totals)

        def total_before(row: Expr, part: Expr) -> Expr:
            earlier = totals[te.maximum(part - 1, 0) * self.rows + row]
            return te.select(part > 0, earlier, self.identity)

        def put(row: Expr, part: Expr, value: Expr) -> None:
            offsets[part * self.rows + row] = value

        replace(self, length=parts, is_across=False).run(total_before, put)
        return lambda row, part: offsets[part * self.rows + row]

    def _by_threads(
        self, term: Term, parts: int, size: int, before: Term, store: Store | None, keep: Store | None = None
    ) -> None:
        """A thread for each part of a row; `keep` gets the totals of parts."""
        ib = self.ib
        with each_thread(ib, parts * self.rows, self.gpu) as e:
            part, row = ib.let("part", e // self.rows), ib.let("row", e % self.rows)
            total = ib.allocate(self.dtype, (1,), "register", "total")
            total[0] = before(row, part)
            with ib.for_range(0, te.minimum(size, self.length - part * size), "k") as k:
                total[0] = self.combine(total[0], term(row, part * size + k))
                if store is not None:
                    store(row, part * size + k, total[0])
            if keep is not None:
                keep(row, part, total[0])

    def _totals(self, term: Term, parts: int, size: int, totals: BufferPointer) -> None:
        """A block for each part of a row, whose threads take turns at its elements."""
        ib, width = self.ib, self._width
        with blocks(ib, self.rows * parts) as block:
            row, part = block // parts, block % parts
            held = ib.allocate(self.dtype, (width,), "shared", "held")
            with shared_out(ib, width, width) as lane:
                own = ib.allocate(self.dtype, (1,), "register", "own")
                own[0] = self.identity
                with ib.for_range(0, size // width, "tile") as tile:
                    k = part * size + tile * width + lane
                    with ib.if_scope(k < self.length):
                        own[0] = self.combine(own[0], term(row, k))
                held[lane] = own[0]
            half = width // 2
            while half:
                with shared_out(ib, half, width) as lane:
                    held[lane] = self.combine(held[lane], held[lane + half])
                half //= 2
            with one_thread(ib):
                totals[part * self.rows + row] = held[0]

    def _by_blocks(self, term: Term, parts: int, size: int, before: Term, store: Store) -> None:
        """A block for each part of a row, or for several short rows."""
        ib, width = self.ib, self._width
        together = min(self.rows, self._threads // width) if parts == 1 else 1
        threads = together * width
        with blocks(ib, -(-self.rows // together) * parts) as block:
            first, part = block // parts * together, block % parts
            old, new = (ib.allocate(self.dtype, (threads,), "shared", "held") for _ in range(2))
            last = ib.allocate(self.dtype, (together,), "shared", "last")
            with shared_out(ib, together, threads) as own, ib.if_scope(first + own < self.rows):
                last[own] = before(first + own, part)
            with ib.for_range(0, -(-min(size, self.length) // width), "tile") as tile:
                start = part * size + tile * width

                def present(e: Expr) -> Expr:
                    return te.all(start + e % width < self.length, first + e // width < self.rows)

                with shared_out(ib, threads, threads) as e:
                    with ib.if_scope(present(e)):
                        own = ib.let("own", term(first + e // width, start + e % width))
                        is_first = (e % width).equal(0)
                        old[e] = te.select(is_first, self.combine(last[e // width], own), own)
                    with ib.else_scope():
                        old[e] = self.identity
                step = 1
                while step < width:
                    with shared_out(ib, threads, threads) as e:
                        earlier = self.combine(old[te.maximum(e - step, 0)], old[e])
                        new[e] = te.select(e % width >= step, earlier, old[e])
                    old, new, step = new, old, 2 * step
                with shared_out(ib, threads, threads) as e, ib.if_scope(present(e)):
                    store(first + e // width, start + e % width, old[e])
                    with ib.if_scope((e % width).equal(width - 1)):
                        last[e // width] = old[e]
