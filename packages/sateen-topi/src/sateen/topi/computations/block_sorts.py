"""Rows in order, by blocks of threads: parts are sorted in shared memory, and their runs merged in further launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.schedules import blocks, each_thread, largest_power_of_two, shared_out, threads_for

PLACE = DType.of("int32")
"""The type of places in rows while they are sorted."""


def held_type(dtype: DType) -> DType:
    """The type in which elements are kept while they are sorted: one of whole words that holds all of their values."""
    if dtype.bytes >= 4:
        return dtype
    return DType.of("float32" if dtype.is_float else "int32")


Load = Callable[[Expr, Expr], Expr]
"""Something of an element, by its row and its position."""
Store = Callable[[Expr, Expr, Expr, Expr], None]
"""Takes an element: row, position, value, and the place that it had at first."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Memory for `count` elements of each row: values, and the places that they had at first."""

    values: BufferPointer
    places: BufferPointer
    count: int = 0

    def put(self, at: Expr, value: Expr, place: Expr) -> None:
        self.values[at] = value
        self.places[at] = place

    def value(self, row: Expr, i: Expr) -> Expr:
        return self.values[row * self.count + i]

    def place(self, row: Expr, i: Expr) -> Expr:
        return self.places[row * self.count + i]

    def store(self, row: Expr, i: Expr, value: Expr, place: Expr) -> None:
        self.put(row * self.count + i, value, place)


@dataclass(frozen=True, slots=True)
class Phase:
    """A launch: `count` elements of each row, in sorted runs of `run` (the last may be shorter), become runs of the
    first `kept` of every `span`."""

    count: int
    run: int
    span: int
    kept: int
    is_shared: bool
    """Whether a block merges all runs of a span in shared memory; else a thread moves an element of one of two runs."""

    @property
    def spans(self) -> int:
        return -(-self.count // self.span)

    @property
    def left(self) -> int:
        """The elements of each row that are left."""
        return (self.spans - 1) * self.kept + min(self.kept, self.count - (self.spans - 1) * self.span)


@dataclass(frozen=True, slots=True)
class BlockSort:
    """The first `keep` of each row of `length` elements, in the order of `before(a, b)`, whether value a comes before
    b; of those that neither does, the first comes first.

    Runs are merged by ranks: an element's place is its own in its run, and how many of the other run come before it,
    which it finds by binary search (Cole, Parallel Merge Sort, 1988, section 2). Nothing is moved twice in a launch.
    """

    ib: IRBuilder
    rows: int
    length: int
    keep: int
    dtype: DType
    before: Callable[[Expr, Expr], Expr]
    gpu: Gpu

    def run(self, value: Load, store: Store) -> None:
        """Sort the elements value(row, i); store(row, rank, value, i) gets each of the first ones."""
        if self.rows == 0:
            return
        place: Load = _first_place
        *early, last = self.phases()
        rooms = [max((self.rows * phase.left for phase in early[parity::2]), default=0) for parity in range(2)]
        memory = [self._runs(room, "global") for room in rooms if room]
        for number, phase in enumerate(early):
            runs = replace(memory[number % 2], count=phase.left)
            self._launch(phase, value, place, runs.store)
            value, place = runs.value, runs.place
        self._launch(last, value, place, store)

    def phases(self) -> list[Phase]:
        """The launches, the last of which leaves one run."""
        found: list[Phase] = []
        count, run = self.length, 1
        while not found or found[-1].spans > 1:
            part = self._part(count)
            merged = count if count <= part else part // run * run
            is_shared = merged >= min(2 * run, count)
            span = merged if is_shared else 2 * run
            found.append(Phase(count, run, span, min(span, self.keep), is_shared))
            count, run = found[-1].left, found[-1].kept
        return found

    def _part(self, count: int) -> int:
        """The elements that a block sorts, a power of two: all of a row, or parts of it for all units."""
        room = self.gpu.shared_bytes // (2 * (self.dtype.bytes + PLACE.bytes))
        most = largest_power_of_two(room)
        if count <= most:
            return most
        for_all = 1 << max(self.rows * count // self.gpu.units, 1).bit_length()
        return min(most, max(for_all, self.gpu.block_threads))

    def _runs(self, count: int, scope: str) -> Runs:
        allocate = self.ib.allocate
        return Runs(allocate(self.dtype, (count,), scope, "runs"), allocate(PLACE, (count,), scope, "places"))

    def _launch(self, phase: Phase, value: Load, place: Load, store: Store) -> None:
        if phase.is_shared:
            self._in_shared_memory(phase, value, place, store)
        else:
            self._by_threads(phase, value, place, store)

    def _in_shared_memory(self, phase: Phase, value: Load, place: Load, store: Store) -> None:
        """A block for each span, or for several short rows."""
        ib, span = self.ib, phase.span
        together = max(1, min(self.rows, self.gpu.block_threads // span)) if phase.spans == 1 else 1
        threads = threads_for(together * span, self.gpu)
        with blocks(ib, -(-self.rows // together) * phase.spans) as block:
            first, start = block // phase.spans * together, block % phase.spans * span
            old, new = self._runs(together * span, "shared"), self._runs(together * span, "shared")
            available = te.minimum(span, phase.count - start)

            def present(e: Expr, limit: Expr | int) -> Expr:
                """Whether an element of the block is one of a row."""
                return te.all(e % span < limit, first + e // span < self.rows)

            with shared_out(ib, together * span, threads) as e, ib.if_scope(present(e, available)):
                row, i = first + e // span, start + e % span
                old.put(e, value(row, i), place(row, i))
            run = phase.run
            while run < span:
                with (
                    shared_out(ib, together * span, threads) as e,
                    ib.if_scope(te.all(present(e, available), e % span % run < self.keep)),
                ):
                    begin, own = e // span * span, ib.let("value", old.values[e])
                    rank = self._rank(own, e % span, run, available, _behind(old.values, begin))
                    with ib.if_scope(rank < self.keep):
                        new.put(begin + e % span // (2 * run) * (2 * run) + rank, own, old.places[e])
                old, new, run = new, old, 2 * run
            with (
                shared_out(ib, together * span, threads) as e,
                ib.if_scope(present(e, te.minimum(available, phase.kept))),
            ):
                rank = block % phase.spans * phase.kept + e % span
                store(first + e // span, rank, old.values[e], old.places[e])

    def _by_threads(self, phase: Phase, value: Load, place: Load, store: Store) -> None:
        """A thread for each element of two runs."""
        ib, count = self.ib, phase.count
        with each_thread(ib, self.rows * count, self.gpu) as e:
            row, i = ib.let("row", e // count), ib.let("i", e % count)
            own = ib.let("value", value(row, i))
            rank = self._rank(own, i, phase.run, te.const(count), lambda at: value(row, at))
            with ib.if_scope(rank < self.keep):
                store(row, i // phase.span * phase.kept + rank, own, place(row, i))

    def _rank(self, value: Expr, i: Expr, run: int, count: Expr, element: Callable[[Expr], Expr]) -> Expr:
        """The place of the value at i in the merger of its run and the neighbour, of `count` elements in runs that
        begin every `run`, of which the first `keep` are there."""
        ib, kept = self.ib, min(run, self.keep)
        is_first = (i // run % 2).equal(0)
        other = ib.let("other", te.select(is_first, i // run + 1, i // run - 1) * run)
        length = ib.let("length", te.minimum(te.maximum(count - other, 0), kept))
        found: Expr = te.const(0)
        for bit in reversed(range(kept.bit_length())):
            following = found + (1 << bit)
            at = element(other + te.maximum(te.minimum(following, length) - 1, 0))
            precedes = te.select(is_first, self.before(at, value), ~self.before(value, at))
            found = ib.let("found", te.select(te.all(following <= length, precedes), following, found))
        return ib.let("rank", i % run + found)


def _behind(values: BufferPointer, begin: Expr) -> Callable[[Expr], Expr]:
    """The elements from `begin` on."""
    return lambda i: values[begin + i]


def _first_place(_row: Expr, i: Expr) -> Expr:
    return i.astype(PLACE)
