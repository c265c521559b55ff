"""Simplify a statement: put indices into normal form, remove decided conditions and trivial loops."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import all_of, conjuncts
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.external import IMPORT
from sateen.tensor_ir.ir.stmt import EMPTY, Allocate, For, If, Let, LoopKind, Seq, Stmt, lets, sequence
from sateen.tensor_ir.ir.visit import Rewriter, map_children, with_values


def simplify(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """Normal form of every expression under the ranges of the loops around it.

        for i in [0, 4): if i < 4: A[i * 1 + 0] = 1      =>      for i in [0, 4): A[i] = 1

    Guarantees: no loop of one iteration (except over hardware threads) or of none, no condition that is decided.
    """
    return _Simplifier(analyzer).rewrite(statement)


class _Simplifier(Rewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def rewrite_Expr(self, e: Expr) -> Expr:
        return self.analyzer.simplify(e)

    def rewrite_For(self, s: For) -> Stmt:
        start, extent = self.analyzer.simplify(s.start), self.analyzer.simplify(s.extent)
        if ex.is_const(extent, 0):
            return EMPTY
        with self.analyzer.bound(s.var, start, extent):
            body = self.rewrite(s.body)
        if ex.is_const(extent, 1) and s.kind is not LoopKind.THREAD and IMPORT not in dict(s.pragmas):
            return body  # the normal form of a variable with one value is that value
        if _is_empty(body):
            return EMPTY
        if start is s.start and extent is s.extent and body is s.body:
            return s
        return For(s.var, start, extent, s.kind, body, s.thread, s.pragmas, s.span)

    def rewrite_If(self, s: If) -> Stmt:
        condition = _without_repetition(self.analyzer.simplify(s.condition), self.analyzer)
        if isinstance(condition, ex.Const):
            taken = s.then if condition.value else s.otherwise
            return EMPTY if taken is None else self.rewrite(taken)
        with self.analyzer.assuming(condition):
            then = self.rewrite(s.then)
        otherwise = None if s.otherwise is None else self.rewrite(s.otherwise)
        if otherwise is not None and _is_empty(otherwise):
            otherwise = None
        if _is_empty(then):
            return EMPTY if otherwise is None else If(ex.logical_not(condition), otherwise, None, s.span)
        if condition is s.condition and then is s.then and otherwise is s.otherwise:
            return s
        return If(condition, then, otherwise, s.span)

    def rewrite_Seq(self, s: Seq) -> Stmt:
        new = map_children(s, self.rewrite)
        if new is s:
            return s
        assert isinstance(new, Seq)
        return sequence(*(child for child in new.body if not _is_empty(child)))

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        new = map_children(s, self.rewrite)
        return EMPTY if _is_empty(new.body) else new

    def rewrite_Let(self, s: Let) -> Stmt:
        chain, body = lets(s)
        values: list[Expr] = []
        for let in chain:
            values.append(self.analyzer.simplify(let.value))
            self.analyzer.bind_value(let.var, values[-1])
        body = self.rewrite(body)
        return EMPTY if _is_empty(body) else with_values(chain, values, body)


def _is_empty(s: Stmt) -> bool:
    return isinstance(s, Seq) and not s.body


def _without_repetition(condition: Expr, analyzer: Analyzer) -> Expr:
    terms = {analyzer.keys.of(c): c for c in conjuncts(condition)}
    return all_of(list(terms.values())) if len(terms) != sum(1 for _ in conjuncts(condition)) else condition
