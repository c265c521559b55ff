"""Unroll the loops that the pragma `auto_unroll_max_step` asks for."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.stmt import For, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter
from sateen.tensor_ir.lowering.unroll_loops import unrolled_statements

MAX_STEP = "auto_unroll_max_step"


def unroll_requested(body: Stmt, _: Analyzer) -> Stmt:
    """A serial loop at or within a loop with the pragma is unrolled if it becomes at most that many statements.

        for i in [0, 10) auto_unroll_max_step=8:        for i in [0, 10):
          for j in [0, 6):                         =>     unrolled j in [0, 6):
            C[i, j] = A[i, j]                               C[i, j] = A[i, j]

    Loops are considered innermost first; one stays if its extent is not constant, if a loop inside it stays, or if it
    has the pragma `keep`. The pragma of an inner loop counts for that loop and those within it.
    """
    return _Unroller().rewrite(body)


class _Unroller(StatementRewriter):
    def __init__(self) -> None:
        self.limit = 0

    def rewrite_For(self, s: For) -> Stmt:
        around = self.limit
        for key, value in s.pragmas:
            if key == MAX_STEP and isinstance(value, int):
                self.limit = value
        limit = self.limit
        loop = self.descend(s)
        self.limit = around
        if any(key == MAX_STEP for key, _ in loop.pragmas):
            loop = replace(loop, pragmas=tuple(p for p in loop.pragmas if p[0] != MAX_STEP))
        return replace(loop, kind=LoopKind.UNROLLED) if 0 < unrolled_statements(loop) <= limit else loop
