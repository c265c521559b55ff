"""Leave unrolled loops as loops where the pragma `unroll_explicit` asks for it."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter
from sateen.tensor_ir.lowering.keep_loops import KEEP
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard

EXPLICIT = "unroll_explicit"


def leave_loops(function: Function, listener: Listener = unheard) -> Function:
    """Unrolled loops at or within a loop with `unroll_explicit=False` become loops again, which no pass unrolls.

        for i in [0, 9) unroll_explicit=False:          for i in [0, 9) unroll_explicit=False:
          unrolled j in [0, 4):                    =>     for j in [0, 4) keep:

    Compilers of C and OpenCL C get unrolled loops as loops anyway, and decide; LLVM's passes, which would, don't run.
    """
    body = _Leaver(listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Leaver(StatementRewriter):
    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.is_explicit = True

    def rewrite_For(self, s: For) -> Stmt:
        around = self.is_explicit
        for key, value in s.pragmas:
            if key == EXPLICIT:
                self.is_explicit = bool(value)
        is_left = s.kind is LoopKind.UNROLLED and not self.is_explicit
        loop = self.descend(s)
        self.is_explicit = around
        if not is_left:
            return loop
        self.listener(Remark(f"loop {s.var.name}", "not unrolled: its pragma unroll_explicit is False", is_done=False))
        return replace(loop, kind=LoopKind.SERIAL, pragmas=(*loop.pragmas, KEEP))
