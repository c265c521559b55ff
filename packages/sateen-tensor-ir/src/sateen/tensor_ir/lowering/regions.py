"""Region inference: the part of every tensor that its consumers need, and so the extent of every loop.
docs/design/regions.md has the rules. Stages are visited consumers first. A stage at root computes its whole domain. A
stage computed at a loop computes, per dimension, a base (an expression of the loops around that point) and an extent
(constant over those loops) that cover every read inside.
"""

from __future__ import annotations

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer, Linear, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.stmt import LANE, THREADS, LoopKind
from sateen.tensor_ir.ir.visit import substitute, walk
from sateen.tensor_ir.lowering.index_bounds import IndexBounds
from sateen.tensor_ir.lowering.inline_stages import Inliner
from sateen.tensor_ir.lowering.plan_loops import plan_loops
from sateen.tensor_ir.lowering.stage_plan import Plans, StagePlan
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import reads


def infer_regions(schedule: Schedule, analyzer: Analyzer) -> Plans:
    """A plan for each stage that is not inlined, producers first; binds the range of every loop."""
    inliner = Inliner(schedule)
    for size in {v for s in schedule.stages for t in s.outputs for e in t.shape for v in walk(e) if isinstance(v, Var)}:
        analyzer.bind_form(size, constant(0), None)
    plans: Plans = {}
    for stage in reversed(schedule.stages):
        if stage.inlined or stage.op.is_given:
            continue
        plan = StagePlan(stage, tuple(map(inliner.inlined, stage.op.accesses)))
        if stage.op.region_axes is None:
            _whole(stage, plan, analyzer)
        else:
            if stage.attach is None:
                plan.base = {axis: ex.const(0) for axis in stage.op.axis}
                plan.extent = {axis: axis.extent for axis in stage.op.axis}
            else:
                _attached_region(stage, plan, plans, analyzer)
            plan_loops(stage, plan, analyzer)
        plans[stage] = plan
    return dict(reversed(plans.items()))


def _whole(stage: StageState, plan: StagePlan, analyzer: Analyzer) -> None:
    """A stage that is always computed as a whole; its reads may use axes of their own beside its loops."""
    if stage.attach is not None:
        raise ScheduleError(f"compute_at: {stage.name!r} is computed as a whole, at root")
    if stage.op.is_statement:
        plan.base = {axis: ex.const(0) for axis in stage.op.axis}
        plan.extent = {axis: axis.extent for axis in stage.op.axis}
        plan_loops(stage, plan, analyzer)
        return
    used = {v for e in plan.body for v in walk(e) if isinstance(v, IterVar)}
    plan.loops = {axis: axis.extent for axis in (*stage.leaves, *used)}
    plan.value = {axis: axis for axis in stage.leaves}
    plan.loops |= {axis: _blocks(stage, tag, analyzer) for tag, axis in stage.environment.items()}
    for axis, extent in plan.loops.items():
        analyzer.bind(axis, 0, extent)


def _blocks(scan: StageState, tag: str, analyzer: Analyzer) -> Expr:
    """The number of blocks along an axis that all steps of a scan need."""
    bound = [
        (stage, leaf)
        for stage in scan.schedule.stages
        if stage.home is not None and stage.home[0] is scan
        for leaf in stage.leaves
        if stage.threads.get(leaf) == tag
    ]
    if not bound and tag in scan.persistent:
        raise ScheduleError(
            f"env_threads in stage {scan.name!r}: no loop of a step is bound to {tag}; bind one, or leave it out"
        )
    extents = [analyzer.simplify(leaf.extent) for _, leaf in bound] or [ex.const(1)]
    most = extents[0]
    for extent in extents[1:]:
        most = analyzer.simplify(ex.maximum(most, extent))
    return most


def attach_path(stage: StageState) -> list[tuple[StageState, IterVar]]:
    """The loops around the place where a stage is computed, innermost first."""
    path: list[tuple[StageState, IterVar]] = []
    seen = {stage}
    while stage.attach is not None:
        host, axis = stage.attach
        if host in seen:
            raise ScheduleError(f"compute_at: stages {stage.name!r} and {host.name!r} are computed inside each other")
        seen.add(host)
        if not is_among(axis, host.leaves):
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is computed at axis {axis.name!r} of {host.name!r}, which is no "
                f"loop of it any more (its loops are {host.loop_names}); call compute_at after split, fuse and "
                "reorder"
            )
        if host.attach is not None and axis in host.attach[0].blocks:
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is computed at axis {axis.name!r} of {host.name!r}, which reorder "
                f"has moved into {host.attach[0].name!r}; compute it at that stage's loop"
            )
        if host.inlined:
            raise ScheduleError(f"compute_at: stage {stage.name!r} is computed at {host.name!r}, which is inlined")
        path.extend((host, leaf) for leaf in reversed(host.leaves[: position(axis, host.leaves) + 1]))
        stage = host
    return path


def _attached_region(stage: StageState, plan: StagePlan, plans: Plans, analyzer: Analyzer) -> None:
    assert stage.attach is not None
    path = attach_path(stage)
    for host, leaf in path:
        if is_among(leaf, stage.leaves) and leaf not in host.blocks:
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is computed at axis {leaf.name!r} of {host.name!r}, over which it "
                "reduces itself; make a reduce axis for each with te.reduce_axis"
            )
    fixed = {leaf for host, leaf in path if not shared_by_threads(stage, host, leaf)}
    loops: dict[Var, Expr] = {leaf: extent for own in plans.values() for leaf, extent in own.loops.items()}
    bounds = IndexBounds(analyzer, loops, fixed)
    lows: list[Linear] = []
    highs: list[Linear] = []
    for consumer, consumer_plan in plans.items():
        touched = [r for b in consumer_plan.body for r in reads(b) if r.tensor in stage.outputs]
        if not touched and set(stage.outputs).isdisjoint(consumer.op.whole_inputs):
            continue
        if consumer is not stage.attach[0] and not any(stage.is_attached_at(h, l) for h, l in attach_path(consumer)):
            raise ScheduleError(
                f"compute_at: {consumer.name!r} reads {stage.name!r}, but is not computed inside loop "
                f"{stage.attach[1].name!r} of {stage.attach[0].name!r}"
            )
        for read in touched:
            indices = [substitute(i, consumer_plan.axis_value) for i in read.indices]
            for d, index in enumerate(indices):
                extent = analyzer.form(stage.axes[d].extent)
                low, high = bounds(index) or (constant(0), extent - 1)
                if d == len(lows):
                    lows.append(low)
                    highs.append(high)
                else:
                    lows[d] = _union(analyzer, lows[d], low, lower=True)
                    highs[d] = _union(analyzer, highs[d], high, lower=False)
    if not lows and stage.axes and not set(stage.outputs).isdisjoint(stage.attach[0].op.whole_inputs):
        raise ScheduleError(f"compute_at: {stage.attach[0].name!r} reads {stage.name!r} as a whole; compute it at root")
    if not lows and stage.axes:
        raise ScheduleError(
            f"compute_at: nothing inside loop {stage.attach[1].name!r} of {stage.attach[0].name!r} reads {stage.name!r}"
        )
    for d, axis in enumerate(stage.axes):
        base, covered = _constant_extent(stage, axis, lows[d], highs[d], analyzer)
        plan.base[axis] = analyzer.expr(base)
        plan.extent[axis] = covered
    if stage.keeper is not None:
        _check_step(stage.keeper, plan, analyzer)


def _check_step(keeper: StageState, plan: StagePlan, analyzer: Analyzer) -> None:
    """A step computes one row of an update, its own: rows before may be initial ones, those after aren't known."""
    stage, scan = plan.stage, keeper.op
    assert isinstance(scan, ScanOp)
    row = analyzer.form(scan.start + scan.scan_axis)
    first, count = analyzer.form(plan.base[stage.axes[0]]), analyzer.form(plan.extent[stage.axes[0]])
    if analyzer.prove(scan.scan_axis.extent > 1) and not (first.same(row) and count.same(constant(1))):
        raise ScheduleError(
            f"lower: a step of scan {scan.name!r} reads rows of update {stage.name!r} other than its own; read the "
            "state for those before"
        )


def shared_by_threads(stage: StageState, host: StageState, leaf: IterVar) -> bool:
    """Whether all threads of the loop share the stage's storage, so that it must hold what each of them needs."""
    if host.kinds.get(leaf) is LoopKind.VTHREAD:
        return stage.scope is Scope.SHARED
    tag = host.threads.get(leaf)
    if tag is None:
        return False
    sharing = Scope.WARP if tag == LANE else Scope.SHARED if tag in THREADS else Scope.GLOBAL
    return stage.scope.rank >= sharing.rank


def _union(analyzer: Analyzer, a: Linear, b: Linear, *, lower: bool) -> Linear:
    """A bound for both forms: the one that is provably further out, or one moved out by their largest difference."""
    least, most = analyzer.interval(b - a)
    if lower:
        if least is None:
            raise ScheduleError("compute_at: two reads are at positions whose distance is not bounded")
        return a + min(0, least) if least < 0 and most != least else (b if most is not None and most <= 0 else a)
    if most is None:
        raise ScheduleError("compute_at: two reads are at positions whose distance is not bounded")
    return a + max(0, most) if most > 0 and most != least else (b if least is not None and least >= 0 else a)


def _constant_extent(
    stage: StageState, axis: IterVar, low: Linear, high: Linear, analyzer: Analyzer
) -> tuple[Linear, Expr]:
    """The region of one dimension, its extent constant over the loops around it."""
    domain = analyzer.form(axis.extent)
    extent = high - low + 1
    if not extent.is_constant and any(isinstance(v, IterVar) for atom in extent.terms for v in walk(atom)):
        bound = analyzer.upper(extent)
        if bound is None:
            raise ScheduleError(
                f"compute_at of {stage.name!r}: along axis {axis.name!r} it would need {analyzer.expr(extent)} "
                "elements, which changes from iteration to iteration without a bound"
            )
        extent = constant(bound)
    beyond = analyzer.lower(extent - domain)
    if beyond is not None and beyond >= 0:
        return constant(0), axis.extent
    return low, analyzer.expr(extent)
