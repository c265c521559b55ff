"""The computation of an operator: its outputs, and the schedule of their stages by the kind of machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import ExpressionError, LoweringError
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.by_element import schedule_by_element
from sateen.topi.schedules.injective import INJECTIVE
from sateen.topi.types import TensorType, View

ScheduleFunction = Callable[[te.Schedule, te.Tensor, Machine], None]
"""Schedules an operator's own stages in a schedule whose output is the given tensor: the operator's last stage itself,
or an element-wise function of it that was fused after it."""

ScheduleTable = Mapping[DeviceKind, ScheduleFunction]
"""The schedule of an operator by the kind of machine."""


def on_cpu(schedule: ScheduleFunction) -> ScheduleTable:
    """A schedule for the cores of a CPU only."""
    return {DeviceKind.CPU: schedule}


def on_devices(schedule: ScheduleFunction) -> ScheduleTable:
    """A schedule for the blocks of threads of devices only."""
    return {kind: schedule for kind in DeviceKind if kind is not DeviceKind.CPU}


def for_machines(on_processor: ScheduleFunction, on_device: ScheduleFunction) -> ScheduleTable:
    """A schedule for the cores of a CPU, and one for the blocks of threads of any other device (`Machine.gpu`)."""
    return {kind: on_processor if kind is DeviceKind.CPU else on_device for kind in DeviceKind}


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """The outputs of an operator and the schedule of its stages: one for all machines, or one for each kind of them.

    Without `schedule` the computation is injective: single stages without reductions, which may be inlined anywhere.
    With a schedule it takes element-wise consumers as an epilogue, unless `takes_epilogue` is false. What is written as
    loops (`te.extern`) has no other schedule than its text: `by_blocks` gives another computation of the same outputs,
    for devices whose blocks of threads share memory. Raises ExpressionError for outputs that are no tuple of views.
    """

    outputs: tuple[View, ...]
    schedule: ScheduleFunction | ScheduleTable | None = None
    takes_epilogue: bool = True
    by_blocks: Callable[[Gpu], Computation] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.outputs, tuple) or not all(isinstance(v, View) for v in self.outputs):
            raise ExpressionError(
                f"Computation: expected a tuple of a view for each output, as (view,), found {_kinds(self.outputs)}"
            )

    @property
    def view(self) -> View:
        """The only output."""
        (view,) = self.outputs
        return view

    def on(self, machine: Machine) -> Computation:
        """The computation for a machine: the one by blocks, if there is one and threads run in step there; else itself.

        Raises ExpressionError if its outputs have other types than these.
        """
        gpu = machine.gpu
        if self.by_blocks is None or gpu is None or not gpu.runs_in_step:
            return self
        found = self.by_blocks(gpu)
        expected, given = ([TensorType.of(v.dtype, v.shape, v.layout) for v in c.outputs] for c in (self, found))
        if expected != given:
            raise ExpressionError(
                f"{self.outputs[0].name}: expected a computation by blocks of {', '.join(map(str, expected))}, found "
                f"one of {', '.join(map(str, given))}"
            )
        return replace(found, schedule=found.schedule_on(machine), takes_epilogue=self.takes_epilogue)

    def schedule_on(self, machine: Machine) -> ScheduleFunction:
        """The schedule for a machine. A device without one in the table gets `schedule_by_element`.

        Raises LoweringError if there is none for processors.
        """
        table = INJECTIVE if self.schedule is None else self.schedule
        if not isinstance(table, Mapping):
            return table
        found = table.get(machine.kind)
        if found is not None:
            return found
        if machine.kind is DeviceKind.CPU:
            known = ", ".join(kind.name.lower() for kind in table)
            name = self.outputs[0].name
            raise LoweringError(f"{name}: expected a machine of kind {known}, found {machine.kind.name.lower()}")
        return schedule_by_element


def _kinds(value: object) -> str:
    """The type of a value; for a tuple, the types of its elements."""
    if isinstance(value, tuple):
        return f"({', '.join(type(item).__name__ for item in value)})"
    return type(value).__name__
