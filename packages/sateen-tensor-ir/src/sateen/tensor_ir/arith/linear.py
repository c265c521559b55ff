"""Linear forms: a constant plus integer multiples of distinct atoms.

An atom is a variable or an integer expression that is not linear (a floor division, a load, …). Atoms are compared
by identity; an Analyzer interns them, so equal expressions share one atom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from sateen.tensor_ir.ir.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """constant + Σ coefficient·atom; no coefficient is 0."""

    constant: int
    terms: Mapping[Expr, int]

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def key(self) -> tuple[int, frozenset[tuple[Expr, int]]]:
        """A hashable key, equal for equal forms (of one Analyzer)."""
        return self.constant, frozenset(self.terms.items())

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.terms) if other else self
        if not other.terms:
            return self + other.constant
        if not self.terms:
            return other + self.constant
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + coefficient
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Linear(self.constant + other.constant, terms)

    def __neg__(self) -> Linear:
        return self * -1

    def __sub__(self, other: Linear | int) -> Linear:
        return self + (-other)

    def __mul__(self, factor: int) -> Linear:
        if factor == 0:
            return ZERO
        return Linear(self.constant * factor, {atom: c * factor for atom, c in self.terms.items()})

    def without(self, atom: Expr) -> Linear:
        """This form without the term of `atom`."""
        return Linear(self.constant, {a: c for a, c in self.terms.items() if a is not atom})

    def same(self, other: Linear) -> bool:
        return self.constant == other.constant and self.terms == other.terms

    def gcd(self) -> int:
        """Greatest common divisor of the coefficients, 0 for a constant."""
        return gcd(*self.terms.values())


def term(atom: Expr, coefficient: int = 1) -> Linear:
    return Linear(0, {atom: coefficient})


def constant(value: int) -> Linear:
    return Linear(value, {})


ZERO = constant(0)
