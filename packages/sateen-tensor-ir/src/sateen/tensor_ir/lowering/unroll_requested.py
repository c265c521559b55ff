"""Unroll the loops that the pragma `auto_unroll_max_step` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.stmt import For, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, children
from sateen.tensor_ir.lowering.unroll_loops import unrolled_statements

MAX_STEP, MAX_DEPTH, MIN_DEPTH = "auto_unroll_max_step", "auto_unroll_max_depth", "auto_unroll_min_depth"
NO_LIMITS: Mapping[str, int | None] = {MAX_STEP: 0, MAX_DEPTH: None, MIN_DEPTH: 0}


def unroll_requested(body: Stmt, _: Analyzer) -> Stmt:
    """A serial loop at or within a loop with the pragma is unrolled if it becomes at most that many statements.

        for i in [0, 10) auto_unroll_max_step=8:        for i in [0, 10):
          for j in [0, 6):                         =>     unrolled j in [0, 6):
            C[i, j] = A[i, j]                               C[i, j] = A[i, j]

    Loops are considered innermost first; one stays if its extent is not constant, if a loop inside it stays, or if it
    has the pragma `keep`. With `auto_unroll_max_depth` one stays, too, around so many levels of unrolled loops, with
    `auto_unroll_min_depth` inside fewer loops. The pragmas of an inner loop count for that loop and those within it.
    """
    return _Unroller().rewrite(body)


class _Unroller(StatementRewriter):
    def __init__(self) -> None:
        self.limits = NO_LIMITS
        self.depth = 0

    def rewrite_For(self, s: For) -> Stmt:
        around = self.limits
        self.limits = limits = {**around, **{key: n for key, n in s.pragmas if key in around and isinstance(n, int)}}
        self.depth += 1
        loop = self.descend(s)
        self.depth -= 1
        self.limits = around
        if any(key in around for key, _ in loop.pragmas):
            loop = replace(loop, pragmas=tuple(p for p in loop.pragmas if p[0] not in around))
        most, deepest, least = limits[MAX_STEP], limits[MAX_DEPTH], limits[MIN_DEPTH]
        assert most is not None
        assert least is not None
        fits = 0 < unrolled_statements(loop) <= most and self.depth >= least
        return replace(loop, kind=LoopKind.UNROLLED) if fits and (deepest is None or _levels(loop) < deepest) else loop


def _levels(s: Stmt) -> int:
    """The levels of unrolled loops inside a statement."""
    return max(
        (
            _levels(child) + (isinstance(child, For) and child.kind is LoopKind.UNROLLED)
            for child in children(s)
            if isinstance(child, Stmt)
        ),
        default=0,
    )
