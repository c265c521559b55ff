"""Schedules: how a computation's loops are arranged, placed and mapped onto hardware."""

from sateen.tensor_ir.schedule.relations import Fuse, Split, Tail
from sateen.tensor_ir.schedule.schedule import Schedule, create_schedule
from sateen.tensor_ir.schedule.stage import Stage

__all__ = ["Fuse", "Schedule", "Split", "Stage", "Tail", "create_schedule"]
