"""Cut loops where the conditions inside them change, so that most iterations test nothing."""

from __future__ import annotations

from functools import reduce

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import For, If, LoopKind, Stmt, sequence
from sateen.tensor_ir.ir.visit import StatementRewriter, rename_bound, substitute, walk


def partition_loops(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """Cut each loop that carries the pragma `partition` into first, middle and last iterations.

        for wo in [0, 4) partition: for wi in [0, 14): if 0 <= wo*14 + wi - 1: S
        =>  for wo in [0, 1): for wi in [0, 14): if 0 <= wo*14 + wi - 1: S
            for wo in [1, 4): for wi in [0, 14): S

    In the middle every linear condition on the loop's variable holds for all values of the loops inside, whose bounds
    no longer depend on it. `simplify` afterwards decides what has become constant. A symbolic range becomes three
    loops, of which those that provably have no iterations are left out. Left alone are vectorized loops, loops over
    blocks and threads, whose iterations each belong to one of them, unrolled ones whose parts would have no constant
    extent, those of symbolic range that would be cut where memory says, and conditions on outer loops only. Requires
    and keeps: each variable bound once (copies are renamed).
    """
    return _Partitioner(analyzer).rewrite(statement)


_WHOLE = (LoopKind.VECTORIZED, LoopKind.THREAD)


class _Partitioner(StatementRewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def rewrite_For(self, s: For) -> Stmt:
        with self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
            wanted = ("partition", True) in s.pragmas and s.kind not in _WHOLE
            bounds = self._always_true(s.var, body) if wanted else None
        pragmas = tuple(p for p in s.pragmas if p[0] != "partition")

        def loop(start: int, stop: int, copy: bool) -> Stmt:
            inner = rename_bound(body) if copy else body
            var = Var(s.var.name) if copy else s.var
            inner = substitute(inner, {s.var: var}) if copy else inner
            return For(var, ex.const(start), ex.const(stop - start), s.kind, inner, s.thread, pragmas, s.span)

        if bounds is None or not isinstance(s.start, ex.Const) or not isinstance(s.extent, ex.Const):
            whole = s if body is s.body else For(s.var, s.start, s.extent, s.kind, body, s.thread, s.pragmas, s.span)
            return self._symbolic(whole) if wanted and s.kind is not LoopKind.UNROLLED else whole
        first, end = int(s.start.value), int(s.start.value) + int(s.extent.value)
        low, high = max(bounds[0], first), min(bounds[1], end - 1)
        if low == first and high == end - 1:
            return loop(first, end, copy=False)
        if low > high:  # each iteration tests something
            if end - first > 4:
                return loop(first, end, copy=False)
            return sequence(*(loop(i, i + 1, copy=i > first) for i in range(first, end)))
        edges = [*range(first, low), *range(high + 1, end)]
        if len(edges) > 4:
            edge_loops = [loop(a, b, copy=True) for a, b in ((first, low), (high + 1, end)) if a < b]
            before = edge_loops[: 1 if low > first else 0]
            after = edge_loops[len(before) :]
        else:
            before = [loop(i, i + 1, copy=True) for i in edges if i < low]
            after = [loop(i, i + 1, copy=True) for i in edges if i > high]
        return sequence(*before, loop(low, high + 1, copy=False), *after)

    def _symbolic(self, s: For) -> Stmt:
        """A loop of symbolic range as those before, in and after the middle. Each evaluates its range anew, so none of
        them reads memory, which the iterations before it may have changed."""
        edges = self._edges(s)
        if edges is None or all_read(s.start, s.extent, *edges):
            return s
        pragmas = tuple(p for p in s.pragmas if p[0] != "partition")
        loops: list[Stmt] = []
        start, end = s.start, self.analyzer.simplify(ex.add(s.start, s.extent))
        low = self.analyzer.simplify(ex.minimum(ex.maximum(edges[0], start), end))
        high = self.analyzer.simplify(ex.maximum(ex.minimum(edges[1], end), low))
        for a, b in ((start, low), (low, high), (high, end)):
            extent = self.analyzer.simplify(ex.subtract(b, a))
            if self.analyzer.prove(extent <= 0):
                continue
            var, inner = Var(s.var.name), rename_bound(s.body)
            loops.append(For(var, a, extent, s.kind, substitute(inner, {s.var: var}), s.thread, pragmas, s.span))
        return sequence(*loops)

    def _edges(self, s: For) -> tuple[Expr, Expr] | None:
        """The range of the loop's variable in which all conditions on it hold for all values of inner loops; None if
        there are no such conditions, or more than one that could end it."""
        inner = {n.var: (n.start, n.extent) for n in walk(s.body) if isinstance(n, For)}
        with self.analyzer.bound(s.var, s.start, s.extent):
            ends: tuple[list[Expr], list[Expr]] = [], []
            for term in _conditions(s.body):
                form = self.analyzer.slack(term)
                if form is None or any(s.var in set(walk(atom)) for atom in form.terms if atom is not s.var):
                    continue
                coefficient = form.terms.get(s.var, 0)
                for var, (start, extent) in inner.items():
                    if (c := form.terms.get(var, 0)) and isinstance(start, ex.Const) and isinstance(extent, ex.Const):
                        form = form.without(var) + c * int(start.value + (0 if c > 0 else extent.value - 1))
                if coefficient == 0 or any(v in inner for atom in form.terms for v in walk(atom)):
                    continue
                rest = self.analyzer.expr(form.without(s.var))
                if coefficient > 0:
                    ends[0].append(0 - ex.floordiv(rest, coefficient))
                else:
                    ends[1].append(ex.add(ex.floordiv(rest, -coefficient), 1))
        if not ends[0] and not ends[1]:
            return None
        low, high = (list(dict.fromkeys(map(self.analyzer.simplify, side))) for side in ends)
        return reduce(ex.maximum, low, s.start), reduce(ex.minimum, high, ex.add(s.start, s.extent))

    def _always_true(self, var: Var, body: Stmt) -> tuple[int, int] | None:
        """The values of `var` for which all conditions on it hold for all values of inner loops; None if there are no
        conditions."""
        inner = [n for n in walk(body) if isinstance(n, For) and isinstance(n.extent, ex.Const)]
        for n in inner:
            self.analyzer.bind(n.var, n.start, n.extent)
        low, high, found = -(1 << 62), 1 << 62, False
        for term in _conditions(body):
            form = self.analyzer.slack(term)
            if form is None:
                continue
            coefficient = form.terms.get(var, 0)
            rest = form.without(var)
            if coefficient == 0 or any(var in set(walk(atom)) for atom in rest.terms):
                continue
            least = self.analyzer.lower(rest)
            if least is None:
                continue
            found = True
            if coefficient > 0:
                low = max(low, -(least // coefficient))
            else:
                high = min(high, least // -coefficient)
        for n in inner:
            self.analyzer.bounds.pop(n.var, None)
        return (low, high) if found else None


def _conditions(body: Stmt) -> list[Expr]:
    """The terms of all conditions in a statement, and for bounds of loops the condition that the constant in a `min` or
    `max` is the result."""
    tests = [n.condition for n in walk(body) if isinstance(n, (If, ex.Select))]
    terms = [term for test in tests for term in conjuncts(test)]
    ends = [end for n in walk(body) if isinstance(n, For) for e in (n.start, n.extent) for end in walk(e)]
    for end in ends:
        if isinstance(end, (ex.Min, ex.Max)):
            kind = ex.LE if isinstance(end, ex.Min) else ex.GE
            terms += [ex.compare(kind, a, b) for a, b in ((end.a, end.b), (end.b, end.a)) if isinstance(a, ex.Const)]
    return terms
