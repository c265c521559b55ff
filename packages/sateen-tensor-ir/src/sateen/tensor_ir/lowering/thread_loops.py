"""Parallel loops become the threads of a device, for functions whose schedules bind none."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.renamed_buffers import with_buffers
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, If, Let, LoopKind, Seq, Stmt, sequence
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import StatementRewriter, substitute, walk


def spread_over_threads(function: Function, threads: int) -> Function:
    """Each outermost parallel loop in blocks of `threads` iterations; one thread does what no such loop contains.

        parallel i in [0, n):             thread blockIdx.x b in [0, (n + 255) // 256):
          C[i] = A[i]               =>      thread threadIdx.x t in [0, 256):
        for j in [0, m):                      if b * 256 + t < n:
          D[0] = max(D[0], B[j])                C[b * 256 + t] = A[b * 256 + t]
                                          thread threadIdx.x t in [0, 1):
                                            for j in [0, m):
                                              D[0] = max(D[0], B[j])

    Loops, conditions and storage around parallel loops stay the host's, in memory that all threads share; inside,
    parallel loops are serial, and storage is a thread's own. A nest that is bound to threads already stays as it is.
    """
    body = _Spreading(threads).spread(function.body)
    return function if body is function.body else replace(function, body=body)


class _Spreading:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.analyzer = Analyzer()

    def spread(self, s: Stmt) -> Stmt:
        """The host's statement, of which each part is bound to threads."""
        if not any(isinstance(n, For) and n.kind in (LoopKind.PARALLEL, LoopKind.THREAD) for n in walk(s)):
            return self._alone(s)
        match s:
            case Seq():
                return sequence(*self._runs(s))
            case Allocate():
                shared = replace(s.buffer, scope=Scope.GLOBAL)
                return replace(s, buffer=shared, body=self.spread(with_buffers(s.body, {s.buffer: shared})))
            case For(kind=LoopKind.THREAD):
                return s
            case For(kind=LoopKind.PARALLEL) if not all_read(s.start, s.extent):
                return self._bound(s)
            case For(kind=LoopKind.SERIAL) if not all_read(s.start, s.extent):
                return replace(s, body=self.spread(s.body))
            case Let() if s.var.dtype == INDEX and not all_read(s.value):
                return replace(s, body=self.spread(s.body))
            case If() if not all_read(s.condition):
                otherwise = None if s.otherwise is None else self.spread(s.otherwise)
                return replace(s, then=self.spread(s.then), otherwise=otherwise)
        return self._alone(s)

    def _runs(self, s: Seq) -> list[Stmt]:
        """The parts of a sequence; those of one thread that follow each other are one."""
        parts: list[Stmt] = []
        alone: list[Stmt] = []
        for child in s.body:
            if any(isinstance(n, For) and n.kind in (LoopKind.PARALLEL, LoopKind.THREAD) for n in walk(child)):
                if alone:
                    parts.append(self._alone(sequence(*alone)))
                    alone = []
                parts.append(self.spread(child))
            else:
                alone.append(child)
        return [*parts, self._alone(sequence(*alone))] if alone else parts

    def _bound(self, s: For) -> Stmt:
        block, thread = Var("b"), Var("t")
        extent = self.analyzer.constant(s.extent)
        threads = self.threads if extent is None else max(1, min(self.threads, extent))
        offset = ex.add(ex.multiply(block, ex.const(threads)), thread)
        body: Stmt = substitute(_Private().rewrite(s.body), {s.var: ex.add(s.start, offset)})
        if extent is None or extent % threads:
            body = If(offset < s.extent, body, None, s.span)
        blocks = self.analyzer.simplify((s.extent + (threads - 1)) // threads)
        inner = For(thread, ex.const(0), ex.const(threads), LoopKind.THREAD, body, "threadIdx.x", span=s.span)
        return For(block, ex.const(0), blocks, LoopKind.THREAD, inner, "blockIdx.x", span=s.span)

    def _alone(self, s: Stmt) -> Stmt:
        return For(Var("t"), ex.const(0), ex.const(1), LoopKind.THREAD, _Private().rewrite(s), "threadIdx.x")


class _Private(StatementRewriter):
    """What one thread does: loops in order, storage of its own."""

    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)
        return replace(loop, kind=LoopKind.SERIAL) if loop.kind is LoopKind.PARALLEL else loop

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        own = self.descend(s)
        if own.scope is not Scope.GLOBAL:
            return own
        private = replace(own.buffer, scope=Scope.LOCAL)
        return replace(own, buffer=private, body=with_buffers(own.body, {own.buffer: private}))
