"""The operators of weft: computations over logical axes, in any layout, and their schedules."""

from weft.topi.layout import Block, Layout, View, compute, placeholder
from weft.topi.operator import Computation, Kind, ScheduleFunction, kind_of

__all__ = [
    "Block",
    "Computation",
    "Kind",
    "Layout",
    "ScheduleFunction",
    "View",
    "compute",
    "kind_of",
    "placeholder",
]
