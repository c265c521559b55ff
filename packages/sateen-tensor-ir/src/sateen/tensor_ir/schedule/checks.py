"""What primitives check before they change a stage. Each check raises ScheduleError with stage, axis and remedy."""

from __future__ import annotations

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.expr import AxisKind, IterVar
from sateen.tensor_ir.ir.identity import is_among
from sateen.tensor_ir.ir.stmt import LoopKind
from sateen.tensor_ir.schedule.relations import Split, Tail
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.threads import VTHREAD


def require_axis(stage: StageState, axis: IterVar, primitive: str) -> None:
    """Check that the stage has loops, and that a primitive was given an axis."""
    if stage.op.is_given:
        raise ScheduleError(
            f"{primitive} in stage {stage.name!r}: {stage.name!r} is given, not computed, so it has no loops; "
            "schedule what reads it"
        )
    if not isinstance(axis, IterVar):
        raise ScheduleError(
            f"{primitive} in stage {stage.name!r}: expects an axis, found {type(axis).__name__}; loops are "
            f"{stage.loop_names}, each an axis that op.axis, op.reduce_axis, split, tile or fuse has given"
        )


def require_leaf(stage: StageState, axis: IterVar, primitive: str) -> None:
    """Check that the axis is a loop of the stage."""
    require_axis(stage, axis, primitive)
    if stage.inlined:
        raise ScheduleError(f"{at(stage, primitive, axis)}: {stage.name!r} is inlined, so it has no loops")
    if not is_among(axis, stage.leaves):
        raise ScheduleError(
            f"{at(stage, primitive, axis)}: it is no loop of this stage, whose loops are {stage.loop_names}"
            f"{twin(stage, axis)}"
        )
    if is_among(axis, [*stage.environment.values()]):
        raise ScheduleError(f"{at(stage, primitive, axis)}: it is a loop around all steps of the scan, by env_threads")
    if stage.attach is not None and axis in stage.attach[0].blocks:
        raise ScheduleError(
            f"{at(stage, primitive, axis)}: reorder has moved it into {stage.attach[0].name!r}, whose loop it is now"
        )


def require_own(stage: StageState, axis: IterVar, primitive: str) -> None:
    """Check that no reorder has taken the loop from another stage."""
    require_leaf(stage, axis, primitive)
    require_untimed(stage, axis, primitive)
    owner = stage.blocks.get(axis)
    if owner is not None:
        raise ScheduleError(
            f"{at(stage, primitive, axis)}: it is a loop of {owner.name!r}, moved here by reorder; "
            f"{primitive} it there before"
        )


def require_data(stage: StageState, axis: IterVar, primitive: str, reason: str) -> None:
    """Check that the loop is no reduction; `reason` completes the message."""
    require_leaf(stage, axis, primitive)
    require_untimed(stage, axis, primitive)
    require_independent(stage, axis, primitive)
    if axis.kind is AxisKind.REDUCE:
        raise ScheduleError(f"{at(stage, primitive, axis)}: it is a reduction, {reason}")


def require_unmarked(stage: StageState, axis: IterVar, primitive: str, where: str) -> None:
    """Check that the schedule doesn't say how a loop runs that `primitive` replaces: the new loops would not run so.

    The pragma of a split with `tail="partition"` is a wish, which may go.
    """
    marks = [manner(stage, axis)] if axis in stage.kinds else []
    is_tail = any(isinstance(r, Split) and r.outer is axis and r.tail is Tail.PARTITION for r in stage.relations)
    own = [("partition", True)] if is_tail else []
    marks += [f"marked by pragma {key}" for key, value in stage.pragmas.get(axis, ()) if (key, value) not in own]
    if marks:
        raise ScheduleError(
            f"{where}: the loop is {marks[0]} already, and those in its place would not be; call {primitive} first"
        )


def manner(stage: StageState, axis: IterVar) -> str:
    """How a loop runs, where a primitive has said it."""
    kind = stage.kinds[axis]
    if kind in (LoopKind.THREAD, LoopKind.VTHREAD):
        return f"bound to {stage.threads.get(axis, VTHREAD)}"
    return kind.name.lower()


def require_independent(stage: StageState, axis: IterVar, primitive: str) -> None:
    """Check that no statement asks for the order of the iterations."""
    if axis.kind is AxisKind.ORDERED:
        raise ScheduleError(
            f"{at(stage, primitive, axis)}: its iterations follow one another, since they share elements that "
            f"{stage.name!r} stores; split, unroll or reorder it"
        )


def require_expressions(stage: StageState, primitive: str) -> None:
    """Check that the stage is computed by expressions, whose elements may be computed anywhere and twice."""
    if stage.op.is_statement:
        raise ScheduleError(f"{primitive}: {stage.name!r} is computed by statements, which run once and as they are")


def require_untimed(stage: StageState, axis: IterVar, primitive: str) -> None:
    """Check that the loop is not the time of a scan."""
    if axis.kind is AxisKind.TIME:
        raise ScheduleError(
            f"{at(stage, primitive, axis)}: it is the time of a scan, whose steps follow one another; "
            f"{primitive} the loops of what a step computes"
        )


def require_own_storage(stage: StageState, primitive: str) -> None:
    """Check that the result is not kept in that of a scan."""
    if stage.keeper is not None:
        raise ScheduleError(
            f"{primitive}: {stage.name!r} is an update of scan {stage.keeper.name!r}, computed in each of its steps "
            "and stored in its result"
        )


def require_internal(stage: StageState, primitive: str) -> None:
    """Check that the stage computes what only the schedule sees."""
    require_own_storage(stage, primitive)
    if stage.is_output:
        raise ScheduleError(
            f"{primitive}: {stage.name!r} is an output of the schedule, which the caller gets as a whole; "
            "cache_write makes a stage before it that may be computed elsewhere"
        )
    if stage.op.is_given:
        raise ScheduleError(f"{primitive}: {stage.name!r} is not computed, it is given")


def at(stage: StageState, primitive: str, axis: IterVar) -> str:
    """The start of a message: primitive, stage and axis."""
    return f"{primitive} in stage {stage.name!r}, axis {axis.name!r}"


def twin(stage: StageState, axis: IterVar) -> str:
    """The hint for an axis that is no loop here, but has the name of one."""
    if all(leaf.name != axis.name for leaf in stage.leaves):
        return ""
    if axis.kind is AxisKind.REDUCE and axis.name in [own.name for own in stage.op.reduce_axis]:
        return "; that one is another axis: rfactor and cache_write make new ones, those of op.axis and op.reduce_axis"
    return "; that one is of another tensor"
