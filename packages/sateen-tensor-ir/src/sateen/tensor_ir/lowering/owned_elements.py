"""Which thread an element belongs to, as its index tells: the thread's number is a digit of the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.identity import is_among


@dataclass(frozen=True, slots=True)
class Owner:
    """The thread is (index of `dimension` - `fixed`) // `width` - `shift`."""

    dimension: int
    width: int
    shift: int
    fixed: frozenset[tuple[Expr, int]]


def owners(indices: Sequence[Expr], thread: Var, fixed: Sequence[Var], analyzer: Analyzer) -> frozenset[Owner]:
    """The ways in which an element's place gives the value of `thread`.

        S[t, b * 4 + i], i in [0, 4)        b is the second index // 4

    Two accesses with a way in common touch one element only in the same thread, as far as the variables in `fixed` are
    the same for both.
    """
    found = set()
    for d, index in enumerate(indices):
        form = analyzer.form(index)
        width = form.terms.get(thread, 0)
        same = {atom: c for atom, c in form.terms.items() if is_among(atom, fixed)}
        rest = form.without(thread)
        for atom in same:
            rest = rest.without(atom)
        low, high = analyzer.interval(rest)
        if width > 0 and low is not None and high is not None and low // width == high // width:
            found.add(Owner(d, width, low // width, frozenset(same.items())))
    return frozenset(found)
