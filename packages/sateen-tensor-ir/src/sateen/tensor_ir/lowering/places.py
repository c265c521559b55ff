"""Tensors that have no storage of their own, since they are part of another one."""

from __future__ import annotations

from collections.abc import Container

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.lowering.stage_plan import Plans
from sateen.tensor_ir.schedule.relations import Split, Tail
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import Tensor


def find_places(
    schedule: Schedule, plans: Plans, arguments: Container[Tensor], analyzer: Analyzer
) -> dict[Tensor, Tensor]:
    """The result of a scan for its states, its updates, and initial rows that nothing else reads.

    Element [t, …] of each is that of the result. Initial rows that the result may not have get a guard.
    """
    places: dict[Tensor, Tensor] = {}
    for scan in schedule.stages:
        if not isinstance(scan.op, ScanOp):
            continue
        for recurrence, result in zip(scan.op.recurrences, scan.outputs, strict=True):
            places[recurrence.state] = places[recurrence.update] = result
            initial = schedule[recurrence.initial]
            if _is_only_initial(initial, scan) and not (
                recurrence.initial in arguments or recurrence.initial in places
            ):
                places[recurrence.initial] = result
                plan = plans[initial]
                within = analyzer.simplify(plan.axis_value[initial.axes[0]] < result.shape[0])
                plan.guards += [] if analyzer.prove(within) else [within]
    return places


def _is_only_initial(stage: StageState, scan: StageState) -> bool:
    """Whether a stage computes initial rows of a scan and nothing else, in plain storage."""
    enlarged = stage.alignments or any(isinstance(r, Split) and r.tail is Tail.ROUND_UP for r in stage.relations)
    plain = stage.attach is None and stage.scope is Scope.GLOBAL and not enlarged
    return (
        plain
        and bool(stage.op.body)
        and not stage.is_output
        and len(stage.outputs) == 1
        and (stage.schedule.consumers(stage) == [scan])
    )
