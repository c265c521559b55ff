"""Parallel loops become serial ones, for machines that have no threads."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter
from sateen.tensor_ir.lowering.split_tasks import without_invariants


def serialize_loops(function: Function) -> Function:
    """Each parallel loop as one thread runs it: what all iterations share, then the iterations in order.

        parallel i in [0, 6):              allocate t: float32[4]
          allocate t: float32[4]           t[0] = a[0]
          t[0] = a[0]                 =>   for i in [0, 6):
          b[i] = t[0]                        b[i] = t[0]

    So storage inside such a loop is like all other storage: the caller can give it.
    """
    body = _Serializing(function.aliased).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Serializing(StatementRewriter):
    def __init__(self, aliased: frozenset[Buffer]) -> None:
        self.aliased = aliased
        self.analyzer = Analyzer()

    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)
        if loop.kind is not LoopKind.PARALLEL:
            return loop
        serial = replace(loop, kind=LoopKind.SERIAL)
        if not self.analyzer.prove(loop.extent > 0):
            return serial
        inner, invariants = without_invariants(serial, self.aliased)
        return invariants.around(inner)
