"""A stage: one operation and the loops that compute it. Its methods are the schedule primitives.

Every primitive changes the stage in place. A primitive that would change the result raises ScheduleError. In the
before/after sketches `C[i, j]` is the stage's output and `...` its computation.
"""

from sateen.tensor_ir.schedule.loops import LoopPrimitives
from sateen.tensor_ir.schedule.placement import PlacePrimitives
from sateen.tensor_ir.schedule.running import RunPrimitives


class Stage(LoopPrimitives, RunPrimitives, PlacePrimitives):
    """One operation of a schedule. `leaves` are its loops, outermost first."""
