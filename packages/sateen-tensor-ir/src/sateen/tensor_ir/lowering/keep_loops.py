"""Keep the loops of a function as its schedule has them."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter

KEEP = ("keep", True)
"""The pragma of a loop that no pass vectorizes or unrolls."""


def keep_loops(function: Function) -> Function:
    """Every serial loop gets the pragma `keep`."""
    return replace(function, body=_Keeper().rewrite(function.body))


class _Keeper(StatementRewriter):
    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)
        if loop.kind is not LoopKind.SERIAL or KEEP in loop.pragmas:
            return loop
        return replace(loop, pragmas=(*loop.pragmas, KEEP))
