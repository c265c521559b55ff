"""Interleave virtual threads: their loops move inwards, to the statements that depend on them."""

from __future__ import annotations

from dataclasses import replace

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_written
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import is_external
from sateen.tensor_ir.ir.stmt import (
    EMPTY,
    VTHREADS,
    Allocate,
    Evaluate,
    For,
    If,
    Intrinsic,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Timestamp,
    While,
    sequence,
)
from sateen.tensor_ir.ir.visit import StatementRewriter, children, substitute, walk
from sateen.tensor_ir.lowering.parts import Part, in_parts, widened

_WHOLE = (Invoke, Shuffle, Timestamp, Launch, Copy, Wait)
"""Statements that take buffers as a whole, so that no thread can have a part of one."""


def interleave_threads(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """Run virtual threads in turns: each statement that depends on the thread is executed for all of them, unrolled.

        vthread v in [0, 2):               allocate t: float32[2, 4]
          allocate t: float32[4]             for i in [0, 4):
          for i in [0, 4):                     unrolled v in [0, 2):
            t[i] = A[v * 4 + i]       =>         t[v, i] = A[v * 4 + i]
          for i in [0, 4):                   for i in [0, 4):
            C[v * 4 + i] = t[i] + B[i]         unrolled v_1 in [0, 2):
                                                 C[v_1 * 4 + i] = t[v_1, i] + B[i]

    Storage that a thread fills with values of its own gets a dimension over the threads; what is the same for all of
    them is computed once. A branch or a loop that differs between threads stays whole, and so do a vectorized loop and
    what follows a let of data that differs. Virtual threads are independent (docs/semantics.md, 8.2), so their order is
    free. Guarantees: no loop of kind vthread. Raises LoweringError for an extent that is not constant or above
    VTHREADS, and for statements that take storage of the threads as a whole.
    """
    return _Interleaver(analyzer).rewrite(statement)


class _Interleaver(StatementRewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is not LoopKind.VTHREAD:
            return self.descend(s)
        count = self.analyzer.constant(s.extent)
        if count is None or count > VTHREADS:
            raise LoweringError(
                f"loop {s.var.name!r} over virtual threads expects a constant extent of at most {VTHREADS}, found "
                f"{s.extent}"
            )
        if count <= 0:
            return EMPTY
        if count == 1:
            return self.rewrite(substitute(s.body, {s.var: s.start}))
        return self.rewrite(_Threads(s, count).pushed(s.body))


class _Threads:
    """The virtual threads of one loop."""

    def __init__(self, loop: For, count: int) -> None:
        self.loop = loop
        self.count = count
        self.varying: set[Var | Buffer] = {loop.var}
        """Variables and storage whose values differ between threads."""
        self.own = {n.buffer for n in walk(loop.body) if isinstance(n, Allocate)}
        for n in walk(loop.body):
            if isinstance(n, _WHOLE):
                first = str(n).splitlines()[0]
                raise LoweringError(f"loop {loop.var.name!r} over virtual threads can't interleave {first}")
        self.parts: dict[Buffer, Part] = {}
        """What a thread has of storage with a place for each of them."""
        known = 0
        while known != len(self.varying):
            known = len(self.varying)
            self._mark(loop.body, differs=False)

    # What differs between threads.

    def _mark(self, s: Stmt, *, differs: bool) -> None:
        """Add the variables and the storage that get values which differ; `differs`: not all threads come here."""
        match s:
            case For() if self._varies(s.start) or self._varies(s.extent):
                self.varying.add(s.var)
                differs = True
            case If() | While():
                differs = differs or self._varies(s.condition)
            case Let() if self._varies(s.value):
                self.varying.add(s.var)
        parts = [child for child in children(s) if isinstance(child, Expr)]
        written = all_written(*parts)
        if differs or any(map(self._varies, parts)) or self._reads_varying(s):
            written |= all_written(s) if not any(isinstance(child, Stmt) for child in children(s)) else set()
        self.varying |= written & self.own
        for child in children(s):
            if isinstance(child, Stmt):
                self._mark(child, differs=differs)

    def _reads_varying(self, s: Stmt) -> bool:
        return isinstance(s, Intrinsic) and any(r.buffer in self.varying for r in s.inputs)

    def _varies(self, e: Expr) -> bool:
        return any(map(self._is_varying, walk(e)))

    def _is_varying(self, n: Expr | Stmt) -> bool:
        """Whether the node itself differs between threads, or is to be executed by each of them."""
        match n:
            case Var():
                return n in self.varying
            case Load() | Address() | Store() | Prefetch():
                return n.buffer in self.varying
            case Intrinsic():
                return not self.varying.isdisjoint(n.buffers)
            case ex.Call():
                return is_external(n.name)
        return isinstance(n, Evaluate)

    # Moving the loop.

    def pushed(self, s: Stmt) -> Stmt:
        """What all threads do, with the loop over them around its innermost parts."""
        if not any(map(self._is_varying, walk(s))):
            return s
        match s:
            case Seq():
                return sequence(*map(self.pushed, s.body))
            case Allocate():
                if s.buffer not in self.varying:
                    return replace(s, body=self.pushed(s.body))
                part = Part(widened(s.buffer, [self.count]), (self.loop.var - self.loop.start,))
                self.parts[s.buffer] = part
                return replace(s, buffer=part.buffer, body=self.pushed(s.body))
            case For() if s.kind is not LoopKind.VECTORIZED and not (self._varies(s.start) or self._varies(s.extent)):
                return replace(s, body=self.pushed(s.body))
            case While() if not self._varies(s.condition):
                return replace(s, body=self.pushed(s.body))
            case If() if not self._varies(s.condition):
                otherwise = None if s.otherwise is None else self.pushed(s.otherwise)
                return replace(s, then=self.pushed(s.then), otherwise=otherwise)
            case Let() if not self._varies(s.value):
                return replace(s, body=self.pushed(s.body))
            case Let() if not any(isinstance(n, (Load, ex.Call)) for n in walk(s.value)):
                return self.pushed(substitute(s.body, {s.var: s.value}))
        return self._each(s)

    def _each(self, s: Stmt) -> Stmt:
        """The statement for each thread, one after the other."""
        loop = self.loop
        var = Var(loop.var.name)
        body = substitute(in_parts(s, self.parts), {loop.var: var})
        return replace(loop, var=var, kind=LoopKind.UNROLLED, extent=ex.const(self.count), body=body)
