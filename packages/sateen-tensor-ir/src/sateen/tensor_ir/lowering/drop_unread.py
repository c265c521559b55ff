"""What nobody reads of the memory of a block and of a thread is not computed."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Call
from sateen.tensor_ir.ir.external import is_external
from sateen.tensor_ir.ir.stmt import EMPTY, Allocate, For, If, Let, Seq, Stmt, Store, sequence
from sateen.tensor_ir.ir.visit import StatementRewriter, walk


def drop_unread(statement: Stmt) -> Stmt:
    """Remove memory of kernels that is only stored to, such as the extremum of which only the position is asked for.

        allocate best, place: register[1]               allocate place: register[1]
        best[0] = P[0]; place[0] = Q[0]          =>     place[0] = Q[0]
        B[i] = place[0]                                 B[i] = place[0]

    Compilers of text warn of such variables. Stores of what a function outside gives stay, and so does memory that more
    than stores use.
    """
    while (after := _Unread().rewrite(statement)) is not statement:
        statement = after
    return statement


class _Unread(StatementRewriter):
    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        inner = self.rewrite(s.body)
        stores = [n for n in walk(inner) if isinstance(n, Store) and n.buffer is s.buffer]
        if s.scope is Scope.GLOBAL or s.buffer in all_read(inner) or any(map(_calls_outside, stores)):
            return s if inner is s.body else replace(s, body=inner)
        body = _Without(s.buffer).rewrite(inner)
        if s.buffer in all_written(body):
            return s if inner is s.body else replace(s, body=inner)
        return body


def _calls_outside(s: Store) -> bool:
    return any(isinstance(n, Call) and is_external(n.name) for n in walk(s))


class _Without(StatementRewriter):
    """Statements without the stores to a buffer, and without what would be empty then."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def rewrite_Store(self, s: Store) -> Stmt:
        return EMPTY if s.buffer is self.buffer else s

    def rewrite_Seq(self, s: Seq) -> Stmt:
        return sequence(*map(self.rewrite, s.body))

    def rewrite_Let(self, s: Let) -> Stmt:
        return self._around(s)

    def rewrite_For(self, s: For) -> Stmt:
        return self._around(s)

    def rewrite_If(self, s: If) -> Stmt:
        branch: If = self.descend(s)
        return EMPTY if _is_empty(branch.then) and _is_empty(branch.otherwise) else branch

    def _around(self, s: Let | For) -> Stmt:
        body = self.rewrite(s.body)
        if body is s.body:
            return s
        return EMPTY if _is_empty(body) else replace(s, body=body)


def _is_empty(s: Stmt | None) -> bool:
    return s is None or (isinstance(s, Seq) and not s.body)
