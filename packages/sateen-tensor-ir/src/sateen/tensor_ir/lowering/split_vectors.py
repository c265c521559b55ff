"""Split vectors that fill several registers, but no power of two of them."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_written
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt, sequence
from sateen.tensor_ir.ir.visit import StatementRewriter, rename_bound, substitute, walk
from sateen.tensor_ir.targets import Machine

MOST_VECTORS = 16
"""The most vectors that a loop becomes."""


def split_vectors(function: Function, machine: Machine) -> Function:
    """A vectorized loop of so many lanes becomes an unrolled one over vectors of the machine, and the rest.

        vectorized j in [0, 48):         unrolled j in [0, 3):
          C[j] = A[j]              =>      vectorized lane in [0, 16):
                                             C[j * 16 + lane] = A[j * 16 + lane]

    LLVM would round the vector up to 64 lanes, and take as many registers. A loop with loops inside stays.
    """
    body = _Splitter(machine).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Splitter(StatementRewriter):
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is not LoopKind.VECTORIZED or not isinstance(s.extent, ex.Const):
            return self.descend(s)
        if not ex.is_const(s.start, 0):
            return s
        count = int(s.extent.value)
        if count & (count - 1) == 0 or any(isinstance(n, For) for n in walk(s.body)):
            return s
        buffers = all_written(s.body).union(n.buffer for n in walk(s.body) if isinstance(n, Load))
        lanes = self.machine.vector_bytes // max((b.dtype.bytes for b in buffers), default=1)
        if lanes < 2 or not lanes <= count <= MOST_VECTORS * lanes:
            return s
        whole, parts, done = count // lanes, list[Stmt](), 0
        for width, vectors in ((lanes, whole), (count % lanes, 1)):
            if width == 0:
                continue
            outer, lane = Var(s.var.name), Var(f"{s.var.name}_lane")
            body = rename_bound(s.body) if done else s.body
            body = substitute(body, {s.var: outer * width + lane + done if vectors > 1 else lane + done})
            vector = For(lane, ex.const(0), ex.const(width), LoopKind.VECTORIZED, body, span=s.span)
            parts.append(
                For(outer, ex.const(0), ex.const(vectors), LoopKind.UNROLLED, vector, span=s.span)
                if vectors > 1
                else vector
            )
            done += width * vectors
        return sequence(*parts)
