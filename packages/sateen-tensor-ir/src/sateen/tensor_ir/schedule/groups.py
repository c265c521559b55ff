"""Stages that are scheduled together: groups, and the choice of those that are inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sateen.runtime.display import named
from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.expr import IterVar
from sateen.tensor_ir.ir.identity import same_nodes
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.schedule.stage import Stage


class Group:
    """Stages that are placed together, producers first."""

    __slots__ = ("stages",)

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(stages)

    def __repr__(self) -> str:
        return f"Group({named([stage.name for stage in self.stages])})"

    def compute_at(self, consumer: Any, axis: IterVar) -> None:
        """Compute what each iteration of a loop needs of every stage there, as `Stage.compute_at` does. Raises
        ScheduleError for the first stage that refuses, and leaves all as they were."""
        self._place(lambda stage: stage.compute_at(consumer, axis))

    def compute_root(self) -> None:
        """Compute every stage as a whole, as `Stage.compute_root` does."""
        self._place(Stage.compute_root)

    def _place(self, primitive: Callable[[Stage], None]) -> None:
        before = [(stage, stage.attach, stage.inlined) for stage in self.stages]
        try:
            for stage in self.stages:
                primitive(stage)
        except ScheduleError:
            for stage, attach, inlined in before:
                stage.attach, stage.inlined = attach, inlined
            raise


def between(stages: Sequence[Stage], outputs: Sequence[Stage], inputs: Sequence[Stage], include_inputs: bool) -> Group:
    """Those of a schedule's stages on all ways from `inputs` to `outputs`, the latter among them.

    Raises ScheduleError if there is no way.
    """
    schedule = outputs[0].schedule
    reached = set(inputs)  # producers come first
    for stage in stages:
        if any(schedule[t] in reached for t in stage.op.inputs):
            reached.add(stage)
    members = set(outputs) & reached
    for stage in reversed(stages):
        if stage in reached and stage not in inputs and any(c in members for c in schedule.consumers(stage)):
            members.add(stage)
    members = members | set(inputs) if include_inputs else members - set(inputs)
    for stage in outputs:
        if stage not in members:
            raise ScheduleError(f"create_group: {stage.name!r} is not computed from the inputs")
    return Group([stage for stage in stages if stage in members])


def is_injective(stage: Stage) -> bool:
    """Whether each element is computed once from elements of its inputs, by no reduction."""
    return bool(stage.op.body) and not stage.op.reduce_axis


def is_elementwise(stage: Stage) -> bool:
    """Whether each element is computed from the elements of its inputs at the same place."""
    reads = [node for e in stage.op.body for node in walk(e) if isinstance(node, Read)]
    return is_injective(stage) and all(same_nodes(read.indices, stage.op.axis) for read in reads)


def inline_all(stages: Sequence[Stage], qualifies: Callable[[Stage], bool]) -> None:
    """Inline the stages that qualify, except outputs, updates of scans, and what is read as a whole."""
    for stage in stages:
        whole = {t for consumer in stage.schedule.consumers(stage) for t in consumer.op.whole_inputs}
        if qualifies(stage) and not stage.is_output and stage.keeper is None and whole.isdisjoint(stage.outputs):
            stage.compute_inline()
