"""Unroll short loops, whose counting and jumping would take as long as their work."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt, While, lets
from sateen.tensor_ir.ir.visit import StatementRewriter, children, walk
from sateen.tensor_ir.lowering.keep_loops import KEEP
from sateen.tensor_ir.lowering.register_tile import EXPANDED
from sateen.tensor_ir.lowering.registers import OTHER_EFFECTS, has_vectors
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.targets import Machine

MOST_ITERATIONS = 8
MOST_STATEMENTS = 16
"""The most statements that a loop becomes."""


def unroll_loops(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """A short serial loop without loops inside that stay, and with few statements, is unrolled.

        for k in [0, 4):                                unrolled k in [0, 4):
          vectorized j in [0, 16):             =>         vectorized j in [0, 16):
            C[j] = C[j] + A[k] * B[k, j]                    C[j] = C[j] + A[k] * B[k, j]

    A loop with the pragma `keep` stays.
    """
    if not has_vectors(machine):
        return function
    body = _Unroller(listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Unroller(StatementRewriter):
    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)
        if not 0 < unrolled_statements(loop) <= MOST_STATEMENTS:
            return loop
        assert isinstance(loop.extent, ex.Const)
        count = int(loop.extent.value)
        if count > MOST_ITERATIONS:
            return loop
        self.listener(Remark(f"loop {s.var.name}", f"unrolled, {count} iterations", is_done=True))
        return replace(loop, kind=LoopKind.UNROLLED)


def unrolled_statements(loop: For) -> int:
    """The statements that a serial loop becomes once it is unrolled; 0 if it stays.

    It does if its extent is not constant, if it has no iterations or the pragma `keep`, and if a loop inside stays.
    """
    if loop.kind is not LoopKind.SERIAL or KEEP in loop.pragmas:
        return 0
    if not isinstance(loop.start, ex.Const) or not isinstance(loop.extent, ex.Const):
        return 0
    for inner in walk(loop.body):
        if isinstance(inner, (While, *OTHER_EFFECTS)) or (isinstance(inner, For) and inner.kind not in EXPANDED):
            return 0
    return max(int(loop.extent.value), 0) * _count(loop.body)


def _count(s: Stmt) -> int:
    """The statements once unrolled loops are written out."""
    _, s = lets(s)
    inner = sum(_count(child) for child in children(s) if isinstance(child, Stmt)) or 1
    if isinstance(s, For) and s.kind is LoopKind.UNROLLED and isinstance(s.extent, ex.Const):
        return int(s.extent.value) * inner
    return inner
