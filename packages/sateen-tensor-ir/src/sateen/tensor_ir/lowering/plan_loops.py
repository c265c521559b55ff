"""The loops of a stage from its region: their extents, the axes as expressions of them, and the remaining guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import dropwhile

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Const, Expr, IterVar
from sateen.tensor_ir.ir.identity import is_among
from sateen.tensor_ir.lowering.stage_plan import StagePlan
from sateen.tensor_ir.schedule.relations import Fuse, Split, Tail
from sateen.tensor_ir.schedule.state import StageState


def plan_loops(stage: StageState, plan: StagePlan, analyzer: Analyzer) -> None:
    """Loop extents from the region, axis values over the loops, and the remaining guards."""
    extent: dict[IterVar, Expr] = {**plan.extent, **{axis: axis.extent for axis in stage.op.reduce_axis}}
    replaced = _replaced(stage)
    for relation in stage.relations:
        if isinstance(relation, Split):
            whole = extent[relation.parent]
            if relation.nparts is not None:
                parts, inner = relation.nparts, (whole + relation.nparts - 1) // relation.nparts
            else:
                is_whole = relation.tail is Tail.ROUND_UP and is_among(relation.inner, replaced)
                inner = relation.factor
                if isinstance(whole, Const) and not is_whole:
                    inner = ex.minimum(inner, whole)
                parts = (whole + inner - 1) // inner
            extent[relation.outer], extent[relation.inner] = analyzer.simplify(parts), analyzer.simplify(inner)
            if relation.tail is Tail.ROUND_UP:
                _check_overlap(stage, relation, extent, analyzer)
        else:
            extent[relation.fused] = analyzer.simplify(extent[relation.outer] * extent[relation.inner])
    for leaf in stage.leaves:  # fuse of no loops makes one
        if leaf not in stage.blocks:
            extent.setdefault(leaf, leaf.extent)
    adopted = stage.attach[0].blocks if stage.attach is not None else {}
    for leaf in stage.leaves:
        if leaf in adopted and not analyzer.prove(extent[leaf] >= 1):
            plan.guards.append(leaf < extent[leaf])
            extent[leaf] = ex.maximum(extent[leaf], 1)
        if leaf not in stage.blocks:
            plan.loops[leaf] = extent[leaf]
            analyzer.bind(leaf, 0, extent[leaf])
    for axis in stage.blocks:
        analyzer.bind(axis, 0, axis.extent)
    plan.extents = extent
    plan.shared = _shared_loops(stage)
    plan.guards += [outer < extent[leaf] for leaf, outer in plan.shared.items()]
    value: dict[IterVar, Expr] = {leaf: plan.shared.get(leaf, leaf) for leaf in extent}
    splits: list[Split] = []
    for relation in reversed(stage.relations):
        if isinstance(relation, Split):
            start = value[relation.outer] * extent[relation.inner]
            if relation.tail is Tail.SHIFT:
                start = ex.minimum(start, extent[relation.parent] - extent[relation.inner])
            value[relation.parent] = analyzer.simplify(start + value[relation.inner])
            splits.append(relation)
        else:
            inner, fused = extent[relation.inner], value[relation.fused]
            if ex.is_const(extent[relation.outer], 1):  # a tile that overhangs the end does not wrap around
                value[relation.outer], value[relation.inner] = ex.const(0), fused
            else:
                value[relation.outer] = analyzer.simplify(fused // inner)
                value[relation.inner] = analyzer.simplify(fused % inner)
    plan.value = {axis: value[axis] for axis in (*stage.op.axis, *stage.op.reduce_axis)}
    guards = [
        *plan.guards,
        *(value[s.parent] < extent[s.parent] for s in reversed(splits) if _is_guarded(s)),
    ]
    filled = [s for s in splits if s.tail is Tail.ROUND_UP and not any(map(_is_guarded, _around(stage, s.parent)))]
    plan.rounded = {root for s in filled for root in _roots(stage, s.parent)}
    overhanging = {root for s in splits if s.tail is Tail.ROUND_UP for root in _roots(stage, s.parent)}
    for axis in stage.axes:
        if axis not in overhanging and ex.is_const(plan.base[axis], 0) and plan.extent[axis] is axis.extent:
            continue  # the guards of splits keep it within its extent
        point = plan.base[axis] + value[axis]
        guards.append(point >= 0)
        if axis in plan.rounded:
            top = analyzer.upper(analyzer.form(value[axis]))
            plan.extent[axis] = ex.const(top + 1) if top is not None else extent[axis]
        else:
            guards.append(point < axis.extent)
    plan.guards = [g for g in dict.fromkeys(analyzer.simplify(g) for g in guards) if not ex.is_const(g, True)]


def _replaced(stage: StageState) -> list[IterVar]:
    """The loops that an instruction replaces, which are of its extents also where less is needed."""
    if stage.tensorized is None:
        return []
    outermost, _ = stage.tensorized
    return list(dropwhile(lambda leaf: leaf is not outermost, stage.leaves))


def _shared_loops(stage: StageState) -> dict[IterVar, IterVar]:
    """The loops of a step that are bound to blocks which all steps of its scan share, with the loops around the scan.

    Raises ScheduleError for a loop on an axis that the scan does not share.
    """
    scan = stage.home[0] if stage.home is not None else None
    if scan is None or not scan.environment:
        return {}
    for leaf, tag in stage.threads.items():
        if tag not in scan.persistent:
            raise ScheduleError(
                f"env_threads in stage {scan.name!r}: loop {leaf.name!r} of {stage.name!r} is bound to {tag}; name all "
                f"axes of its steps, found {', '.join(sorted(scan.persistent))}"
            )
    return {leaf: scan.environment[tag] for leaf, tag in stage.threads.items() if tag in scan.environment}


def _check_overlap(stage: StageState, split: Split, extent: Mapping[IterVar, Expr], analyzer: Analyzer) -> None:
    """The overhang of a loop inside tiles would compute elements of the next tile as well."""
    around = next((s for s in stage.relations if isinstance(s, Split) and s.inner is split.parent), None)
    if around is None or analyzer.prove(extent[around.outer] <= 1):
        return
    if not analyzer.prove((extent[split.outer] * extent[split.inner]).equal(extent[split.parent])):
        tiles = f"{extent[split.outer]} tiles of {extent[split.inner]}"
        raise ScheduleError(
            f"split of {stage.name!r} with a rounded-up tail: {tiles} overhang loop {split.parent.name!r} of extent "
            f"{extent[split.parent]}, so they would overlap the next tile of {around.parent.name!r}"
        )


def _is_guarded(split: Split) -> bool:
    return split.tail in (Tail.GUARD, Tail.PARTITION)


def _around(stage: StageState, axis: IterVar) -> Iterator[Split]:
    """The splits that a loop of the stage derives from."""
    for relation in reversed(stage.relations):
        if isinstance(relation, Split) and is_among(axis, (relation.outer, relation.inner)):
            yield relation
            axis = relation.parent
        elif isinstance(relation, Fuse) and axis is relation.fused:
            yield from _around(stage, relation.outer)
            axis = relation.inner


def _roots(stage: StageState, axis: IterVar) -> Iterable[IterVar]:
    """The data axes of the operation that a loop of the stage derives from."""
    for relation in reversed(stage.relations):
        if isinstance(relation, Split) and is_among(axis, (relation.outer, relation.inner)):
            return _roots(stage, relation.parent)
        if isinstance(relation, Fuse) and axis is relation.fused:
            return [*_roots(stage, relation.outer), *_roots(stage, relation.inner)]
    return [axis]
