"""Double buffers: a part of a tensor is computed an iteration ahead, while the part before it is used."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import If, Stmt
from sateen.tensor_ir.ir.visit import rename_bound, substitute

COPIES = 2
"""The parts that storage holds: one that is used, one that is computed."""


def part_in_use(axis: IterVar) -> Expr:
    """Which of the two copies an iteration of the loop uses."""
    return axis % COPIES


@dataclass(frozen=True, slots=True, eq=False)
class AheadOf:
    """What a loop computes for its next iteration; `part` is the computation for iteration `axis`.

    for k in [0, n):                 t[0] = A[0]                    `first`, if there is an iteration
      t[k % 2] = A[k]                for k in [0, n):
      C[k] = t[k % 2]       =>         if k + 1 < n:                `following`
                                         t[(k + 1) % 2] = A[k + 1]
                                       C[k] = t[k % 2]
    """

    axis: IterVar
    extent: Expr
    part: Stmt

    def first(self, analyzer: Analyzer) -> Stmt:
        """The part of the first iteration, before the loop."""
        part = rename_bound(self._of(ex.const(0)))
        return part if analyzer.prove(self.extent > 0) else If(self.extent > 0, part)

    @property
    def following(self) -> Stmt:
        """The part of the next iteration, if there is one, for the begin of an iteration."""
        following = self.axis + 1
        return If(following < self.extent, self._of(following))

    def _of(self, iteration: Expr) -> Stmt:
        values: dict[Var, Expr] = {self.axis: iteration}
        return substitute(self.part, values)
