"""Integer reasoning on index expressions: normal forms, ranges, divisibility, proofs.

One Analyzer serves one lowering. It knows the ranges of variables and turns every expression of type `index` into a
linear form over interned atoms; `simplify` writes that form back as an expression. What is known of atoms is in
`atoms.py` and `ranges.py`; rules for floor division and remainder are in `division.py` and `symbols.py`, those for
comparisons in `comparisons.py`. All of it holds for integers that do not overflow, which docs/semantics.md (indices)
grants to an index. Of data only the range of an index that was converted from it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import gcd

from sateen.tensor_ir.arith.comparisons import decide, in_steps, slack
from sateen.tensor_ir.arith.division import divide_linear, modulo_linear
from sateen.tensor_ir.arith.linear import Linear, constant, term
from sateen.tensor_ir.arith.ranges import Bound, Ranges
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import free_vars, map_children, operands_first

_DEEP = 40


class Analyzer(Ranges):
    """Normal forms and proofs under known ranges of variables."""

    def __init__(self) -> None:
        super().__init__()
        self._forms: dict[int, tuple[Expr, Linear]] = {}
        self._simplified: dict[int, tuple[Expr, Expr]] = {}
        self._depth = 0
        """How many calls of `form` and `simplify` are within each other."""

    @classmethod
    def of(cls, arguments: Iterable[Buffer]) -> Analyzer:
        """One that knows of the symbols in the extents of a function's arguments that they are at least 0."""
        analyzer = cls()
        for extent in (e for b in arguments for e in b.shape):
            for symbol in free_vars(extent):
                analyzer.bind_form(symbol, constant(0), None)
        return analyzer

    def forget(self) -> None:
        super().forget()
        self._forms.clear()
        self._simplified.clear()

    @contextmanager
    def assuming(self, condition: Expr) -> Iterator[None]:
        """Assume the linear terms of a conjunction for the duration of a block.

        A variable is not narrowed to a single value, which would replace it: only the variable distinguishes the lanes
        of a vectorized loop.
        """
        saved: list[tuple[Var, Bound]] = []
        for conjunct in conjuncts(condition):
            form = self.slack(conjunct)
            if form is None:
                continue
            for atom, coefficient in form.terms.items():
                bound = self.bounds.get(atom) if isinstance(atom, Var) else None
                most = self.upper(form.without(atom)) if bound is not None and abs(coefficient) == 1 else None
                if bound is None or most is None:
                    continue
                assert isinstance(atom, Var)
                interval = self.atom_interval(atom)
                if coefficient == 1 and interval.low is not None and interval.low < -most != interval.high:
                    saved.append((atom, bound))
                    self.bounds[atom] = Bound(constant(-most), bound.high)
                elif coefficient == -1 and interval.high is not None and interval.low != most < interval.high:
                    saved.append((atom, bound))
                    self.bounds[atom] = Bound(bound.low, constant(most))
        if saved:
            self.forget()
        try:
            yield
        finally:
            for var, bound in reversed(saved):
                self.bounds[var] = bound
            if saved:
                self.forget()

    # Normal forms.

    def form(self, e: Expr) -> Linear:
        """The linear form of an index."""
        known = self._forms.get(id(e))
        if known is not None:
            return known[1]
        self._enter(e)
        result = self._form(e)
        self._depth -= 1
        self._forms[id(e)] = (e, result)
        return result

    def _enter(self, e: Expr) -> None:
        """Before the analysis of `e`: if it is deeply nested, operands are analysed first, one by one."""
        self._depth += 1
        if self._depth % _DEEP == 0:
            done: set[int] = set()
            for operand in operands_first(e, done):
                done.add(id(operand))
                if operand is not e:
                    (self.form if operand.dtype == INDEX else self.simplify)(operand)

    def _form(self, e: Expr) -> Linear:
        assert e.dtype == INDEX, f"{e} is data"
        match e:
            case ex.Const():
                return constant(int(e.value))
            case Var():
                low, high = self.bounds.get(e, Bound(None, None))
                return low if low is not None and high is not None and low.same(high) else term(e)
            case ex.Add():
                return self.recombine(self.form(e.a) + self.form(e.b))
            case ex.Sub():
                return self.recombine(self.form(e.a) - self.form(e.b))
            case ex.Mul():
                a, b = self.form(e.a), self.form(e.b)
                if b.is_constant:
                    return a * b.constant
                if a.is_constant:
                    return b * a.constant
                return self.product(a, b)
            case ex.FloorDiv() | ex.FloorMod():
                a, b = self.form(e.a), self.form(e.b)
                if b.is_constant and b.constant > 0:
                    rule = divide_linear if isinstance(e, ex.FloorDiv) else modulo_linear
                    return rule(self, a, b.constant)
                return self._by_symbols(type(e), a, b)
            case ex.Min() | ex.Max():
                return self._extremum(e, self.form(e.a), self.form(e.b))
        simple = map_children(e, self.simplify)
        return self._opaque(simple, None) if type(simple) is type(e) else self.form(simple)

    def _by_symbols(self, kind: type[ex.FloorDiv | ex.FloorMod], a: Linear, b: Linear) -> Linear:
        """The quotient or remainder of two forms as an atom."""
        result = self._opaque(kind(self.expr(a), self.expr(b)), (a, b))
        known = self.symbolic_divisions if kind is ex.FloorDiv else self.symbolic_remainders
        known.update(dict.fromkeys(result.terms, (a, b)))
        return result

    def _extremum(self, e: ex.Min | ex.Max, a: Linear, b: Linear) -> Linear:
        low, high = self.interval(a - b)
        if low is not None and low >= 0:
            return b if isinstance(e, ex.Min) else a
        if high is not None and high <= 0:
            return a if isinstance(e, ex.Min) else b
        return self._opaque(type(e)(self.expr(a), self.expr(b)), (a, b))

    def divisor(self, form: Linear) -> int:
        """A number that divides the form's value, whatever its variables are; 0 divides 0 only.

        min(8·i, 24) is a multiple of 8.
        """
        return gcd(form.constant, *(c * self._divisor(atom) for atom, c in form.terms.items()))

    def _divisor(self, atom: Expr) -> int:
        if isinstance(atom, ex.Min | ex.Max):
            return gcd(self.divisor(self.form(atom.a)), self.divisor(self.form(atom.b)))
        return 1

    def recombine(self, form: Linear) -> Linear:
        """k·(x // k) + x % k is x."""
        for atom, coefficient in form.terms.items():
            if atom in self.remainders or atom in self.symbolic_remainders:
                numerator, multiple = self._multiple(atom)
                quotient = multiple * coefficient
                if quotient.terms and all(form.terms.get(a) == c for a, c in quotient.terms.items()):
                    return self.recombine(form.without(atom) - quotient + numerator * coefficient)
        return form

    def _multiple(self, remainder: Expr) -> tuple[Linear, Linear]:
        """x and k·(x // k) of an atom x % k."""
        if remainder in self.remainders:
            x, k = self.remainders[remainder]
            return x, divide_linear(self, x, k) * k
        x, by = self.symbolic_remainders[remainder]
        return x, self.product(self._by_symbols(ex.FloorDiv, x, by), by)

    def _opaque(self, e: Expr, forms: tuple[Linear, ...] | None) -> Linear:
        """`e` as an atom: equal ones (by structure) are one."""
        if isinstance(e, (ex.Const, Var)):
            return self._form(e)
        key = (type(e), *(f.key for f in forms)) if forms is not None else self.keys.of(e)
        return term(self.intern(key, lambda: e))

    # Expressions.

    def simplify(self, e: Expr) -> Expr:
        """An equal expression in normal form: indices linear, provable comparisons of them folded."""
        known = self._simplified.get(id(e))
        if known is None:
            self._enter(e)
            known = self._simplified[id(e)] = (e, self._simplify(e))
            self._depth -= 1
        return known[1]

    def _simplify(self, e: Expr) -> Expr:
        if isinstance(e, (ex.Const, Var)) and e not in self.bounds:
            return e
        if e.dtype == INDEX:
            form = self.form(e)
            written = self.expr(form)
            return e if self.keys.of(written) == self.keys.of(e) else written
        if isinstance(e, ex.Compare) and e.a.dtype == INDEX:
            return self._comparison(e)
        return map_children(e, self.simplify)

    def _comparison(self, e: ex.Compare) -> Expr:
        verdict = self.decide(e)
        if verdict is not None:
            return ex.const(verdict)
        shorter = in_steps(self, e)
        return map_children(e, self.simplify) if shorter is None else shorter

    def decide(self, e: ex.Compare) -> bool | None:
        """Whether a comparison of indices always holds (True), never holds (False) or may be either (None)."""
        return decide(self, e)

    def slack(self, e: Expr) -> Linear | None:
        """The form that is at least 0 exactly where `e`, an order of two indices, holds; None for other expressions."""
        return slack(self, e)

    def prove(self, condition: Expr) -> bool:
        """Whether the condition is known to hold; False means not known."""
        return ex.is_const(self.simplify(condition), True)

    def constant(self, e: Expr) -> int | None:
        """The value of an index if it is known, otherwise None."""
        form = self.form(e)
        return form.constant if form.is_constant else None
