"""Rules about a whole schedule, which no primitive can check by itself, since a later one may change the loops."""

from __future__ import annotations

from collections.abc import Iterator

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer, owners
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position, same_nodes
from sateen.tensor_ir.ir.stmt import VTHREADS, LoopKind
from sateen.tensor_ir.ir.visit import free_vars, substitute, walk
from sateen.tensor_ir.lowering.regions import attach_path, shared_by_threads
from sateen.tensor_ir.lowering.stage_plan import Plans, StagePlan
from sateen.tensor_ir.schedule.relations import Split, Tail
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import reads


def check_legality(plans: Plans, analyzer: Analyzer) -> None:
    """Raise ScheduleError, which names stage and loop, if the planned loops would change the result."""
    for stage, plan in plans.items():
        _check_vectorized_hosts(stage)
        _check_parallel_lanes(plan, analyzer)
        _check_threads(plan, analyzer)
        _check_virtual_threads(plan, analyzer)
        _check_double_buffer(plans, stage)
        _check_shifted_tails(stage)
        _check_prefetches(plans, stage)
        _check_blocks(plans, stage, analyzer)
        _check_environment(plans, stage, analyzer)
        _check_store_predicate(plans, stage, analyzer)


def _check_vectorized_hosts(stage: StageState) -> None:
    for host, leaf in attach_path(stage):
        if host.kinds.get(leaf) is LoopKind.VECTORIZED:
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is computed inside the vectorized loop {leaf.name!r} of "
                f"{host.name!r}, whose lanes would share its storage; compute it at a loop outside of that"
            )


def _check_parallel_lanes(plan: StagePlan, analyzer: Analyzer) -> None:
    """The lanes of a vector start no threads; a loop of one iteration is none."""
    stage, vectorized = plan.stage, None
    for leaf in stage.leaves:
        kind = stage.kinds.get(leaf)
        if kind is LoopKind.VECTORIZED and analyzer.constant(plan.loops[leaf]) != 1:
            vectorized = leaf
        elif kind is LoopKind.PARALLEL and vectorized is not None:
            raise ScheduleError(
                f"parallel in stage {stage.name!r}, axis {leaf.name!r}: it is inside the vectorized loop "
                f"{vectorized.name!r}, whose lanes start no threads; reorder {leaf.name!r} before {vectorized.name!r}"
            )


def _check_threads(plan: StagePlan, analyzer: Analyzer) -> None:
    """A thread axis with an extent has as many threads as the loop has iterations."""
    for leaf, thread in plan.stage.thread_axes.items():
        if thread.extent is not None and not analyzer.prove(plan.loops[leaf].equal(thread.extent)):
            raise ScheduleError(
                f"bind in stage {plan.stage.name!r}, axis {leaf.name!r}: thread axis {thread} expects {thread.extent} "
                f"iterations, found {plan.loops[leaf]}; split by that, or give thread_axis no extent"
            )


def _check_virtual_threads(plan: StagePlan, analyzer: Analyzer) -> None:
    """Each statement is written out for all virtual threads, so their number is known and small."""
    for leaf, kind in plan.stage.kinds.items():
        if kind is LoopKind.VTHREAD:
            extent = plan.loops[leaf]
            count = analyzer.constant(extent)
            if count is None or count > VTHREADS:
                raise ScheduleError(
                    f"bind in stage {plan.stage.name!r}, axis {leaf.name!r}: virtual threads expect a constant extent "
                    f"of at most {VTHREADS}, found {extent}; split it with nparts= first"
                )


def _check_double_buffer(plans: Plans, stage: StageState) -> None:
    """A part is computed an iteration ahead of its use: in order, and from what exists by then."""
    if not stage.is_double_buffered:
        return
    where = f"double_buffer of {stage.name!r}"
    if stage.attach is None:
        raise ScheduleError(
            f"{where}: it is computed as a whole; compute_at a loop, in each iteration of which the next part is "
            "computed"
        )
    host, axis = stage.attach
    kind = host.kinds.get(axis, LoopKind.SERIAL)
    if kind not in (LoopKind.SERIAL, LoopKind.UNROLLED):
        raise ScheduleError(
            f"{where}: the iterations of {kind.name.lower()} loop {axis.name!r} of {host.name!r} do not follow one "
            "another; compute it at a serial or unrolled loop"
        )
    within = [p for p in plans.values() if p.stage is stage or any(h is stage for h, _ in attach_path(p.stage))]
    for tensor in (read.tensor for p in within for body in p.body for read in reads(body)):
        source = stage.schedule[tensor]
        if source.op.is_given and source.home is not None and axis.kind is AxisKind.TIME:
            raise ScheduleError(
                f"{where}: it reads {tensor.name!r}, the state of scan {host.name!r}, which a step ahead is not "
                "computed yet"
            )
        if source in plans and source.is_attached_at(host, axis) and not source.is_double_buffered:
            raise ScheduleError(
                f"{where}: it reads {source.name!r}, which each iteration of loop {axis.name!r} of {host.name!r} "
                f"computes for itself; double_buffer {source.name!r}, too, or compute it elsewhere"
            )


def _check_shifted_tails(stage: StageState) -> None:
    """Elements of the overlap are computed twice, so the state of a reduction must not outlive a tile."""
    reduces = [i for i, leaf in enumerate(stage.leaves) if leaf.kind is AxisKind.REDUCE]
    if not reduces:
        return
    for relation in stage.relations:
        if not isinstance(relation, Split) or relation.tail is not Tail.SHIFT:
            continue
        for leaf in _loops_of(stage, relation.outer):
            where = f"split of {stage.name!r} with a shifted tail: loop {leaf.name!r} over its tiles"
            if position(leaf, stage.leaves) > reduces[0]:
                inside = stage.leaves[reduces[0]].name
                raise ScheduleError(
                    f"{where} is inside the reduce loop {inside!r}, so that overlapping elements would get their terms "
                    "twice; reorder, or use a guarded or partitioned tail"
                )
            if stage.kinds.get(leaf) in (LoopKind.PARALLEL, LoopKind.THREAD, LoopKind.VTHREAD, LoopKind.VECTORIZED):
                those = "lanes" if stage.kinds[leaf] is LoopKind.VECTORIZED else "threads"
                raise ScheduleError(
                    f"{where} is shared among {those}, so that two of them would add terms to the overlapping "
                    "elements; use a guarded or partitioned tail"
                )


def _loops_of(stage: StageState, axis: IterVar) -> Iterator[IterVar]:
    """The leaves that derive from an axis."""
    derived = {axis}
    for relation in stage.relations:
        if isinstance(relation, Split):
            derived |= {relation.outer, relation.inner} if relation.parent in derived else set()
        elif derived & {relation.outer, relation.inner}:
            derived.add(relation.fused)
    return (leaf for leaf in stage.leaves if leaf in derived)


def _check_prefetches(plans: Plans, stage: StageState) -> None:
    """A prefetched tensor must exist in memory before the loop that prefetches it."""
    for request in stage.prefetches:
        where = f"prefetch in stage {stage.name!r}, axis {request.axis.name!r}"
        moved = stage.attach is not None and request.axis in stage.attach[0].blocks
        if moved or not is_among(request.axis, stage.leaves):
            raise ScheduleError(
                f"{where}: it is no loop of the stage any more; call prefetch after split, fuse and reorder"
            )
        source = next((p for p in plans if request.tensor in p.outputs), None)
        if source is None:
            continue
        if source.scope is Scope.REGISTER:
            raise ScheduleError(f"{where}: {request.tensor.name!r} is in registers, which are not read ahead")
        inside = stage.leaves[position(request.axis, stage.leaves) :]
        if source.attach is not None and source.attach[0] is stage and is_among(source.attach[1], inside):
            raise ScheduleError(
                f"{where}: {request.tensor.name!r} is computed inside that loop, at {source.attach[1].name!r}, "
                "so there is nothing to read ahead"
            )


def _check_blocks(plans: Plans, stage: StageState, analyzer: Analyzer) -> None:
    """Between K-blocks element i of the consumer holds the state of element i of the reduction."""
    for block, owner in stage.blocks.items():
        where = f"reorder in stage {stage.name!r}, axis {block.name!r}"
        if (
            not is_among(block, stage.leaves)
            or not is_among(block, owner.leaves)
            or owner.attach is None
            or owner.attach[0] is not stage
        ):
            raise ScheduleError(
                f"{where}: it is no loop of {owner.name!r} any more that is computed here; "
                "reorder after cache_write, rfactor and compute_at"
            )
        _check_block_tails(plans[stage], owner, where, analyzer)
        for host, leaf in attach_path(owner):
            if shared_by_threads(owner, host, leaf):
                raise ScheduleError(
                    f"{where}: loop {leaf.name!r} is shared among threads, which have {owner.name!r} in scope "
                    f"{owner.scope.value} in common, so each would resume from elements that others store; set_scope "
                    "to local"
                )
        for reader, plan in plans.items():
            for read in (r for body in plan.body for r in reads(body) if r.tensor in owner.outputs):
                if reader is not stage or not same_nodes(read.indices, stage.op.axis):
                    raise ScheduleError(
                        f"{where}: partial results of {owner.name!r} can be kept in {stage.name!r} only where that "
                        f"alone reads it, element by element; {reader.name!r} reads {read}"
                    )


def _check_environment(plans: Plans, scan: StageState, analyzer: Analyzer) -> None:
    """A block that stays from step to step reads only the elements of states that it has computed itself."""
    if not scan.environment:
        return
    assert isinstance(scan.op, ScanOp)
    for axis in scan.environment.values():
        if analyzer.prove(plans[scan].loops[axis] <= 1):
            continue
        count = analyzer.constant(plans[scan].loops[axis])
        others = [other for other in scan.environment.values() if other is not axis]
        for recurrence in scan.op.recurrences:
            update = plans[scan.schedule[recurrence.update]]
            own = owners([update.axis_value[a] for a in update.stage.axes], axis, count, others, analyzer)
            where = f"env_threads in stage {scan.name!r}, axis {scan.threads[axis]}"
            if not own:
                raise ScheduleError(
                    f"{where}: several blocks would compute the same of update {update.stage.name!r}; bind a data loop "
                    "of it to that axis"
                )
            for plan in (p for p in plans.values() if p.stage.home is not None and p.stage.home[0] is scan):
                for read in (r for body in plan.body for r in reads(body)):
                    if read.tensor not in (recurrence.state, recurrence.update):
                        continue
                    places = [substitute(i, plan.axis_value) for i in read.indices]
                    if own.isdisjoint(owners(places, axis, count, others, analyzer)):
                        raise ScheduleError(
                            f"{where}: {plan.stage.name!r} reads {read}, which another block may have computed, and "
                            "blocks can't wait for each other; bind that loop to threadIdx instead"
                        )


def _check_store_predicate(plans: Plans, stage: StageState, analyzer: Analyzer) -> None:
    """A store may be left to the first of the threads that all compute the same: those around it that share it, those
    of its reduction, and those that only stages computed inside this one are bound to."""
    if stage.store_predicate is None:
        return
    own = {tag for leaf, tag in stage.threads.items() if leaf.kind is AxisKind.DATA}
    path = [(host, leaf) for host, leaf in attach_path(stage) if shared_by_threads(stage, host, leaf)]
    loops = [(host, leaf) for host, leaf in path if host.threads.get(leaf) not in own]
    loops += [(stage, leaf) for leaf in stage.threads if leaf.kind is AxisKind.REDUCE]
    around = {host.threads.get(leaf) for host, leaf in attach_path(stage)} | own
    inside = [other for other in plans if any(host is stage for host, _ in attach_path(other))]
    loops += [(other, leaf) for other in inside for leaf, tag in other.threads.items() if tag not in around]
    first: dict[Var, Expr] = {leaf: ex.const(0) for _, leaf in loops}
    first |= {host.thread_variables[leaf]: ex.const(0) for host, leaf in loops if leaf in host.thread_variables}
    for leaf, variable in stage.thread_variables.items():
        if leaf.kind is AxisKind.DATA:
            first.pop(variable, None)
    where = f"set_store_predicate of {stage.name!r}"
    for variable in free_vars(stage.store_predicate):
        if variable not in first:
            raise ScheduleError(
                f"{where}: {stage.store_predicate} depends on {variable.name!r}, along which threads don't compute the "
                "same element in the same place; elements would be missing"
            )
    if not analyzer.prove(substitute(stage.store_predicate, first)):
        raise ScheduleError(
            f"{where}: expects a condition that the first thread fulfils, found {stage.store_predicate}"
        )


def _check_block_tails(plan: StagePlan, owner: StageState, where: str, analyzer: Analyzer) -> None:
    """The consumer must store the whole part of the owner's region that is in the tensor."""
    assert owner.attach is not None
    stage = plan.stage
    inside = set(stage.leaves[position(owner.attach[1], stage.leaves) + 1 :])
    ends = {analyzer.keys.of(analyzer.simplify(plan.axis_value[a] < a.extent)) for a in stage.axes}
    for guard in plan.guards:
        if analyzer.keys.of(guard) not in ends and not inside.isdisjoint(walk(guard)):
            raise ScheduleError(
                f"{where}: tiles of {stage.name!r} end where {guard} fails, inside the tensor, so the partial results "
                "of one are in the place of the next one's; split by a factor that divides"
            )
