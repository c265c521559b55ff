"""Rules for floor division and remainder of linear forms by a positive constant.

Each rule is an identity of integers (Graham, Knuth, Patashnik, Concrete Mathematics, section 3.4). With
x = k·q + r, where q takes the terms whose coefficients are multiples of k:

    (k·q + r) // k  =  q + r // k                 (k·q + r) % k  =  r % k
    r // k = m              if m·k <= r < (m+1)·k
    (g·a + b) // (g·c) = a // c                   if 0 <= b < g
    (g·a + b) % (g·c)  = g·(a % c) + b            if 0 <= b < g
    (x // m + c) // k  = (x + c·m) // (m·k)
    (x % m) % k        = x % k                    if k divides m
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Protocol

from sateen.tensor_ir.arith.linear import ZERO, Linear, constant
from sateen.tensor_ir.ir.expr import Expr


class Knowledge(Protocol):
    """Knowledge about the atoms of linear forms, and the conversion of quotients of forms to atoms."""

    @property
    def divisions(self) -> Mapping[Expr, tuple[Linear, int]]:
        """The form and the divisor of each atom that is a quotient."""

    @property
    def remainders(self) -> Mapping[Expr, tuple[Linear, int]]:
        """The form and the divisor of each atom that is a remainder."""

    def interval(self, form: Linear) -> tuple[int | None, int | None]:
        """The least and the greatest value of a form, if known."""

    def quotient(self, form: Linear, divisor: int) -> Linear:
        """form // divisor as an atom."""

    def remainder(self, form: Linear, divisor: int) -> Linear:
        """form % divisor as an atom."""


def divide_linear(known: Knowledge, x: Linear, k: int) -> Linear:
    """x // k in normal form."""
    if k == 1:
        return x
    whole, rest = _split(x, k)
    if rest.is_constant:
        return whole + rest.constant // k
    low, high = known.interval(rest)
    if low is not None and high is not None and low // k == high // k:
        return whole + low // k
    for g, coarse, fine in _granules(rest, k):
        low, high = known.interval(fine)
        if low is not None and high is not None and low >= 0 and high < g:
            return whole + divide_linear(known, coarse, k // g)
    if len(rest.terms) == 1:
        ((atom, coefficient),) = rest.terms.items()
        if coefficient == 1 and atom in known.divisions:
            inner, m = known.divisions[atom]
            return whole + divide_linear(known, inner + rest.constant * m, m * k)
    return whole + known.quotient(rest, k)


def modulo_linear(known: Knowledge, x: Linear, k: int) -> Linear:
    """x % k in normal form."""
    if k == 1:
        return ZERO
    _, rest = _split(x, k)
    if rest.is_constant:
        return constant(rest.constant % k)
    low, high = known.interval(rest)
    if low is not None and high is not None and low // k == high // k:
        return rest - low // k * k
    for g, coarse, fine in _granules(rest, k):
        low, high = known.interval(fine)
        if low is not None and high is not None and low >= 0 and high < g:
            return modulo_linear(known, coarse, k // g) * g + fine
    if len(rest.terms) == 1 and rest.constant == 0:
        ((atom, coefficient),) = rest.terms.items()
        if coefficient == 1 and atom in known.remainders:
            inner, m = known.remainders[atom]
            if m % k == 0:
                return modulo_linear(known, inner, k)
    return known.remainder(rest, k)


def _split(x: Linear, k: int) -> tuple[Linear, Linear]:
    """x = k·whole + rest, the rest's constant in [0, k) and its coefficients in (-k, k)."""
    whole, rest = {}, {}
    for atom, coefficient in x.terms.items():
        quotient = coefficient // k if coefficient >= 0 or coefficient % k == 0 else -(-coefficient // k)
        if quotient:
            whole[atom] = quotient
        if coefficient - quotient * k:
            rest[atom] = coefficient - quotient * k
    return Linear(x.constant // k, whole), Linear(x.constant % k, rest)


def _granules(rest: Linear, k: int) -> Iterator[tuple[int, Linear, Linear]]:
    """Ways to write rest = g·coarse + fine with g dividing k, the largest g first."""
    candidates = {gcd(k, abs(c)) for c in rest.terms.values()}
    for g in sorted(candidates - {1}, reverse=True):
        coarse = Linear(rest.constant // g, {a: c // g for a, c in rest.terms.items() if c % g == 0})
        fine = Linear(rest.constant % g, {a: c for a, c in rest.terms.items() if c % g != 0})
        yield g, coarse, fine
