"""The facts at a place: values of variables, ranges of unrolled loops, the lanes of a vectorized loop."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.visit import walk


class Environment:
    """Facts of the place in loop IR that is being written; `analyzer` has the ranges of its variables."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.variables: dict[Var, LlvmValue] = {}
        self.unrolled: dict[Var, range] = {}
        """The ranges of the variables of open unrolled loops."""
        self.lane: Var | None = None
        self.width = 0
        """How many lanes the open vectorized loop has; 0 outside of one."""
        self.mask: LlvmValue | None = None
        """The lanes that take part; None is all."""

    def depends_on_lane(self, e: Expr) -> bool:
        """Whether the expression's value differs between lanes."""
        if isinstance(e, Var):
            known = self.variables.get(e)
            return e is self.lane or (known is not None and known.lanes > 0)
        return any(
            isinstance(v, Var) and (v is self.lane or (v in self.variables and self.variables[v].lanes > 0))
            for v in walk(e)
        )
