"""Suppression of candidates that better ones overlap, by blocks of threads.

Candidates are sorted, and a block takes each row of them in tiles. All threads compare the candidates of a tile with
those that are kept so far, and with each other; one thread then decides, which takes a few words of bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.block_sorts import PLACE, BlockSort, held_type
from sateen.topi.schedules import blocks, one_thread, shared_out, threads_for

BITS = 32
"""Candidates whose overlaps with another one are bits of a word."""
TILE = 2 * BITS
"""The candidates of a tile."""
NONE = -1
"""The place of what is no candidate, in an order."""

Candidate = TypeVar("Candidate")


def sorted_places(
    ib: IRBuilder, rows: int, count: int, keep: int, dtype: DType, score: Callable[[Expr, Expr], Expr],
    takes_part: Callable[[Expr, Expr], Expr], gpu: Gpu,
) -> BufferPointer:  # fmt: skip
    """The places [rows, keep] of the elements with the highest scores that take part, in order; NONE after them. Of
    equal scores the first comes first; those that take part are not NaN."""
    order = ib.allocate(PLACE, (rows, keep), "global", "order")
    held = held_type(dtype)

    def value(row: Expr, i: Expr) -> Expr:
        return te.select(takes_part(row, i), score(row, i).astype(held), te.const(float("nan"), held))

    def before(a: Expr, b: Expr) -> Expr:
        return te.all(~te.isnan(a), ~(a <= b))

    def store(row: Expr, rank: Expr, key: Expr, place: Expr) -> None:
        order[row, rank] = te.select(te.isnan(key), te.const(NONE, PLACE), place)

    BlockSort(ib, rows, count, keep, held, before, gpu).run(value, store)
    return order


@dataclass(frozen=True, slots=True)
class BlockSuppression(Generic[Candidate]):
    """Keeps at most `most` candidates of each row of `order` [rows, count], in this order: each that no kept one
    overlaps.

    `load(row, place)` gives a candidate, `overlaps(one, kept)` says whether `kept` suppresses `one`.
    """

    ib: IRBuilder
    order: BufferPointer
    rows: int
    count: int
    most: int
    load: Callable[[Expr, Expr], Candidate]
    overlaps: Callable[[Candidate, Candidate], Expr]
    gpu: Gpu

    def run(self, finish: Callable[[Expr, BufferPointer, Callable[[Expr], Expr], int], None]) -> BufferPointer:
        """Launch a block for each row. Gives whether each candidate of the order is kept, as [rows, count].

        `finish(row, number, kept, threads)` writes what a block goes on with: the number of those that are kept, at
        0, and their places.
        """
        ib, threads = self.ib, threads_for(min(4 * TILE, self.gpu.block_threads), self.gpu)
        kept = ib.allocate(PLACE, (self.rows, self.most), "global", "kept")
        fates = ib.allocate(PLACE, (self.rows, self.count), "global", "fates")
        parts = max(threads // TILE, 1)
        with blocks(ib, self.rows) as row:
            number = ib.allocate(PLACE, (1,), "shared", "number")
            dead = ib.allocate(PLACE, (parts, TILE), "shared", "dead")
            masks = ib.allocate("uint32", (TILE // BITS, TILE), "shared", "masks")
            with one_thread(ib):
                number[0] = te.const(0, PLACE)
            with ib.for_range(0, -(-self.count // TILE), "tile") as tile:
                start = tile * TILE
                with shared_out(ib, parts * TILE, threads) as e:
                    dead[e // TILE, e % TILE] = self._is_overlapped(
                        row, start + e % TILE, e // TILE, parts, number, kept
                    )
                with shared_out(ib, TILE // BITS * TILE, threads) as e:
                    masks[e // TILE, e % TILE] = self._mask(row, start, e % TILE, e // TILE, number)
                with one_thread(ib):
                    self._decide(row, start, parts, number, dead, masks, kept, fates)
            finish(row, number, lambda i: kept[row, i], threads)
        return fates

    def _place(self, row: Expr, at: Expr) -> Expr:
        """The place of the candidate at a position of the order; NONE after the last."""
        last = te.minimum(at, self.count - 1)
        return self.ib.let("place", te.select(at < self.count, self.order[row, last], te.const(NONE, PLACE)))

    def _is_tried(self, place: Expr, number: BufferPointer) -> Expr:
        return te.all(place >= 0, number[0] < self.most)

    def _is_overlapped(
        self, row: Expr, at: Expr, part: Expr, parts: int, number: BufferPointer, kept: BufferPointer
    ) -> Expr:
        """Whether one of a part of the kept candidates overlaps that at a position; 1 or 0."""
        ib = self.ib
        found, j = (ib.allocate(PLACE, (1,), "register", name) for name in ("found", "j"))
        found[0], j[0] = te.const(0, PLACE), part.astype(PLACE)
        place = self._place(row, at)
        with ib.if_scope(self._is_tried(place, number)):
            one = self.load(row, place.astype("index"))
            with ib.while_scope(te.all(j[0] < number[0], found[0].equal(0))):
                other = self.load(row, kept[row, j[0].astype("index")].astype("index"))
                found[0] = self.overlaps(one, other).astype(PLACE)
                j[0] = j[0] + parts
        return found[0]

    def _mask(self, row: Expr, start: Expr, own: Expr, word: Expr, number: BufferPointer) -> Expr:
        """The candidates of a word that are before a candidate of the tile and overlap it, a bit for each."""
        ib = self.ib
        bits = ib.allocate("uint32", (1,), "register", "bits")
        bits[0] = te.const(0, "uint32")
        place = self._place(row, start + own)
        with ib.if_scope(te.all(self._is_tried(place, number), word * BITS < own)):
            one = self.load(row, place.astype("index"))
            with ib.for_range(0, BITS, "bit") as bit, ib.if_scope(word * BITS + bit < own):
                other = self.load(row, self.order[row, start + word * BITS + bit].astype("index"))
                with ib.if_scope(self.overlaps(one, other)):
                    bits[0] = bits[0] | _bit(bit)
        return bits[0]

    def _decide(
        self, row: Expr, start: Expr, parts: int, number: BufferPointer, dead: BufferPointer, masks: BufferPointer,
        kept: BufferPointer, fates: BufferPointer,
    ) -> None:  # fmt: skip
        """Keep the candidates of a tile that nothing kept overlaps."""
        ib, words = self.ib, TILE // BITS
        alive = ib.allocate("uint32", (words,), "register", "alive")
        for word in range(words):
            alive[word] = te.const(0, "uint32")
        with ib.for_range(0, TILE, "own") as own, ib.if_scope(start + own < self.count):
            place = self._place(row, start + own)
            overlapping = te.any(*((masks[word, own] & alive[word]).not_equal(0) for word in range(words)))
            overlapping = te.any(overlapping, *(dead[part, own] > 0 for part in range(parts)))
            fates[row, start + own] = te.const(0, PLACE)
            with ib.if_scope(te.all(self._is_tried(place, number), ~overlapping)):
                fates[row, start + own] = te.const(1, PLACE)
                kept[row, number[0].astype("index")] = place
                number[0] = number[0] + 1
                for word in range(words):
                    is_in = (own // BITS).equal(word)
                    alive[word] = te.select(is_in, alive[word] | _bit(own % BITS), alive[word])


def _bit(number: Expr) -> Expr:
    return te.const(1, "uint32") << number.astype("uint32")
