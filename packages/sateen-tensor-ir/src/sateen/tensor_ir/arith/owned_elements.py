"""Which thread an element belongs to, as its index tells: the thread's number is a digit of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sateen.tensor_ir.arith.analyzer import Analyzer
from sateen.tensor_ir.arith.linear import Linear
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.identity import is_among


@dataclass(frozen=True, slots=True)
class Owner:
    """The thread is (index of `dimension` - `fixed`) // `width` - `shift`, modulo `count` if that is given."""

    dimension: int
    width: int
    count: int | None
    shift: int
    fixed: frozenset[tuple[Expr, int]]


def owners(
    indices: Sequence[Expr], thread: Var, count: int | None, fixed: Sequence[Var], analyzer: Analyzer
) -> frozenset[Owner]:
    """The ways in which an element's place gives the value of `thread`, which is in [0, count).

        S[t, b * 4 + i], i in [0, 4)                b is the second index // 4
        S[t, v * 32 + b * 4 + i], b in [0, 8)       b is the second index // 4 % 8

    Two accesses with a way in common touch one element only in the same thread, as far as the variables in `fixed` are
    the same for both.
    """
    found = set()
    for d, index in enumerate(indices):
        form = analyzer.form(index)
        width = form.terms.get(thread, 0)
        same = {atom: c for atom, c in form.terms.items() if is_among(atom, fixed)}
        rest = _without(form, (thread, *same))
        if width <= 0:
            continue
        low, high = analyzer.interval(rest)
        if low is not None and high is not None and low // width == high // width:
            found.add(Owner(d, width, None, low // width, frozenset(same.items())))
        if count is None:
            continue
        turn = width * count
        low, high = analyzer.interval(_without(rest, [atom for atom, c in rest.terms.items() if c % turn == 0]))
        if low is not None and high is not None and low // width == high // width:
            odd = frozenset((atom, c % turn) for atom, c in same.items() if c % turn)
            found.add(Owner(d, width, count, low // width % count, odd))
    return frozenset(found)


def _without(form: Linear, atoms: Iterable[Expr]) -> Linear:
    """The form without the terms of these atoms."""
    for atom in atoms:
        form = form.without(atom)
    return form
