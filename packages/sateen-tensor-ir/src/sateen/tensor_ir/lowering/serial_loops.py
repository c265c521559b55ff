"""Parallel loops become serial ones, for machines that have no threads."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter
from sateen.tensor_ir.lowering.alternate_loops import backward_turns, turned
from sateen.tensor_ir.lowering.split_tasks import Invariants, without_invariants


def serialize_loops(function: Function) -> Function:
    """Each parallel loop as one thread runs it: what all iterations share, then the iterations in order.

        parallel i in [0, 6):              allocate t: float32[4]
          allocate t: float32[4]           t[0] = a[0]
          t[0] = a[0]                 =>   for i in [0, 6):
          b[i] = t[0]                        b[i] = t[0]

    So storage inside such a loop is like all other storage: the caller can give it. A loop with the pragma `alternate`
    runs backwards in odd iterations of the serial loop around it.
    """
    body = _Serializing(function).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Serializing(StatementRewriter):
    def __init__(self, function: Function) -> None:
        self.aliased = function.aliased
        self.backwards = backward_turns(function.body)
        self.analyzer = Analyzer()

    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)
        if loop.kind is not LoopKind.PARALLEL:
            return loop
        inner, invariants = replace(loop, kind=LoopKind.SERIAL), Invariants()
        if self.analyzer.prove(loop.extent > 0):
            inner, invariants = without_invariants(inner, self.aliased)
        if s in self.backwards:
            inner = turned(inner, self.backwards[s])
        return invariants.around(inner)
