"""The loops of a stage that an instruction replaces, and the instruction that computes what they do."""

from __future__ import annotations

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.choices import all_of, conjuncts
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.stmt import LoopKind
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.lowering.match_instruction import InnerLoops, Match, match_instruction
from sateen.tensor_ir.lowering.stage_body import StageBody, is_outside


class ReplacedLoops:
    """The loops of a tensorized stage from `first`, the position of the outermost one, inwards.

    Raises ScheduleError if an instruction can't stand in their place.
    """

    def __init__(self, body: StageBody, axis: IterVar, instruction: object) -> None:
        self.body = body
        self.stage = body.stage
        self.where = f"tensorize in stage {self.stage.name!r}, axis {axis.name!r}"
        if not isinstance(instruction, TensorIntrinsic):
            raise ScheduleError(f"{self.where}: expects a TensorIntrinsic, found {type(instruction).__name__}")
        if not is_among(axis, body.leaves):
            raise ScheduleError(
                f"{self.where}: it is no loop of the stage any more; call tensorize after split and fuse"
            )
        self.instruction = instruction
        self.first = position(axis, body.leaves)
        self.loops = body.leaves[self.first :]
        self.outer = body.leaves[: self.first]
        """The stage's loops around them."""
        self._check()

    def _check(self) -> None:
        if self.body.bound:
            raise ScheduleError(
                f"{self.where}: expects no reduction across threads, found loop {self.body.bound[0].name!r} bound"
            )
        for leaf in self.outer:
            if self.stage.kinds.get(leaf) is LoopKind.VECTORIZED:
                raise ScheduleError(
                    f"{self.where}: expects no vectorized loop around, found {leaf.name!r}; an instruction is no lane"
                )
        for leaf in self.loops:
            if leaf in self.stage.kinds:
                found = self.stage.kinds[leaf].name.lower()
                raise ScheduleError(f"{self.where}: the instruction replaces loop {leaf.name!r}, found it {found}")
            inside = [s.name for s in self.body.storage.plans if s.is_attached_at(self.stage, leaf)]
            inside += [r.tensor.name for r in self.stage.prefetches if r.axis is leaf]
            if inside:
                raise ScheduleError(
                    f"{self.where}: the instruction replaces loop {leaf.name!r}, in which {inside[0]!r} is computed or "
                    "prefetched; choose a loop outside of it"
                )

    def match(self) -> Match:
        """The instruction that computes what the loops do."""
        body, plan = self.body, self.body.plan
        for guard in map(body.analyzer.simplify, plan.guards):
            if not is_outside(guard, self.loops):
                raise ScheduleError(
                    f"{self.where}: expects whole tiles, found iterations only where {guard}; choose a factor that "
                    "divides the extent, split with tail='shift' or 'round_up', or pad the tensors"
                )
        first = plan.body[0]
        reduction = first if isinstance(first, Reduce) else None
        conditions = [body.lowered(c) for c in conjuncts(reduction.where)] if reduction is not None else []
        loops = InnerLoops(
            {leaf: plan.loops[leaf] for leaf in self.loops},
            tuple(Load(body.output(i), body.indices, t.dtype) for i, t in enumerate(self.stage.outputs)),
            tuple(map(body.lowered, plan.body if reduction is None else reduction.sources)),
            all_of([c for c in conditions if not is_outside(c, self.loops)]),
            None if reduction is None else reduction.combiner,
            [*body.adopted, *filter(self._repeats, self.outer)],
        )
        match = match_instruction(self.instruction, loops, self.where, body.analyzer)
        outer = [c for c in conditions if is_outside(c, self.loops)]
        if not match.adds and not ex.is_const(all_of(outer), True):
            raise ScheduleError(
                f"{self.where}: expects terms for all results, since {match.statement.instruction.name!r} starts from "
                f"nothing, found terms only where {all_of(outer)}"
            )
        return match

    def _repeats(self, leaf: IterVar) -> bool:
        """Whether a loop adds up several parts of the stage's reduction."""
        is_own = leaf.kind is AxisKind.REDUCE and leaf not in self.stage.blocks
        return is_own and self.body.analyzer.constant(self.body.plan.loops[leaf]) != 1

    def outer_conditions(self) -> list[Expr]:
        """The conditions of the loops around an instruction, and of the terms that it adds."""
        first = self.body.plan.body[0]
        terms = [self.body.lowered(c) for c in conjuncts(first.where)] if isinstance(first, Reduce) else []
        return [*self.body.plan.guards, *(c for c in terms if is_outside(c, self.loops))]
