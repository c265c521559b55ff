"""Rules for comparisons of indices, from the range of the difference of their sides."""

from __future__ import annotations

from typing import Protocol

from sateen.tensor_ir.arith.linear import Linear
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.types import INDEX


class Knowledge(Protocol):
    """Knowledge about linear forms, and the conversion of indices to forms and back."""

    def form(self, e: Expr) -> Linear:
        """The linear form of an index."""

    def expr(self, form: Linear) -> Expr:
        """The form as an expression."""

    def interval(self, form: Linear) -> tuple[int | None, int | None]:
        """The least and the greatest value of a form, if known."""

    def modulus(self, form: Linear) -> tuple[int, int]:
        """(m, r) such that the value is r modulo m; m 0: constant."""


def decide(known: Knowledge, e: ex.Compare) -> bool | None:
    """Whether a comparison of indices always holds (True), never holds (False) or may be either (None)."""
    difference = known.form(e.b) - known.form(e.a)
    low, high = known.interval(difference)
    if isinstance(e, (ex.EQ, ex.NE)):
        m, r = known.modulus(difference)
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


def slack(known: Knowledge, e: Expr) -> Linear | None:
    """The form that is at least 0 exactly where `e`, an order of two indices, holds; None for other expressions."""
    if not isinstance(e, (ex.LT, ex.LE, ex.GT, ex.GE)) or e.a.dtype != INDEX:
        return None
    a, b = known.form(e.a), known.form(e.b)
    difference = a - b if isinstance(e, (ex.GT, ex.GE)) else b - a
    return difference - 1 if isinstance(e, (ex.LT, ex.GT)) else difference


def in_steps(known: Knowledge, e: ex.Compare) -> Expr | None:
    """A comparison without the terms that never decide it: 16·i + j < 32 is i < 2 where j is in [0, 16).

    None if there are no such terms. So it shows if all lanes of a vector go the same way.
    """
    rest = slack(known, e)
    if rest is None:
        return None
    for step in sorted({abs(c) for c in rest.terms.values()} - {1}, reverse=True):
        steps = {atom: c // step for atom, c in rest.terms.items() if c % step == 0}
        low, high = known.interval(Linear(rest.constant, {a: c for a, c in rest.terms.items() if a not in steps}))
        if len(steps) < len(rest.terms) and low is not None and high is not None and low // step == high // step:
            end = low // step + 1
            above = Linear(max(end, 0), {atom: c for atom, c in steps.items() if c > 0})
            below = Linear(max(-end, 0), {atom: -c for atom, c in steps.items() if c < 0})
            return ex.compare(ex.LT, known.expr(below), known.expr(above))
    return None
