"""Loop nests from plans: every stage becomes its loops around stores, placed where it is computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.choices import all_of, conjuncts
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.renamed_buffers import with_buffers
from sateen.tensor_ir.ir.stmt import EMPTY, THREADS, For, If, LoopKind, Stmt, Store, sequence
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.ir.visit import rename_bound, substitute, walk
from sateen.tensor_ir.lowering.cross_thread_reduction import CrossThreadReduction, ThreadLoop
from sateen.tensor_ir.lowering.double_buffers import AheadOf
from sateen.tensor_ir.lowering.regions import attach_path
from sateen.tensor_ir.lowering.replaced_loops import ReplacedLoops
from sateen.tensor_ir.lowering.separate_loops import separate_loops
from sateen.tensor_ir.lowering.stage_body import StageBody, mentions_reduce
from sateen.tensor_ir.lowering.stage_buffers import StageBuffers
from sateen.tensor_ir.lowering.stage_plan import Plans, StagePlan
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.reduction_state import State, store_at_once, update_state
from sateen.tensor_ir.te.tensor import Recurrence, Tensor


def build_nests(schedule: Schedule, plans: Plans, arguments: Mapping[Tensor, Buffer], analyzer: Analyzer) -> Stmt:
    """The whole computation as one statement; intermediate tensors are allocated where they are computed."""
    return _Builder(StageBuffers(schedule, plans, arguments, analyzer)).build()


class _Builder:
    def __init__(self, storage: StageBuffers) -> None:
        self.storage = storage
        self.plans = storage.plans
        stages = storage.schedule.stages
        self.threads = {a for s in stages for a, kind in s.kinds.items() if _is_in_block(s, a, kind)}
        self.attached: defaultdict[tuple[StageState, IterVar] | None, list[StagePlan]] = defaultdict(list)
        """The stages by the loop at which they are computed; None: at root."""
        for plan in self.plans.values():
            self.attached[plan.stage.attach].append(plan)

    def build(self) -> Stmt:
        roots = self.attached[None]
        body = sequence(*(self.nest(plan) for plan in roots))
        return separate_loops(self.storage.allocated(roots, body), self.storage.analyzer)

    def nest(self, plan: StagePlan) -> Stmt:
        return plan.stage.op.nest(_Nest(self, plan))


def _is_in_block(stage: StageState, axis: IterVar, kind: LoopKind) -> bool:
    """Whether the iterations of a loop are threads of one block, hardware's or virtual ones."""
    return kind is LoopKind.VTHREAD or stage.threads.get(axis) in THREADS


class _Nest(StageBody):
    """The nest of one stage: a `te.tensor.NestBuilder`."""

    def __init__(self, builder: _Builder, plan: StagePlan) -> None:
        super().__init__(builder.storage, plan)
        self.builder = builder
        reduce_positions = [
            i for i, leaf in enumerate(self.leaves) if leaf.kind is AxisKind.REDUCE and leaf not in self.stage.blocks
        ]
        self.first_reduce = reduce_positions[0] if reduce_positions else len(self.leaves)
        outputs = [self.storage.buffers[t] for t in self.stage.outputs] if self.reduces else []
        self.state: State = [(buffer, self.indices) for buffer in outputs]
        self.replaced = None if self.stage.tensorized is None else ReplacedLoops(self, *self.stage.tensorized)
        self.inner: Stmt = EMPTY
        """What the loops of a stage without body are around."""
        if self.adopted:
            self._check_adopted()

    def _check_adopted(self) -> None:
        assert self.stage.attach is not None
        host, axis = self.stage.attach
        for block in self.adopted:
            if position(block, host.leaves) > position(axis, host.leaves):
                raise ScheduleError(
                    f"reorder in stage {host.name!r}: loop {block.name!r} of {self.stage.name!r} must be outside of "
                    f"{axis.name!r}, where {self.stage.name!r} is computed"
                )

    def loops(self) -> Stmt:
        return self._from(0)

    def steps(self, recurrences: Sequence[Recurrence]) -> Stmt:
        return sequence(*map(self._initial, recurrences, self.stage.outputs), self.loops())

    def _initial(self, recurrence: Recurrence, output: Tensor) -> Stmt:
        """The initial rows of a state, copied unless they are computed in its place."""
        if recurrence.initial in self.storage.places:
            return EMPTY
        axes = [Var(f"i{d}") for d in range(output.ndim)]
        value = self.storage.loads.rewrite(recurrence.initial(*axes))
        copy: Stmt = Store(self.storage.buffers[output], tuple(axes), value, self.span)
        copy = self.guarded([axes[0] < output.shape[0]], copy)
        for axis, extent in reversed([*zip(axes, recurrence.initial.shape, strict=True)]):
            copy = For(axis, ex.const(0), extent, LoopKind.SERIAL, copy, span=self.span)
        return copy

    def program(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        storage = {buffer: self.storage.buffers[tensor] for buffer, tensor in buffers.items()}
        strides: dict[Var, Expr] = {}
        for buffer, held in storage.items():
            for declared, actual in zip(buffer.strides or (), held.stride_exprs(), strict=bool(buffer.strides)):
                if isinstance(declared, Var):
                    strides.setdefault(declared, actual)
                if not self.analyzer.prove(substitute(declared, strides).equal(actual)):
                    raise ScheduleError(
                        f"lower: buffer {buffer.name!r} of {self.stage.name!r} expects strides "
                        f"[{', '.join(map(str, buffer.strides or ()))}], found storage with "
                        f"[{', '.join(map(str, held.stride_exprs()))}]"
                    )
        return substitute(with_buffers(rename_bound(statement), storage), strides)

    def within(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        self.inner = substitute(self.program(statement, buffers), self.plan.axis_value)
        return self.loops()

    def _from(self, position: int) -> Stmt:
        """The loops from `position` inwards; a reduction is initialised before its first reduce loop."""
        if self.replaced is not None and position == self.replaced.first:
            return self._instruction(position, fresh=self.reduces)
        if self.reduces and position == self.first_reduce:
            if self.bound:
                return self._across_threads(position)
            return sequence(self._initialise(position), self._loops(position))
        return self._loops(position)

    def _loops(self, position: int) -> Stmt:
        if self.replaced is not None and position == self.replaced.first:
            return self._instruction(position, fresh=False)
        if position == len(self.leaves) and not self.stage.op.body:
            return self.guarded(self.plan.guards, self.inner)
        if position == len(self.leaves):
            return self._update() if self.reduces else self._stores()
        leaf = self.leaves[position]
        inner = (
            self._loops(position + 1) if self.reduces and position >= self.first_reduce else self._from(position + 1)
        )
        inner = self.prefetched(leaf, self._with_attached(leaf, inner))
        if is_among(leaf, self.bound):
            return inner
        doubled = [plan for plan in self._attached(leaf) if plan.stage.is_double_buffered]
        if not doubled:
            return self._loop(leaf, inner, leaf)
        ahead = AheadOf(leaf, self._extent(leaf), self.guarded(self._decided(leaf), self._nests(doubled)))
        loop = self._loop(leaf, sequence(ahead.following, inner), leaf)
        return self.storage.allocated(doubled, sequence(ahead.first(self.analyzer), loop))

    def _instruction(self, position: int, *, fresh: bool) -> Stmt:
        """The instruction in the place of the loops from `position` inwards; the result is initialised before if it is
        `fresh` and the instruction adds to it."""
        assert self.replaced is not None
        match = self.replaced.match()
        update: Stmt = replace(match.statement, span=self.span)
        for block, owner in self.stage.blocks.items():
            update = self._finished(block, owner, position, update)
        update = self.guarded(self.replaced.outer_conditions(), update)
        return sequence(self._initialise(position), update) if fresh and match.adds else update

    def _across_threads(self, position: int) -> Stmt:
        """A reduction whose loops are bound to threads, from its first reduce loop inwards."""
        first = self.plan.body[0]
        assert isinstance(first, Reduce)
        where = f"bind in stage {self.stage.name!r}, axis {self.bound[0].name!r}"
        inside = [leaf.name for leaf in self.leaves[position:] if leaf.kind is AxisKind.DATA]
        if inside or self.adopted:
            names = ", ".join([*inside, *(block.name for block in self.adopted)])
            raise ScheduleError(f"{where}: a reduction across threads must be inside of loop {names}; reorder first")
        path = [(self.stage, leaf) for leaf in reversed(self.leaves[:position])] + attach_path(self.stage)
        around = {
            host.threads[leaf]: self._thread_loop(host, leaf)
            for host, leaf in reversed(path)
            if host.threads.get(leaf) in THREADS
        }
        bound = [self._thread_loop(self.stage, leaf) for leaf in self.bound]
        reduction = CrossThreadReduction(self.stage.name, first.combiner, bound, around, self.span)
        results, self.state = self.state, reduction.shares
        combined, stores = reduction.combine(self._loops(position), results)
        self.state = results
        data = [g for g in self.plan.guards if not mentions_reduce(g)]
        return reduction.allocated(sequence(combined, self.guarded(data, stores)))

    def _thread_loop(self, host: StageState, leaf: IterVar) -> ThreadLoop:
        extent = self.analyzer.constant(self.builder.plans[host].loops[leaf])
        if extent is None:
            raise ScheduleError(
                f"bind in stage {host.name!r}, axis {leaf.name!r}: a loop bound to {host.threads[leaf]} expects a "
                f"constant extent, found {self.builder.plans[host].loops[leaf]}; split it first"
            )
        return ThreadLoop(leaf, extent, host.threads[leaf])

    def _loop(self, leaf: IterVar, body: Stmt, var: Var) -> Stmt:
        stage = self.stage
        if leaf in self.plan.shared:
            return body
        kind = stage.kinds.get(leaf, LoopKind.SERIAL)
        thread = stage.threads.get(leaf)
        return For(var, ex.const(0), self._extent(leaf), kind, body, thread, stage.pragmas.get(leaf, ()), leaf.span)

    def _extent(self, leaf: IterVar) -> Expr:
        stage = self.stage
        owner = self.builder.plans[stage.blocks[leaf]] if leaf in stage.blocks else self.plan
        return owner.loops[leaf]

    def _with_attached(self, leaf: IterVar, body: Stmt) -> Stmt:
        """`body` after the stages computed at the loop, under the guards that are decided there."""
        plans = [plan for plan in self._attached(leaf) if not plan.stage.is_double_buffered]
        if not plans:
            return body
        return self.storage.allocated(plans, self.guarded(self._decided(leaf), sequence(self._nests(plans), body)))

    def _attached(self, leaf: IterVar) -> list[StagePlan]:
        """The stages that are computed at the loop."""
        return self.builder.attached.get((self.stage, leaf), [])

    def _nests(self, plans: Sequence[StagePlan]) -> Stmt:
        return sequence(*map(self.builder.nest, plans))

    def _decided(self, leaf: IterVar) -> list[Expr]:
        """The guards for stages computed at the loop, so that elements that no point of an iteration needs are not
        computed.

        Guards that threads of a block decide differently are not among them, since the threads may compute those
        stages together.
        """
        inner = self.builder.threads.union(self.leaves[position(leaf, self.leaves) + 1 :])
        return [g for g in self.plan.guards if not mentions_reduce(g) and inner.isdisjoint(walk(g))]

    def _stores(self) -> Stmt:
        """The stores of an element-wise body, or of the last K-block's epilogue."""
        values = [self.lowered(b) for b in self.plan.body]
        body = store_at_once([(self.output(i), self.indices) for i in range(len(values))], values, self.span)
        for block, owner in self.stage.blocks.items():
            keys = self.analyzer.keys
            if keys.of(values[0]) != keys.of(self.partial(owner)):
                body = self._finished(block, owner, len(self.leaves), body)
        return self.guarded(self.plan.guards, body)

    def _finished(self, block: IterVar, owner: StageState, position: int, body: Stmt) -> Stmt:
        """`body` in the last K-block; in those before, the loops from `position` inwards keep the partial result."""
        last = self.builder.plans[owner].loops[block] - 1
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in self.leaves[position:]}
        load = substitute(self.partial(owner), fresh)
        keep: Stmt = Store(self.output(0), tuple(substitute(i, fresh) for i in self.indices), load, self.span)
        for leaf in reversed(self.leaves[position:]):
            variable = fresh[leaf]
            assert isinstance(variable, Var)
            keep = For(variable, ex.const(0), self.plan.loops[leaf], LoopKind.SERIAL, keep, span=leaf.span)
        return If(block.equal(last), body, keep, self.span)

    def _initialise(self, position: int) -> Stmt:
        """Set the reduction's state to its identity, over the data loops that are inside the first reduce loop."""
        first = self.plan.body[0]
        assert isinstance(first, Reduce)
        if self.replaced is not None:
            match = self.replaced.match()
            if not match.adds:
                return EMPTY
            if match.reset is not None and not self.adopted:
                return self._reset(self.leaves[position : self.replaced.first], match.reset)
        inner = [leaf for leaf in self.leaves[position:] if leaf.kind is AxisKind.DATA]
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in inner}
        for leaf, var in fresh.items():
            assert isinstance(leaf, IterVar)
            assert isinstance(var, Var)
            self.analyzer.bind(var, 0, self.plan.loops[leaf])
        indices = tuple(substitute(i, fresh) for i in self.indices)
        identity: Stmt = sequence(
            *(Store(self.output(i), indices, value, self.span) for i, value in enumerate(first.combiner.identity))
        )
        body = identity
        simplify, keys = self.analyzer.simplify, self.analyzer.keys
        data = [simplify(substitute(g, fresh)) for g in self.plan.guards if not mentions_reduce(g)]
        for block in self.adopted:
            assert self.stage.attach is not None
            host = self.stage.attach[0]
            axes = self.plan.axis_value
            point = [substitute(axes[a], fresh) for a in self.stage.axes]
            kept = self.storage.buffers[host.outputs[0]]
            place = self.storage.index(host.outputs[0], point)
            held = Load(kept, place, first.dtype)
            ranges = [*zip(point, self.stage.op.outputs[0].shape, strict=True), *zip(place, kept.shape, strict=True)]
            known = {keys.of(g) for g in data}
            places = (simplify(g) for p, extent in ranges for g in (p >= 0, p < extent))
            inside = all_of([g for g in places if keys.of(g) not in known])
            resume: Stmt = Store(self.output(0), indices, held, self.span)
            if not ex.is_const(inside, True):  # elsewhere the consumer has no element for the state, and reads none
                resume = If(inside, resume, identity, self.span)
            body = If(block.equal(0), body, resume, self.span)
        body = self.guarded(data, body)
        for leaf in reversed(inner):
            var = fresh[leaf]
            assert isinstance(var, Var)
            body = self._loop(leaf, body, var) if self.replaced is None else self._initial_loop(leaf, body, var)
        return body

    def _reset(self, loops: Sequence[IterVar], statement: Stmt) -> Stmt:
        """An instruction that stores the identity, in the data loops between the first reduce loop and the replaced
        ones, which are among `loops`."""
        between = [leaf for leaf in loops if leaf.kind is AxisKind.DATA]
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in between}
        data = [g for g in self.plan.guards if not mentions_reduce(g)]
        body = substitute(self.guarded(data, statement), fresh)
        for leaf in reversed(between):
            variable = fresh[leaf]
            assert isinstance(variable, Var)
            body = self._loop(leaf, body, variable)
        return body

    def _initial_loop(self, leaf: IterVar, body: Stmt, var: Var) -> Stmt:
        """A loop before an instruction, whose result may be in registers: vectors along the last dimension."""
        assert self.replaced is not None
        if is_among(leaf, self.replaced.outer):
            return self._loop(leaf, body, var)
        extent = self.plan.loops[leaf]
        step = self.analyzer.form(self.indices[-1]).terms.get(leaf) if self.indices else None
        kind = LoopKind.VECTORIZED if step == 1 else LoopKind.UNROLLED
        return For(var, ex.const(0), extent, kind, body, span=leaf.span)

    def _update(self) -> Stmt:
        """Combine one term into the state; the new state of a tuple is complete before any of it is stored."""
        first = self.plan.body[0]
        assert isinstance(first, Reduce)
        terms = [self.lowered(s) for s in first.sources]
        where = [self.lowered(c) for c in conjuncts(first.where)]
        body = update_state(first.combiner, self.state, terms, self.span)
        return self.guarded([*self.plan.guards, *where], body)
