"""Replaces reads of inlined stages by their computations."""

from __future__ import annotations

from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute, walk
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.te.tensor import Tensor


class Inliner(SharingRewriter):
    """`inlined(e)` is `e` without reads of inlined stages, in time linear in the inlined stages.

        B[i] = f(A[i]);  C[i] = B[i] + B[i]     s[B].compute_inline()
        C[i] = x + x                            where both x are one node, f(A[i])

    Two reads at the same indices become one expression, and chains of stages may be of any length.
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule
        self._bodies: dict[tuple[Tensor, tuple[Expr, ...]], Expr] = {}

    def inlined(self, e: Expr) -> Expr:
        """`e` without reads of inlined stages."""
        stack = [e]
        while stack:
            bodies = [self._body(n) for n in walk(stack[-1]) if isinstance(n, Read) and self.schedule[n.tensor].inlined]
            waiting = [body for body in bodies if id(body) not in self._done]
            if waiting:
                stack += waiting
            else:
                self.rewrite(stack.pop())
        return self.rewrite(e)

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        return self.rewrite(self._body(e)) if self.schedule[e.tensor].inlined else self.descend(e)

    def _body(self, read: Read[Tensor]) -> Expr:
        """The body of an inlined stage at the indices of a read."""
        key = (read.tensor, read.indices)
        if key not in self._bodies:
            stage = self.schedule[read.tensor]
            body = stage.op.body[stage.outputs.index(read.tensor)]
            self._bodies[key] = substitute(body, dict(zip(stage.axes, read.indices, strict=True)))
        return self._bodies[key]
