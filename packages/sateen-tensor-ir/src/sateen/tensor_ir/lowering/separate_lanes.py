"""Give each lane of a vector memory of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Const
from sateen.tensor_ir.ir.stmt import Allocate, For, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, walk
from sateen.tensor_ir.lowering.parts import Part, in_parts, widened


def separate_lanes(body: Stmt, _: Analyzer) -> Stmt:
    """Memory that is allocated in a vectorized loop gets a dimension for its lanes.

        vectorized i in [0, 8):             vectorized i in [0, 8):
          allocate t: local float32[1]        allocate t: local float32[8, 1]
          t[0] = A[i]                   =>    t[i, 0] = A[i]
          B[i] = t[0] * t[0]                  B[i] = t[i, 0] * t[i, 0]

    Only statements of externs allocate there. Loops without a constant extent stay as they are.
    """
    return _Separator().rewrite(body)


class _Separator(StatementRewriter):
    def rewrite_For(self, s: For) -> Stmt:
        s = self.descend(s)
        if s.kind is not LoopKind.VECTORIZED or not isinstance(s.extent, Const):
            return s
        own = [n.buffer for n in walk(s.body) if isinstance(n, Allocate)]
        lanes = {buffer: widened(buffer, (int(s.extent.value),)) for buffer in own}
        parts = {buffer: Part(wide, (s.var - s.start,)) for buffer, wide in lanes.items()}
        return replace(s, body=_Reallocation(lanes).rewrite(in_parts(s.body, parts))) if own else s


class _Reallocation(StatementRewriter):
    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        self.buffers = buffers

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        return replace(s, buffer=self.buffers[s.buffer], body=self.rewrite(s.body))
