"""Give each loop a variable of its own."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import For, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, substitute


def separate_loops(body: Stmt, analyzer: Analyzer) -> Stmt:
    """Loops one after the other over the same axis, which stages may share, get different variables.

        for k in [0, 9):                 for k in [0, 9):
          R[0] = R[0] + A[k]               R[0] = R[0] + A[k]
        for k in [0, 9):          =>     for k_1 in [0, 9):
          C[0] = C[0] + B[k]               C[0] = C[0] + B[k_1]

    Requires: no loop is within another of its variable. Keeps: the analyzer knows the ranges.
    """
    return _Separator(analyzer).rewrite(body)


class _Separator(StatementRewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.bound: set[Var] = set()

    def rewrite_For(self, s: For) -> Stmt:
        if s.var in self.bound:
            var = Var(s.var.name, s.var.dtype)
            self.analyzer.bind(var, s.start, s.extent)
            s = replace(s, var=var, body=substitute(s.body, {s.var: var}))
        self.bound.add(s.var)
        return self.descend(s)
