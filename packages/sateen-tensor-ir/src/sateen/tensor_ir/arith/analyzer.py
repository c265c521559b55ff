"""Integer reasoning on index expressions: normal forms, ranges, divisibility, proofs.

One Analyzer serves one lowering. It knows the ranges of variables and turns every expression of type `index` into a
linear form over interned atoms; `simplify` writes that form back as an expression. Rules for floor division and
remainder are in `division.py`. All of it holds for integers that do not overflow, which docs/semantics.md (indices)
grants to an index. Of data only the range of an index that was converted from it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from typing import NamedTuple

from sateen.tensor_ir.arith.division import divide_linear, modulo_linear
from sateen.tensor_ir.arith.linear import Linear, constant, term
from sateen.tensor_ir.arith.structure import StructuralKeys
from sateen.tensor_ir.arith.symbols import (
    greatest_quotient,
    product_interval,
    quotient_interval,
    remainder_interval,
)
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.types import INDEX, int_range, wrap
from sateen.tensor_ir.ir.visit import map_children, operands_first

_DEEP = 40
_CLAMPS = 8
"""The most nested operations in which the range of data is searched."""


class Interval(NamedTuple):
    """A range of integers, ends included; None is unbounded."""

    low: int | None
    high: int | None


_UNKNOWN = Interval(None, None)


class Bound(NamedTuple):
    """The range of a variable, ends included, as linear forms over variables bound before it; None is unbounded."""

    low: Linear | None
    high: Linear | None


class Analyzer:
    """Normal forms and proofs under known ranges of variables."""

    def __init__(self) -> None:
        self.bounds: dict[Var, Bound] = {}
        self._atoms: dict[object, Expr] = {}
        self._forms: dict[int, tuple[Expr, Linear]] = {}
        self._simplified: dict[int, tuple[Expr, Expr]] = {}
        self._intervals: dict[Expr, Interval] = {}
        self._depth = 0
        """How many calls of `form` and `simplify` are within each other."""
        self.divisions: dict[Expr, tuple[Linear, int]] = {}
        """Atoms that are `form // k`."""
        self.remainders: dict[Expr, tuple[Linear, int]] = {}
        """Atoms that are `form % k`."""
        self.symbolic_divisions: dict[Expr, tuple[Linear, Linear]] = {}
        """Atoms that are quotients of a form by another one."""
        self.symbolic_remainders: dict[Expr, tuple[Linear, Linear]] = {}
        """Atoms that are remainders of a form by another one."""
        self.products: dict[Expr, tuple[Expr, Expr]] = {}
        """Atoms that are products of two."""
        self.keys = StructuralKeys()

    # Ranges.

    def bind(self, var: Var, low: Expr | int, extent: Expr | int) -> None:
        """Declare that `var` is in [low, low + extent), which is not empty: max(x, 0) is x there."""
        first, count = self.form(ex.as_expr(low)), ex.as_expr(extent)
        if isinstance(count, ex.Max) and ex.is_const(count.b, 0):
            count = count.a
        self.bounds[var] = Bound(first, first + self.form(count) - 1)
        self._forget()

    def bind_form(self, var: Var, low: Linear | None, high: Linear | None) -> None:
        """Declare that `var` is in [low, high]."""
        self.bounds[var] = Bound(low, high)
        self._forget()

    def bind_value(self, var: Var, value: Expr) -> None:
        """Declare that `var` holds `value`, an index or data."""
        if not value.dtype.is_int:
            return
        low, high = self.interval(self.form(value)) if value.dtype == INDEX else self.data_interval(value)
        self.bounds[var] = Bound(None if low is None else constant(low), None if high is None else constant(high))
        self._forget()

    @contextmanager
    def bound(self, var: Var, low: Expr | int, extent: Expr | int) -> Iterator[None]:
        """`bind` for the duration of a block."""
        old = self.bounds.get(var)
        self.bind(var, low, extent)
        try:
            yield
        finally:
            if old is None:
                del self.bounds[var]
            else:
                self.bounds[var] = old
            self._forget()

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
            self._forget()
        try:
            yield
        finally:
            for var, bound in reversed(saved):
                self.bounds[var] = bound
            if saved:
                self._forget()

    def lower(self, form: Linear) -> int | None:
        """A lower bound of the form's value; None if none is known."""
        return self._extreme(form, lowest=True)

    def upper(self, form: Linear) -> int | None:
        """An upper bound of the form's value; None if none is known."""
        return self._extreme(form, lowest=False)

    def interval(self, form: Linear) -> Interval:
        """Both bounds."""
        return Interval(self.lower(form), self.upper(form))

    def _extreme(self, form: Linear, *, lowest: bool) -> int | None:
        """Replace atoms by their bounds, symbolic ones first, so that `n - 1 - i` with `i < n` is seen to be >= 0."""
        for _ in range(64):
            if form.is_constant:
                return form.constant
            for atom, coefficient in reversed(list(form.terms.items())):
                end = self._symbolic_end(atom, lowest=(coefficient > 0) == lowest)
                if end is not None and not end.is_constant:
                    form = form.without(atom) + end * coefficient
                    break
            else:
                total = form.constant
                for atom, coefficient in form.terms.items():
                    low, high = self.atom_interval(atom)
                    end_value = low if (coefficient > 0) == lowest else high
                    if end_value is None:
                        break
                    total += end_value * coefficient
                else:
                    return total
                whole = self._without_divisions(form, lowest=lowest)
                if whole is None:
                    return None
                form = whole
        return None

    def _symbolic_end(self, atom: Expr, *, lowest: bool) -> Linear | None:
        """An end of an atom's range as a form; None if none is known."""
        if isinstance(atom, Var):
            bound = self.bounds.get(atom)
            return None if bound is None else bound.low if lowest else bound.high
        if lowest:
            return None
        if atom in self.symbolic_divisions:
            return greatest_quotient(self, *self.symbolic_divisions[atom])
        if atom in self.symbolic_remainders:
            divisor = self.symbolic_remainders[atom][1]
            least = self.lower(divisor)
            return divisor - 1 if least is not None and least >= 0 else None
        return None

    def greatest(self, form: Linear) -> Linear:
        """A form that is no less, where each variable is replaced by the end of its range, if it has one."""
        result = constant(form.constant)
        for atom, coefficient in form.terms.items():
            end = self._symbolic_end(atom, lowest=coefficient < 0) if isinstance(atom, Var) else None
            result = result + (term(atom) if end is None else end) * coefficient
        whole = self._without_divisions(result, lowest=False)
        return result if whole is None else whole

    def _without_divisions(self, form: Linear, *, lowest: bool) -> Linear | None:
        """A bound from x - k + 1 <= k·(x // k) <= x, such as n for (n + 7) // 8 · 8, or from x // k - y // k where
        x - y is known; None if the form has no such terms."""
        quotients = [(atom, c, *self.divisions[atom]) for atom, c in form.terms.items() if atom in self.divisions]
        for (a, c, x, k), (b, d, y, m) in combinations(quotients, 2):
            if c != -d or k != m:
                continue
            least = (c > 0) == lowest
            apart = self.lower(x - y) if least else self.upper(x - y)
            if apart is not None:
                return form.without(a).without(b) + c * (apart // k if least else -(-apart // k))
        for atom, coefficient, x, k in quotients:
            if coefficient % k == 0:
                end = x - (k - 1) if (coefficient > 0) == lowest else x
                return form.without(atom) + end * (coefficient // k)
        return None

    def atom_interval(self, atom: Expr) -> Interval:
        """The range of one atom."""
        known = self._intervals.get(atom)
        if known is None:
            known = self._intervals[atom] = self._atom_interval(atom)
        return known

    def _atom_interval(self, atom: Expr) -> Interval:
        if isinstance(atom, Var):
            bound = self.bounds.get(atom)
            if bound is None:
                return Interval(None, None)
            return Interval(
                None if bound.low is None else self.lower(bound.low),
                None if bound.high is None else self.upper(bound.high),
            )
        if atom in self.divisions:
            form, divisor = self.divisions[atom]
            low, high = self.interval(form)
            return Interval(None if low is None else low // divisor, None if high is None else high // divisor)
        if atom in self.remainders:
            form, divisor = self.remainders[atom]
            low, high = self.interval(form)
            top = divisor - 1 if low is None or high is None or low < 0 else min(high, divisor - 1)
            return Interval(0, top)
        if atom in self.products:
            return Interval(*product_interval(*map(self.atom_interval, self.products[atom])))
        if atom in self.symbolic_divisions:
            return Interval(*quotient_interval(self, *self.symbolic_divisions[atom]))
        if atom in self.symbolic_remainders:
            return Interval(*remainder_interval(self, *self.symbolic_remainders[atom]))
        if isinstance(atom, (ex.Min, ex.Max)):
            return _extremum(atom, self.interval(self.form(atom.a)), self.interval(self.form(atom.b)))
        if isinstance(atom, ex.Select):
            return _union(self.interval(self.form(atom.then)), self.interval(self.form(atom.otherwise)))
        if isinstance(atom, ex.Cast):
            return self.data_interval(atom.value)
        return Interval(None, None)

    def data_interval(self, e: Expr, deep: int = _CLAMPS) -> Interval:
        """The range of data as an index: that of a short type, or that of a clamp around it."""
        if e.dtype.is_bool:
            return Interval(0, 1)
        if not e.dtype.is_int:
            return _UNKNOWN
        least, most = int_range(e.dtype)
        match e:
            case ex.Const():
                return Interval(int(e.value), int(e.value))
            case Var() if e in self.bounds:
                return self.atom_interval(e)
            case ex.Min() | ex.Max() if deep:
                return _extremum(e, self.data_interval(e.a, deep - 1), self.data_interval(e.b, deep - 1))
            case ex.Cast() if deep:
                is_index = e.value.dtype == INDEX
                low, high = self.interval(self.form(e.value)) if is_index else self.data_interval(e.value, deep - 1)
                if low is not None and high is not None and least <= low and high <= most:
                    return Interval(low, high)
        return Interval(least, most) if e.dtype.bits < INDEX.bits else _UNKNOWN

    def modulus(self, form: Linear) -> tuple[int, int]:
        """(m, r) such that the value is r modulo m, with the largest m that the coefficients show; m 0: constant."""
        m = form.gcd()
        return m, form.constant % m if m else form.constant

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

    def product(self, a: Linear, b: Linear) -> Linear:
        """Multiply out, so that (n + 1)·m and n·m + m have the same form; factors of an atom are kept in creation
        order."""
        result = constant(a.constant * b.constant)
        result = result + Linear(0, {x: c * b.constant for x, c in a.terms.items() if b.constant})
        result = result + Linear(0, {x: c * a.constant for x, c in b.terms.items() if a.constant})
        for x, cx in a.terms.items():
            for y, cy in b.terms.items():
                atom = self.intern(("*", frozenset((x, y))), partial(ex.Mul, x, y))
                self.products[atom] = (x, y)
                result = result + term(atom, cx * cy)
        return result

    def _extremum(self, e: ex.Min | ex.Max, a: Linear, b: Linear) -> Linear:
        low, high = self.interval(a - b)
        if low is not None and low >= 0:
            return b if isinstance(e, ex.Min) else a
        if high is not None and high <= 0:
            return a if isinstance(e, ex.Min) else b
        return self._opaque(type(e)(self.expr(a), self.expr(b)), (a, b))

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

    def intern(self, key: object, build: Callable[[], Expr]) -> Expr:
        """The atom of this key, built at first use."""
        atom = self._atoms.get(key)
        if atom is None:
            atom = self._atoms[key] = build()
        return atom

    def quotient(self, form: Linear, divisor: int) -> Linear:
        """The atom `form // divisor`, without applying rules."""
        atom = self.intern(("//", form.key, divisor), lambda: ex.FloorDiv(self.expr(form), ex.const(divisor)))
        self.divisions[atom] = (form, divisor)
        return term(atom)

    def remainder(self, form: Linear, divisor: int) -> Linear:
        """The atom `form % divisor`, without applying rules."""
        atom = self.intern(("%", form.key, divisor), lambda: ex.FloorMod(self.expr(form), ex.const(divisor)))
        self.remainders[atom] = (form, divisor)
        return term(atom)

    def _opaque(self, e: Expr, forms: tuple[Linear, ...] | None) -> Linear:
        """`e` as an atom: equal ones (by structure) are one."""
        if isinstance(e, (ex.Const, Var)):
            return self._form(e)
        key = (type(e), *(f.key for f in forms)) if forms is not None else self.keys.of(e)
        return term(self.intern(key, lambda: e))

    # Writing back.

    def expr(self, form: Linear) -> Expr:
        """The form as an expression: positive terms first, the constant last."""
        result: Expr | None = None
        for atom, coefficient in sorted(form.terms.items(), key=lambda item: item[1] < 0):
            if result is None:
                result = ex.multiply(atom, wrap(coefficient, INDEX))
            elif coefficient < 0:
                result = ex.subtract(result, ex.multiply(atom, wrap(-coefficient, INDEX)))
            else:
                result = ex.add(result, ex.multiply(atom, wrap(coefficient, INDEX)))
        rest = wrap(form.constant, INDEX)
        if result is None:
            return ex.const(rest)
        return ex.subtract(result, wrap(-rest, INDEX)) if rest < 0 else ex.add(result, rest)

    def _forget(self) -> None:
        """Drop simplified expressions, since ranges have changed."""
        self._forms.clear()
        self._simplified.clear()
        self._intervals.clear()

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
        shorter = self._in_steps(e)
        return map_children(e, self.simplify) if shorter is None else shorter

    def _in_steps(self, e: ex.Compare) -> Expr | None:
        """A comparison without the terms that never decide it: 16·i + j < 32 is i < 2 where j is in [0, 16).

        None if there are no such terms. So it shows if all lanes of a vector go the same way.
        """
        rest = self.slack(e)
        if rest is None:
            return None
        for step in sorted({abs(c) for c in rest.terms.values()} - {1}, reverse=True):
            steps = {atom: c // step for atom, c in rest.terms.items() if c % step == 0}
            low, high = self.interval(Linear(rest.constant, {a: c for a, c in rest.terms.items() if a not in steps}))
            if len(steps) < len(rest.terms) and low is not None and high is not None and low // step == high // step:
                end = low // step + 1
                above = Linear(max(end, 0), {atom: c for atom, c in steps.items() if c > 0})
                below = Linear(max(-end, 0), {atom: -c for atom, c in steps.items() if c < 0})
                return ex.compare(ex.LT, self.expr(below), self.expr(above))
        return None

    def decide(self, e: ex.Compare) -> bool | None:
        """Whether a comparison of indices always holds (True), never holds (False) or may be either (None)."""
        difference = self.form(e.b) - self.form(e.a)
        low, high = self.interval(difference)
        if isinstance(e, (ex.EQ, ex.NE)):
            m, r = self.modulus(difference)
            never = (low is not None and low > 0) or (high is not None and high < 0) or (m > 1 and r != 0)
            always = low == high == 0
            if isinstance(e, ex.NE):
                never, always = always, never
            return True if always else False if never else None
        if isinstance(e, (ex.GT, ex.GE)):
            low, high = (None if high is None else -high), (None if low is None else -low)
        least = 1 if isinstance(e, (ex.LT, ex.GT)) else 0
        if low is not None and low >= least:
            return True
        return False if high is not None and high < least else None

    def slack(self, e: Expr) -> Linear | None:
        """The form that is at least 0 exactly where `e`, an order of two indices, holds; None for other expressions."""
        if not isinstance(e, (ex.LT, ex.LE, ex.GT, ex.GE)) or e.a.dtype != INDEX:
            return None
        a, b = self.form(e.a), self.form(e.b)
        difference = a - b if isinstance(e, (ex.GT, ex.GE)) else b - a
        return difference - 1 if isinstance(e, (ex.LT, ex.GT)) else difference

    def prove(self, condition: Expr) -> bool:
        """Whether the condition is known to hold; False means not known."""
        return ex.is_const(self.simplify(condition), True)

    def constant(self, e: Expr) -> int | None:
        """The value of an index if it is known, otherwise None."""
        form = self.form(e)
        return form.constant if form.is_constant else None


def _extremum(e: ex.Min | ex.Max, a: Interval, b: Interval) -> Interval:
    """The range of the smaller or larger of two values; one may give a bound that is unknown for the other."""
    pick: Callable[..., int] = min if isinstance(e, ex.Min) else max
    ends: list[int | None] = []
    for x, y, known_suffices in ((a.low, b.low, pick is max), (a.high, b.high, pick is min)):
        if x is None or y is None:
            ends.append((x if x is not None else y) if known_suffices else None)
        else:
            ends.append(pick(x, y))
    return Interval(*ends)


def _union(a: Interval, b: Interval) -> Interval:
    return Interval(
        None if a.low is None or b.low is None else min(a.low, b.low),
        None if a.high is None or b.high is None else max(a.high, b.high),
    )
