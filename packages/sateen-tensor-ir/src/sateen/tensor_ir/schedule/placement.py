"""Primitives that say where a stage is computed, and where its result is kept."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.buffer import Scope, tagged_scope
from sateen.tensor_ir.ir.expr import Expr, IterVar, as_expr
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.schedule.checks import (
    at,
    require_axis,
    require_expressions,
    require_internal,
    require_own_storage,
    twin,
)
from sateen.tensor_ir.schedule.relations import Split
from sateen.tensor_ir.schedule.state import StageState


class PlacePrimitives(StageState):
    """Places the computation, and its result."""

    def compute_at(self, consumer: Any, axis: IterVar) -> None:
        """Compute the part that each iteration of the consumer's loop needs, inside that loop.

        for i: B[i] = f(i)                        s[B].compute_at(s[C], io)
        for io: for ii: C[...] = B[...]
        =>  for io: { for i in what C needs at io: B[i] = f(i);  for ii: C[...] = B[...] }
        """
        stage = consumer if isinstance(consumer, StageState) else self.schedule[consumer]
        if stage.schedule is not self.schedule:
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is of another schedule than {self.name!r}; create_schedule makes "
                "new stages each time, so take both from one"
            )
        require_internal(self, "compute_at")
        require_axis(self, axis, "compute_at")
        if stage is self:
            raise ScheduleError(f"compute_at: stage {self.name!r} can't be computed inside itself")
        if not is_among(axis, stage.leaves):
            raise ScheduleError(
                f"compute_at: {axis.name!r} is no loop of stage {stage.name!r}, whose loops are {stage.loop_names}"
                f"{twin(stage, axis)}"
            )
        self.attach, self.inlined = (stage, axis), False

    def compute_inline(self) -> None:
        """Replace reads of the result by the computation.

        for i: B[i] = f(i)
        for i: C[i] = g(B[i])       s[B].compute_inline()
        =>  for i: C[i] = g(f(i))
        """
        require_internal(self, "compute_inline")
        for stage in self.schedule.consumers(self):
            if whole := [t for t in stage.op.whole_inputs if t in self.outputs]:
                raise ScheduleError(
                    f"compute_inline: {whole[0].name!r} is read as a whole by {stage.name!r}, so it needs storage"
                )
        if not self.op.body or self.op.reduce_axis:
            found = "a reduction" if self.op.reduce_axis else "not a compute"
            raise ScheduleError(
                f"compute_inline: {self.name!r} is {found}; only an element-wise body can be substituted"
            )
        if self.is_double_buffered:
            raise ScheduleError(f"compute_inline: {self.name!r} is double-buffered, so it needs storage")
        if lost := self._lost_by_inlining():
            raise ScheduleError(
                f"compute_inline: {self.name!r} has no loops and no storage of its own then, found {lost}; leave that "
                "out, or don't inline it"
            )
        self.inlined, self.attach = True, None

    def _lost_by_inlining(self) -> str:
        """What the schedule has said about loops or storage that an inlined stage does not have; '' if nothing."""
        split = [r.parent if isinstance(r, Split) else r.outer for r in self.relations]
        changed = [*split, *self.kinds, *self.pragmas, *(request.axis for request in self.prefetches)]
        if changed:
            return f"primitives for loop {changed[0].name!r}"
        return "padded strides" if self.alignments else ""

    def compute_root(self) -> None:
        """Compute the whole stage before its consumers, or in a scan before those of its step (the default)."""
        self.inlined, self.attach = False, None

    def set_scope(self, scope: Scope | str) -> None:
        """Set the memory of the result: register, local, warp, shared or global.

        A tag may follow, such as `local.acc`, which only `explain` shows.
        """
        wanted, tag = tagged_scope(scope, f"set_scope of {self.name!r}")
        require_internal(self, "set_scope")
        self.scope, self.scope_tag = wanted, tag

    def set_store_predicate(self, predicate: Expr) -> None:
        """Say which of several threads that compute the same stores it.

            threads tx: C[i] += ...         set_store_predicate(tx.var.equal(0))
            =>  threads tx: C[i] += ...; one of them, tx == 0, stores it

        That is what lowering does anyway, so the predicate is only checked: it may depend on threads along which all
        compute the same, by `ThreadAxis.var` or by loop, and must hold for the first of them. Anything else would leave
        elements out.
        """
        if not isinstance(predicate, (Expr, bool)) or not (given := as_expr(predicate)).dtype.is_bool:
            raise ScheduleError(f"set_store_predicate of {self.name!r}: expects a condition, found {predicate!r:.80}")
        if self.op.is_given:
            raise ScheduleError(f"set_store_predicate: {self.name!r} is not computed, it is given")
        self.store_predicate = given

    def storage_align(self, axis: IterVar, factor: int, offset: int = 0) -> None:
        """Make the stride of a data axis ≡ offset modulo factor (in elements), by padding the storage."""
        require_axis(self, axis, "storage_align")
        require_expressions(self, at(self, "storage_align", axis))
        if not is_among(axis, self.axes):
            raise ScheduleError(f"{at(self, 'storage_align', axis)}: expects a data axis of the operation")
        whole = isinstance(factor, Integral) and isinstance(offset, Integral)
        if not whole or factor < 1 or not 0 <= offset < factor:
            raise ScheduleError(
                f"{at(self, 'storage_align', axis)}: expects integers, factor >= 1 and 0 <= offset < factor, found "
                f"{factor!r:.80} and {offset!r:.80}"
            )
        require_own_storage(self, at(self, "storage_align", axis))
        if self.is_output:
            raise ScheduleError(
                f"{at(self, 'storage_align', axis)}: {self.name!r} is an output, whose storage is the caller's"
            )
        self.alignments[position(axis, self.axes)] = (factor, offset)

    def double_buffer(self) -> None:
        """Keep two parts of the result: in each iteration of the loop of `compute_at` the next part is computed while
        this one is used.

            for k in n: { B[0] = f(k); C[k] = g(B[0]) }       s[B].double_buffer()
            =>  B[0] = f(0);  for k in n: { if k + 1 < n: B[(k+1) % 2] = f(k + 1);  C[k] = g(B[k % 2]) }
        """
        require_internal(self, "double_buffer")
        if self.inlined:
            raise ScheduleError(f"double_buffer: {self.name!r} is inlined, so it has no storage")
        self.is_double_buffered = True
