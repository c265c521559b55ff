"""Bounds of products, and of quotients and remainders by symbols, whose divisor is at least 1: there is none by 0.

x·y >= 0                      if x >= 0 and y >= 0
0 <= x % y <= y - 1
x // y <= q + r // y          if x <= q·y + r, and r // y <= max(r, -1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sateen.tensor_ir.arith.linear import ZERO, Linear, term
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.identity import is_among

Ends = tuple[int | None, int | None]


class Knowledge(Protocol):
    """Knowledge about the atoms of linear forms."""

    @property
    def products(self) -> Mapping[Expr, tuple[Expr, Expr]]:
        """The factors of each atom that is a product."""

    def greatest(self, form: Linear) -> Linear:
        """A form that is no less, where each variable is replaced by the end of its range, if it has one."""

    def lower(self, form: Linear) -> int | None:
        """A lower bound, if known."""

    def upper(self, form: Linear) -> int | None:
        """An upper bound, if known."""

    def product(self, a: Linear, b: Linear) -> Linear:
        """The product, multiplied out."""


def product_interval(x: Ends, y: Ends) -> Ends:
    """The range of a product of factors in these ranges, if neither is negative."""
    if x[0] is None or y[0] is None or x[0] < 0 or y[0] < 0:
        return None, None
    return x[0] * y[0], None if x[1] is None or y[1] is None else x[1] * y[1]


def quotient_interval(known: Knowledge, x: Linear, y: Linear) -> Ends:
    """The range of x // y, if neither is negative."""
    least, divisor = known.lower(x), known.lower(y)
    if least is None or divisor is None or least < 0 or divisor < 0:
        return None, None
    most = known.upper(x)
    return 0, None if most is None else most // max(divisor, 1)


def remainder_interval(known: Knowledge, x: Linear, y: Linear) -> Ends:
    """The range of x % y, if y is not negative."""
    divisor = known.lower(y)
    if divisor is None or divisor < 0:
        return None, None
    least, most, limit = known.lower(x), known.upper(x), known.upper(y)
    ends = [
        end
        for end in (None if least is None or least < 0 else most, None if limit is None else limit - 1)
        if end is not None
    ]
    return 0, min(ends, default=None)


def greatest_quotient(known: Knowledge, x: Linear, y: Linear) -> Linear | None:
    """A bound of x // y without a quotient, such as n - 1 for x < n·y; None if y divides no part of a bound of x."""
    divisor = known.lower(y)
    leading = next((atom for atom, c in y.terms.items() if abs(c) == 1), None)
    if divisor is None or divisor < 0 or leading is None:
        return None
    end, quotient = known.greatest(x), ZERO
    for atom, coefficient in end.terms.items():
        if atom is leading:
            quotient = quotient + coefficient * y.terms[leading]
        elif is_among(leading, known.products.get(atom, ())):
            a, b = known.products[atom]
            quotient = quotient + term(b if a is leading else a, coefficient * y.terms[leading])
    rest = known.upper(end - known.product(quotient, y))
    return None if rest is None or not quotient.terms else quotient + max(rest, -1)
