"""Schedules: how a computation's loops are arranged, placed and mapped onto hardware."""

from sateen.tensor_ir.schedule.relations import Fuse, Split, Tail
from sateen.tensor_ir.schedule.schedule import Schedule, create_schedule
from sateen.tensor_ir.schedule.stage import Stage
from sateen.tensor_ir.schedule.threads import ThreadAxis, thread_axis

__all__ = ["Fuse", "Schedule", "Split", "Stage", "Tail", "ThreadAxis", "create_schedule", "thread_axis"]
