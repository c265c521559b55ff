"""Loop nests from plans: every stage becomes its loops around stores, placed where it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.choices import all_of, conjuncts, select
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import (
    EMPTY,
    THREADS,
    Allocate,
    For,
    If,
    Intrinsic,
    LoopKind,
    Prefetch,
    Stmt,
    Store,
    sequence,
)
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, rename_bound, substitute, walk
from sateen.tensor_ir.lowering.cross_thread_reduction import CrossThreadReduction, ThreadLoop
from sateen.tensor_ir.lowering.double_buffers import COPIES, AheadOf, part_in_use
from sateen.tensor_ir.lowering.match_instruction import InnerLoops, Match, match_instruction
from sateen.tensor_ir.lowering.places import find_places
from sateen.tensor_ir.lowering.regions import Plans, StagePlan, attach_path
from sateen.tensor_ir.lowering.separate_loops import separate_loops
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.reduction_state import State, update_state
from sateen.tensor_ir.te.tensor import Recurrence, Tensor, reads


def build_nests(schedule: Schedule, plans: Plans, arguments: Mapping[Tensor, Buffer], analyzer: Analyzer) -> Stmt:
    """The whole computation as one statement; intermediate tensors are allocated where they are computed."""
    return _Builder(schedule, plans, arguments, analyzer).build()


class _Builder:
    def __init__(
        self, schedule: Schedule, plans: Plans, arguments: Mapping[Tensor, Buffer], analyzer: Analyzer
    ) -> None:
        self.schedule = schedule
        self.plans = plans
        self.arguments = arguments
        self.analyzer = analyzer
        self.buffers: dict[Tensor, Buffer] = dict(arguments)
        self.places = find_places(schedule, plans, arguments, analyzer)
        for stage in schedule.stages:
            for tensor in stage.outputs:
                if tensor in self.places:
                    continue
                if tensor not in self.buffers and (stage in plans or stage.op.data is not None):
                    self.buffers[tensor] = self._buffer(stage, tensor)
                elif tensor not in self.buffers and stage.op.is_given:
                    raise ScheduleError(f"lower: {tensor.name!r} is read, but is not among the arguments")
        self.buffers |= {tensor: self.buffers[scan] for tensor, scan in self.places.items()}
        self.loads = _ReadsToLoads(self)
        self.threads = {a for s in schedule.stages for a, kind in s.kinds.items() if _is_in_block(s, a, kind)}

    def _buffer(self, stage: StageState, tensor: Tensor) -> Buffer:
        if stage.op.data is not None:
            return Buffer(tensor.name, tensor.shape, tensor.dtype, Scope.GLOBAL, data=stage.op.data)
        plan = self.plans[stage]
        axes = stage.op.region_axes
        shape = tensor.shape if axes is None else tuple(plan.extent[a] for a in axes)
        shape = tuple(map(self.analyzer.simplify, shape))
        if stage.scope is Scope.REGISTER and not all(isinstance(e, ex.Const) for e in shape):
            raise ScheduleError(
                f"set_scope of {tensor.name!r}: registers need a constant shape, found [{', '.join(map(str, shape))}]; "
                "compute it at a loop inside of which its extents are constant"
            )
        alignments = stage.alignments
        if stage.is_double_buffered:
            shape = (ex.const(COPIES), *shape)
            alignments = {d + 1: padding for d, padding in alignments.items()}
        strides = _padded_strides(shape, alignments) if alignments else None
        return Buffer(tensor.name, shape, tensor.dtype, stage.scope, strides)

    def build(self) -> Stmt:
        roots = [p for p in self.plans.values() if p.stage.attach is None]
        body = sequence(*(self.nest(plan) for plan in roots))
        return separate_loops(self.allocated(roots, body), self.analyzer)

    def allocated(self, plans: Sequence[StagePlan], body: Stmt) -> Stmt:
        """`body` with storage for the stages computed in it, except arguments."""
        for plan in reversed(plans):
            for tensor in plan.stage.outputs:
                if tensor not in self.arguments and tensor not in self.places:
                    body = Allocate(self.buffers[tensor], body, plan.stage.op.span)
        return body

    def index(self, tensor: Tensor, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The index of an element in the tensor's buffer, whose origin is the base of its region."""
        plan = self.plans.get(self.schedule[tensor])
        if plan is not None and plan.base and tensor not in self.places:
            indices = [i - plan.base[a] for i, a in zip(indices, plan.stage.axes, strict=True)]
        return (*self.part(self.schedule[tensor]), *map(self.analyzer.simplify, indices))

    def part(self, stage: StageState) -> tuple[Expr, ...]:
        """The first index of all elements of a double buffer."""
        if not stage.is_double_buffered:
            return ()
        assert stage.attach is not None
        return (part_in_use(stage.attach[1]),)

    def nest(self, plan: StagePlan) -> Stmt:
        return plan.stage.op.nest(_Nest(self, plan))


def _is_in_block(stage: StageState, axis: IterVar, kind: LoopKind) -> bool:
    """Whether the iterations of a loop are threads of one block, hardware's or virtual ones."""
    return kind is LoopKind.VTHREAD or stage.threads.get(axis) in THREADS


def _padded_strides(shape: tuple[Expr, ...], alignments: Mapping[int, tuple[int, int]]) -> tuple[Expr, ...]:
    strides: list[Expr] = []
    step: Expr = ex.const(1)
    for d in reversed(range(len(shape))):
        if d in alignments:
            factor, offset = alignments[d]
            step = step + (offset - step) % factor
        strides.append(step)
        step = step * shape[d]
    return tuple(reversed(strides))


def _is_outside(condition: Expr, loops: Sequence[IterVar]) -> bool:
    """Whether a condition is the same in all iterations of some loops."""
    return set(walk(condition)).isdisjoint(loops)


class _ReadsToLoads(SharingRewriter):
    def __init__(self, builder: _Builder) -> None:
        super().__init__()
        self.builder = builder

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        indices = self.builder.index(e.tensor, [self.rewrite(i) for i in e.indices])
        buffer = self.builder.buffers[e.tensor]
        if buffer.is_broadcast:
            indices = tuple(select(extent.equal(1), 0, i) for extent, i in zip(buffer.shape, indices, strict=True))
        return Load(buffer, indices, e.dtype)


class _Rebind(SharingRewriter):
    """Replaces one buffer by another."""

    def __init__(self, mapping: Mapping[Buffer, Buffer]) -> None:
        super().__init__()
        self.mapping = mapping

    def rewrite_Load(self, e: Load) -> Expr:
        e = self.descend(e)
        return Load(self.mapping.get(e.buffer, e.buffer), e.indices, e.dtype)

    def rewrite_Address(self, e: Address) -> Expr:
        return replace(self.descend(e), buffer=self.mapping.get(e.buffer, e.buffer))

    def rewrite_Store(self, s: Store) -> Stmt:
        s = self.descend(s)
        return Store(self.mapping.get(s.buffer, s.buffer), s.indices, s.value, s.span)

    def rewrite_Intrinsic(self, s: Intrinsic[Instruction]) -> Stmt:
        s = self.descend(s)
        return replace(s, buffers=tuple(self.mapping.get(b, b) for b in s.buffers))

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        s = self.descend(s)
        return Prefetch(self.mapping.get(s.buffer, s.buffer), s.indices, s.span)


class _Nest:
    """The nest of one stage: a `te.tensor.NestBuilder`."""

    def __init__(self, builder: _Builder, plan: StagePlan) -> None:
        self.builder = builder
        self.plan = plan
        self.stage = plan.stage
        self.span = plan.stage.op.span
        host = self.stage.attach[0] if self.stage.attach is not None else None
        self.adopted = [a for a, owner in host.blocks.items() if owner is self.stage] if host is not None else []
        self.leaves = [leaf for leaf in self.stage.leaves if not is_among(leaf, self.adopted)]
        reduce_positions = [
            i for i, leaf in enumerate(self.leaves) if leaf.kind is AxisKind.REDUCE and leaf not in self.stage.blocks
        ]
        self.reduces = any(isinstance(e, Reduce) for e in plan.body)
        self.first_reduce = reduce_positions[0] if reduce_positions else len(self.leaves)
        values = plan.axis_value if self.stage.outputs[0] in builder.places else plan.value
        self.indices = (*builder.part(self.stage), *(builder.analyzer.simplify(values[a]) for a in self.stage.axes))
        self.state: State = [(builder.buffers[t], self.indices) for t in self.stage.outputs] if self.reduces else []
        self.bound = [leaf for leaf in self.leaves if leaf.kind is AxisKind.REDUCE and leaf in self.stage.threads]
        self.replaced = self._first_replaced()
        self.inner: Stmt = EMPTY
        """What the loops of a stage without body are around."""
        if self.adopted:
            self._check_adopted()

    def _first_replaced(self) -> int | None:
        """The position of the outermost loop that an instruction replaces."""
        if self.stage.tensorized is None:
            return None
        axis, instruction = self.stage.tensorized
        where = f"tensorize in stage {self.stage.name!r}, axis {axis.name!r}"
        if not isinstance(instruction, TensorIntrinsic):
            raise ScheduleError(f"{where}: expects a TensorIntrinsic, found {type(instruction).__name__}")
        if not is_among(axis, self.leaves):
            raise ScheduleError(f"{where}: it is no loop of the stage any more; call tensorize after split and fuse")
        first = position(axis, self.leaves)
        if self.bound:
            raise ScheduleError(
                f"{where}: expects no reduction across threads, found loop {self.bound[0].name!r} bound"
            )
        for leaf in self.leaves[:first]:
            if self.stage.kinds.get(leaf) is LoopKind.VECTORIZED:
                raise ScheduleError(
                    f"{where}: expects no vectorized loop around, found {leaf.name!r}; an instruction is no lane"
                )
        for leaf in self.leaves[first:]:
            if leaf in self.stage.kinds:
                found = self.stage.kinds[leaf].name.lower()
                raise ScheduleError(f"{where}: the instruction replaces loop {leaf.name!r}, found it {found}")
            inside = [s.name for s in self.builder.plans if s.is_attached_at(self.stage, leaf)]
            inside += [r.tensor.name for r in self.stage.prefetches if r.axis is leaf]
            if inside:
                raise ScheduleError(
                    f"{where}: the instruction replaces loop {leaf.name!r}, in which {inside[0]!r} is computed or "
                    "prefetched; choose a loop outside of it"
                )
        return first

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
        if recurrence.initial in self.builder.places:
            return EMPTY
        axes = [Var(f"i{d}") for d in range(output.ndim)]
        value = self.builder.loads.rewrite(recurrence.initial(*axes))
        copy: Stmt = Store(self.builder.buffers[output], tuple(axes), value, self.span)
        copy = self._guarded([axes[0] < output.shape[0]], copy)
        for axis, extent in reversed([*zip(axes, recurrence.initial.shape, strict=True)]):
            copy = For(axis, ex.const(0), extent, LoopKind.SERIAL, copy, span=self.span)
        return copy

    def program(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        storage = {buffer: self.builder.buffers[tensor] for buffer, tensor in buffers.items()}
        strides: dict[Var, Expr] = {}
        for buffer, held in storage.items():
            for declared, actual in zip(buffer.strides or (), held.stride_exprs(), strict=bool(buffer.strides)):
                if isinstance(declared, Var):
                    strides.setdefault(declared, actual)
                if not self.builder.analyzer.prove(substitute(declared, strides).equal(actual)):
                    raise ScheduleError(
                        f"lower: buffer {buffer.name!r} of {self.stage.name!r} expects strides "
                        f"[{', '.join(map(str, buffer.strides or ()))}], found storage with "
                        f"[{', '.join(map(str, held.stride_exprs()))}]"
                    )
        return substitute(_Rebind(storage).rewrite(rename_bound(statement)), strides)

    def within(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        self.inner = substitute(self.program(statement, buffers), self.plan.axis_value)
        return self.loops()

    def _from(self, position: int) -> Stmt:
        """The loops from `position` inwards; a reduction is initialised before its first reduce loop."""
        if position == self.replaced:
            return self._instruction(position, fresh=self.reduces)
        if self.reduces and position == self.first_reduce:
            if self.bound:
                return self._across_threads(position)
            return sequence(self._initialise(position), self._loops(position))
        return self._loops(position)

    def _loops(self, position: int) -> Stmt:
        if position == self.replaced:
            return self._instruction(position, fresh=False)
        if position == len(self.leaves) and not self.stage.op.body:
            return self._guarded(self.plan.guards, self.inner)
        if position == len(self.leaves):
            return self._update() if self.reduces else self._stores()
        leaf = self.leaves[position]
        inner = (
            self._loops(position + 1) if self.reduces and position >= self.first_reduce else self._from(position + 1)
        )
        inner = self._prefetched(leaf, self._with_attached(leaf, inner))
        if is_among(leaf, self.bound):
            return inner
        doubled = [plan for plan in self._attached(leaf) if plan.stage.is_double_buffered]
        if not doubled:
            return self._loop(leaf, inner, leaf)
        ahead = AheadOf(leaf, self._extent(leaf), self._guarded(self._decided(leaf), self._nests(doubled)))
        loop = self._loop(leaf, sequence(ahead.following, inner), leaf)
        return self.builder.allocated(doubled, sequence(ahead.first(self.builder.analyzer), loop))

    def _instruction(self, position: int, *, fresh: bool) -> Stmt:
        """The instruction in the place of the loops from `position` inwards; the result is initialised before if it is
        `fresh` and the instruction adds to it."""
        match = self._match()
        update = self._guarded(self._outer_conditions(), replace(match.statement, span=self.span))
        for block, owner in self.stage.blocks.items():
            update = self._finished(block, owner, position, update)
        return sequence(self._initialise(position), update) if fresh and match.adds else update

    def _match(self) -> Match:
        """The instruction that computes what the replaced loops do."""
        assert self.stage.tensorized is not None
        assert self.replaced is not None
        axis, instruction = self.stage.tensorized
        assert isinstance(instruction, TensorIntrinsic)
        where = f"tensorize in stage {self.stage.name!r}, axis {axis.name!r}"
        inner = self.leaves[self.replaced :]
        for guard in map(self.builder.analyzer.simplify, self.plan.guards):
            if not _is_outside(guard, inner):
                raise ScheduleError(
                    f"{where}: expects whole tiles, found iterations only where {guard}; choose a factor that divides "
                    "the extent, split with tail='shift' or 'round_up', or pad the tensors"
                )
        first = self.plan.body[0]
        reduction = first if isinstance(first, Reduce) else None
        conditions = [self._lowered(c) for c in conjuncts(reduction.where)] if reduction is not None else []
        loops = InnerLoops(
            {leaf: self.plan.loops[leaf] for leaf in inner},
            tuple(Load(self._output(i), self.indices, t.dtype) for i, t in enumerate(self.stage.outputs)),
            tuple(map(self._lowered, self.plan.body if reduction is None else reduction.sources)),
            all_of([c for c in conditions if not _is_outside(c, inner)]),
            None if reduction is None else reduction.combiner,
            [*self.adopted, *filter(self._repeats, self.leaves[: self.replaced])],
        )
        match = match_instruction(instruction, loops, where, self.builder.analyzer)
        outer = [c for c in conditions if _is_outside(c, inner)]
        if not match.adds and not ex.is_const(all_of(outer), True):
            raise ScheduleError(
                f"{where}: expects terms for all results, since {match.statement.instruction.name!r} starts from "
                f"nothing, found terms only where {all_of(outer)}"
            )
        return match

    def _repeats(self, leaf: IterVar) -> bool:
        """Whether a loop adds up several parts of the stage's reduction."""
        is_own = leaf.kind is AxisKind.REDUCE and leaf not in self.stage.blocks
        return is_own and self.builder.analyzer.constant(self.plan.loops[leaf]) != 1

    def _outer_conditions(self) -> list[Expr]:
        """The conditions of the loops around an instruction, and of the terms that it adds."""
        assert self.replaced is not None
        first = self.plan.body[0]
        terms = [self._lowered(c) for c in conjuncts(first.where)] if isinstance(first, Reduce) else []
        return [*self.plan.guards, *(c for c in terms if _is_outside(c, self.leaves[self.replaced :]))]

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
        data = [g for g in self.plan.guards if not self._mentions_reduce(g)]
        return reduction.allocated(sequence(combined, self._guarded(data, stores)))

    def _thread_loop(self, host: StageState, leaf: IterVar) -> ThreadLoop:
        extent = self.builder.analyzer.constant(self.builder.plans[host].loops[leaf])
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
        return self.builder.allocated(plans, self._guarded(self._decided(leaf), sequence(self._nests(plans), body)))

    def _attached(self, leaf: IterVar) -> list[StagePlan]:
        """The stages that are computed at the loop."""
        return [p for p in self.builder.plans.values() if p.stage.is_attached_at(self.stage, leaf)]

    def _nests(self, plans: Sequence[StagePlan]) -> Stmt:
        return sequence(*map(self.builder.nest, plans))

    def _decided(self, leaf: IterVar) -> list[Expr]:
        """The guards for stages computed at the loop, so that elements that no point of an iteration needs are not
        computed.

        Guards that threads of a block decide differently are not among them, since the threads may compute those
        stages together.
        """
        inner = self.builder.threads.union(self.leaves[position(leaf, self.leaves) + 1 :])
        return [g for g in self.plan.guards if not self._mentions_reduce(g) and inner.isdisjoint(walk(g))]

    def _prefetched(self, leaf: IterVar, body: Stmt) -> Stmt:
        hints = []
        for request in (r for r in self.stage.prefetches if r.axis is leaf):
            for e in self.plan.body:
                for load in self._first_reads(e, request.tensor):
                    ahead = substitute(load, {leaf: leaf + request.distance})
                    assert isinstance(ahead, Load)
                    if any(isinstance(n, Load) for i in ahead.indices for n in walk(i)):
                        raise ScheduleError(
                            f"prefetch in stage {self.stage.name!r}, axis {leaf.name!r}: where it reads "
                            f"{request.tensor.name!r} is data, which may not exist that far ahead"
                        )
                    zero: dict[Var, Expr] = {v: ex.const(0) for v in self.leaves[position(leaf, self.leaves) + 1 :]}
                    indices = tuple(substitute(i, zero) for i in ahead.indices)
                    hints.append(Prefetch(ahead.buffer, indices, self.span))
        return sequence(*hints, body) if hints else body

    def _first_reads(self, e: Expr, tensor: Tensor) -> list[Load]:
        for read in reads(e):
            if read.tensor is tensor:
                load = self._lowered(read)
                return [load] if isinstance(load, Load) else []
        return []

    def _lowered(self, e: Expr) -> Expr:
        """A body expression over buffers and loop variables."""
        return self.builder.loads.rewrite(substitute(e, self.plan.axis_value))

    def _guarded(self, conditions: Sequence[Expr], body: Stmt) -> Stmt:
        condition = all_of([self.builder.analyzer.simplify(c) for c in conditions])
        return body if ex.is_const(condition, True) else If(condition, body, None, self.span)

    def _output(self, i: int) -> Buffer:
        return self.builder.buffers[self.stage.outputs[i]]

    def _stores(self) -> Stmt:
        """The stores of an element-wise body, or of the last K-block's epilogue."""
        values = [self._lowered(b) for b in self.plan.body]
        body = sequence(*(Store(self._output(i), self.indices, v, self.span) for i, v in enumerate(values)))
        for block, owner in self.stage.blocks.items():
            keys = self.builder.analyzer.keys
            if keys.of(values[0]) != keys.of(self._partial(owner)):
                body = self._finished(block, owner, len(self.leaves), body)
        return self._guarded(self.plan.guards, body)

    def _partial(self, owner: StageState) -> Load:
        """The element of a partial result that this stage keeps."""
        partial = self.builder.schedule[owner.outputs[0]].outputs[0]
        place = self.builder.index(partial, [self.plan.axis_value[a] for a in self.stage.axes])
        return Load(self.builder.buffers[partial], place, partial.dtype)

    def _finished(self, block: IterVar, owner: StageState, position: int, body: Stmt) -> Stmt:
        """`body` in the last K-block; in those before, the loops from `position` inwards keep the partial result."""
        last = self.builder.plans[owner].loops[block] - 1
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in self.leaves[position:]}
        load = substitute(self._partial(owner), fresh)
        keep: Stmt = Store(self._output(0), tuple(substitute(i, fresh) for i in self.indices), load, self.span)
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
            match = self._match()
            if not match.adds:
                return EMPTY
            if match.reset is not None and not self.adopted:
                return self._reset(position, match.reset)
        inner = [leaf for leaf in self.leaves[position:] if leaf.kind is AxisKind.DATA]
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in inner}
        for leaf, var in fresh.items():
            assert isinstance(leaf, IterVar)
            assert isinstance(var, Var)
            self.builder.analyzer.bind(var, 0, self.plan.loops[leaf])
        indices = tuple(substitute(i, fresh) for i in self.indices)
        identity: Stmt = sequence(
            *(Store(self._output(i), indices, value, self.span) for i, value in enumerate(first.combiner.identity))
        )
        body = identity
        simplify, keys = self.builder.analyzer.simplify, self.builder.analyzer.keys
        data = [simplify(substitute(g, fresh)) for g in self.plan.guards if not self._mentions_reduce(g)]
        for block in self.adopted:
            assert self.stage.attach is not None
            host = self.stage.attach[0]
            axes = self.plan.axis_value
            point = [substitute(axes[a], fresh) for a in self.stage.axes]
            kept = self.builder.buffers[host.outputs[0]]
            place = self.builder.index(host.outputs[0], point)
            held = Load(kept, place, first.dtype)
            ranges = [*zip(point, self.stage.op.outputs[0].shape, strict=True), *zip(place, kept.shape, strict=True)]
            known = {keys.of(g) for g in data}
            places = (simplify(g) for p, extent in ranges for g in (p >= 0, p < extent))
            inside = all_of([g for g in places if keys.of(g) not in known])
            resume: Stmt = Store(self._output(0), indices, held, self.span)
            if not ex.is_const(inside, True):  # elsewhere the consumer has no element for the state, and reads none
                resume = If(inside, resume, identity, self.span)
            body = If(block.equal(0), body, resume, self.span)
        body = self._guarded(data, body)
        for leaf in reversed(inner):
            var = fresh[leaf]
            assert isinstance(var, Var)
            body = self._loop(leaf, body, var) if self.replaced is None else self._initial_loop(leaf, body, var)
        return body

    def _reset(self, position: int, statement: Stmt) -> Stmt:
        """An instruction that stores the identity, in the data loops between the first reduce loop and the replaced
        ones."""
        between = [leaf for leaf in self.leaves[position : self.replaced] if leaf.kind is AxisKind.DATA]
        fresh: dict[Var, Expr] = {leaf: Var(leaf.name) for leaf in between}
        data = [g for g in self.plan.guards if not self._mentions_reduce(g)]
        body = substitute(self._guarded(data, statement), fresh)
        for leaf in reversed(between):
            variable = fresh[leaf]
            assert isinstance(variable, Var)
            body = self._loop(leaf, body, variable)
        return body

    def _initial_loop(self, leaf: IterVar, body: Stmt, var: Var) -> Stmt:
        """A loop before an instruction, whose result may be in registers: vectors along the last dimension."""
        assert self.replaced is not None
        if position(leaf, self.leaves) < self.replaced:
            return self._loop(leaf, body, var)
        extent = self.plan.loops[leaf]
        step = self.builder.analyzer.form(self.indices[-1]).terms.get(leaf) if self.indices else None
        kind = LoopKind.VECTORIZED if step == 1 else LoopKind.UNROLLED
        return For(var, ex.const(0), extent, kind, body, span=leaf.span)

    def _mentions_reduce(self, guard: Expr) -> bool:
        return any(isinstance(v, IterVar) and v.kind is AxisKind.REDUCE for v in walk(guard))

    def _update(self) -> Stmt:
        """Combine one term into the state; the new state of a tuple is complete before any of it is stored."""
        first = self.plan.body[0]
        assert isinstance(first, Reduce)
        terms = [self._lowered(s) for s in first.sources]
        where = [self._lowered(c) for c in conjuncts(first.where)]
        body = update_state(first.combiner, self.state, terms, self.span)
        return self._guarded([*self.plan.guards, *where], body)
