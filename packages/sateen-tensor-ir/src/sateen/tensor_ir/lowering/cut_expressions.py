"""Cut deeply nested expressions into parts, so that later passes can visit each by recursion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.arith.linear import ZERO, Linear, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.stmt import For, If, Let, Stmt, While, lets
from sateen.tensor_ir.ir.visit import StatementRewriter, children, map_children, operands_first, walk

DEEPEST = 128
"""The most nested operations of an expression that stays as it is."""

PIECE = 100
"""The number of nested operations in a part that is cut off."""

Part = tuple[Var, Expr]


def cut_expressions(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """An expression of more than DEEPEST operations within each other becomes lets of PIECE each.

        C[i] = f(f(... f(A[i])))      =>      let part = f(... f(A[i]));  C[i] = f(... f(part))

    An operand that is evaluated only if it is chosen stays there, unless all its loads are in bounds. Raises
    LoweringError if such an operand, or the condition of a `while`, is too deep itself.
    """
    return _Cutter(analyzer).rewrite(statement)


class _Cutter(StatementRewriter):
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.known: list[Linear] = []
        """The values that conditions around a statement show to be at least 0."""

    def rewrite_Stmt(self, s: Stmt) -> Stmt:
        parts: list[Part] = []
        values = self._cut([e for e in children(s) if isinstance(e, Expr)], parts, movable=not isinstance(s, While))

        def child(node: Stmt | Expr) -> Stmt | Expr:
            return values.get(id(node), node) if isinstance(node, Expr) else self.rewrite(node)

        if isinstance(s, For):
            with self.analyzer.bound(s.var, s.start, s.extent):
                return _within_lets(parts, map_children(s, child))
        return _within_lets(parts, map_children(s, child))

    def rewrite_If(self, s: If) -> Stmt:
        parts: list[Part] = []
        condition = self._cut([s.condition], parts, movable=True).get(id(s.condition), s.condition)
        slacks = [slack for c in conjuncts(s.condition) if (slack := self.analyzer.slack(c)) is not None]
        self.known += slacks
        then = self.rewrite(s.then)
        del self.known[len(self.known) - len(slacks) :]
        otherwise = None if s.otherwise is None else self.rewrite(s.otherwise)
        unchanged = condition is s.condition and then is s.then and otherwise is s.otherwise
        return s if unchanged else _within_lets(parts, If(condition, then, otherwise, s.span))

    def rewrite_Let(self, s: Let) -> Stmt:
        parts: list[Part] = []
        chain, body = lets(s)
        for let in chain:
            parts.append((let.var, self._cut([let.value], parts, movable=True).get(id(let.value), let.value)))
        new = self.rewrite(body)
        unchanged = new is body and len(parts) == len(chain)
        return s if unchanged else _within_lets(parts, new)

    def _cut(self, roots: Sequence[Expr], parts: list[Part], *, movable: bool) -> dict[int, Expr]:
        """The new roots of those that are too deep, by id; the parts that are cut off are added to `parts`."""
        if all(_is_small(root) for root in roots):
            return {}
        heights: dict[int, int] = {}
        order = [(e, _operands(e)) for root in roots for e in _measured(root, heights)]
        if all(heights[id(root)] <= DEEPEST for root in roots):
            return {}
        always = always_evaluated(roots)
        values: dict[int, Expr] = {}
        unsafe: set[int] = set()
        for e, operands in order:
            value = map_children(e, lambda child: values[id(child)])
            height = 1 + max((heights[id(c)] for c in operands), default=0)
            if any(id(c) in unsafe for c in operands) or (isinstance(e, Load) and not self._is_in_bounds(e)):
                unsafe.add(id(e))
            if height >= PIECE and movable and (id(e) in always or id(e) not in unsafe):
                part = Var("part", e.dtype)
                parts.append((part, value))
                value, height = part, 0
            if height > DEEPEST:
                raise LoweringError(
                    f"an expression has more than {DEEPEST} operations within each other in operands that are "
                    "evaluated only where they are chosen (select, and, or, piecewise); compute parts of it as tensors "
                    "of their own"
                )
            values[id(e)], heights[id(e)] = value, height
        return values

    def _is_in_bounds(self, load: Load) -> bool:
        for index, extent in zip(load.indices, load.buffer.shape, strict=True):
            form = self.analyzer.form(index)
            if not isinstance(extent, Const) or not self._is_natural(form):
                return False
            if not self._is_natural(constant(int(extent.value) - 1) - form):
                return False
        return True

    def _is_natural(self, form: Linear) -> bool:
        """Whether an index is at least 0, by its range or by a condition around the statement."""
        return any((low := self.analyzer.lower(form - slack)) is not None and low >= 0 for slack in (ZERO, *self.known))


def _is_small(root: Expr) -> bool:
    """Whether an expression has too few nodes to be deep."""
    return sum(1 for _ in islice(walk(root), DEEPEST + 1)) <= DEEPEST


def _operands(e: Expr) -> list[Expr]:
    return [child for child in children(e) if isinstance(child, Expr)]


def _measured(root: Expr, heights: dict[int, int]) -> list[Expr]:
    """The nodes beneath a root that are not in `heights` yet, operands first; adds their heights."""
    nodes = []
    for e in operands_first(root, heights):
        heights[id(e)] = 1 + max((heights[id(c)] for c in _operands(e)), default=0)
        nodes.append(e)
    return nodes


def always_evaluated(roots: Sequence[Expr]) -> set[int]:
    """The ids of nodes that are evaluated with the roots for any choices."""
    pending = list(roots)
    found: set[int] = set()
    while pending:
        e = pending.pop()
        if id(e) in found:
            continue
        found.add(id(e))
        match e:
            case ex.Select():
                pending.append(e.condition)
            case ex.And() | ex.Or():
                pending.append(e.a)
            case ex.Piecewise():
                pending.append(e.index)
            case _:
                pending += _operands(e)
    return found


def _within_lets(parts: Sequence[Part], body: Stmt) -> Stmt:
    for var, value in reversed(parts):
        body = Let(var, value, body, body.span)
    return body
