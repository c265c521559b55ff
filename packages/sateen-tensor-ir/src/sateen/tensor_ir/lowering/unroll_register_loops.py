"""Unroll the loops whose iterations are in different registers: registers have no addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load, Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import For, Function, If, Let, LoopKind, Stmt, Store
from sateen.tensor_ir.ir.visit import StatementRewriter, walk


def unroll_register_loops(function: Function) -> Function:
    """A serial loop whose variable is in an index of a buffer of scope register is unrolled.

        for i in [0, min(4, n - b * 4)):            unrolled i in [0, 4):
          C[b * 4 + i] = C_register[i]       =>       if i < min(4, n - b * 4):
                                                        C[b * 4 + i] = C_register[i]

    A loop whose start is not constant stays, and one whose extent has no upper bound that is known. Compilers of C and
    OpenCL C do so themselves; where LLVM makes the code, none of its passes does.
    """
    indexing = _indexing(function.body)
    if not indexing:
        return function
    body = _Unroller(indexing).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Unroller(StatementRewriter):
    def __init__(self, indexing: frozenset[Var]) -> None:
        self.indexing = indexing
        self.analyzer = Analyzer()

    def rewrite_For(self, s: For) -> Stmt:
        with self.analyzer.bound(s.var, s.start, s.extent):
            loop = self.descend(s)
        if loop.kind is not LoopKind.SERIAL or s.var not in self.indexing or not isinstance(s.start, ex.Const):
            return loop
        _, most = self.analyzer.interval(self.analyzer.form(s.extent))
        if most is None:
            return loop
        if isinstance(s.extent, ex.Const):
            return replace(loop, kind=LoopKind.UNROLLED)
        guarded = If(loop.var < ex.add(s.start, s.extent), loop.body, None, s.span)
        return replace(loop, extent=ex.const(max(most, 0)), kind=LoopKind.UNROLLED, body=guarded)


def _indexing(body: Stmt) -> frozenset[Var]:
    """The variables in indices of registers, by way of others that are bound to expressions of them, too."""
    defined = {n.var: n.value for n in walk(body) if isinstance(n, Let)}
    found: set[Var] = set()
    left = list(_in_indices(body))
    while left:
        var = left.pop()
        if var not in found:
            found.add(var)
            left += (v for v in walk(defined[var]) if isinstance(v, Var)) if var in defined else ()
    return frozenset(found)


def _in_indices(body: Stmt) -> Iterator[Var]:
    for n in walk(body):
        if isinstance(n, (Load, Store)) and n.buffer.scope is Scope.REGISTER:
            for index in n.indices:
                yield from (v for v in walk(index) if isinstance(v, Var))
