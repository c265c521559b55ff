"""How the loops of a stage derive from its axes: splits and fusions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sateen.tensor_ir.ir.expr import Expr, IterVar


class Tail(Enum):
    """The treatment of the last tile if the factor does not divide the extent (docs/design/regions.md)."""

    GUARD = "guard"
    PARTITION = "partition"
    SHIFT = "shift"
    ROUND_UP = "round_up"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """parent = outer * factor + inner; with a shifted tail, min(outer * factor, extent - factor) + inner.

    With `nparts`, the factor follows from the extent of the stage's region.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Expr
    tail: Tail
    nparts: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fuse:
    """fused = outer * extent(inner) + inner."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


Relation = Split | Fuse
