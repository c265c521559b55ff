"""Make statements of traced values."""

from __future__ import annotations

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Call, Expr, Var
from sateen.tensor_ir.ir.external import INT, PACKED, function_name
from sateen.tensor_ir.ir.stmt import Evaluate, Let, Stmt, While, lets, sequence
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, children, map_children, walk, with_values


def call_traces(statement: Stmt, _: Analyzer) -> Stmt:
    """A packed function in an expression gets its values in a statement before, and the expression its last value.

        C[i] = packed.show(i, A[i]) + 1     =>      let traced = A[i];  packed.show(i, traced);  C[i] = traced + 1

    Raises LoweringError for one in a choice, whose values may not be there, and in the condition of a `while`.
    """
    return _Caller().rewrite(statement)


class _Caller(StatementRewriter):
    def rewrite_Evaluate(self, s: Evaluate) -> Stmt:
        return s

    def rewrite_Let(self, s: Let) -> Stmt:
        chain, body = lets(s)
        values = [(let, _Traces()) for let in chain]
        rewritten = self.rewrite(body)
        for let, traces in reversed(values):
            _check_choices(let.value, is_repeated=False)
            rewritten = with_values([let], [traces.rewrite(let.value)], rewritten)
            rewritten = traces.around(rewritten)
        return rewritten

    def rewrite_Stmt(self, s: Stmt) -> Stmt:
        traces = _Traces()
        for e in children(s):
            if isinstance(e, Expr):
                _check_choices(e, is_repeated=isinstance(s, While))

        def child(node: Stmt | Expr) -> Stmt | Expr:
            return traces.rewrite(node) if isinstance(node, Expr) else self.rewrite(node)

        return traces.around(map_children(s, child))


class _Traces(SharingRewriter):
    """Replaces traces by variables."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Var, Expr, Call]] = []

    def rewrite_Call(self, e: Call) -> Expr:
        e = self.descend(e)
        if not e.name.startswith(PACKED):
            return e
        *others, last = e.args
        traced = Var("traced", last.dtype)
        self.found.append((traced, last, Call(e.name, (*others, traced), INT)))
        return traced

    def around(self, s: Stmt) -> Stmt:
        """A statement after the calls of the traces in it."""
        for traced, value, call in reversed(self.found):
            s = Let(traced, value, sequence(Evaluate(call, getattr(s, "span", None)), s))
        return s


def _check_choices(e: Expr, *, is_repeated: bool) -> None:
    """Raise LoweringError for a trace that is not evaluated exactly once where its statement is."""
    for node in walk(e):
        chosen: tuple[Expr, ...] = ()
        match node:
            case ex.Select():
                chosen = (node.then, node.otherwise)
            case ex.And() | ex.Or():
                chosen = (node.b,)
            case ex.Piecewise():
                chosen = node.branches
        for part in (e,) if is_repeated else chosen:
            for call in walk(part):
                if isinstance(call, Call) and call.name.startswith(PACKED):
                    place = "the condition of a while" if is_repeated else f"a choice: {node}"
                    raise LoweringError(
                        f"trace by {function_name(call.name)!r} expects values that are always computed, found "
                        f"{place}; trace the whole of it"
                    )
