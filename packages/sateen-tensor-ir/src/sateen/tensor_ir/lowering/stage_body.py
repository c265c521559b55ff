"""What one iteration of a stage's loops does, over buffers and loop variables."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.choices import all_of
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.stmt import If, Prefetch, Stmt, sequence
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.ir.visit import substitute, walk
from sateen.tensor_ir.lowering.next_block import next_block
from sateen.tensor_ir.lowering.regions import attach_path
from sateen.tensor_ir.lowering.stage_buffers import StageBuffers
from sateen.tensor_ir.lowering.stage_plan import StagePlan
from sateen.tensor_ir.schedule.state import NextBlockRequest, PrefetchRequest, StageState
from sateen.tensor_ir.te.tensor import Tensor, reads


class StageBody:
    """The values of a stage, and where it stores them."""

    def __init__(self, storage: StageBuffers, plan: StagePlan) -> None:
        self.storage = storage
        self.analyzer = storage.analyzer
        self.plan = plan
        self.stage = plan.stage
        self.span = plan.stage.op.span
        host = self.stage.attach[0] if self.stage.attach is not None else None
        self.adopted = [a for a, owner in host.blocks.items() if owner is self.stage] if host is not None else []
        """The loops of the host that are blocks of this stage's reduction."""
        self.leaves = [leaf for leaf in self.stage.leaves if not is_among(leaf, self.adopted)]
        self.reduces = any(isinstance(e, Reduce) for e in plan.body)
        values = plan.axis_value if self.stage.outputs[0] in storage.places else plan.value
        self.indices = (*storage.part(self.stage), *(self.analyzer.simplify(values[a]) for a in self.stage.axes))
        self.bound = [leaf for leaf in self.leaves if leaf.kind is AxisKind.REDUCE and leaf in self.stage.threads]
        """The reduce loops that are bound to threads."""

    def lowered(self, e: Expr) -> Expr:
        """A body expression over buffers and loop variables."""
        return self.storage.loads.rewrite(substitute(e, self.plan.axis_value))

    def guarded(self, conditions: Sequence[Expr], body: Stmt) -> Stmt:
        """`body` where all conditions hold."""
        condition = all_of([self.analyzer.simplify(c) for c in conditions])
        return body if ex.is_const(condition, True) else If(condition, body, None, self.span)

    def output(self, i: int) -> Buffer:
        """The buffer of an output."""
        return self.storage.buffers[self.stage.outputs[i]]

    def partial(self, owner: StageState) -> Load:
        """The element of a partial result that this stage keeps."""
        partial = self.storage.schedule[owner.outputs[0]].outputs[0]
        place = self.storage.index(partial, [self.plan.axis_value[a] for a in self.stage.axes])
        return Load(self.storage.buffers[partial], place, partial.dtype)

    def prefetched(self, leaf: IterVar, body: Stmt) -> Stmt:
        """`body` after the prefetches that are asked for in the loop."""
        hints = []
        for request in (r for r in self.stage.prefetches if r.axis is leaf):
            for e in self.plan.body:
                for load in self._first_reads(e, request.tensor):
                    if any(isinstance(n, Load) for i in load.indices for n in walk(i)):
                        raise ScheduleError(
                            f"prefetch in stage {self.stage.name!r}, axis {leaf.name!r}: where it reads "
                            f"{request.tensor.name!r} is data, which may not exist that far ahead"
                        )
                    zero: dict[Var, Expr] = {v: ex.const(0) for v in self.leaves[position(leaf, self.leaves) + 1 :]}
                    first = tuple(self.analyzer.simplify(substitute(i, zero)) for i in load.indices)
                    hints += [Prefetch(load.buffer, i, self.span) for i in self._ahead(request, load.buffer, first)]
        return sequence(*hints, body) if hints else body

    def _ahead(
        self, request: PrefetchRequest | NextBlockRequest, buffer: Buffer, first: tuple[Expr, ...]
    ) -> list[tuple[Expr, ...]]:
        """The elements to ask for in an iteration whose first one reads that at the indices `first`."""
        if isinstance(request, PrefetchRequest):
            return [tuple(substitute(i, {request.axis: request.axis + request.distance}) for i in first)]
        own = [(self.stage, leaf) for leaf in self.leaves[: position(request.axis, self.leaves) + 1]]
        path = [*reversed(attach_path(self.stage)), *own]
        loops = [(leaf, self.storage.plans[host.blocks.get(leaf, host)]) for host, leaf in path]
        return next_block(buffer, first[: request.leading], loops, request, self.analyzer)

    def _first_reads(self, e: Expr, tensor: Tensor) -> list[Load]:
        for read in reads(e):
            if read.tensor is tensor:
                load = self.lowered(read)
                return [load] if isinstance(load, Load) else []
        return []


def mentions_reduce(condition: Expr) -> bool:
    """Whether a condition depends on a reduce axis."""
    return any(isinstance(v, IterVar) and v.kind is AxisKind.REDUCE for v in walk(condition))


def is_outside(condition: Expr, loops: Sequence[IterVar]) -> bool:
    """Whether a condition is the same in all iterations of some loops."""
    return set(walk(condition)).isdisjoint(loops)
