"""The plan of a stage: its region, its loops, and the guards of their points."""

from __future__ import annotations

from dataclasses import dataclass, field

from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.schedule.state import StageState


@dataclass(slots=True, eq=False)
class StagePlan:
    """The plan of lowering for a stage.

    `base` and `extent` give the region per data axis; `value` writes each axis over the loops, relative to the base;
    `loops` are the extents of the leaves, `extents` those of all loops, also of the split and fused ones; `guards` are
    the conditions under which a point of the loop nest belongs to the region and to the tensor. Along the axes in
    `rounded` the region includes the overhang of a rounded-up tail. `shared` has the loops of a scan's step that a loop
    around all steps stands for.
    """

    stage: StageState
    body: tuple[Expr, ...]
    base: dict[IterVar, Expr] = field(default_factory=dict)
    extent: dict[IterVar, Expr] = field(default_factory=dict)
    value: dict[IterVar, Expr] = field(default_factory=dict)
    loops: dict[IterVar, Expr] = field(default_factory=dict)
    extents: dict[IterVar, Expr] = field(default_factory=dict)
    guards: list[Expr] = field(default_factory=list)
    rounded: set[IterVar] = field(default_factory=set)
    shared: dict[IterVar, IterVar] = field(default_factory=dict)

    @property
    def axis_value(self) -> dict[Var, Expr]:
        """Every axis of the operation as an expression of loop variables."""
        return {axis: self.base[axis] + value if axis in self.base else value for axis, value in self.value.items()}


Plans = dict[StageState, StagePlan]
