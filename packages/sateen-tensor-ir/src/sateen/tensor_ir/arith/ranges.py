"""Ranges of linear forms, from the ranges of variables and from what the other atoms consist of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import NamedTuple

from sateen.tensor_ir.arith.atoms import Atoms
from sateen.tensor_ir.arith.linear import Linear, constant, term
from sateen.tensor_ir.arith.symbols import (
    greatest_quotient,
    product_interval,
    quotient_interval,
    remainder_interval,
)
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.types import INDEX, int_range

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


class Ranges(Atoms, ABC):
    """Ranges of variables, and of the linear forms that contain them."""

    def __init__(self) -> None:
        super().__init__()
        self.bounds: dict[Var, Bound] = {}
        self._intervals: dict[Expr, Interval] = {}

    @abstractmethod
    def form(self, e: Expr) -> Linear:
        """The linear form of an index."""

    def forget(self) -> None:
        """Drop what follows from ranges, since these have changed."""
        self._intervals.clear()

    # Of variables.

    def bind(self, var: Var, low: Expr | int, extent: Expr | int) -> None:
        """Declare that `var` is in [low, low + extent), which is not empty: max(x, 0) is x there."""
        first, count = self.form(ex.as_expr(low)), ex.as_expr(extent)
        if isinstance(count, ex.Max) and ex.is_const(count.b, 0):
            count = count.a
        self.bounds[var] = Bound(first, first + self.form(count) - 1)
        self.forget()

    def bind_form(self, var: Var, low: Linear | None, high: Linear | None) -> None:
        """Declare that `var` is in [low, high]."""
        self.bounds[var] = Bound(low, high)
        self.forget()

    def bind_value(self, var: Var, value: Expr) -> None:
        """Declare that `var` holds `value`, an index or data."""
        if not value.dtype.is_int:
            return
        low, high = self.interval(self.form(value)) if value.dtype == INDEX else self.data_interval(value)
        self.bounds[var] = Bound(None if low is None else constant(low), None if high is None else constant(high))
        self.forget()

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
            self.forget()

    # Of forms.

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
