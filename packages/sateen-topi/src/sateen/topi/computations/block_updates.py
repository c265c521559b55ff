"""Updates of elements whose places are data, by the threads of a device: each element gets its updates in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.block_sorts import PLACE, BlockSort
from sateen.topi.schedules import each_thread

NOWHERE = -1
"""The slot of an update that is left out."""


@dataclass(frozen=True, slots=True)
class Updates:
    """Updates of slots, in rows that concern different elements.

    `extents` are rows, updates of a row, and elements of each update. slot(row, i) is below `slots`, or NOWHERE;
    value(row, i, e) is element e of an update, target(row, slot, e) the index of what it updates, and reduce(old, new)
    what this becomes.
    """

    extents: tuple[int, int, int]
    slots: int
    slot: Callable[[Expr, Expr], Expr]
    value: Callable[[Expr, Expr, Expr], Expr]
    target: Callable[[Expr, Expr, Expr], tuple[Expr, ...]]
    reduce: Callable[[Expr, Expr], Expr]

    def apply(self, ib: IRBuilder, out: BufferPointer, gpu: Gpu) -> None:
        """A thread for each element of a row, which takes all updates of the row; where these are too few threads, the
        updates are sorted by slot, and each element of each slot gets one."""
        rows, length, elements = self.extents
        if length <= gpu.warp or rows * elements >= gpu.units * gpu.block_threads:
            self._in_order(ib, out, gpu)
        else:
            self._by_slots(ib, out, gpu)

    def _in_order(self, ib: IRBuilder, out: BufferPointer, gpu: Gpu) -> None:
        rows, length, elements = self.extents
        with each_thread(ib, rows * elements, gpu) as thread, ib.for_range(0, length, "i") as i:
            row, e = thread // elements, thread % elements
            slot = ib.let("slot", self.slot(row, i))
            with ib.if_scope(slot >= 0):
                target = self.target(row, slot, e)
                out[target] = self.reduce(out[target], self.value(row, i, e))

    def _by_slots(self, ib: IRBuilder, out: BufferPointer, gpu: Gpu) -> None:
        rows, length, elements = self.extents
        kind = DType.of("int32" if self.slots < 1 << 31 else "int64")
        slots = ib.allocate(kind, (rows, length), "global", "slots")
        places = ib.allocate(PLACE, (rows, length), "global", "places")

        def store(row: Expr, rank: Expr, slot: Expr, place: Expr) -> None:
            slots[row, rank] = slot
            places[row, rank] = place

        sort = BlockSort(ib, rows, length, length, kind, lambda one, other: one < other, gpu)
        sort.run(lambda row, i: self.slot(row, i).astype(kind), store)
        with each_thread(ib, rows * length * elements, gpu) as thread:
            row, e = ib.let("row", thread // elements // length), ib.let("e", thread % elements)
            rank = ib.let("rank", thread // elements % length)
            own = ib.let("slot", slots[row, rank])
            is_first = te.any(rank.equal(0), slots[row, te.maximum(rank - 1, 0)].not_equal(own))
            with ib.if_scope(te.all(own >= 0, is_first)):
                target = self.target(row, own.astype("index"), e)
                value, next_one = (
                    ib.allocate(out.dtype, (1,), "register", "value"),
                    ib.allocate(PLACE, (1,), "register", "next"),
                )
                value[0], next_one[0] = out[target], rank.astype(PLACE)

                def at() -> Expr:
                    return te.minimum(next_one[0].astype("index"), length - 1)

                with ib.while_scope(te.all(next_one[0] < length, slots[row, at()].equal(own))):
                    value[0] = self.reduce(value[0], self.value(row, places[row, at()].astype("index"), e))
                    next_one[0] = next_one[0] + 1
                out[target] = value[0]
