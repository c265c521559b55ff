"""Turn conditions into loop bounds, or move them out of loops."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.choices import all_of, conjuncts
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, If, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, map_children, walk


def tighten_loops(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """A condition that governs a whole loop body, taken term by term, leaves the loop:

        for k in [0, 3): for w in [0, 8): if 0 <= h + k - 1 and c: S
        =>  if c: for k in [max(0, 1 - h), 3): for w in [0, 8): S

    A term without the loop's variable is tested before the loop. A linear term becomes a bound of a serial or parallel
    loop, and of an unrolled loop if the bound is constant. Terms that load data stay, and inside a vectorized loop
    those that differ between its lanes.
    """
    return _Tightener(analyzer).rewrite(statement)


class _Tightener(StatementRewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.lane: Var | None = None
        """The variable of the vectorized loop around."""

    def rewrite_For(self, s: For) -> Stmt:
        around, self.lane = self.lane, s.var if s.kind is LoopKind.VECTORIZED else self.lane
        with self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
        self.lane = around
        if not isinstance(body, If) or body.otherwise is not None or s.kind is LoopKind.THREAD:
            return s if body is s.body else For(s.var, s.start, s.extent, s.kind, body, s.thread, s.pragmas, s.span)
        outside: list[Expr] = []
        inside: list[Expr] = []
        start, stop = s.start, ex.add(s.start, s.extent)
        for term in conjuncts(body.condition):
            variables = set(walk(term))
            if any(isinstance(v, Load) for v in variables):
                inside.append(term)
            elif s.var not in variables:
                outside.append(term)
            else:
                bounds = self._bounds(s, term)
                if bounds is None:
                    inside.append(term)
                    continue
                start = ex.maximum(start, bounds[0]) if bounds[0] is not None else start
                stop = ex.minimum(stop, bounds[1]) if bounds[1] is not None else stop
        start = self.analyzer.simplify(start)
        extent = self.analyzer.simplify(ex.subtract(stop, start))
        low = self.analyzer.lower(self.analyzer.form(extent))
        if low is None or low < 0:
            extent = self.analyzer.simplify(ex.maximum(extent, 0))
        inner = body.then if not inside else If(all_of(inside), body.then, None, body.span)
        loop = For(s.var, start, extent, s.kind, inner, s.thread, s.pragmas, s.span)
        return If(all_of(outside), loop, None, body.span) if outside else loop

    def _bounds(self, s: For, term: Expr) -> tuple[Expr | None, Expr | None] | None:
        """(first, end) of the loop variable where `term` holds, each None without a limit; None: not linear."""
        fixed_extent = s.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED)
        form = None if s.kind is LoopKind.VECTORIZED else self.analyzer.slack(term)
        if form is None:
            return None
        coefficient = form.terms.get(s.var, 0)
        rest = form.without(s.var)
        others = {node for atom in rest.terms for node in walk(atom)}
        if coefficient == 0 or s.var in others or self.lane in others or (fixed_extent and not rest.is_constant):
            return None
        value = self.analyzer.expr(rest)
        if coefficient > 0:
            return 0 - ex.floordiv(value, coefficient), None
        return None, ex.add(ex.floordiv(value, -coefficient), 1)

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        new = map_children(s, self.rewrite)
        body = new.body
        if (
            isinstance(body, If)
            and body.otherwise is None
            and not any(isinstance(n, Load) for n in walk(body.condition))
        ):
            return If(body.condition, Allocate(s.buffer, body.then, s.span), None, body.span)
        return new

    def rewrite_If(self, s: If) -> Stmt:
        with self.analyzer.assuming(s.condition):
            then = self.rewrite(s.then)
        otherwise = None if s.otherwise is None else self.rewrite(s.otherwise)
        if isinstance(then, If) and then.otherwise is None and otherwise is None:
            return If(ex.logical_and(s.condition, then.condition), then.then, None, s.span)
        if then is s.then and otherwise is s.otherwise:
            return s
        return If(s.condition, then, otherwise, s.span)
