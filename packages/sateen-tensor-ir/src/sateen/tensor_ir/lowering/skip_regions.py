"""Leave out the loops that the pragma `debug_skip_region` names."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.stmt import EMPTY, For, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter

SKIP = ("debug_skip_region", True)


def skip_regions(body: Stmt, _: Analyzer) -> Stmt:
    """A loop with the pragma does nothing, so that the time of the rest can be seen. What it would compute is not
    there: the results are wrong.

    for i in [0, 10) debug_skip_region: C[i] = A[i]     =>     pass
    """
    return _Skipper().rewrite(body)


class _Skipper(StatementRewriter):
    def rewrite_For(self, s: For) -> Stmt:
        return EMPTY if SKIP in s.pragmas else self.descend(s)
